"""Files that are never ingested: those with the name of a secret, or with a private key in them.

A repository of knowledge is copied and pushed, and committed data stays in its history. So a file
that is a secret on most machines is left out and reported, even if it is named explicitly.
"""

from __future__ import annotations

import fnmatch
import re

_NAMES = """
    .env .env.* *.env .netrc _netrc .pgpass .npmrc .pypirc .htpasswd htpasswd .git-credentials
    id_rsa* id_dsa* id_ecdsa* id_ed25519* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk
    *.gpg credentials credentials.* client_secret*.json service-account*.json service_account*.json
    secret secrets secret.* secrets.* *.tfstate *.tfvars *.ovpn wallet.dat shadow
"""
_DOCUMENTS = (".md", ".markdown", ".rst", ".txt", ".py", ".html")
_SAFE_SUFFIXES = (".pub", ".example", ".sample", ".template")
_NAME = re.compile("|".join(fnmatch.translate(name) for name in _NAMES.split()))
_KEY_BEGIN = re.compile(rb"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(rb"[A-Za-z0-9+/]{32,}={0,2}")
_KEY_LOOKAHEAD_BYTES = 1024


def is_secret_name(name: str) -> bool:
    """Whether a file of this name (without folders) is left out.

    >>> [is_secret_name(name) for name in ("id_rsa", "id_rsa.pub", ".env", "secrets.md", "keys.md")]
    [True, False, True, False, False]
    """
    lower = name.lower()
    if lower.endswith(_SAFE_SUFFIXES) or lower.endswith(_DOCUMENTS):
        return False
    return _NAME.fullmatch(lower) is not None


def has_private_key(data: bytes) -> bool:
    """Whether there is a private key block in `data`: its first line, followed by a line of key
    data.

    A text that only talks about such blocks is not one.
    """
    for match in _KEY_BEGIN.finditer(data):
        if _KEY_BODY.search(data, match.end(), match.end() + _KEY_LOOKAHEAD_BYTES):
            return True
    return False

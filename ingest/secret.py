"""Secrets that are never committed: files with the name of a secret or with a private key in them,
and texts of an agent with a key or a token in them.

A repository of knowledge is copied and pushed, and committed data stays in its history. So a file
that is a secret on most machines is left out and reported, even if it is named explicitly. What an
agent writes was often read from such a file a moment before; there the forms of keys count, whose
prefixes their issuers chose so that a scan finds them.
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
_KEY = re.compile(
    _KEY_BEGIN.pattern.decode()
    + rf'(?:[^"]{{1,{16 * _KEY_LOOKAHEAD_BYTES}}}?-----END [A-Z0-9 ]{{1,80}}-----'
    + rf'|[^"]{{0,{_KEY_LOOKAHEAD_BYTES}}}?[A-Za-z0-9+/]{{32,}}(?:\s*[A-Za-z0-9+/=]{{16,}})*)'
)
"""A private key with its end, or else the lines of key data."""
_TOKENS = {
    "an AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[oprsu]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b",
    "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,255}",
    "a Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,255}",
    "a Stripe key": r"\b[rs]k_live_[A-Za-z0-9]{16,255}",
    "an API key": r"\bsk-[A-Za-z0-9_-]{32,255}",
    "a Google API key": r"\bAIza[A-Za-z0-9_-]{35}\b",
    "a package registry token": r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,255})\b",
    "a Hugging Face token": r"\bhf_[A-Za-z0-9]{30,255}\b",
    "a JSON web token": r"\beyJ[\w-]{10,4096}\.eyJ[\w-]{10,4096}\.[\w-]{10,4096}",
    "a password in a URL": r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,255}:[^\s/@]{1,255}@",
    "a token of a server": r"\bibidem_[A-Za-z0-9_-]{43}",
}
_TOKEN = re.compile("|".join(f"({form})" for form in _TOKENS.values()))


def is_secret_name(name: str) -> bool:
    """Whether a file of this name (without folders) is left out.

    >>> [is_secret_name(name) for name in ("id_rsa", "id_rsa.pub", ".env", "secrets.md", "keys.md")]
    [True, False, True, False, False]
    """
    lower = name.lower()
    if lower.endswith(_SAFE_SUFFIXES) or lower.endswith(_DOCUMENTS):
        return False
    return _NAME.fullmatch(lower) is not None


def without_secrets(text: str) -> str:
    """Returns a text with each secret in it replaced by words that say what was there.

    >>> without_secrets("the key is AKIAIOSFODNN7EXAMPLE, rotate it")
    'the key is [removed: an AWS access key], rotate it'
    """
    kinds = list(_TOKENS)
    shown = _KEY.sub("[removed: a private key]", text)
    return _TOKEN.sub(lambda found: f"[removed: {kinds[(found.lastindex or 1) - 1]}]", shown)


def has_private_key(data: bytes) -> bool:
    """Whether there is a private key block in `data`: its first line, followed by a line of key
    data.

    A text that only talks about such blocks is not one.
    """
    for match in _KEY_BEGIN.finditer(data):
        if _KEY_BODY.search(data, match.end(), match.end() + _KEY_LOOKAHEAD_BYTES):
            return True
    return False


def secret_in(text: str) -> str | None:
    """Returns what secret a text has in it, in words that do not quote it; None without one.

    >>> secret_in("the key is AKIAIOSFODNN7EXAMPLE"), secret_in("keys are rotated monthly")
    ('an AWS access key', None)
    """
    if has_private_key(text.encode("utf-8", "replace")):
        return "a private key"
    found = _TOKEN.search(text)
    return None if found is None else list(_TOKENS)[(found.lastindex or 1) - 1]

"""Ed25519 signing keys, and the signatures they make.

libsodium signs, through PyNaCl; `ed25519.py` decides which signatures are valid, so a signature
accepted by one copy is accepted by every copy. The signed message is a domain and the canonical
block without its signature, so the signature of a commit is valid for nothing else.

Spec: format 5.15.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, TypeVar

from ibidem.objects.commit import Commit
from ibidem.objects.erasure import Erasure
from ibidem.objects.record import record
from ibidem.repo.signing.ed25519 import is_valid, missing

SEED_BYTES = 32
PUBLIC_BYTES = 32
SIGNATURE_BYTES = 96
"""Size of the public key and the signature together."""
_DOMAINS = {Commit: b"ibidem:commit:1\x00", Erasure: b"ibidem:erasure:1\x00"}
_INDEX_DOMAIN = b"ibidem:index:1\x00"

Signed = TypeVar("Signed", Commit, Erasure)


@record
class SigningKey:
    """A private key; its seed is never shown."""

    name: str
    seed: bytes = field(repr=False)
    public: bytes = b""
    """32 bytes; derived from the seed."""

    def __post_init__(self) -> None:
        nacl = _nacl()
        public = bytes(nacl.SigningKey(self.seed).verify_key)
        object.__setattr__(self, "public", public)

    @classmethod
    def generate(cls, name: str) -> SigningKey:
        """Returns a new key, from the randomness of the system."""
        return cls(name, bytes(_nacl().SigningKey.generate()))

    def sign(self, value: Signed) -> Signed:
        """Returns a commit or an erasure signed with this key, replacing any other signature."""
        nacl = _nacl()
        made = nacl.SigningKey(self.seed).sign(_message(value)).signature
        return replace(value, signature=self.public + made)

    def sign_index(self, block: bytes) -> bytes:
        """Returns the signature of a manifest of index segments."""
        made: bytes = _nacl().SigningKey(self.seed).sign(_INDEX_DOMAIN + block).signature
        return self.public + made


def index_signer(block: bytes, signature: bytes) -> bytes | None:
    """Returns the public key that signed a manifest of index segments; None if the signature is not
    valid."""
    public, made = signature[:PUBLIC_BYTES], signature[PUBLIC_BYTES:]
    is_whole = len(signature) == SIGNATURE_BYTES
    return public if is_whole and is_valid(public, _INDEX_DOMAIN + block, made) else None


def signer_of(value: Commit | Erasure) -> bytes | None:
    """Returns the public key that signed a commit or erasure; None if it has no valid signature."""
    signature = value.signature
    if signature is None or len(signature) != SIGNATURE_BYTES:
        return None
    public, made = signature[:PUBLIC_BYTES], signature[PUBLIC_BYTES:]
    return public if is_valid(public, _message(value), made) else None


def _message(value: Commit | Erasure) -> bytes:
    return _DOMAINS[type(value)] + replace(value, signature=None).encode()


def _nacl() -> Any:
    try:
        from nacl import signing
    except ImportError as error:
        raise missing() from error
    return signing

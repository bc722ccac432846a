"""Ed25519: a key that signs, and the strict check of a signature.

libsodium does the arithmetic, through PyNaCl, by its strict rule: no key or point of small order,
no second form of a number. So a signature that one copy accepts, every copy accepts. What is signed
is a domain and the canonical block without its signature, so a signature of a commit is none of
anything else.

Spec: format 5.15.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, TypeVar

from ibidem.objects.commit import Commit
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.record import record

SEED_BYTES = 32
PUBLIC_BYTES = 32
SIGNATURE_BYTES = 96
"""The public key and the signature that it made."""
_DOMAINS = {Commit: b"ibidem:commit:1\x00", Erasure: b"ibidem:erasure:1\x00"}

Signed = TypeVar("Signed", Commit, Erasure)


@record
class SigningKey:
    """A private key; its seed is never shown."""

    name: str
    seed: bytes = field(repr=False)
    public: bytes = b""
    """32 bytes; made from the seed."""

    def __post_init__(self) -> None:
        nacl = _nacl()
        public = bytes(nacl.SigningKey(self.seed).verify_key)
        object.__setattr__(self, "public", public)

    @classmethod
    def generate(cls, name: str) -> SigningKey:
        """Returns a new key, from the randomness of the system."""
        return cls(name, bytes(_nacl().SigningKey.generate()))

    def sign(self, value: Signed) -> Signed:
        """Returns a commit or an erasure with our signature, in the place of any other."""
        nacl = _nacl()
        made = nacl.SigningKey(self.seed).sign(_message(value)).signature
        return replace(value, signature=self.public + made)


def signer_of(value: Commit | Erasure) -> bytes | None:
    """Returns the public key whose signature a commit or erasure carries; None where it carries
    none that is valid."""
    signature = value.signature
    if signature is None or len(signature) != SIGNATURE_BYTES:
        return None
    public, made = signature[:PUBLIC_BYTES], signature[PUBLIC_BYTES:]
    nacl = _nacl()
    from nacl.exceptions import BadSignatureError

    try:
        nacl.VerifyKey(public).verify(_message(value), made)
    except (BadSignatureError, ValueError):
        return None
    return public


def _message(value: Commit | Erasure) -> bytes:
    return _DOMAINS[type(value)] + replace(value, signature=None).encode()


def _nacl() -> Any:
    try:
        from nacl import signing
    except ImportError as error:
        raise InvalidInputError(
            "signatures: the package PyNaCl is not installed",
            kind=ErrorKind.MISSING_PACKAGE,
            hint="pip install PyNaCl",
        ) from error
    return signing

"""Which Ed25519 signatures are valid: one rule, independent of the installed library.

RFC 8032 leaves open whether the equation is multiplied by the cofactor, and how points of small and
of mixed order are treated; libraries differ, and so do versions of libsodium. A signature could
then be valid in one copy and invalid in another. Here the key and R must have prime order, where
both equations are equivalent. The check uses operations on points, which are the same in every
version of libsodium, instead of its signature verification.

Whether a key has prime order is computed here, because versions of libsodium from before 2026
accept some points of mixed order. It takes milliseconds, once for each key.

Spec: format 5.15.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha512
from typing import Any

from ibidem.objects.errors import ErrorKind, InvalidInputError

POINT_BYTES = 32
ORDER = 2**252 + 27742317777372353535851937790883648493
"""Order of the base point; the order of the group is eight times as large."""
_PRIME = 2**255 - 19
_D = -121665 * pow(121666, -1, _PRIME) % _PRIME
_ROOT_OF_MINUS_ONE = pow(2, (_PRIME - 1) // 4, _PRIME)
_NEUTRAL = (1).to_bytes(POINT_BYTES, "little")

Point = tuple[int, int, int, int]
"""X, Y, Z, T with x = X / Z, y = Y / Z and x y = T / Z."""


def is_valid(public: bytes, message: bytes, signature: bytes) -> bool:
    """Returns whether a signature over a message is valid for a public key of 32 bytes.

    Raises:
        InvalidInputError: kind `missing-package`: PyNaCl, or its operations on points.
    """
    r, s = signature[:POINT_BYTES], signature[POINT_BYTES:]
    if len(s) != POINT_BYTES or not 0 < int.from_bytes(s, "little") < ORDER:
        return False
    if not has_prime_order(public):
        return False
    nacl = _bindings()
    h = int.from_bytes(sha512(r + public + message).digest(), "little") % ORDER
    multiple = nacl.crypto_scalarmult_ed25519_noclamp(h.to_bytes(POINT_BYTES, "little"), public)
    expected = nacl.crypto_core_ed25519_sub(
        nacl.crypto_scalarmult_ed25519_base_noclamp(s), multiple
    )
    # The difference is of prime order or neutral, and is encoded canonically.
    return bool(expected == r != _NEUTRAL)


@lru_cache(maxsize=1024)
def has_prime_order(encoded: bytes) -> bool:
    """Returns whether some bytes are the canonical encoding of a point of prime order."""
    point = _decoded(encoded) if len(encoded) == POINT_BYTES else None
    if point is None or encoded == _NEUTRAL:
        return False
    x, y, z, _ = _times(ORDER, point)
    return x == 0 and y == z


def _decoded(encoded: bytes) -> Point | None:
    number = int.from_bytes(encoded, "little")
    y, is_odd = number & (1 << 255) - 1, number >> 255
    if y >= _PRIME:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _PRIME) % _PRIME
    x = pow(square, (_PRIME + 3) // 8, _PRIME)
    if x * x % _PRIME != square:
        x = x * _ROOT_OF_MINUS_ONE % _PRIME
    if x * x % _PRIME != square or (x == 0 and is_odd):
        return None
    x = _PRIME - x if x & 1 != is_odd else x
    return x, y, 1, x * y % _PRIME


def _times(factor: int, point: Point) -> Point:
    found: Point = (0, 1, 1, 0)
    for bit in f"{factor:b}":
        found = _sum(found, found)
        if bit == "1":
            found = _sum(found, point)
    return found


def _sum(one: Point, other: Point) -> Point:
    """Adds points, equal or not: RFC 8032 5.1.4."""
    a = (one[1] - one[0]) * (other[1] - other[0])
    b = (one[1] + one[0]) * (other[1] + other[0])
    c = 2 * _D * one[3] * other[3]
    d = 2 * one[2] * other[2]
    e, f, g, h = (b - a) % _PRIME, (d - c) % _PRIME, (d + c) % _PRIME, (b + a) % _PRIME
    return e * f % _PRIME, g * h % _PRIME, f * g % _PRIME, e * h % _PRIME


def _bindings() -> Any:
    try:
        from nacl import bindings
    except ImportError as error:
        raise missing() from error
    if not bindings.has_crypto_scalarmult_ed25519 or not bindings.has_crypto_core_ed25519:
        raise missing()
    return bindings


def missing() -> InvalidInputError:
    """Returns the error for a system that cannot sign or check signatures."""
    return InvalidInputError(
        "signatures: the package PyNaCl is not installed, or its libsodium lacks Ed25519's points",
        kind=ErrorKind.MISSING_PACKAGE,
        hint="pip install PyNaCl",
    )

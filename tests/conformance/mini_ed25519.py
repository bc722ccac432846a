"""Ed25519 from the page, in affine coordinates: slow and plain, with nothing left out."""

from __future__ import annotations

import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
NEUTRAL = (0, 1)

Point = tuple[int, int]


def add(one: Point, other: Point) -> Point:
    (x, y), (u, v) = one, other
    product = D * x * y * u * v
    return (
        (x * v + u * y) * pow(1 + product, -1, P) % P,
        (y * v + x * u) * pow(1 - product, -1, P) % P,
    )


def times(factor: int, point: Point) -> Point:
    found = NEUTRAL
    while factor:
        if factor & 1:
            found = add(found, point)
        factor, point = factor >> 1, add(point, point)
    return found


def encode(point: Point) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def with_y(y: int, parity: int = 0) -> Point | None:
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    for factor in (1, pow(2, (P - 1) // 4, P)):
        x = pow(square, (P + 3) // 8, P) * factor % P
        if x * x % P == square:
            return (x if x & 1 == parity else -x % P, y % P)
    return None


def decode(encoded: bytes) -> Point | None:
    """Returns the point of 32 bytes; None where they are not the canonical encoding of one."""
    number = int.from_bytes(encoded, "little")
    y, parity = number % 2**255, number >> 255
    point = with_y(y, parity) if y < P else None
    return point if point is not None and encode(point) == encoded else None


BASE = with_y(4 * pow(5, -1, P) % P)
assert BASE is not None


def has_order(point: Point | None) -> bool:
    return point is not None and point != NEUTRAL and times(L, point) == NEUTRAL


def challenge(r: bytes, a: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(r + a + message).digest(), "little") % L


def is_valid(public: bytes, message: bytes, signature: bytes) -> bool:
    """Tells whether a signature is valid, by the five conditions of the page."""
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if len(public) != 32 or len(signature) != 64 or not 1 <= s < L:
        return False
    points = decode(public), decode(r)
    if not all(has_order(point) for point in points):
        return False
    key, commitment = points
    h = challenge(r, public, message)
    return times(s, BASE) == add(commitment, times(h, key))

"""Signatures that verifiers disagree about, made with the second reader's arithmetic.

Each is as right as it can be but for one thing: where the equation can hold, with or without the
cofactor, it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .mini_ed25519 import (
    BASE,
    NEUTRAL,
    L,
    P,
    Point,
    add,
    challenge,
    encode,
    is_valid,
    times,
    with_y,
)

SECRET = int.from_bytes(b"the secret of these vectors.....", "little") % L
NONCE = int.from_bytes(b"a nonce that is used for all....", "little") % L
KEY = times(SECRET, BASE)
EIGHTH = next(
    rest
    for y in range(2, 99)
    if (point := with_y(y)) is not None and times(4, rest := times(L, point)) != NEUTRAL
)
"""Of order 8: what is left of a point of full order."""
TORSION = [times(number, EIGHTH) for number in range(8)]
"""The points of small order; that of order 1 first, of order 2 fifth."""
assert len(set(TORSION)) == 8


def signed(
    public: bytes, r: bytes, message: bytes, *, secret: int = SECRET, nonce: int = NONCE
) -> bytes:
    """Returns a signature with a given R: right where that and the key are as they seem."""
    number = (nonce + challenge(r, public, message) * secret) % L
    return r + number.to_bytes(32, "little")


def message_with(r: bytes, public: bytes, wanted: Callable[[int], bool]) -> bytes:
    """Returns a message for which h is as wanted."""
    number = 0
    while not wanted(challenge(r, public, b"%d" % number)):
        number += 1
    return b"%d" % number


def signatures() -> Iterator[tuple[str, str, bytes, bytes, bytes]]:
    """Yields name, anchors, public key, message and signature."""
    public, r = encode(KEY), encode(times(NONCE, BASE))
    message = b"ibidem:commit:1\x00 and a block"
    good = signed(public, r, message)
    s = int.from_bytes(good[32:], "little")
    yield "valid", "5.15-a 5.15-b 5.15-c 5.15-d 5.15-e", public, message, good
    yield "valid, of nothing", "5.15-e", public, b"", signed(public, r, b"")
    minus = encode((-KEY[0] % P, KEY[1]))
    yield (
        "valid, the key negated",
        "5.15-b",
        minus,
        message,
        signed(minus, r, message, secret=-SECRET % L),
    )
    yield "another message", "5.15-e", public, message + b".", good
    yield "another key", "5.15-e", encode(times(2, KEY)), message, good
    yield "R of another", "5.15-e", public, message, encode(times(2, BASE)) + good[32:]
    for factor in (1, 2, 14):
        number = s + factor * L
        yield f"S and {factor} L", "5.15-a", public, message, r + number.to_bytes(32, "little")
    for name, number in (("0", 0), ("L", L), ("the largest", 2**256 - 1), ("2^255", 2**255 + s)):
        yield f"S is {name}", "5.15-a", public, message, r + number.to_bytes(32, "little")
    yield from _of_small_order(public, r, message)
    yield from _of_mixed_order(r)
    yield from _no_points(public, r, message)


def _of_small_order(
    public: bytes, r: bytes, message: bytes
) -> Iterator[tuple[str, str, bytes, bytes, bytes]]:
    for number, name in (*((n, f"{n} of 8") for n in range(8)),):
        key = encode(TORSION[number])
        fitting = message_with(r, key, lambda h: h % 8 == 0)
        yield (
            *(f"A of small order, {name}", "5.15-c", key, fitting),
            signed(key, r, fitting, secret=0),
        )
        commitment = encode(TORSION[number])
        yield (
            *(f"R of small order, {name}", "5.15-d", public, message),
            signed(public, commitment, message, nonce=0),
        )
    both = encode(NEUTRAL)
    yield "A and R neutral", "5.15-c 5.15-d", both, message, both + (1).to_bytes(32, "little")
    for name, other in _second_encodings():
        fitting = message_with(r, other, lambda h: h % 8 == 0)
        yield f"A {name}", "5.15-b", other, fitting, signed(other, r, fitting, secret=0)
        yield f"R {name}", "5.15-d", public, message, signed(public, other, message, nonce=0)


def _second_encodings() -> Iterator[tuple[str, bytes]]:
    """Yields encodings of points of small order that are not canonical."""
    for y, parity in ((0, 0), (0, 1), (1, 0), (1, 1)):
        number = y + P | parity << 255
        yield f"not canonical, y = p + {y}, sign {parity}", number.to_bytes(32, "little")
    for name, y in (("1", 1), ("p - 1", P - 1)):
        yield f"not canonical, y = {name}, sign of 0", (y | 1 << 255).to_bytes(32, "little")


def _of_mixed_order(r: bytes) -> Iterator[tuple[str, str, bytes, bytes, bytes]]:
    public = encode(KEY)
    for number, order in ((4, 2), (2, 4), (1, 8), (7, 8)):
        rest = TORSION[number]
        mixed = encode(add(KEY, rest))
        fits = message_with(r, mixed, lambda h: h % 8 == 0)
        name = f"A of mixed order, {number} of 8"
        yield f"{name}, which fits", "5.15-c", mixed, fits, signed(mixed, r, fits)
        misses = message_with(r, mixed, lambda h, order=order: h % order == 1)  # type: ignore[misc]
        yield (
            *(f"{name}, which fits times the cofactor", "5.15-c", mixed, misses),
            signed(mixed, r, misses),
        )
        other = encode(add(times(NONCE, BASE), rest))
        yield (
            *(f"R of mixed order, {number} of 8", "5.15-d 5.15-e", public, b"m"),
            signed(public, other, b"m"),
        )
        # The rest of R and h times that of the key cancel out: right without the cofactor.
        both = encode(add(times(NONCE, BASE), TORSION[-number % 8]))
        fits = message_with(both, mixed, lambda h: h % 8 == 1)
        yield (
            *(f"A and R of mixed order, {number} of 8", "5.15-c 5.15-d", mixed, fits),
            signed(mixed, both, fits),
        )


def _no_points(
    public: bytes, r: bytes, message: bytes
) -> Iterator[tuple[str, str, bytes, bytes, bytes]]:
    off = next(y for y in range(2, 99) if with_y(y) is None).to_bytes(32, "little")
    on: Point = next(point for y in range(2, 19) if (point := with_y(y)) is not None)
    shifted = (on[1] + P | (on[0] & 1) << 255).to_bytes(32, "little")
    for name, encoded in (
        *(("no point", off), ("not canonical, of large order", shifted)),
        *(("all ones", b"\xff" * 32), ("y = p - 20", (P - 20).to_bytes(32, "little"))),
    ):
        yield f"A {name}", "5.15-b", encoded, message, signed(encoded, r, message)
        yield f"R {name}", "5.15-d", public, message, signed(public, encoded, message)


def signature_cases() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "spec": spec,
            "input": {
                "public": public.hex(),
                "message": message.hex(),
                "signature": signature.hex(),
            },
            "output": is_valid(public, message, signature),
        }
        for name, spec, public, message, signature in signatures()
    ]

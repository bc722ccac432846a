"""The logarithm of a quotient of integers in fixed point, a fast path that is exact or gives up.

The value is defined by `numbers.ln_ratio`: computed to 50 digits, rounded once. That takes 30
microseconds, and every new term of a question needs it. Here it is enclosed between two numbers
some 2^-104 apart; if both round to the same float64, so does everything between them.

    n / d = 2^e · c · (1 + t)     c = k / 64 the next below, 0 <= t < 1 / 32
    ln(1 + t) = 2 · (z + z^3 / 3 + z^5 / 5 + ...)     z = t / (2 + t)

Spec: retrieval 2.3.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from functools import cache

_BITS = 112
_ONE = 1 << _BITS
_ERROR = 64
"""In units of 2^-112. Each of some 20 divisions and shifts loses less than one unit, and the rest
of the series is less than one. e multiplies the error of a constant, which comes on top."""
_EXPONENT_MAX = 1 << 16
_PARTS = 64
_FIRST, *_COEFFICIENTS = [_ONE // odd for odd in range(17, 0, -2)]
"""Of the series, the last first, in units of 2^-112: z < 1 / 64, and 64^-19 is below 2^-112."""


def context(digits: int) -> Context:
    """Returns a new decimal context, so that the thread's context, its flags and traps have no
    effect."""
    return Context(
        prec=digits,
        rounding=ROUND_HALF_EVEN,
        Emin=-999_999,
        Emax=999_999,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )


def ln_quotient(numerator: int, denominator: int) -> float | None:
    """Returns ln(numerator / denominator) of two positive integers rounded once to float64; None
    if the bounds do not determine the rounding."""
    exponent = numerator.bit_length() - denominator.bit_length()
    if abs(exponent) > _EXPONENT_MAX:
        return None
    shift = _BITS - exponent
    if shift >= 0:
        mantissa = (numerator << shift) // denominator
    else:
        mantissa = numerator // (denominator << -shift)
    part = mantissa >> (_BITS - 6)
    rest = mantissa * _PARTS // part - _ONE
    z = (rest << _BITS) // (2 * _ONE + rest)
    square = z * z >> _BITS
    total = _FIRST
    for coefficient in _COEFFICIENTS:
        total = coefficient + (total * square >> _BITS)
    found = (2 * total * z >> _BITS) + _ln(part) + exponent * _ln(2 * _PARTS)
    error = _ERROR + abs(exponent)
    low, high = (found - error) / _ONE, (found + error) / _ONE
    return low if low == high else None


@cache
def _ln(part: int) -> int:
    """Returns ln(part / 64) in units of 2^-112, cut to an integer; `part` is 32 to 128."""
    decimals = context(60)
    quotient = decimals.divide(Decimal(part), Decimal(_PARTS))
    return int(decimals.multiply(quotient.ln(decimals), Decimal(_ONE)))

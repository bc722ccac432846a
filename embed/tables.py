"""The curves of the exact encoder, as tables for interpolation: exp below 0, the tails of GELU and
tanh.

A table holds a value and the step to the next one, so that a point costs one multiplication and one
addition, each rounded on its own: the same bits on every processor. No library's transcendental
function is used; the `exp` of `decimal` is correctly rounded on every machine. It is slow, so a
process computes a table once; nobody may write to it.

Spec: embedding 4.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache

import numpy as np
from numpy.typing import NDArray

Float64s = NDArray[np.float64]

STEPS = 1024
"""Entries per unit of the argument."""
EXP_UNITS = 16
"""The argument range of exp; exp(-16) rounds to 0 at 2^-20."""
GELU_UNITS = 8
"""Beyond 8, GELU is its argument or 0 to within 2^-48."""
TANH_UNITS = 8
"""Beyond 8, tanh is 1 or -1 to within 2^-22."""

_CONTEXT = Context(prec=40, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999, traps=[])
"""The context is our own, because that of the running thread belongs to the caller."""
_INVERSE_SQRT_TAU = float("0.398942280401432677939946059934")
_SERIES_TERMS = 150


@cache
def exp_table() -> tuple[Float64s, Float64s]:
    """Returns values and steps of 2^20 exp(-i/1024), both (16385,) float64; the last is 0."""
    units = np.array([_exp(-unit, 1) for unit in range(EXP_UNITS + 1)])
    parts = np.array([_exp(-part, STEPS) for part in range(STEPS)])
    values = (units[:-1, None] * parts[None, :]).reshape(-1) * float(2**20)
    return _with_steps(values)


@cache
def gelu_table() -> tuple[Float64s, Float64s]:
    """Returns values and steps of 2^18 a (1 - Phi(a)) at a = i/1024, (8193,) float64; the last is
    0."""
    a = np.arange(GELU_UNITS * STEPS, dtype=np.float64) / STEPS
    falls = np.array([_exp(-i * i, 2 * STEPS * STEPS) for i in range(len(a))])
    density = falls * _INVERSE_SQRT_TAU
    # Phi(a) = 1/2 + density(a) (a + a^3/3 + a^5/15 + ...): all terms are positive, so nothing
    # cancels.
    term, total = a.copy(), a.copy()
    for n in range(1, _SERIES_TERMS):
        term = term * a * a / float(2 * n + 1)
        total = total + term
    tail = np.maximum(0.5 - density * total, 0.0)
    return _with_steps(a * tail * float(2**18))


@cache
def tanh_table() -> tuple[Float64s, Float64s]:
    """Returns values and steps of 2^18 (1 - tanh a) at a = i/1024, (8193,) float64; the last is
    0."""
    falls = np.array([_exp(-part, STEPS // 2) for part in range(TANH_UNITS * STEPS)])
    return _with_steps(2.0 * falls / (1.0 + falls) * float(2**18))


def _exp(numerator: int, power_of_two: int) -> float:
    """Returns exp of a fraction whose decimal expansion is exact in 40 digits."""
    return float(_CONTEXT.exp(_CONTEXT.divide(Decimal(numerator), Decimal(power_of_two))))


def _with_steps(values: Float64s) -> tuple[Float64s, Float64s]:
    values = np.append(values, 0.0)
    steps = np.append(values[1:] - values[:-1], 0.0)
    values.flags.writeable = steps.flags.writeable = False
    return values, steps

"""Scalars of numpy as plain values: what programs that compute have where Python has a number."""

from __future__ import annotations

from typing import Any


def numpy_value(value: Any) -> Any:
    """Returns the number, boolean or text that a scalar of numpy stands for, None for what is none.

    Its times stand for nothing: their unit is not ours. Neither do numbers of more than 64 bits.
    """
    if type(value).__module__ != "numpy" or getattr(value, "shape", None) != ():
        return None
    return value.item() if value.dtype.kind in "biufUS" and value.dtype.char != "g" else None

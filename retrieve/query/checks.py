"""Checks of single options: the value in its one form, or an error that names the option.

Booleans are no integers here, NaN and infinities are no numbers, and -0.0 is 0.0.

Spec: retrieval 3.3.
"""

from __future__ import annotations

import numpy as np

from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.numbers import Float32s

COUNT_MAX = 2**53


def float32s(option: str, values: object) -> Float32s:
    """Returns finite float32 numbers without -0.0, rounded to nearest from what was given."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise ValueError(f"numbers of type {array.dtype}")
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{option}: got {error}, expected a list of numbers") from error
    if array.ndim != 1:
        raise InvalidInputError(f"{option}: got shape {array.shape}, expected one dimension")
    if not np.isfinite(array).all():
        index = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InvalidInputError(
            f"{option}: got {array[index]} at {index}, expected finite float32 numbers"
        )
    return array + np.float32(0.0)


def plain(value: object) -> object:
    """Returns a numpy scalar as Python has it, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def count(option: str, value: object, *, low: int = 0, high: int = COUNT_MAX) -> int:
    """Returns an integer from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(
            f"{option}: got {show(value)}, expected an integer from {low} to {high}"
        )
    return value


def number(option: str, value: object, *, high: float) -> float:
    """Returns a float from 0 to `high`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInputError(f"{option}: got {show(value)}, expected a number")
    if not 0.0 <= value <= high:
        raise InvalidInputError(
            f"{option}: got {show(value)}, expected a number from 0 to {high:g}"
        )
    return float(value) + 0.0


def show(value: object) -> str:
    """Returns a value as an error message quotes it: short, whatever it is."""
    try:
        text = repr(value)
    except ValueError:  # an integer of many thousand digits
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= 80 else text[:80] + "…"


def flag(option: str, value: object) -> bool:
    """Returns a boolean."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{option}: got {show(value)}, expected True or False")
    return value


def name(option: str, value: object) -> str:
    """Returns a text that is not empty and valid Unicode."""
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{option}: got {show(value)}, expected a text that is not empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{option}: got a lone surrogate, expected valid Unicode"
        ) from error
    return value

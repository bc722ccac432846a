"""Checks of single options: each returns the value in its canonical type, or raises an error that
names the option. The types of the options are in the table `options.py`.

Booleans are not integers here, NaN and infinities are not numbers, and -0.0 becomes 0.0.

Spec: retrieval 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.numbers import Float32s
from ibidem.retrieve.query.options import COUNT_MAX, DEFAULT, OPTIONS, defaults, members

Check = Callable[[str, object], Any]
"""Maps the name and the given value of an option to its canonical value."""


def option(name: str, value: object) -> Any:
    """Returns the value of an option that is a number, a boolean or a text, by the table."""
    one = OPTIONS[name]
    if value is None and one.none:
        return one.default if one.none == DEFAULT else None
    return present(name, value)


def present(name: str, value: object) -> Any:
    """Returns the value of such an option; None is rejected."""
    one = OPTIONS[name]
    if one.choices:
        return choice(name, value, one.choices)
    return _BY_TYPE[one.type](name, value)


def parts(name: str, form: Mapping[str, Any], **own: Check) -> dict[str, Any]:
    """Returns the options inside a mapping, checked; each must be present.

    Args:
        name: the option that is the mapping.
        form: the mapping.
        own: by key, the checks of options that the table alone does not describe.
    """
    return {one.key: own.get(one.key, option)(one.name, form[one.key]) for one in members(name)}


def filled(name: str, value: object) -> dict[str, Any] | None:
    """Returns the options inside a mapping with their defaults, unchecked; True is an empty
    mapping, None and False mean no mapping."""
    if value is None or value is False:
        return None
    known = defaults(name)
    given = {} if value is True else value
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise InvalidInputError(
            f"{name}: got {show(value)}, expected True or a mapping of {', '.join(known)}"
        )
    return {**known, **given}


def float32s(option: str, values: object) -> Float32s:
    """Returns finite float32 numbers without -0.0, rounded to nearest from the given values."""
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
    """Returns a numpy scalar as a Python value, and anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def count(option: str, value: object, *, low: int = 0, high: int = COUNT_MAX) -> int:
    """Returns an integer from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(
            f"{option}: got {show(value)}, expected an integer from {low} to {high}"
        )
    return value


def number(option: str, value: object, *, low: float = 0.0, high: float) -> float:
    """Returns a float from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInputError(f"{option}: got {show(value)}, expected a number")
    if not low <= value <= high:
        raise InvalidInputError(
            f"{option}: got {show(value)}, expected a number from {low:g} to {high:g}"
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


def choice(option: str, value: object, choices: tuple[str, ...]) -> str:
    """Returns one of some texts."""
    if not isinstance(value, str) or value not in choices:
        expected = (
            " or ".join(map(repr, choices)) if len(choices) == 2 else f"one of {', '.join(choices)}"
        )
        raise InvalidInputError(f"{option}: got {show(value)}, expected {expected}")
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


def _count(name: str, value: object) -> int:
    one = OPTIONS[name]
    return count(name, value, low=int(one.low), high=int(one.high))


def _number(name: str, value: object) -> float:
    one = OPTIONS[name]
    return number(name, value, low=one.low, high=one.high)


_BY_TYPE: Mapping[str, Check] = {
    "int": _count,
    "int | datetime": _count,
    "float": _number,
    "bool": flag,
    "str": name,
}

"""Checks of single values: each returns the value in its canonical type, or raises an error that
names what it was given for. `option_checks.py` applies them by the table of options.

Booleans are not integers here, NaN and infinities are not numbers, and -0.0 becomes 0.0.

Spec: retrieval 3.3.
"""

from __future__ import annotations

from ibidem.objects.constants import COUNT_MAX
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.numpy_value import numpy_value

TEXT_BYTES_MAX = 65_536
"""The size of a text that ranks, in UTF-8."""


def count(option: str, value: object, *, low: int = 0, high: int = COUNT_MAX) -> int:
    """Returns an integer from `low` to `high`."""
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInputError(
            f"{option}: got {show(value)}, expected an integer from {low} to {high}"
        )
    return value


def number(option: str, value: object, *, low: float = 0.0, high: float) -> float:
    """Returns a float from `low` to `high`."""
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInputError(f"{option}: got {show(value)}, expected a number")
    if not low <= value <= high:
        raise InvalidInputError(
            f"{option}: got {show(value)}, expected a number from {low:g} to {high:g}"
        )
    return float(value) + 0.0


def _plain(value: object) -> object:
    number = numpy_value(value)
    return value if number is None else number


def show(value: object) -> str:
    """Returns a value as an error message quotes it: short, whatever it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of many thousand digits, or nested lists
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


def sized(option: str, text: str) -> str:
    """Returns a text that is not too long to rank by."""
    size = len(text.encode())
    if size > TEXT_BYTES_MAX:
        raise InvalidInputError(
            f"{option}: got {size} bytes, expected at most {TEXT_BYTES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return text

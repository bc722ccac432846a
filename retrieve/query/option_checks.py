"""Checks of options by their table: each returns the value in its canonical type, or raises an
error that names the option.

Spec: retrieval 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.options import (
    DEFAULT,
    OF_CONVERSATIONS,
    OPTIONS,
    Option,
    defaults,
    members,
)

Check = Callable[[str, object], Any]
"""Maps the name and the given value of an option to its canonical value."""


def option(name: str, value: object) -> Any:
    """Returns the value of an option that is a number, a boolean or a text, by the table."""
    one = _option(name)
    if value is None and one.none:
        return one.default if one.none == DEFAULT else None
    return present(name, value)


def present(name: str, value: object) -> Any:
    """Returns the value of such an option; None is rejected."""
    one = _option(name)
    if one.choices:
        return checks.choice(name, value, one.choices)
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
            f"{name}: got {checks.show(value)}, expected True or a mapping of {', '.join(known)}"
        )
    return {**known, **given}


def _option(name: str) -> Option:
    return OPTIONS.get(name) or OF_CONVERSATIONS[name]


def _count(name: str, value: object) -> int:
    one = _option(name)
    return checks.count(name, value, low=int(one.low), high=int(one.high))


def _number(name: str, value: object) -> float:
    one = OPTIONS[name]
    return checks.number(name, value, low=one.low, high=one.high)


_BY_TYPE: Mapping[str, Check] = {
    "int": _count,
    "int | datetime": _count,
    "float": _number,
    "bool": checks.flag,
    "str": checks.name,
}

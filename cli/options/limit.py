"""The option `--limit`: the maximal number of results, the same for all commands. 0 means none and
`all` means no limit, as 0 and None do in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])
ALL = "all"


class Unset(Enum):
    """The value of an option that was not given and has no fixed default."""

    UNSET = "unset"


UNSET = Unset.UNSET


def limit_option(
    what: str,
    *,
    default: int | str | None = ALL,
    shown: str = "",
    low: int = 0,
) -> Callable[[Function], Function]:
    """Returns a decorator that adds `--limit`, passed on as a number, or as None for all.

    Args:
        what: the counted thing, plural and capitalised.
        default: the value without the option; None passes UNSET on.
        shown: the words of the help about the default, if it is None.
        low: the smallest valid number.
    """

    def read(
        context: click.Context, parameter: click.Parameter, value: str | None
    ) -> int | Unset | None:
        if value is None:
            return UNSET
        if value == ALL:
            return None
        number = int(value) if value.isascii() and value.isdigit() and len(value) < 16 else -1
        if number < low:
            raise click.BadParameter(
                f"got {value!r:.80}, expected a whole number from {low}, or {ALL}",
                context,
                parameter,
            )
        return number

    return click.option(
        "-n",
        "--limit",
        metavar=f"N|{ALL}",
        default=None if default is None else str(default),
        show_default=default is not None,
        callback=read,
        help=f"{what} at most, or {ALL}" + (f" {shown}." if shown else "."),
    )

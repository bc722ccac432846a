"""Generates `docs/question-options.md` from the table of query options.

    python -m ibidem.cli.options.reference > docs/question-options.md

A test compares the page with what this returns, so it cannot fall behind.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from ibidem.objects.constants import COUNT_MAX
from ibidem.retrieve.query.options import DEFAULT, GROUPS, LIMIT_OF_PACKS, Option

_HEAD = f"""# Options of a question

Generated from `retrieve/query/options.py` by `python -m ibidem.cli.options.reference`; do not edit.
`retrieve` takes all options except those of packs and records. `packs` and `prompt` also take those
of packs, and their default of `limit` is {LIMIT_OF_PACKS}. `GraphMemory.retrieve_graph` takes those
of records, by the name after the dot, and `context` those of `sources`. An option with a dot is a
key of the mapping before the dot:
`retrieve("retries", graph={{"mode": "decay", "seeds": 5}})`. Where a mapping may also be a boolean,
`True` selects its defaults. The column "in the query" names the field of the canonical form of the
query, which receipts keep.
"""
_COLUMNS = ("option", "takes", "flag", "in the query", "default", "meaning")
_POWERS = {COUNT_MAX: "2^53", 2**63 - 1: "2^63 - 1", -(2**63): "-2^63"}
_NUMBERS = ("int", "float", "int | datetime")


def reference() -> str:
    """Returns the page."""
    return "\n".join([_HEAD, *(line for name in GROUPS for line in _section(name))])


def _section(name: str) -> Iterator[str]:
    yield f"## {name.capitalize()}\n"
    yield _row(_COLUMNS)
    yield _row(["---"] * len(_COLUMNS))
    for option in GROUPS[name]:
        names = () if option.flag is None else (option.flag.name, option.flag.off)
        flag = ", ".join(f"`{name}`" for name in names if name is not None)
        position = "" if option.place is None else f"`{option.place}`"
        yield _row(
            (f"`{option.name}`", _takes(option), flag, position, _default(option), option.help)
        )
    yield ""


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _takes(option: Option) -> str:
    if option.choices:
        return ", ".join(f"`{one}`" for one in option.choices)
    kind = f"`{option.type}`"
    if option.type in _NUMBERS:
        return f"{kind}, {_number(option.low)} to {_number(option.high)}"
    return kind


def _number(value: float) -> str:
    return _POWERS.get(int(value), f"{value:,g}" if value != int(value) else f"{int(value):,}")


def _default(option: Option) -> str:
    if option.default is None:
        return option.none or "must be given"
    return f"`{option.default!r}`" + (
        f", None for {option.none}" if option.none not in ("", DEFAULT) else ""
    )


if __name__ == "__main__":
    click.echo(reference(), nl=False)

"""Output of the program: text for people, canonical JSON for programs, errors for both. Data goes
to standard output, everything else to standard error. Text from a repository is never trusted:
`say` and `note` print control, escape and bidirectional characters in escaped form. JSON has the
exact text, with sorted keys, in UTF-8 whatever the locale is.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from ibidem.cli.render.cells import cell_count
from ibidem.objects.printable import moment as moment
from ibidem.objects.printable import one_line as one_line
from ibidem.objects.printable import printable, printable_json, printable_line

_PLAIN, _STRONG, _FAINT, _GOOD, _BAD, _GOOD_WORD, _BAD_WORD = map(chr, range(0xD800, 0xD807))
"""Markers of styles, the first of them ends a style. They are lone surrogates, which text in a
repository cannot contain, so a marker is always our own.
"""
_STYLES = {_STRONG: "\x1b[1m", _FAINT: "\x1b[2m", _GOOD: "\x1b[32m", _BAD: "\x1b[31m"}
_STYLES |= {_GOOD_WORD: "\x1b[7;32m", _BAD_WORD: "\x1b[7;31m"}
_RESET = "\x1b[0m"
_MARKS = f"([{_PLAIN}{''.join(_STYLES)}])"
PADDED_MAX = 80
"""Width to which the columns of a table are padded at most."""


def wrapped(text: str, *, width: int) -> list[str]:
    """Returns `text` in lines of at most `width` characters, broken between words."""
    import textwrap

    return textwrap.wrap(text, width=width) or [""]


def plural(count: int, noun: str) -> str:
    """Returns `1 node`, `2 nodes`."""
    if count != 1:
        noun = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun}"


def table(rows: Sequence[Sequence[str]], *, indent: str = "") -> list[str]:
    """Returns aligned lines: every column but the last is padded to its widest cell, but not beyond
    PADDED_MAX, so that one long cell does not make every line as long.

    Styles have no width, and no line ends with blanks. Cells are escaped before they are measured.
    """
    if not rows:
        return []
    rows = [[_escaped(cell) for cell in row] for row in rows]
    widths = [
        min(max(_width(row[column]) for row in rows), PADDED_MAX)
        for column in range(len(rows[0]) - 1)
    ]
    lines = []
    for row in rows:
        padded = (
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)
        )
        lines.append((indent + "  ".join([*padded, row[-1]])).rstrip())
    return lines


def _width(cell: str) -> int:
    return cell_count(re.sub(_MARKS, "", cell))


def say(*lines: str) -> None:
    """Writes lines of human text to standard output.

    Each argument is printed as one line: control characters and line breaks in it are escaped here,
    so that no command can forget to.
    """
    for line in lines:
        click.echo(_styled(line))


def say_bytes(data: bytes) -> None:
    """Writes raw bytes to a pipe or file, and escaped ones to a terminal."""
    if sys.stdout.isatty():
        say(*data.decode("utf-8", "backslashreplace").split("\n"))
    else:
        click.echo(data, nl=False)


def page(lines: Iterable[str], *, pager: bool) -> None:
    """Writes lines as `say` does, on a terminal through the pager of the environment.

    Args:
        lines: of human text.
        pager: whether a pager may be used.
    """
    if not pager or not sys.stdout.isatty():
        say(*lines)
        return
    # As git does: colours are shown, and a text that fits on the screen does not wait for a key.
    os.environ.setdefault("LESS", "FRX")
    text = "\n".join(map(_styled, lines))
    if text:  # which gets a line feed
        click.echo_via_pager(text)


def note(*lines: str) -> None:
    """Writes lines that are not data to standard error, escaped as in `say`."""
    for line in lines:
        click.echo(_styled(line), err=True)


def _escaped(line: str) -> str:
    """Returns the line with everything escaped except the markers of styles."""
    parts = re.split(_MARKS, line)
    return "".join(
        part if position % 2 else printable_line(part) for position, part in enumerate(parts)
    )


def _styled(line: str) -> str:
    return re.sub(_MARKS, lambda mark: _STYLES.get(mark[0], _RESET), _escaped(line))


def strong(text: str) -> str:
    """Returns `text` marked as bold; `say` and `note` apply it where colour is on."""
    return f"{_STRONG}{text}{_PLAIN}"


def faint(text: str) -> str:
    """Returns `text` dimmed, likewise."""
    return f"{_FAINT}{text}{_PLAIN}" if text else ""


def good(text: str) -> str:
    """Returns `text` in green, likewise."""
    return f"{_GOOD}{text}{_PLAIN}"


def bad(text: str) -> str:
    """Returns `text` in red, likewise."""
    return f"{_BAD}{text}{_PLAIN}"


def good_word(text: str) -> str:
    """Returns `text` in green and inverse, for the words of a line that were added."""
    return f"{_GOOD_WORD}{text}{_PLAIN}"


def bad_word(text: str) -> str:
    """Returns `text` in red and inverse, for the words of a line that were removed."""
    return f"{_BAD_WORD}{text}{_PLAIN}"


def emit(command: str, fields: Mapping[str, Any], *, version: int = 1) -> None:
    """Writes one object of the schema `ibidem/<command>/<version>` to standard output: on one line,
    or indented on a terminal."""
    value = {"schema": f"ibidem/{command}/{version}", **fields}
    click.echo(canonical_json(value, is_indented=sys.stdout.isatty()))


def emit_line(value: Mapping[str, Any]) -> None:
    """Writes one of several objects, each on a line of its own."""
    click.echo(canonical_json(value))


def emit_error(kind: str, message: str, hint: str | None) -> None:
    """Writes one object of the schema `ibidem/error/1` to standard error."""
    body = {"schema": "ibidem/error/1", "kind": kind, "message": message, "hint": hint}
    click.echo(canonical_json(body), err=True)


def print_error(message: str, hint: str | None, *, color: bool) -> None:
    """Writes an error and what to do next to standard error.

    Continuation lines of a message are indented, so that quoted text cannot pass for a message of
    the program.
    """
    title = click.style("error:", fg="red", bold=True)
    first, *rest = printable(message).split("\n")
    lines = (line if line.startswith("  ") else f"  {line}" for line in rest)
    click.echo("\n".join((f"{title} {first}", *lines)), err=True, color=color)
    if hint:
        title = click.style("hint:", fg="yellow")
        click.echo(f"{title} {printable_line(hint)}", err=True, color=color)


def canonical_json(value: Any, *, is_indented: bool = False) -> bytes:
    """Returns JSON with sorted keys and no optional blanks, unless it is indented, in UTF-8."""
    from ibidem.objects.block_json import json_default

    text = json.dumps(
        value,
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ": ") if is_indented else (",", ":"),
        indent=2 if is_indented else None,
        allow_nan=False,
        default=json_default,
    )
    return printable_json(text).encode("utf-8")


def pairs(values: Iterable[tuple[str, str]], *, indent: str = "") -> list[str]:
    """Returns `name  value` lines, the names aligned and dimmed."""
    rows = list(values)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{indent}{faint(name.ljust(width))}  {value}" for name, value in rows]

"""What the program writes: text for people, canonical JSON for programs, errors for both.

Data goes to standard output, everything else to standard error. Text that comes out of a repository
is never trusted: control, escape and direction-changing characters are shown, not sent. JSON
carries the exact text, with sorted keys, in UTF-8 whatever the locale says.
"""

from __future__ import annotations

import base64
import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_LINE_BREAKS = re.compile(r"[\t\n]+")


def printable(text: str) -> str:
    """Returns `text` with every character that could steer a terminal written as an escape.

    Line feeds and tabs stay.
    """
    return _UNSAFE.sub(_escape, text)


def one_line(text: str, *, width: int | None = None) -> str:
    """Returns `text` printable on one line, cut to `width` characters with an ellipsis."""
    flat = printable(_LINE_BREAKS.sub(" ", text)).strip()
    return flat if width is None or len(flat) <= width else flat[: width - 1].rstrip() + "…"


def wrapped(text: str, *, width: int) -> list[str]:
    """Returns `text` in lines of at most `width` characters, broken between words."""
    return textwrap.wrap(text, width=width) or [""]


def plural(count: int, noun: str) -> str:
    """Returns `1 node`, `2 nodes`."""
    if count != 1:
        noun = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun}"


def moment(microseconds: int) -> str:
    """Returns a time in UTC as ISO 8601, to the second where it is whole."""
    seconds, rest = divmod(microseconds, 1_000_000)
    fraction = f".{rest:06d}" if rest else ""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"
    except (ValueError, OverflowError, OSError):
        return f"{microseconds} us"


def table(rows: Sequence[Sequence[str]], *, indent: str = "") -> list[str]:
    """Returns aligned lines: every column but the last is padded to its widest cell.

    Styles take no room, and no line ends with blanks.
    """
    if not rows:
        return []
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        padded = (
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)
        )
        lines.append((indent + "  ".join([*padded, row[-1]])).rstrip())
    return lines


def _width(cell: str) -> int:
    return len(click.unstyle(cell))


def say(*lines: str) -> None:
    """Writes lines of human text to standard output."""
    for line in lines:
        click.echo(line)


def note(*lines: str) -> None:
    """Writes lines that are not data to standard error."""
    for line in lines:
        click.echo(line, err=True)


def strong(text: str) -> str:
    """Returns `text` in bold, where colour is on."""
    return click.style(text, bold=True)


def faint(text: str) -> str:
    """Returns `text` dimmed, where colour is on."""
    return click.style(text, dim=True)


def good(text: str) -> str:
    """Returns `text` in green, where colour is on."""
    return click.style(text, fg="green")


def bad(text: str) -> str:
    """Returns `text` in red, where colour is on."""
    return click.style(text, fg="red")


def emit(command: str, fields: Mapping[str, Any], *, version: int = 1) -> None:
    """Writes one object of the schema `ibidem/<command>/<version>` to standard output."""
    click.echo(canonical_json({"schema": f"ibidem/{command}/{version}", **fields}))


def emit_error(kind: str, message: str, hint: str | None) -> None:
    """Writes one object of the schema `ibidem/error/1` to standard error."""
    body = {"schema": "ibidem/error/1", "kind": kind, "message": message, "hint": hint}
    click.echo(canonical_json(body), err=True)


def print_error(message: str, hint: str | None, *, color: bool) -> None:
    """Writes an error and what to do next to standard error."""
    title = click.style("error:", fg="red", bold=True)
    click.echo(f"{title} {printable(message)}", err=True, color=color)
    if hint:
        title = click.style("hint:", fg="yellow")
        click.echo(f"{title} {printable(hint)}", err=True, color=color)


def canonical_json(value: Any) -> bytes:
    """Returns JSON with sorted keys and no spare blanks, in UTF-8."""
    text = json.dumps(
        value,
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
        default=_plain,
    )
    return text.encode("utf-8", "backslashreplace")


def pairs(values: Iterable[tuple[str, str]], *, indent: str = "") -> list[str]:
    """Returns `name  value` lines, the names aligned and dimmed."""
    rows = list(values)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{indent}{faint(name.ljust(width))}  {value}" for name, value in rows]


def _escape(match: re.Match[str]) -> str:
    point = ord(match.group())
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"


def _plain(value: object) -> object:
    """Writes what JSON lacks as DAG-JSON does: links and bytes under the key `/`."""
    if isinstance(value, bytes | bytearray | memoryview):
        body = base64.b64encode(bytes(value)).decode("ascii").rstrip("=")
        return {"/": {"bytes": body}}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | frozenset | set):
        return list(value)
    return str(value)

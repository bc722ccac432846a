"""Front matter: the `key: value` lines between two `---` lines at the top of a Markdown file.

A strict, small subset of YAML, read without a YAML library: scalars and lists of scalars, one
level. Anything else is kept in the source, sets no property, and is reported: once for each file,
with the first such line. The source text is never lost: it is the document's first lead.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import field

from ibidem.objects.record import record

FRONT_MATTER_CHARS_MAX = 32_768
"""Longer front matter is read as ordinary text: it would crowd the document's block."""

Scalar = bool | int | float | str

_FENCED = re.compile(
    r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_ENTRY = r"([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?:[ \t]+(.*))?$"
_ITEM = r"[ \t]*-[ \t]+(.*)$"
_INTEGER = r"-?(?:0|[1-9][0-9]{0,17})"
_FLOAT = r"-?[0-9]{1,17}\.[0-9]{1,17}(?:[eE][+-]?[0-9]{1,2})?"
_FLOW_ITEM = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^,\[\]{}\"']*)\s*(?:,|$)")
_COMMENT = r"(?:^|[ \t])#.*$"
_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


@record(frozen=False)
class FrontMatter:
    """The front matter that was read; `stop` is the offset of the body (0 without front matter)."""

    stop: int = 0
    values: dict[str, Scalar | list[Scalar]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def read_front_matter(source: str, start: int = 0) -> FrontMatter:
    """Returns the front matter that begins at `start`, empty if there is none.

    >>> read_front_matter('---\\ntitle: A "b"\\ntags: [x, y]\\n---\\nBody').values
    {'title': 'A "b"', 'tags': ['x', 'y']}
    """
    result = FrontMatter(stop=start)
    match = _FENCED.match(source, start)
    if match is None:
        return result
    if match.end() - start > FRONT_MATTER_CHARS_MAX:
        result.warnings.append(
            f"front matter: {match.end() - start} characters, at most {FRONT_MATTER_CHARS_MAX}; "
            "read as text"
        )
        return result
    result.stop = match.end()
    _read_lines(match[1].split("\n"), result)
    return result


def _read_lines(lines: list[str], result: FrontMatter) -> None:
    key: str | None = None
    unread: list[str] = []
    for number, raw in enumerate(lines, start=2):
        line = raw.rstrip(" \t\r")
        if not line or line.lstrip(" \t").startswith("#"):
            continue
        try:
            item = re.match(_ITEM, line)
            if item is not None and key is not None:
                value = _scalar(item[1])
                values = result.values.setdefault(key, [])
                assert isinstance(values, list), "BUG: an open key holds a list"
                values.append(value)
                continue
            key = _read_entry(line, result)
        except ValueError as error:
            key = None
            unread.append(f"line {number}: {error}")
    if unread:
        more = f"; so are {len(unread) - 1} more lines" if len(unread) > 1 else ""
        result.warnings.append(f"front matter {unread[0]}; kept as text only{more}")


def _read_entry(line: str, result: FrontMatter) -> str | None:
    """Reads a `key: value` line; returns the key if a list may follow."""
    entry = re.match(_ENTRY, line)
    if entry is None:
        raise ValueError("expected 'key: value' or '- item'")
    key, text = entry[1], entry[2] or ""
    if key in result.values:
        raise ValueError(f"{key!r} is there already")
    if not _is_quoted(text) and re.sub(_COMMENT, "", text).strip() in _NULLS:
        return key if not re.sub(_COMMENT, "", text).strip() else None
    result.values[key] = _flow_list(text) if text.startswith("[") else _scalar(text)
    return None


def _is_quoted(text: str) -> bool:
    return text[:1] in ('"', "'")


def _flow_list(text: str) -> list[Scalar]:
    body = re.sub(_COMMENT, "", text).rstrip()
    if not body.endswith("]"):
        raise ValueError("a list in brackets must close on its line")
    inner, at, values = body[1:-1], 0, list[Scalar]()
    while at < len(inner):
        match = _FLOW_ITEM.match(inner, at)
        if match is None or match.end() == at:
            raise ValueError("only plain values in a list")
        if match[1].strip():
            values.append(_scalar(match[1].strip()))
        at = match.end()
    return values


def _scalar(text: str) -> Scalar:
    """Returns the value of one scalar; raises ValueError for syntax outside the subset."""
    if text[:1] == '"':
        return _double_quoted(text)
    if text[:1] == "'":
        match = re.fullmatch(r"'((?:[^']|'')*)'[ \t]*(?:#.*)?", text)
        if match is None:
            raise ValueError("quote that does not close")
        return match[1].replace("''", "'")
    text = re.sub(_COMMENT, "", text).strip()
    if text[:1] in "|>&*!{[%@`" and text:
        raise ValueError(f"{text[:1]!r} begins a form that is not read here")
    if re.search(r":(?:[ \t]|$)", text):
        raise ValueError("nested mapping")
    return _typed(text)


def _double_quoted(text: str) -> str:
    match = re.fullmatch(r"(\"(?:[^\"\\]|\\.)*\")[ \t]*(?:#.*)?", text)
    if match is None:
        raise ValueError("quote that does not close")
    try:
        value = str(json.loads(match[1], strict=False))
        value.encode("utf-8")
    except ValueError:
        raise ValueError("escape that is not read here") from None
    return value


def _typed(text: str) -> Scalar:
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if re.fullmatch(_INTEGER, text) and text != "-0":
        return int(text)
    if re.fullmatch(_FLOAT, text):
        number = float(text)
        if math.isfinite(number) and number != 0.0:
            return number
        return 0.0 if not text.startswith("-") else text
    return text

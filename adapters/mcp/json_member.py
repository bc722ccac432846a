"""Changes one member of a JSON file that people write by hand, and nothing else in it.

The file may have comments and trailing commas. These are replaced by blanks, which gives standard
JSON with every value at its place; a change is then a change of the text between two places.

>>> text = '{\\n  // servers\\n  "servers": {"other": 1,},\\n}\\n'
>>> print(set_member(text, ("servers", "ibidem"), {"command": "repo"}), end="")
{
  // servers
  "servers": {"other": 1,
    "ibidem": {
      "command": "repo"
    },},
}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str, str]
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()
_INDENT = "  "


@dataclass(frozen=True)
class Member:
    """A member of an object: where its key begins, and its value from `start` to `stop`."""

    key: int
    start: int
    stop: int


def loads(text: str) -> Any:
    """Returns the value of a file; raises `ValueError` if it is malformed."""
    return json.loads(_plain(text) or "{}") if text.strip() else {}


def set_member(text: str, path: Path, value: Mapping[str, Any]) -> str:
    """Returns a file with a member of an object in it set; both are created if they are missing.

    Raises:
        ValueError: the file is malformed, or something else stands there.
    """
    section, name = path
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        text = "{}\n"
    plain = _plain(text)
    top = _open(plain)
    outer = _members(plain, top).get(section)
    if outer is None:
        return _inserted(text, plain, top, section, {name: value}, newline)
    inner = _members(plain, outer.start).get(name)
    if inner is None:
        return _inserted(text, plain, outer.start, name, value, newline)
    written = _dumped(value, _indent_at(text, inner.key), newline)
    return text[: inner.start] + written + text[inner.stop :]


def drop_member(text: str, path: Path) -> str:
    """Returns a file without a member of an object in it; the same if there is none.

    Raises:
        ValueError: the file is malformed.
    """
    if not text.strip():
        return text
    plain = _plain(text)
    outer = _members(plain, _open(plain)).get(path[0])
    members = {} if outer is None else _members(plain, outer.start)
    found = members.get(path[1])
    if found is None:
        return text
    head, stop = text[: found.key].rstrip(), found.stop
    comma = _after(text, stop)
    before = [one.stop for one in members.values() if one.stop <= found.key]
    if text[comma : comma + 1] == ",":
        stop = comma + 1
    elif before:
        comma = _after(text, before[-1])
        head = head[:comma] + head[comma + 1 :]
    is_comment = "//" in head[head.rfind("\n") + 1 :]
    between = "\n" if is_comment and not text[stop:].lstrip(" \t").startswith(("\r", "\n")) else ""
    return head + between + text[stop:]


def _plain(text: str) -> str:
    """Returns standard JSON of the same length."""
    without = _COMMENT.sub(lambda match: match[1] or _blank(match[0]), text.replace("\ufeff", " "))
    return _TOKEN.sub(lambda match: match[0] if match[0][0] == '"' else _blank(match[0]), without)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _open(plain: str) -> int:
    start = _skip(plain, 0)
    if plain[start : start + 1] != "{":
        raise ValueError("it is no object")
    return start


def _members(plain: str, start: int) -> dict[str, Member]:
    """Returns the members of the object at a place, by key."""
    if plain[start : start + 1] != "{":
        raise ValueError("a value stands where the servers belong")
    found: dict[str, Member] = {}
    at = _skip(plain, start + 1)
    while plain[at] != "}":
        key, stop = _DECODER.raw_decode(plain, at)
        colon = _skip(plain, stop)
        begin = _skip(plain, colon + 1)
        _, end = _DECODER.raw_decode(plain, begin)
        if key in found:
            raise ValueError(f"the key {key!r:.60} is there twice")
        found[key] = Member(at, begin, end)
        at = _skip(plain, end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)
    return found


def _inserted(
    text: str, plain: str, start: int, key: str, value: Mapping[str, Any], newline: str
) -> str:
    """Returns the text with a last member in the object at a place."""
    members = _members(plain, start)
    _, stop = _DECODER.raw_decode(plain, start)
    close = stop - 1
    if members:
        first = min(one.key for one in members.values())
        last = max(one.stop for one in members.values())
        is_on_own_line = not text[text.rfind("\n", 0, first) + 1 : first].strip()
        indent = _indent_at(text, first) if is_on_own_line else _indent_at(text, start) + _INDENT
        comma = _after(text, last)
        has_comma = text[comma : comma + 1] == ","
        body = text[last:close].rstrip()
        head = f"{text[:last]}{'' if has_comma else ','}{body}"
        written = f"{newline}{indent}{_member(key, value, indent, newline)}"
        return f"{head}{written}{',' if has_comma else ''}{text[last + len(body) :]}"
    parent = _indent_at(text, start)
    indent = parent + _INDENT
    body = text[start + 1 : close].rstrip()
    written = f"{newline}{indent}{_member(key, value, indent, newline)}{newline}{parent}"
    return text[: start + 1] + body + written + text[close:]


def _member(key: str, value: Mapping[str, Any], indent: str, newline: str) -> str:
    return f"{json.dumps(key)}: {_dumped(value, indent, newline)}"


def _dumped(value: Mapping[str, Any], indent: str, newline: str) -> str:
    lines = json.dumps(value, indent=len(_INDENT), ensure_ascii=False).split("\n")
    return newline.join([lines[0], *(indent + line for line in lines[1:])])


def _skip(plain: str, at: int) -> int:
    match = _SPACE.match(plain, at)
    assert match is not None, "BUG: no white space is white space"
    return match.end()


def _after(text: str, at: int) -> int:
    """Returns the place of the next character that is neither white space nor in a comment."""
    return _skip(_COMMENT.sub(lambda match: match[1] or _blank(match[0]), text), at)


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]

r"""Escapes untrusted text, so that it can neither control a terminal nor be mistaken for other
output.

Control characters (C0, DEL, C1: escape sequences, a carriage return that overwrites a line, a bell)
are shown as escapes, and so are invisible characters, which change the direction of text, join and
separate words, or smuggle text past a reader: those that Unicode calls ignorable by default,
without the two variation selectors that choose between the forms of a pictograph. One list of them
serves all output of the program.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from json import dumps

_INVISIBLE = (
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSAFE = f"[\x00-\x08\x0b-\x1f{_INVISIBLE}]"
_UNSAFE_ON_A_LINE = f"[\x00-\x08\x0a-\x1f{_INVISIBLE}]"
_UNSAFE_IN_JSON = f"[{_INVISIBLE}]"
_LINE_BREAKS = r"[\t\n]+"
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # the zone is written as a letter


def printable(text: str) -> str:
    """Returns `text` with every unsafe character as an escape; line feeds and tabs stay.

    >>> printable("a\\x1b[2Jb\\u202ec")
    'a\\\\x1b[2Jb\\\\u202ec'
    """
    return re.sub(_UNSAFE, _escape, text)


def printable_line(text: str) -> str:
    """Returns `text` with every unsafe character, and every line feed, as an escape."""
    return re.sub(_UNSAFE_ON_A_LINE, _escape, text)


def one_line(text: str, *, width: int | None = None) -> str:
    """Returns `text` printable on one line, with line breaks as spaces, truncated to `width`
    characters with an ellipsis."""
    flat = printable(re.sub(_LINE_BREAKS, " ", text)).strip()
    return flat if width is None or len(flat) <= width else flat[: width - 1].rstrip() + "…"


def printable_json(text: str) -> str:
    """Returns the same JSON value with unsafe characters in strings written as JSON escapes."""
    return re.sub(_UNSAFE_IN_JSON, lambda match: dumps(match[0])[1:-1], text)


def moment(microseconds: int, *, seconds_only: bool = False) -> str:
    """Returns a time in UTC as ISO 8601, without a fraction if it is whole seconds or
    `seconds_only`; a time outside the calendar's range is returned as its number."""
    seconds, rest = divmod(microseconds, 1_000_000)
    fraction = f".{rest:06d}" if rest and not seconds_only else ""
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat() + fraction + "Z"
    except OverflowError:
        return f"{microseconds} us"


def _escape(match: re.Match[str]) -> str:
    point = ord(match.group())
    if point > 0xFFFF:
        return f"\\U{point:08x}"
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"

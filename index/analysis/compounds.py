"""Compound names: options of commands, such as `--all`, and names in parts, such as `push.default`.

Words are what letters make, so `--all` was nothing but a stop word, `-d` a letter, and
`push.default` two words that stand apart elsewhere. Idea: such a name is a symbol too, a term
beside its words. An option keeps its case, because `-d` and `-D` are two options.

Spec: analysis 8.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

COMPOUND_MAX = 64
"""The most code points of a compound name."""
_WORD = "[A-Za-z0-9_]"
_BEFORE = r" \t\r\n`'\"(\[{,;.|/<>="
_EITHER = r"\[no-\]"
_SIGN = re.compile(
    rf"(?:\.(?<={_WORD}\.)|:(?<={_WORD}:):|-(?<![^{_BEFORE}]-)(?:-{_EITHER}|-?))(?={_WORD})"
)
"""What makes a name: a sign between two words, or before one."""
_NAME = re.compile(rf"(?:--?(?:(?<=--){_EITHER})?)?{_WORD}+(?:(?:[-.]|::){_WORD}+)*")
_TWO = re.compile(rf"{_WORD}{{2}}")
_WORD_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


def compound_positions(text: str) -> list[tuple[str, int, int]]:
    """Returns the compound names of a text in text order, each with its half-open range.

    Spec: analysis 8.3.

    >>> text = "`git -C x --[no-]all` and Push.default, e.g. once"
    >>> [name for name, _, _ in compound_positions(text)]
    ['-C', '--all', '--no-all', 'push.default']
    """
    found: list[tuple[str, int, int]] = []
    end = 0
    for sign in _SIGN.finditer(text):
        at = sign.start()
        if at < end:
            continue
        start = at if text[at] == "-" else _begin(text, at, end)
        match = _NAME.match(text, start)
        assert match is not None, "BUG: a sign without a word after it"
        run, end = match[0], match.end()
        if end - start <= COMPOUND_MAX:
            found += [(name, start, end) for name in _names(run)]
    return found


def _names(run: str) -> Iterable[str]:
    """Returns what a run of ASCII stands for: one name, none, or an option and its negation."""
    name = run.removeprefix("--[no-]")
    lower = name.lower()
    if lower == name.upper():  # without a letter
        return ()
    if name != run:
        return f"--{name}", f"--no-{name}"
    if name[0] == "-":
        return (name,)
    return (lower,) if _TWO.search(name) else ()


def _begin(text: str, sign: int, end: int) -> int:
    """Returns where the name begins that a sign is in: at the first of the words before it that
    are joined by hyphens, and not before the end of the last name, nor far before the sign."""
    low = max(end, sign - COMPOUND_MAX)
    start = sign
    while start > low and (
        text[start - 1] in _WORD_CHARACTERS
        or (text[start - 1] == "-" and start < sign and text[start] != "-")
    ):
        start -= 1
    return start + (text[start] == "-")

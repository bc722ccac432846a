"""The searches of a stemmer for one of its strings, such as endings, with one look-up by letter.

Problem: at every letter of a word, the generated stemmers ask which of a list of strings is there,
by a binary search that compares letter by letter. That was two thirds of the time of a stem. Idea:
each list is divided once by the letter that is next to the cursor; most letters have no string.

Invariant: a search finds what that of `snowball/basestemmer.py` finds: the longest string whose
condition, if it has one, holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol


class Entry(Protocol):
    """A string of a list: Snowball's `Among`."""

    s: str
    result: int
    method: Callable[[Any], bool] | None


class _ByLetter(dict[str, list[Entry]]):
    """By letter next to the cursor, the strings that may be there, the longest first."""

    def __init__(self, entries: Sequence[Entry], letter: slice) -> None:
        self[""] = []
        for entry in sorted(entries, key=lambda entry: -len(entry.s)):
            self.setdefault(entry.s[letter], []).append(entry)
        for at in self.keys() - {""}:
            self[at] += self[""]

    def __missing__(self, letter: str) -> list[Entry]:
        return self[""]


class Searches:
    """The two searches, for a class that also inherits from a generated stemmer.

    The lists are attributes of the generated classes, which are never freed, so they are known by
    their addresses.
    """

    current: str
    cursor: int
    limit: int
    limit_backward: int
    _beginnings: ClassVar[dict[int, _ByLetter]] = {}
    _endings: ClassVar[dict[int, _ByLetter]] = {}

    def find_among(self, entries: Sequence[Entry]) -> int:
        """Moves the cursor to the end of the longest string that begins at it, and returns the
        result of that string; 0 if there is none."""
        found = self._beginnings.get(id(entries))
        if found is None:
            found = self._beginnings[id(entries)] = _ByLetter(entries, slice(1))
        word, at = self.current, self.cursor
        for entry in found[word[at : at + 1]]:
            if word.startswith(entry.s, at, self.limit):
                self.cursor = at + len(entry.s)
                if entry.method is None:
                    return entry.result
                if entry.method(self):
                    self.cursor = at + len(entry.s)
                    return entry.result
        return 0

    def find_among_b(self, entries: Sequence[Entry]) -> int:
        """Moves the cursor to the beginning of the longest string that ends at it, and returns the
        result of that string; 0 if there is none."""
        found = self._endings.get(id(entries))
        if found is None:
            found = self._endings[id(entries)] = _ByLetter(entries, slice(-1, None))
        word, at = self.current, self.cursor
        for entry in found[word[at - 1 : at]]:
            if word.endswith(entry.s, self.limit_backward, at):
                self.cursor = at - len(entry.s)
                if entry.method is None:
                    return entry.result
                if entry.method(self):
                    self.cursor = at - len(entry.s)
                    return entry.result
        return 0

"""Which words differ between two texts."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_WORDS_MAX = 400
"""Texts with more words are not compared: the comparison is quadratic."""
_ALIKE_MIN = 0.3
"""Texts that are less alike than this are not compared: hardly a word would be the same."""


def changed_words(before: str, after: str) -> list[tuple[str, str]] | None:
    """Returns both texts in parts, each as it was and as it is; equal parts did not change.

    Returns None if the texts are too long or too different to be compared.

    >>> changed_words("one second, then two", "ten seconds, then two")
    [('one', 'ten'), (' ', ' '), ('second', 'seconds'), (', then two', ', then two')]
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > _WORDS_MAX:
        return None
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _ALIKE_MIN:
        return None
    return [("".join(old[a:b]), "".join(new[c:d])) for _, a, b, c, d in matcher.get_opcodes()]

"""Passages of long messages: the piece of a message that a question is about.

A pasted log or a report is one message, of which a question concerns a few lines. It is split where
a reader would pause, into pieces that overlap, and the best one is shown and cited in its place.
They are computed from the message when it is read, never stored: so nothing is found twice, and
nothing of a message remains when it is erased.

Spec: memory 11.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter

from ibidem.index.analysis import analyse_positions, analyser_of
from ibidem.ingest.chunks import chunks
from ibidem.objects.record import record
from ibidem.retrieve.lexical.words import terms_of

LONG_CHARS = 2000
"""A message with more characters has passages."""


@record
class Passage:
    """A piece of the text of a message."""

    start: int
    stop: int
    """Half-open range of code points."""
    text: str


def best_passage(text: str, question: str, home: str, *, accents: bool = False) -> Passage | None:
    """Returns the passage of a long text with the most of a question: each term of it counts once a
    passage, the more the fewer passages have it; of equal ones, the one with more occurrences, then
    the first. None if the text is not long, or has no term of the question.

    Args:
        home: the home analyser of the text.
        accents: whether the question has the terms of other spellings, too.

    >>> filler = "Nothing of note happened here. " * 100
    >>> best_passage(f"{filler}The gate broke. {filler}", "gate", "english-1").start > 2000
    True
    """
    if len(text) <= LONG_CHARS:
        return None
    analyser = analyser_of(text, home)
    wanted = set(terms_of(question, analyser, accents=accents))
    found = [(start, stop, term) for term, start, stop in analyse_positions(text, analyser)]
    found = sorted(one for one in found if one[2] in wanted)
    ranges = chunks(text)
    counts = [_counts(found, start, stop) for start, stop in ranges]
    having = Counter(term for one in counts for term in one)

    def worth(index: int) -> tuple[int, int, int]:
        one = counts[index]
        rare = sum(1 + len(ranges) - having[term] for term in one)
        return rare, one.total(), -index

    best = max(range(len(ranges)), key=worth)
    start, stop = ranges[best]
    return Passage(start, stop, text[start:stop]) if counts[best] else None


def _counts(found: list[tuple[int, int, str]], start: int, stop: int) -> Counter[str]:
    """Returns how often each term is in a range."""
    begin = bisect(found, (start,))
    end = bisect(found, (stop,))
    return Counter(term for _, last, term in found[begin:end] if last <= stop)

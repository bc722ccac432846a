"""Phrases: documents in which the terms of a quotation stand one directly after the other.

Idea: a posting has the positions of its term. The term at offset i of the phrase, found at position
p, means a phrase that would begin at p - i; documents with the phrase are those in which all terms
agree on a beginning, so one sorted list of (document, beginning) a term is intersected with the
next. Cost: the positions of the phrase's terms in documents that have all of them, which is few.

Spec: retrieval 4.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import ranges
from ibidem.retrieve.lexical.postings import Slots
from ibidem.retrieve.lexical.view import LexicalView
from ibidem.retrieve.protocol import LexicalSegment, Rows

_SHIFT = np.uint64(32)


def with_phrase(
    lexical_view: LexicalView, slots: Slots, phrase: Sequence[str], *, at_start: bool = False
) -> Slots:
    """Returns those of some slots, ascending, whose documents have the phrase.

    Args:
        lexical_view: the rows.
        slots: ascending; each has every term of the phrase.
        phrase: at least one term.
        at_start: whether documents must begin with it.
    """
    ends = slots.searchsorted(
        np.asarray([*lexical_view.starts, lexical_view.size], np.int64)
    ).tolist()
    found = [np.zeros(0, np.uint32)]
    for segment, start, (first, last) in zip(
        lexical_view.segments, lexical_view.starts, pairwise(ends), strict=True
    ):
        rows = slots[first:last] - np.uint32(start)
        if rows.shape[0]:
            found.append(rows[_matching(segment, rows, phrase, at_start)] + np.uint32(start))
    return np.concatenate(found)


def _matching(
    segment: LexicalSegment, rows: Rows, phrase: Sequence[str], at_start: bool
) -> npt.NDArray[np.intp]:
    """Returns the indices of `rows` that have the phrase."""
    starts = _starts_of(segment, rows, phrase[0], 0)
    for offset, term in enumerate(phrase[1:], 1):
        other_starts = _starts_of(segment, rows, term, offset)
        nearest = np.minimum(other_starts.searchsorted(starts), max(0, other_starts.shape[0] - 1))
        starts = starts[other_starts[nearest] == starts] if other_starts.shape[0] else other_starts
    if at_start:
        starts = starts[(starts << _SHIFT) == 0]
    has_phrase = np.zeros(rows.shape[0], np.bool_)
    has_phrase[(starts >> _SHIFT).astype(np.intp)] = True
    return np.flatnonzero(has_phrase)


def _starts_of(
    segment: LexicalSegment, rows: Rows, text: str, offset: int
) -> npt.NDArray[np.uint64]:
    """Returns where a phrase would begin for a term to stand `offset` terms into it.

    Each is (index in `rows`) << 32 | position; ascending.
    """
    term = segment.term(text)
    assert term is not None, "BUG: the rows have every term of the phrase"
    ends, positions = term.positions()
    postings = term.rows.searchsorted(rows)
    counts = term.frequencies[postings].astype(np.int64)
    found = positions[ranges(ends[postings] - counts, counts)].astype(np.uint64)
    places = np.repeat(np.arange(rows.shape[0], dtype=np.uint64), counts)
    fits = found >= offset
    return (places[fits] << _SHIFT) | (found[fits] - np.uint64(offset))

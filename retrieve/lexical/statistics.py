"""What BM25 knows of a collection: how many nodes of a view have text, and how much.

The segments have counted their rows, so the cost follows the rows that are hidden, not all rows.

Spec: retrieval 4.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ibidem.index.analysis import ANALYSERS
from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet, cached
from ibidem.retrieve.lexical import tuning
from ibidem.retrieve.protocol import Bools, LexicalSegment

ANALYSER_SHARE = 64
"""An analyser of fewer documents than one in this many is asked only for words that no document
has: a few quotations in another language do not change what the other words of a question match."""
_PART, _ANALYSERS = "documents", "documents by analyser"
"""Names in the cache of a segment."""


@record
class Statistics:
    """What BM25 knows of a collection: the view's nodes that have at least one term."""

    documents: int
    terms: int
    """Their lengths, added up."""
    longest: int
    """No row is longer."""
    by_analyser: Mapping[int, int]
    """By position in `ANALYSERS`, how many documents have terms by it."""
    masks: Mapping[str, Bools]
    """By name of the segment, the rows that count; those where all do are left out."""
    gone: Mapping[str, npt.NDArray[np.intp]]
    """Likewise the rows that do not, ascending, where these are few."""

    @property
    def analysers(self) -> tuple[str, ...]:
        """Those of at least one document in `ANALYSER_SHARE`, in the order of `ANALYSERS`."""
        counts, least = self.by_analyser, self.documents
        return tuple(
            ANALYSERS[one] for one in sorted(counts) if counts[one] * ANALYSER_SHARE >= least
        )

    @property
    def every_analyser(self) -> tuple[str, ...]:
        """Those of any document, in the order of `ANALYSERS`."""
        return tuple(ANALYSERS[one] for one in sorted(self.by_analyser) if self.by_analyser[one])

    @property
    def mean_length(self) -> float:
        """The average length, rounded once."""
        return self.terms / self.documents


def statistics_of(view: NodeSet, *, include_tombstoned: bool) -> Statistics:
    """Returns the statistics of a view, computed once a snapshot."""

    def build() -> Statistics:
        documents = terms = longest = 0
        masks: dict[str, Bools] = {}
        gone: dict[str, npt.NDArray[np.intp]] = {}
        held: Counter[int] = Counter()
        for segment in view.snapshot.lexical:
            mask = view.mask(segment)
            part = _part_of(segment, mask)
            documents, terms = documents + part.documents, terms + part.terms
            longest = max(longest, segment.counted[2])
            held.update(part.by_analyser)
            if mask is not None and part.is_narrowed:
                masks[segment.name] = mask
            if part.gone is not None:
                gone[segment.name] = part.gone
        return Statistics(documents, terms, longest, dict(held), masks, gone)

    return cached(view.snapshot, ("lexical", include_tombstoned), build)


@record
class _Part:
    """What one segment contributes."""

    documents: int
    terms: int
    by_analyser: Mapping[int, int]
    is_narrowed: bool
    """Whether some rows do not count."""
    gone: npt.NDArray[np.intp] | None
    """These rows, ascending, where they are few."""


def _part_of(segment: LexicalSegment, mask: Bools | None) -> _Part:
    """Returns what the rows of a mask contribute. That of all live rows is cached with the segment:
    most commits leave the live rows of most segments as they are."""
    held: tuple[Bools | None, _Part] | None = segment.cache.get(_PART)
    if held is not None and held[0] is mask:
        return held[1]
    found = _counted_part(segment, mask)
    if mask is segment.live:
        segment.cache[_PART] = mask, found
    return found


def _counted_part(segment: LexicalSegment, mask: Bools | None) -> _Part:
    documents, terms, _ = segment.counted
    if mask is None:
        return _Part(documents, terms, analysers_of(segment), False, None)
    out = mask.shape[0] - int(np.count_nonzero(mask))
    if out == 0:
        return _Part(documents, terms, +analysers_of(segment), False, None)
    if out * tuning.ABSENT_LIST_SHARE < mask.shape[0]:
        gone = np.flatnonzero(~mask)
        lengths = segment.lengths[gone]
        documents -= int(np.count_nonzero(lengths))
        terms -= int(lengths.sum(dtype=np.uint64))
        by_analyser = Counter(analysers_of(segment))
        by_analyser.subtract(_counts(segment.analysers[gone[lengths > 0]]))
        return _Part(documents, terms, +by_analyser, True, gone)
    full = documents == mask.shape[0]
    left_out = _left_out(segment.lengths, ~mask, out if full else None)
    by_analyser = _counts(segment.analysers[(segment.lengths > 0) & mask])
    return _Part(documents - left_out[0], terms - left_out[1], by_analyser, True, None)


def analysers_of(segment: LexicalSegment) -> Counter[int]:
    """Returns by position in `ANALYSERS` how many rows have terms by it; cached with the
    segment."""
    found: Counter[int] | None = segment.cache.get(_ANALYSERS)
    if found is None:
        analysers = segment.analysers
        if analysers.shape[0] and not (analysers != analysers[0]).any():
            found = Counter({int(analysers[0]): segment.counted[0]})
        else:
            found = _counts(analysers[segment.lengths > 0])
        segment.cache[_ANALYSERS] = found
    return found


def _counts(analysers: npt.NDArray[np.uint8]) -> Counter[int]:
    counts = np.bincount(analysers).tolist()
    return Counter({one: count for one, count in enumerate(counts) if count})


def _left_out(
    lengths: npt.NDArray[np.uint32], rows: Bools, documents: int | None
) -> tuple[int, int]:
    """Returns how many of some rows are documents, unless it is given, and the sum of their
    lengths.

    Chunks stay in a near cache, so the rows are not copied.
    """
    step = tuning.LENGTHS_CHUNK_ROWS
    held = np.empty(step, np.uint32)
    count = terms = 0
    for start in range(0, rows.shape[0], step):
        part = rows[start : start + step]
        kept = np.multiply(lengths[start : start + step], part, out=held[: part.shape[0]])
        if documents is None:
            count += int(np.count_nonzero(kept))
        terms += int(np.add.reduce(kept, dtype=np.uint64))
    return count if documents is None else documents, terms

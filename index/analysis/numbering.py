"""The terms of many texts as numbers: the form of `analyse` that builds an index.

The terms of a chunk depend on the chunk alone, so chunks are numbered first (`chunks.py`), and each
chunk number selects a row of a table of term numbers. The terms of a text are those of `analyse`,
in its order.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ibidem.index.analysis.analyser import analyse, folded, remembered_terms
from ibidem.index.analysis.chunks import ChunkNumbers
from ibidem.index.arrays import ranges

_CHUNKS_MAX = 1 << 18
_CHUNK_BYTES_MAX = 1 << 24
"""The largest number of chunks that are cached, and of their bytes."""
_FEW_TEXTS = 8
_WHOLE = "\x01"
"""Prefix of a chunk that keeps its stop words; it does not occur in folded text."""

Numbers = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int64]


class TermNumbering:
    """Numbers of terms: each new term gets the next one."""

    def __init__(self, analyser: str) -> None:
        """Creates an empty numbering.

        Raises:
            FormatError: `analyser` is unknown (kind unsupported-semantics).
        """
        self._analyser = analyser
        self._terms, self._whole_terms = remembered_terms(analyser)
        self._numbers: dict[str, int] = {}
        self._forget_chunks()

    @property
    def vocabulary(self) -> dict[bytes, int]:
        """The terms in UTF-8 and their numbers."""
        return {term.encode(): number for term, number in self._numbers.items()}

    def numbers(self, texts: Sequence[str]) -> tuple[Numbers, Counts]:
        """Returns the numbers of the terms of all texts, (t,) in order, and how many each text
        has, (n,)."""
        if len(texts) <= _FEW_TEXTS:
            return self._one_by_one(texts)
        if len(self._chunks) > _CHUNKS_MAX or self._chunk_bytes > _CHUNK_BYTES_MAX:
            self._forget_chunks()
        parts = [folded(text).encode() for text in texts]
        numbers, counts, chunk_counts = self._numbered(parts)
        if self._whole_terms is None or bool((counts[chunk_counts > 0] > 0).all()):
            return numbers, counts
        # Texts of nothing but stop words keep them.
        mark = _WHOLE.encode()
        for index in np.flatnonzero((counts == 0) & (chunk_counts > 0)).tolist():
            parts[index] = b" ".join(mark + chunk for chunk in parts[index].split())
        return self._numbered(parts)[:2]

    def _one_by_one(self, texts: Sequence[str]) -> tuple[Numbers, Counts]:
        """Does the same for a few texts, where numbering their chunks first would not pay off."""
        found = [analyse(text, self._analyser) for text in texts]
        known = self._numbers
        numbers = [known.setdefault(term, len(known)) for terms in found for term in terms]
        return np.array(numbers, np.uint32), np.array([len(terms) for terms in found], np.int64)

    def _numbered(self, parts: Sequence[bytes]) -> tuple[Numbers, Counts, Counts]:
        chunks, begins = self._chunks.numbers(b" ".join(parts))
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths + 1)])
        bounds = np.searchsorted(begins, edges)
        ends = np.frombuffer(self._ends, np.uint32).astype(np.int64)
        items = np.frombuffer(self._items, np.uint32) if self._items else np.empty(0, np.uint32)
        starts, counts = ends[chunks], np.diff(ends)[chunks]
        if bool((counts == 1).all()):
            return items[starts], np.diff(bounds), np.diff(bounds)
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])[bounds]
        return items[ranges(starts, counts)], np.diff(sums), np.diff(bounds)

    def _forget_chunks(self) -> None:
        self._chunks = ChunkNumbers(self._meet)
        self._chunk_bytes = 0
        self._items, self._ends = array("I"), array("I", [0])

    def _meet(self, chunk: str) -> None:
        """Records the terms of a new chunk."""
        self._chunk_bytes += len(chunk)
        if chunk[0] == _WHOLE:
            assert self._whole_terms is not None, "BUG: asked of analysers with stop words alone"
            terms = self._whole_terms[chunk[1:]]
        else:
            terms = self._terms[chunk]
        numbers = self._numbers
        for term in terms:
            self._items.append(numbers.setdefault(term, len(numbers)))
        self._ends.append(len(self._items))

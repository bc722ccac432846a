"""The terms of many texts as numbers: the form of `analyse` that builds an index.

The terms of a chunk depend on the chunk and the analyser alone, so chunks are numbered first
(`chunks.py`), and each chunk number selects a row of a table of term numbers, one table for each
analyser. The analyser of a text is that of `analyser_of`, its terms are those of `analyse`, in its
order.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from itertools import compress

import numpy as np
import numpy.typing as npt

from ibidem.index.analysis.analyser import (
    ANALYSERS,
    UNICODE,
    TermCache,
    analyse,
    analyser_of,
    analyser_of_chunks,
    folded_bytes,
    remembered_terms,
)
from ibidem.index.analysis.chunks import ChunkNumbers
from ibidem.index.analysis.language import languages_by_word
from ibidem.index.analysis.sieve import possible_symbols
from ibidem.index.analysis.symbols import symbols_of
from ibidem.index.analysis.words import folded_words
from ibidem.index.arrays import ranges

_CHUNKS_MAX = 1 << 18
_CHUNK_BYTES_MAX = 1 << 24
"""The largest number of chunks that are cached, and of their bytes."""
_FEW_TEXTS = 8

Numbers = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int64]
Choices = npt.NDArray[np.uint8]
"""(n,) positions in `ANALYSERS`."""


@cache
def _margins(home: str) -> dict[str, int]:
    """Returns the most that each stop word can speak for a language other than the repository's."""
    return {
        word: any(one != home for one in spoken) - (home in spoken)
        for word, spoken in languages_by_word().items()
    }


class TermNumbering:
    """Numbers of terms: each new term gets the next one."""

    def __init__(self, analyser: str) -> None:
        """Creates an empty numbering.

        Args:
            analyser: the repository's.

        Raises:
            FormatError: `analyser` is unknown (kind unsupported-semantics).
        """
        remembered_terms(analyser)
        self._home = analyser
        self._margin = _margins(analyser.removesuffix("-1"))
        self._numbers: dict[str, int] = {}
        self._forget_chunks()

    def __len__(self) -> int:
        return len(self._numbers)

    def vocabulary(self, numbers: Numbers) -> tuple[dict[bytes, int], Numbers]:
        """Returns the terms in UTF-8 that have some of the given numbers, (t,), with new numbers
        without gaps, and the new number of each, (t,); safe while another thread adds terms."""
        is_used = np.bincount(numbers) > 0
        renumbered = np.cumsum(is_used, dtype=np.uint32) - np.uint32(1)
        terms = compress(list(self._numbers), is_used.tolist())
        return {term.encode(): new for new, term in enumerate(terms)}, renumbered[numbers]

    def numbers(
        self, texts: Sequence[str], homes: Sequence[str]
    ) -> tuple[Numbers, Counts, Choices]:
        """Returns the numbers of the terms of all texts, (t,) in order, how many each text has,
        (n,), and its analyser.

        Args:
            homes: the home analyser of each text.
        """
        if len(texts) <= _FEW_TEXTS:
            return self._one_by_one(texts, homes)
        if len(self._chunks) > _CHUNKS_MAX or self._chunk_bytes > _CHUNK_BYTES_MAX:
            self._forget_chunks()
        parts = [folded_bytes(text) for text in texts]
        chunks, begins = self._chunks.numbers(b" ".join(parts), self._meet)
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths + 1)])
        bounds = np.searchsorted(begins, edges)
        choices = self._choices(chunks, bounds, homes)
        first = int(choices[0])
        if bool((choices == first).all()):
            numbers, counts = self._numbered(chunks, bounds, first)
        else:
            numbers, counts = self._mixed(chunks, bounds, choices)
        return numbers, counts, choices

    def symbols(self, texts: Sequence[str], lengths: Counts) -> tuple[Numbers, Counts]:
        """Returns the numbers of the symbols of all texts, (s,) in order, and how many each text
        has, (n,); those of texts without terms, whose `lengths` are 0, do not count."""
        known = self._numbers
        found = [
            symbols_of(text, may_have) if length else []
            for text, length, may_have in zip(
                texts, lengths.tolist(), possible_symbols(texts), strict=True
            )
        ]
        numbers = [known.setdefault(symbol, len(known)) for one in found for symbol in one]
        return np.array(numbers, np.uint32), np.array([len(one) for one in found], np.int64)

    def _one_by_one(
        self, texts: Sequence[str], homes: Sequence[str]
    ) -> tuple[Numbers, Counts, Choices]:
        """Does the same for a few texts, where numbering their chunks first would not pay off."""
        chosen = [analyser_of(text, home) for text, home in zip(texts, homes, strict=True)]
        found = [analyse(text, analyser) for text, analyser in zip(texts, chosen, strict=True)]
        known = self._numbers
        numbers = [known.setdefault(term, len(known)) for terms in found for term in terms]
        return (
            np.array(numbers, np.uint32),
            np.array([len(terms) for terms in found], np.int64),
            np.array([ANALYSERS.index(analyser) for analyser in chosen], np.uint8),
        )

    def _choices(self, chunks: Numbers, bounds: Counts, homes: Sequence[str]) -> Choices:
        """Returns the analyser of each text, given its chunks and its home.

        Each chunk has a margin: the most that it can speak for any other language, less what it
        speaks for the repository's. Only texts in which the sum is positive are looked at closely,
        and those with a home of their own.
        """
        choices = np.full(bounds.shape[0] - 1, ANALYSERS.index(self._home), np.uint8)
        if self._home == UNICODE:
            return choices
        margins = np.zeros(chunks.shape[0] + 1, np.int32)
        np.frombuffer(self._margins, np.int32).take(chunks, out=margins[:-1], mode="clip")
        # The sum of a text without chunks is that of the next chunk, which does no harm.
        is_other = np.add.reduceat(margins, bounds[:-1]) > 0
        is_other |= np.fromiter((one != self._home for one in homes), np.bool_, len(homes))
        for text in np.flatnonzero(is_other).tolist():
            own = [
                self._chunk_texts[one]
                for one in chunks[bounds[text] : bounds[text + 1]].tolist()
                if self._has_vote[one]
            ]
            choices[text] = ANALYSERS.index(analyser_of_chunks(own, homes[text]))
        return choices

    def _mixed(self, chunks: Numbers, bounds: Counts, choices: Choices) -> tuple[Numbers, Counts]:
        """Returns the numbers and counts of texts of several analysers."""
        counts = np.zeros(choices.shape[0], np.int64)
        found = []
        for analyser in sorted(set(choices.tolist())):
            texts = np.flatnonzero(choices == analyser)
            sizes = np.diff(bounds)[texts]
            own = chunks[ranges(bounds[texts], sizes)]
            edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
            numbers, counts[texts] = self._numbered(own, edges, analyser)
            found.append((texts, numbers))
        starts = np.cumsum(counts) - counts
        out = np.empty(int(counts.sum()), np.uint32)
        for texts, numbers in found:
            out[ranges(starts[texts], counts[texts])] = numbers
        return out, counts

    def _numbered(self, chunks: Numbers, bounds: Counts, analyser: int) -> tuple[Numbers, Counts]:
        """Returns the numbers and counts of texts of one analyser."""
        table = self._table(analyser, 0)
        numbers, counts = table.numbers(chunks, bounds)
        sizes = np.diff(bounds)
        empty = np.flatnonzero((counts == 0) & (sizes > 0))
        if not len(empty) or remembered_terms(ANALYSERS[analyser])[1] is None:
            return numbers, counts
        # Texts of nothing but stop words keep them.
        own = chunks[ranges(bounds[empty], sizes[empty])]
        edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[empty])])
        whole, counts[empty] = self._table(analyser, 1).numbers(own, edges)
        starts = (np.cumsum(counts) - counts)[empty]
        out = np.empty(int(counts.sum()), np.uint32)
        is_whole = np.zeros(out.shape[0], np.bool_)
        is_whole[ranges(starts, counts[empty])] = True
        out[is_whole], out[~is_whole] = whole, numbers
        return out, counts

    def _table(self, analyser: int, whole: int) -> _Table:
        key = analyser, whole
        if key not in self._tables:
            terms = remembered_terms(ANALYSERS[analyser])[whole]
            assert terms is not None, "BUG: asked of analysers with stop words alone"
            self._tables[key] = _Table(terms, self._chunk_texts, self._numbers)
        return self._tables[key]

    def _forget_chunks(self) -> None:
        self._chunks = ChunkNumbers()
        self._chunk_bytes = 0
        self._chunk_texts: list[str] = []
        self._margins = array("i")
        self._has_vote = bytearray()
        """(chunks,) 1 for those with a stop word of any language."""
        self._tables: dict[tuple[int, int], _Table] = {}

    def _meet(self, chunk: str) -> None:
        """Records a new chunk."""
        self._chunk_bytes += len(chunk)
        self._chunk_texts.append(chunk)
        margin = self._margin
        if chunk.isalpha() or (chunk.isascii() and "." not in chunk and "'" not in chunk):
            word = chunk.lower()
            self._has_vote.append(word in margin)
            self._margins.append(margin.get(word, 0))
        else:
            votes = [margin[word] for word in folded_words(chunk) if word in margin]
            self._has_vote.append(bool(votes))
            self._margins.append(sum(votes))


class _Table:
    """The terms of chunks under one analyser, found when a chunk is first asked for."""

    def __init__(self, terms: TermCache, chunks: list[str], numbers: dict[str, int]) -> None:
        self._terms, self._chunks, self._numbers = terms, chunks, numbers
        self._items = array("I")
        self._starts = np.zeros(0, np.int32)
        self._counts = np.zeros(0, np.int32)
        """(chunks,) terms of each, -1 where nobody asked yet."""

    def numbers(self, chunks: Numbers, bounds: Counts) -> tuple[Numbers, Counts]:
        """Returns the numbers of the terms of texts, and how many each has.

        Args:
            chunks: of all texts, one after the other.
            bounds: (n + 1,) where those of each text begin, and the end.
        """
        if len(self._counts) < len(self._chunks):
            more = 2 * len(self._chunks) - len(self._counts)
            self._starts = np.concatenate([self._starts, np.zeros(more, np.int32)])
            self._counts = np.concatenate([self._counts, np.full(more, -1, np.int32)])
        counts = self._counts[chunks]
        if int(counts.min(initial=0)) < 0:
            self._fill(np.unique(chunks[counts < 0]).tolist())
            counts = self._counts[chunks]
        starts = self._starts[chunks]
        items = np.frombuffer(self._items, np.uint32) if self._items else np.empty(0, np.uint32)
        if bool((counts == 1).all()):
            return items[starts], np.diff(bounds)
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])[bounds]
        return items[ranges(starts, counts)], np.diff(sums)

    def _fill(self, chunks: Sequence[int]) -> None:
        numbers, texts, items = self._numbers, self._chunks, self._items
        found = [self._terms[texts[chunk]] for chunk in chunks]
        counts = np.fromiter(map(len, found), np.int32, len(found))
        self._starts[chunks] = len(items) + np.cumsum(counts) - counts
        self._counts[chunks] = counts
        items.extend(numbers.setdefault(term, len(numbers)) for terms in found for term in terms)

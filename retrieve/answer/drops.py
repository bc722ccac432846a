"""Ranked nodes that were left out, in rank order, as columns that become objects only when read.

An answer with ten items lists a hundred or more of them, and few callers read them, so they are
kept and encoded as columns.

Spec: retrieval 9.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, overload

import numpy as np

from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.retrieve.answer.cbor_writer import (
    array_of,
    bytes_of,
    count_of,
    head_of,
    real_of,
    text_of,
)
from ibidem.retrieve.numbers import Float64s, Ids

DROPS_LISTED_MAX = 1000
"""The largest number of dropped nodes that are listed one by one; all are counted."""


class DropReason(StrEnum):
    """Why a ranked node is not among the items; a closed list."""

    LIMIT = "limit"
    BUDGET = "budget"
    DEDUPE = "dedupe"
    """It repeats an earlier item; only of a question that leaves such nodes out."""
    HEADINGS = "headings"
    """It is a heading without text; likewise."""


def zero_counts(further: Iterable[DropReason] = ()) -> dict[str, int]:
    """Returns the counts, all 0, of the reasons that every answer counts, and of some further
    ones."""
    return {one.value: 0 for one in (DropReason.LIMIT, DropReason.BUDGET, *further)}


class Drop(NamedTuple):
    """A node that was ranked and left out of the items."""

    id: NodeId
    reason: DropReason
    tokens: int | None
    """Its cost; None if it was not rendered, or was left out for another reason than that."""
    score: float


class Drops(Sequence[Drop]):
    """Some drops one by one, then nodes that were dropped unread, all for one reason."""

    __slots__ = ("_first", "_ids", "_reason", "_scores")

    def __init__(
        self,
        first: Iterable[Drop] = (),
        reason: DropReason = DropReason.LIMIT,
        ids: Ids | None = None,
        scores: Float64s | None = None,
    ) -> None:
        """Stores (n, 16) ids and (n,) scores of the nodes that were not read, without a copy."""
        self._first = tuple(first)
        self._reason = reason
        self._ids = np.zeros((0, ID_BYTES), np.uint8) if ids is None else ids
        self._scores = np.zeros(0, np.float64) if scores is None else scores

    def __len__(self) -> int:
        return len(self._first) + int(self._scores.shape[0])

    @overload
    def __getitem__(self, index: int) -> Drop: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Drop, ...]: ...
    def __getitem__(self, index: int | slice) -> Drop | tuple[Drop, ...]:
        if isinstance(index, slice):
            return tuple(self._at(position) for position in range(*index.indices(len(self))))
        return self._at(range(len(self))[index])

    def __iter__(self) -> Iterator[Drop]:
        return map(self._at, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Drops) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # equal by value, as lists are

    def __repr__(self) -> str:
        return f"Drops({list(self)!r})"

    def written(self) -> bytes:
        """Returns the canonical bytes: an array of [id, reason, tokens, score]."""
        first = [array_of(_parts(drop)) for drop in self._first]
        return b"".join((head_of(4, len(self)), *first, self._unseen()))

    def _at(self, position: int) -> Drop:
        if position < len(self._first):
            return self._first[position]
        position -= len(self._first)
        id_ = NodeId(self._ids[position].tobytes())
        return Drop(id_, self._reason, None, float(self._scores[position]))

    def _unseen(self) -> bytes | bytearray:
        """Returns the columns encoded as rows of equal length, with each part at a fixed offset."""
        if not self._scores.shape[0]:
            return b""
        written = bytearray(_UNSEEN[self._reason] * self._scores.shape[0])
        rows = np.frombuffer(written, _ROWS[self._reason])
        rows["id"], rows["score"] = self._ids.view(_ID)[:, 0], self._scores
        return written


def _parts(drop: Drop) -> list[bytes]:
    id_, reason, tokens, score = drop
    return [bytes_of(id_.raw), text_of(reason), count_of(tokens), real_of(score)]


_ID = np.dtype((np.void, ID_BYTES))
_UNSEEN = {
    reason: array_of(_parts(Drop(NodeId(bytes(ID_BYTES)), reason, None, 0.0)))
    for reason in DropReason
}
"""The template of the row of a node that was not read; id and score are overwritten."""
_ROWS = {
    reason: np.dtype(
        {
            "names": ["id", "score"],
            "formats": [_ID, ">f8"],
            "offsets": [2, len(row) - 8],
            "itemsize": len(row),
        }
    )
    for reason, row in _UNSEEN.items()
}
"""Where id and score are in each template."""

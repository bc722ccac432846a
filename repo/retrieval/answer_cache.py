"""Answers that this process gave: the same question to the same root is not computed again.

An answer is a function of its root and its resolved query, which names the viewer, the time and the
notes that count. So an entry cannot be out of date, and no commit removes one. Only an erasure
does: every entry belongs to the erasures that its graph was opened with, and to the generation of
the receipts, which each erasure on this machine raises; the first look with others drops all.

The least recently used entries are dropped above a number of bytes of the answers' canonical form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.objects.tree import EMPTY_TREE
from ibidem.retrieve.tokens import TokenEstimator

if TYPE_CHECKING:
    from ibidem.objects.cid import TreeCid
    from ibidem.objects.view import View
    from ibidem.retrieve.answer.answer import Answer

Key = tuple[RootCid, CommitCid | None, bytes, TokenEstimator, str | None, str | None]
"""The root, the commit in the receipt, the query, the estimator, which is compared by its identity,
and the agent and the task in the receipt."""
UNREADABLE = -1
"""The generation if it cannot be read: nothing is kept."""


@record
class Lookup:
    """A question, and when its graph was opened."""

    key: Key
    generation: int
    """Of the receipts, in which the graph was opened."""
    view: View
    """In which the graph was found."""


class AnswerCache:
    """The last answers of one process; safe to use from several threads."""

    def __init__(self) -> None:
        """Keeps nothing yet."""
        self._lock = ForkLock()
        self._seq = 0
        """Of the newest view that was looked with."""
        self._erased: tuple[int, TreeCid] = 0, EMPTY_TREE
        """The generation and the erasures of all entries."""
        self._entries: dict[Key, tuple[Answer[Any], int]] = {}
        self.size_bytes = 0
        """Of all entries."""
        self.hit_count = 0
        """Questions that were answered from here."""

    def get(self, lookup: Lookup) -> Answer[Any] | None:
        """Returns the answer to a question, None if there is none."""
        with self._lock:
            found = self._entries.pop(lookup.key, None) if self._is_current(lookup) else None
            if found is None:
                return None
            self._entries[lookup.key] = found
            self.hit_count += 1
            return found[0]

    def put(self, lookup: Lookup, answer: Answer[Any], bytes_max: int) -> None:
        """Keeps an answer with its receipt.

        Args:
            lookup: the question.
            answer: computed over the graph.
            bytes_max: what all entries may have together.
        """
        size = len(answer.to_bytes())
        if size > bytes_max or lookup.generation == UNREADABLE:
            return
        with self._lock:
            if not self._is_current(lookup):
                return
            before = self._entries.pop(lookup.key, None)
            self.size_bytes += size - (0 if before is None else before[1])
            self._entries[lookup.key] = answer, size
            self._shrink(bytes_max)

    def shrink(self, bytes_max: int) -> None:
        """Drops the least recently used entries above a number of bytes."""
        if self.size_bytes > bytes_max:
            with self._lock:
                self._shrink(bytes_max)

    def clear(self) -> None:
        """Drops all entries."""
        with self._lock:
            self._shrink(0)

    def _shrink(self, bytes_max: int) -> None:
        while self.size_bytes > bytes_max:
            _, gone = self._entries.pop(next(iter(self._entries)))
            self.size_bytes -= gone

    def _is_current(self, lookup: Lookup) -> bool:
        """Returns whether no erasure is known here that the graph was opened without; drops what
        is from before one that it was opened with."""
        erased = lookup.generation, lookup.view.erasures
        if lookup.view.seq >= self._seq:
            self._seq = lookup.view.seq
            if erased != self._erased:
                self._erased = erased
                self._shrink(0)
        return erased == self._erased

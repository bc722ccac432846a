"""Answers that this process gave: the same question to the same root is not computed again.

An answer is a function of its root and its resolved query, which names the viewer, the time and the
notes that count. So an entry cannot be out of date, and no commit removes one. Only an erasure
does: every entry has the generation of the receipts in which it was made, which each erasure on
this machine raises, and the first look in another generation drops all.

The least recently used entries are dropped above a number of bytes of the answers' canonical form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.forking import ForkLock

if TYPE_CHECKING:
    from ibidem.retrieve.answer.answer import Answer

Key = tuple[RootCid, CommitCid | None, bytes, int, str | None, str | None]
"""The root, the commit in the receipt, the query, the identity of the estimator object, and the
agent and the task in the receipt."""
UNREADABLE = -1
"""The generation if it cannot be read: nothing is kept."""


class AnswerCache:
    """The last answers of one process; safe to use from several threads."""

    def __init__(self) -> None:
        """Keeps nothing yet."""
        self._lock = ForkLock()
        self._generation = 0
        self._entries: dict[Key, tuple[Answer[Any], int, object]] = {}
        self.size_bytes = 0
        """Of all entries."""
        self.hit_count = 0
        """Questions that were answered from here."""

    def get(self, key: Key, generation: int) -> Answer[Any] | None:
        """Returns the answer of a key, None if there is none of this generation."""
        with self._lock:
            self._renew(generation)
            found = self._entries.pop(key, None)
            if found is None:
                return None
            self._entries[key] = found
            self.hit_count += 1
            return found[0]

    def put(
        self, key: Key, answer: Answer[Any], estimator: object, generation: int, bytes_max: int
    ) -> None:
        """Keeps an answer with its receipt.

        Args:
            key: of the question.
            answer: computed in this generation.
            estimator: kept too, so that no other object has its identity.
            generation: in which the graph was opened.
            bytes_max: what all entries may have together.
        """
        size = len(answer.to_bytes())
        if size > bytes_max or generation == UNREADABLE:
            return
        with self._lock:
            if generation < self._generation:
                return
            self._renew(generation)
            before = self._entries.pop(key, None)
            self.size_bytes += size - (0 if before is None else before[1])
            self._entries[key] = answer, size, estimator
            while self.size_bytes > bytes_max:
                _, gone, _ = self._entries.pop(next(iter(self._entries)))
                self.size_bytes -= gone

    def clear(self) -> None:
        """Drops all entries."""
        with self._lock:
            self._entries.clear()
            self.size_bytes = 0

    def _renew(self, generation: int) -> None:
        if generation != self._generation:
            self._generation = generation
            self._entries.clear()
            self.size_bytes = 0

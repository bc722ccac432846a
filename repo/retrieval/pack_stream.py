"""Packs one by one, each as soon as it is known, and then the answer that they are of."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.context.pack import Pack


class PackStream(Iterator["Pack"]):
    """An iterator of packs; whoever stops early has no answer and leaves no receipt."""

    def __init__(self, steps: Generator[Pack, None, Answer[Pack]]) -> None:
        self._steps = steps
        self.answer: Answer[Pack] | None = None
        """The whole answer, with its receipt, once the iterator has ended; its items are what was
        iterated."""

    def __next__(self) -> Pack:
        """Returns the next pack."""
        try:
            return next(self._steps)
        except StopIteration as end:
            if end.value is not None:
                self.answer = end.value
            raise

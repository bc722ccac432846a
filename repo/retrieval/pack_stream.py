"""Packs one by one, each as soon as it is known, and then the answer that they are of."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.context.pack import Pack
    from ibidem.retrieve.query.query import Query


class PackStream(Iterator["Pack"]):
    """An iterator of packs; whoever stops early has no answer and leaves no receipt."""

    def __init__(
        self, steps: Generator[Pack, None, Answer[Pack]], query: Query | None = None
    ) -> None:
        self._steps = steps
        self.query = query
        """The question, with every option; None if it is resolved with the first pack."""
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

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yields the answer as plain data in lines: `{"item": …}` for each pack as soon as it is
        known, then `{"answer": …}`, which is `to_dict` of the answer with `items` empty. The items
        put there give `to_dict`."""
        for pack in self:
            yield {"item": pack.to_dict()}
        assert self.answer is not None, "BUG: an iterator that has ended has its answer"
        yield {"answer": {**self.answer.to_dict(), "items": []}}

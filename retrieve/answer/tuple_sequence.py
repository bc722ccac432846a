"""Answers that behave as lists: iterated, counted and indexed as the tuple that they contain.

So an empty answer is false, as an empty list is; use `is None` to test whether there is an answer
at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar, overload

T = TypeVar("T", covariant=True)


class TupleSequence(Generic[T]):
    """Contains a tuple, which a subclass names."""

    __slots__ = ()

    @property
    def _listed(self) -> tuple[T, ...]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[T]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, position: int) -> T: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[T, ...]: ...
    def __getitem__(self, position: int | slice) -> T | tuple[T, ...]:
        return self._listed[position]

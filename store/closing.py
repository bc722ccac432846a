"""Base classes of context managers, such as objects that hold files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Ending(ABC):
    """A context manager that is told how its `with` block ended."""

    @abstractmethod
    def _end(self, error: BaseException | None) -> None:
        """Ends the context; `error` is the exception that left the `with` block, None if there was
        none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(error)


class Closing(Ending):
    """A context manager that closes itself on leaving."""

    @abstractmethod
    def close(self) -> None:
        """Releases the resources; closing twice is allowed."""

    def _end(self, error: BaseException | None) -> None:
        self.close()

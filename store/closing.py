"""What everything that is used in a `with` block has in common, such as what holds files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Ending(ABC):
    """A context manager that is told how its `with` block ended."""

    @abstractmethod
    def _end(self, error: BaseException | None) -> None:
        """Ends what was begun; `error` is what the block was left with, None where it was not."""

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
        """Lets go of what is held; closing twice is allowed."""

    def _end(self, error: BaseException | None) -> None:
        self.close()

"""What everything that holds files has in common: leaving its `with` block closes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """A context manager that closes itself on leaving."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Lets go of what is held; closing twice is allowed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

"""A cache for the last argument of a function, compared by identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class IdentityCache(Generic[Key, Value]):
    """A function of one immutable object that caches its last result.

    It serves values derived from a root's configuration, which has no hash and is used many times
    in a row.
    """

    __slots__ = ("_build", "_pair")

    def __init__(self, build: Callable[[Key], Value]) -> None:
        self._build = build
        self._pair: tuple[Key, Value] | None = None

    def __call__(self, key: Key) -> Value:
        """Returns the value for `key`; an error is not cached."""
        pair = self._pair
        if pair is None or pair[0] is not key:
            pair = self._pair = key, self._build(key)
        return pair[1]

"""Which blocks are gone on purpose: what a sender may lack, and a receiver must not take back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ErrorKind

if TYPE_CHECKING:
    from ibidem.store.protocol import Store


def is_erased_in(store: Store) -> Callable[[Cid], bool]:
    """Returns what tells whether a block was erased from a store; its guard knows."""

    def is_erased(cid: Cid) -> bool:
        return getattr(store.guard.missing(cid), "kind", None) is ErrorKind.ERASED

    return is_erased


def refusal_of(store: Store) -> Callable[[Cid], None]:
    """Returns what raises for a block that a store must not take back."""
    return lambda cid: store.guard.refuse((cid,))

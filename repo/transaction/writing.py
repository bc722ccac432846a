"""One way to write: in an open transaction, or in one of its own.

Every writer of the layers above stages its changes in the transaction that `writing` gives it. So a
writer over a repository makes one commit, and several writers over one transaction make one
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol, cast

from ibidem.repo.transaction.transaction import Transaction
from ibidem.repo.viewer.transaction import ViewerTransaction

OPEN = (Transaction, ViewerTransaction)


class Writable(Protocol):
    """Where a transaction can be begun: a repository, or a run."""

    def transaction(
        self, *, author: str, message: str, time: int | datetime | None = None
    ) -> Transaction:
        """Begins a transaction on the current branch."""
        ...


@contextmanager
def writing(
    target: Writable | Transaction,
    *,
    author: str,
    message: str,
    time: int | datetime | None = None,
) -> Iterator[Transaction]:
    """Yields the transaction for some changes: `target` itself, if it is an open one, which is
    committed by its owner; else a new one on the current branch, committed at the end.

    Args:
        author: of the commit, as are `message` and `time`; an open transaction has its own.
    """
    if isinstance(target, OPEN):
        with target.step():
            # A viewer's transaction refuses by itself what he may not.
            yield cast("Transaction", target)
        return
    with target.transaction(author=author, message=message, time=time) as tx:
        yield tx

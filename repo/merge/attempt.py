"""One attempt to change a branch by a merge or by applying commits: what it reads, once, before
anything is decided, and where its blocks go.

Whoever loses the race for the branch begins a new attempt in the state that won.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.record import record
from ibidem.repo.erasure.guard import read_erased
from ibidem.repo.transaction.publish import Tip, move, tip

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid
    from ibidem.objects.commit import Commit
    from ibidem.repo.arguments import CommitInfo
    from ibidem.repo.erasure.guard import Erased
    from ibidem.repo.operation_log import OperationLog
    from ibidem.repo.state import State

T = TypeVar("T")


@record
class Attempt:
    """A branch at one moment, and the blocks that are to change it."""

    operations: OperationLog
    full_name: str
    signature: CommitInfo
    state: State
    tip: Tip
    erased: Erased
    time: int
    """Of the commits and of the operation, in microseconds since 1970 UTC."""
    buffer: WriteBatch

    def move(self, commit: Commit, description: str, *, needs: Iterable[Cid] = ()) -> None:
        """Sets the tip of the branch to a commit, with the blocks in the buffer; `needs` is as in
        `OperationLog.publish`."""
        move(
            self.operations,
            self.state,
            {self.full_name: commit},
            self.buffer,
            description=description,
            author=self.signature.author,
            time=self.time,
            needs=needs,
        )


def attempted(
    operations: OperationLog,
    full_name: str,
    signature: CommitInfo,
    make: Callable[[Attempt], T],
    *,
    dry_run: bool,
) -> T:
    """Returns the result of a function of an attempt; it is called again while others move the
    branch first. A dry run is one attempt, which must not move it."""

    def attempt(state: State) -> T:
        return make(
            Attempt(
                operations,
                full_name,
                signature,
                state,
                tip(operations.store, state, full_name),
                read_erased(operations.store, state.view.erasures),
                operations.time(signature.time),
                WriteBatch(operations.store),
            )
        )

    return attempt(operations.state()) if dry_run else operations.retry(attempt)

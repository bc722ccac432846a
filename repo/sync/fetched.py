"""What was fetched of a remote, compared with the refs of the same names here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.objects.record import record
from ibidem.repo import refs
from ibidem.repo.history.ancestry import commits_between
from ibidem.repo.sync.names import REMOTES

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.state import State


@record
class FetchedRef:
    """A ref of a remote as of the last fetch."""

    name: str
    """Its full name at the remote."""
    target: CommitCid
    ahead_count: int | None
    """The number of commits that only the ref of that name here has; None if there is none."""
    behind_count: int | None
    """The number of commits that only the remote has; None likewise."""


def fetched(core: Core, remote: str) -> tuple[FetchedRef, ...]:
    """Returns the refs of a remote that were fetched, by name; nothing is contacted."""
    prefix = f"{REMOTES}{remote}/"
    return core.operation_log.retry_if_collected(lambda state: _fetched(core, prefix, state))


def _fetched(core: Core, prefix: str, state: State) -> tuple[FetchedRef, ...]:
    found = []
    for name, cid in refs.listed(core.store, state.view, prefix).items():
        here, target = refs.read(core.store, state.view, name), CommitCid(cid.raw)
        counts: tuple[int | None, int | None] = (None, None)
        if here is not None:
            ours = CommitCid(here.target.raw)
            counts = (
                len(commits_between(core.store, (ours,), (target,))),
                len(commits_between(core.store, (target,), (ours,))),
            )
        found.append(FetchedRef(name, target, *counts))
    return tuple(found)

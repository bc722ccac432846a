"""Clone: creates a new repository from a remote, completely or not at all.

It can be opened when everything in it has been checked: a folder is built under a hidden name. All
branches of the remote become branches here, and its current branch the current one.

Spec: sync 6.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.progress import Progress, silent
from ibidem.repo import refs
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.open import open as open_repository
from ibidem.repo.opening import created, location_of, system_clock
from ibidem.repo.repository import Repository
from ibidem.repo.sync.backup import restore
from ibidem.repo.sync.erasures import SentErasures, fetched_erasures
from ibidem.repo.sync.fetch_push import Counted
from ibidem.repo.sync.messages import Bundle
from ibidem.repo.sync.names import NOTES, prefixes, tracking
from ibidem.repo.sync.quarantine import Quarantine
from ibidem.repo.sync.receive import intake
from ibidem.repo.sync.remotes import ORIGIN, RemoteAddress, Remotes, address_of, connected
from ibidem.repo.sync.report import CopyReport, Move, RefMove
from ibidem.repo.view_check import erasure_problem

if TYPE_CHECKING:
    from ibidem.repo.core import Clock
    from ibidem.repo.sync.have_set import HaveSet
    from ibidem.repo.sync.remote import Remote


def clone(
    location: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    token: str | None = None,
    include: Sequence[str] = (),
    author: str = "",
    clock: Clock = system_clock,
) -> Repository:
    """Creates a repository as a copy of another, and opens it.

    The source is recorded as the remote `origin`.

    Args:
        location: the URL of a server or of a repository, a folder with one, or a bundle.
        path: where the new repository will be: a folder, or a URL such as `s3://bucket/prefix`.
        token: for a URL.
        include: out of `notes`, `runs`, `receipts`, `refs`.

    Raises:
        InvalidInputError: a repository exists there already.
        CorruptError, FormatError, NotFoundError: the received data is incomplete or invalid.
        RemoteError: it cannot be reached, or refuses access.
    """
    address = address_of(location)
    clone_from(address, path, token=token, include=include, author=author, clock=clock)
    return open_repository(path, clock=clock)


def clone_from(
    address: RemoteAddress,
    path: str | os.PathLike[str],
    *,
    token: str | None = None,
    include: Sequence[str] = (),
    author: str = "",
    clock: Clock = system_clock,
    progress: Progress = silent,
) -> CopyReport:
    """Creates a repository and returns what was copied; raises as `clone`."""
    location = location_of(path)
    if location.is_folder and os.path.lexists(location.folder):  # before the source is asked
        raise InvalidInputError(
            f"path: {location.folder} exists, expected a folder without a repository"
        )
    with connected(address, token=token) as remote, created(location) as (store, building):
        offered = remote.refs(prefixes(tuple(include)))
        bootstrapped(store, Config.from_map(offered.config), author, clock)
        made = Core(store, building, clock)
        made.progress = progress
        report = _fill(made, remote, offered, author)
        remotes = Remotes(building)
        if not location.is_folder and ORIGIN in remotes.all():  # of an earlier one at this address
            remotes.remove(ORIGIN)
        remotes.add(ORIGIN, address)
    return report


def _fill(made: Core, remote: Remote, offered: Bundle, author: str) -> CopyReport:
    counted = Counted("receiving blocks", made.progress)
    if offered.operation is not None:
        with Quarantine(made, is_unseen=True) as quarantine, remote.fetch((), ()) as blocks:
            quarantine.take(counted.of(blocks))
            moves = restore(made, quarantine, offered.operation)
        return CopyReport(tuple(moves), counted.block_count, counted.size_bytes)
    # Nothing here could be destroyed; erasures are needed to explain missing blocks.
    erasures = fetched_erasures(made, remote, offered.erasures)
    for erasure in erasures:
        problem = erasure_problem(erasure, erasure.key)
        if problem is not None:
            raise CorruptError(f"erasure {erasure.cid}: {problem}")
    SentErasures(tuple(erasures)).carry_out(made)
    targets = [tip.target for tip in offered.refs.values()]
    with (
        remote.fetch(sorted(set(targets)), ()) as blocks,
        intake(made, counted.of(blocks), targets, is_unseen=True) as found,
    ):

        def plan(_: HaveSet, __: WriteBatch) -> list[RefMove]:
            moves = []
            for name, tip in offered.refs.items():
                moves.append(RefMove(name, None, tip.target, Move.CREATED))
                if name.startswith((refs.HEADS, NOTES)):
                    tracked = tracking(ORIGIN, name)
                    moves.append(RefMove(tracked, None, tip.target, Move.CREATED))
            return moves

        moves = found.publish(
            plan, author=author, time=None, description="clone", head=offered.head
        )
    return CopyReport(tuple(moves), counted.block_count, counted.size_bytes)

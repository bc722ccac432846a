"""Copying between repositories: files, remotes, fetch, push and pull."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from ibidem.repo.arguments import checked_path, checked_time
from ibidem.repo.sync import export, fetch_push
from ibidem.repo.sync.files import existing_file, new_file
from ibidem.repo.sync.integrate import import_car, with_pull
from ibidem.repo.sync.remotes import Remotes, connected

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid
    from ibidem.repo.core import Core
    from ibidem.repo.sync.car import CarLimits
    from ibidem.repo.sync.fetched import FetchedRef
    from ibidem.repo.sync.report import CopyReport
    from ibidem.retrieve.access.policy import Viewer

ORIGIN = "origin"


class Sync:
    """Copies to and from other repositories."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @cached_property
    def remotes(self) -> Remotes:
        """The named remotes: listing, adding and removing them."""
        return Remotes(self._core.folder)

    def export(
        self,
        file: str | os.PathLike[str] | IO[bytes],
        *,
        branches: Sequence[str] = (),
        since: object = None,
        include: Sequence[str] = (),
        full: bool = False,
    ) -> CopyReport:
        """Writes a bundle of all blocks reachable from the refs; the same state gives the same
        bytes.

        Args:
            file: a path of a new file, or a file open for writing.
            branches: short names; if given, only these, and no tags.
            since: a revision; its history is left out, and importing needs it.
            include: out of `notes`, `runs`, `receipts`, `refs`.
            full: includes the operation log and everything it can undo to; for a backup to
                restore with `ibidem.clone`.

        Raises:
            InvalidInputError: the file exists already.
            StorageError: a disk error; no file is left under the name.
        """
        with _written(file) as stream:
            return export.export(
                self._core,
                stream,
                branches=branches,
                since=since,
                include=include,
                full=full,
            )

    def export_part(
        self,
        file: str | os.PathLike[str] | IO[bytes],
        *,
        at: object = "HEAD",
        label: str | None = None,
        viewer: Viewer | None = None,
        branch: str | None = None,
    ) -> CopyReport:
        """Writes a bundle with one commit: only the selected or visible nodes, with their edges and
        vectors.

        Args:
            at: the revision whose state is written; its history is not.
            label: only nodes of this type.
            viewer: the caller who will read it, if the state has a trust policy.
            branch: the branch of the commit in the file; by default the current one.
        """
        with _written(file) as stream:
            return export.export_part(
                self._core, stream, at=at, label=label, viewer=viewer, branch=branch
            )

    def load(
        self,
        file: str | os.PathLike[str] | IO[bytes],
        *,
        branch: str | None = None,
        limits: CarLimits | None = None,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CopyReport:
        """Imports a file, completely or not at all. Branches and notes are created, fast-forwarded
        or merged; other refs are created if missing.

        Args:
            branch: for the commit of a CAR that is not a bundle.

        Raises:
            CorruptError, FormatError, NotFoundError: the file is incomplete or invalid.
        """
        with _read(file) as stream:
            return import_car(
                self._core,
                stream,
                branch=branch,
                limits=limits,
                author=author,
                time=checked_time(time),
            )

    def fetch(
        self,
        remote: str = ORIGIN,
        *,
        include: Sequence[str] = (),
        force: bool = False,
        token: str | None = None,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CopyReport:
        """Copies the refs of a remote; its branches become `remotes/NAME/heads/…` here.

        Args:
            include: out of `notes`, `runs`, `receipts`, `refs`.
            force: also accepts branches that the remote rolled back or rewrote.
            token: for a URL; by default the one in the remote's token file.

        Raises:
            ConflictError: kind `not-fast-forward`.
            RemoteError: it cannot be reached, or refuses access.
        """
        moment = checked_time(time)
        with connected(self.remotes.get(remote), token=token) as there:
            report, sent = fetch_push.fetch(
                self._core,
                there,
                remote,
                include=include,
                force=force,
                author=author,
                time=moment,
            )
        sent.carry_out(self._core, author=author, time=moment)
        return report

    def fetched(self, remote: str = ORIGIN) -> tuple[FetchedRef, ...]:
        """Returns the refs of a remote as of the last fetch, compared with those of the same names
        here; nothing is contacted.

        Raises:
            NotFoundError: there is no remote of that name.
        """
        self.remotes.get(remote)
        from ibidem.repo.sync.fetched import fetched

        return fetched(self._core, remote)

    def pull(
        self,
        remote: str = ORIGIN,
        *,
        include: Sequence[str] = (),
        token: str | None = None,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CopyReport:
        """Fetches, and merges the remote's branch of the same name into the current one, and its
        notes if they are included. Diverged branches get a merge commit, whose root lists the
        conflicts.
        """
        moment = checked_time(time)
        with connected(self.remotes.get(remote), token=token) as there:
            report, sent = fetch_push.fetch(
                self._core, there, remote, include=include, author=author, time=moment
            )
        try:
            full_name = self._core.operation_log.state().view.head
            return with_pull(self._core, report, remote, full_name, author=author, time=moment)
        finally:
            # Only now: the branch here may have come to what the erasure left there.
            sent.carry_out(self._core, author=author, time=moment)

    def push(
        self,
        remote: str = ORIGIN,
        names: Sequence[str] = (),
        *,
        delete: Sequence[str] = (),
        force: bool = False,
        expect: Mapping[str, Cid | None] | None = None,
        token: str | None = None,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CopyReport:
        """Updates refs of a remote to their state here, all or none.

        Args:
            names: branches, or full names such as `tags/v1`; by default the current branch.
            delete: refs to delete on the remote; needs `force`.
            force: allows a ref to lose commits, if it is still at the commit last known here.
            expect: the expected commits, by full name, of refs never fetched here.

        Raises:
            ConflictError: kind `not-fast-forward`, or `head-moved` when somebody else was first.
            InvalidInputError: kind `forgotten`: a state has a node that the remote has erased.
        """
        changes = fetch_push.chosen(self._core, names, delete)
        with connected(self.remotes.get(remote), token=token) as there:
            return fetch_push.push(
                self._core,
                there,
                remote,
                changes,
                force=force,
                expected=expect,
                author=author,
                time=checked_time(time),
            )


@contextmanager
def _written(file: str | os.PathLike[str] | IO[bytes]) -> Iterator[Any]:
    """Opens a file that appears under its name, complete, only on success."""
    if hasattr(file, "write"):
        yield file
        return
    with new_file(checked_path("file", file)) as stream:
        yield stream


@contextmanager
def _read(file: str | os.PathLike[str] | IO[bytes]) -> Iterator[Any]:
    if hasattr(file, "read"):
        yield file
        return
    with existing_file(checked_path("file", file)) as stream:
        yield stream

"""Moves refs here to targets from elsewhere: created, moved forward, merged, or left unchanged.

A pull integrates the refs fetched from a remote, an import those in a file.

Spec: sync 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ConflictError, InvalidInputError, NotFoundError
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree
from ibidem.objects.view import target_class
from ibidem.repo import refs
from ibidem.repo.arguments import CommitInfo, commit_of
from ibidem.repo.erasure.guard import NOTHING_ERASED, Erased, read_erased
from ibidem.repo.maintenance.cleaned import cleaned_commit
from ibidem.repo.merge.base import common_root
from ibidem.repo.merge.three_way import merge_to_commit
from ibidem.repo.sync.erasures import SentErasures, is_erased_in
from ibidem.repo.sync.fetch_push import Counted
from ibidem.repo.sync.have_set import HaveSet
from ibidem.repo.sync.messages import Bundle, Opened
from ibidem.repo.sync.missing_blocks import kind_of
from ibidem.repo.sync.names import NOTES, check_ref, tracking
from ibidem.repo.sync.quarantine import Quarantine
from ibidem.repo.sync.receive import Intake, check_moves, comes_after, how_to_move, sent_erasures
from ibidem.repo.sync.report import CopyReport, Move, RefMove

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.objects.view import View
    from ibidem.repo.core import Core
    from ibidem.repo.signing.key import SigningKey
    from ibidem.repo.state import State
    from ibidem.repo.sync.car import CarLimits, Readable
    from ibidem.repo.sync.have_set import HaveSet


@record
class Merger:
    """Author, time and other inputs of the merge commits."""

    author: str
    time: int
    """Microseconds since 1970 UTC."""
    origin: str
    """The origin of the other side, for the commit message."""
    key: SigningKey | None = None
    """Signs the merge commits."""
    agent: str | None = None
    task: str | None = None
    erased: Erased = NOTHING_ERASED
    """What was erased here, and is removed from received states."""

    def signature(self, message: str) -> CommitInfo:
        """Returns the signature of a commit."""
        return CommitInfo(self.author, message, self.time, self.agent, self.task, self.key)


def integrated(
    name: str, before: Cid | None, theirs: Cid, buffer: WriteBatch, merger: Merger
) -> RefMove:
    """Returns the move that integrates a target from elsewhere into a ref here.

    Args:
        name: full name of the ref.
        before: its target here; None if it does not exist.
        theirs: the target from elsewhere.
        buffer: reads both sides, and receives the blocks of a merge.
        merger: the inputs of a merge commit.
    """
    if not name.startswith((refs.HEADS, NOTES)):
        try:
            how = how_to_move(buffer, name, before, theirs, force=False)
        except ConflictError:
            return RefMove(name, before, before, Move.KEPT)
        return RefMove(name, before, theirs, how)
    if before == theirs or (before is not None and comes_after(buffer, before, theirs)):
        return RefMove(name, before, before, Move.UNCHANGED)
    if before is None or comes_after(buffer, theirs, before):
        said, tip = merger.signature(""), CommitCid(theirs.raw)
        after = cleaned_commit(buffer, tip, merger.erased, said, merger.time)
        return RefMove(name, before, after, Move.CREATED if before is None else Move.FORWARDED)
    merged = _joined(name, CommitCid(before.raw), CommitCid(theirs.raw), buffer, merger)
    return RefMove(name, before, merged, Move.MERGED)


def merged_conflict_count(buffer: WriteBatch, moves: Iterable[RefMove]) -> int:
    """Returns how many conflicts the roots of the merge commits contain."""
    count = 0
    for move in moves:
        if move.how is Move.MERGED and move.after is not None:
            commit = Commit.decode(buffer.get(move.after))
            count += len(Tree(buffer, Root.decode(buffer.get(commit.root)).conflicts))
    return count


def pull_into(
    repository: Core, remote: str, names: Sequence[str], *, author: str, time: int | None
) -> tuple[list[RefMove], int]:
    """Integrates the last known branches and notes of a remote into those here; also returns the
    number of conflicts in the roots of merges.

    Args:
        repository: its refs move.
        remote: name of the remote.
        names: full names of the refs; all are moved, or none.
        author: of the operation and the merge commits.
        time: of both; by default the clock's.

    Raises:
        NotFoundError: the remote has no branch of that name, as far as is known.
        InvalidInputError: kind `unsigned`.
        CorruptError: as `check_moves`.
    """
    operations = repository.operation_log
    moves: list[RefMove] = []
    conflicts = 0

    def make(state: State, buffer: WriteBatch) -> View | None:
        nonlocal conflicts
        merger = Merger(
            author,
            operations.time(time),
            remote,
            repository.signing_key,
            repository.agent,
            repository.task,
            read_erased(operations.store, state.view.erasures),
        )
        moves[:] = [_pulled(state.view, buffer, remote, name, merger) for name in names]
        conflicts = merged_conflict_count(buffer, moves)
        changes = {move.name: move.after for move in moves if move.before != move.after}
        if not changes:
            return None
        check_moves(repository, buffer, HaveSet(repository.store, state.view), moves)
        return replace(state.view, refs=refs.changed(state.view, changes, buffer))

    operations.change(make, author=author, time=time, description=f"pull from {remote}")
    return moves, conflicts


def with_pull(
    repository: Core,
    fetched: CopyReport,
    remote: str,
    full_name: str,
    *,
    author: str,
    time: int | None,
) -> CopyReport:
    """Returns the report of a fetch combined with the result of `pull_into`: for a branch, and for
    all fetched notes.
    """
    own = tracking(remote, "")
    notes = [
        move.name.removeprefix(own) for move in fetched.moves if move.name.startswith(own + NOTES)
    ]
    moves, conflicts = pull_into(repository, remote, [full_name, *notes], author=author, time=time)
    return replace(fetched, moves=(*fetched.moves, *moves), conflict_count=conflicts)


def _pulled(view: View, buffer: WriteBatch, remote: str, name: str, merger: Merger) -> RefMove:
    theirs = refs.read(buffer, view, tracking(remote, name))
    if theirs is None:
        raise NotFoundError(
            f"ref {name}: remote {remote!r} has none of that name",
            hint="push it first, or switch to a branch that the remote has",
        )
    ref = refs.read(buffer, view, name)
    return integrated(name, None if ref is None else ref.target, theirs.target, buffer, merger)


def _joined(
    name: str, ours: CommitCid, theirs: CommitCid, buffer: WriteBatch, merger: Merger
) -> CommitCid:
    """Stores the merge commit of two commits, with their merged root, and returns it."""
    scratch = WriteBatch(buffer)
    base = common_root(buffer, ours, theirs, scratch, erased=merger.erased)
    roots = [Commit.decode(buffer.get(side)).root for side in (ours, theirs)]
    root = merge_to_commit(scratch, base, roots[0], roots[1], buffer, erased=merger.erased)
    said = merger.signature(f"merge {name.partition('/')[2]} of {merger.origin}")
    commit = commit_of(said, root, (ours, theirs), merger.time)
    buffer.put(commit.cid, commit.encode())
    return commit.cid


def import_car(
    repository: Core,
    stream: Readable,
    *,
    branch: str | None = None,
    limits: CarLimits | None = None,
    author: str = "",
    time: int | None = None,
) -> CopyReport:
    """Imports a bundle, or a CAR with one commit, into a repository.

    Branches and notes are created, moved forward or merged; other refs are created if missing.

    Args:
        repository: receives the blocks and refs.
        stream: the file.
        branch: short name of the branch for the commit of a plain CAR; not for a bundle.
        limits: the largest file that is read.
        author: of the operation and the merge commits.
        time: of both; by default the clock's.

    Raises:
        CorruptError, FormatError, NotFoundError: the file is incomplete or invalid; nothing
            changed.
    """
    counted = Counted("reading blocks", repository.progress)
    opened = Opened(stream, limits=limits)
    with Quarantine(repository) as quarantine:
        quarantine.take(counted.of(opened.blocks()))
        bundle = opened.message(Bundle) if opened.has_message else None
        targets = _targets(bundle, branch, opened.roots, quarantine)
        found = Intake(repository, quarantine)
        sent = SentErasures()
        if bundle is not None:
            sent = sent_erasures(repository, quarantine, bundle.erasures)
        found.inspect(
            [*targets.values(), *(() if bundle is None else bundle.requires)],
            is_erased=is_erased_in(repository, sent),
        )
        conflicts = [0]

        def plan(known: HaveSet, buffer: WriteBatch) -> list[RefMove]:
            operations = repository.operation_log
            merger = Merger(
                author,
                operations.time(time),
                "a file",
                repository.signing_key,
                repository.agent,
                repository.task,
                repository.guard.erased(),
            )
            moves = []
            for name, target in targets.items():
                ref = known.refs.get(name)
                before = None if ref is None else ref.target
                moves.append(integrated(name, before, target, buffer, merger))
            conflicts[0] = merged_conflict_count(buffer, moves)
            return moves

        moves = found.publish(
            plan,
            author=author,
            time=time,
            description="import",
            head=_head(bundle, targets),
        )
    sent.carry_out(repository, author=author, time=time)
    return CopyReport(
        tuple(moves),
        counted.block_count,
        counted.size_bytes,
        conflicts[0],
        len(sent.accepted),
        len(sent.refused),
    )


def _head(bundle: Bundle | None, targets: Mapping[str, Cid]) -> str | None:
    head = next(iter(targets)) if bundle is None else bundle.head
    return head if head in targets else None


def _targets(
    bundle: Bundle | None, branch: str | None, roots: tuple[Cid, ...], quarantine: Quarantine
) -> dict[str, Cid]:
    """Returns the new targets of refs, by full name."""
    if bundle is not None:
        if branch is not None:
            raise InvalidInputError(
                f"branch: got {branch!r:.80} for a bundle, which names its own refs"
            )
        return {name: tip.target for name, tip in bundle.refs.items()}
    if branch is None or len(roots) != 1 or _kind(roots[0], quarantine) != "commit":
        raise InvalidInputError(
            f"file: got a CAR with {len(roots)} roots that is not a bundle",
            hint="a CAR with one commit as its root is imported with the name of a branch",
        )
    name = check_ref("branch", f"heads/{branch}")
    return {name: target_class(name)(roots[0].raw)}


def _kind(cid: Cid, quarantine: Quarantine) -> str:
    return kind_of(quarantine[cid]) if cid in quarantine and not cid.is_raw else ""

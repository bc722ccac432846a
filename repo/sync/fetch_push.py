"""Fetch, push and pull: copying commits between two repositories, one direction at a time.

A fetch moves only remote-tracking refs, and creates tags; a push moves refs of the remote, by
compare-and-swap; a pull is a fetch, then a merge into the current branch.

Spec: sync 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import ConflictError, ErrorKind, NotFoundError
from ibidem.objects.progress import STEP, Progress
from ibidem.repo import refs
from ibidem.repo.sync.erasures import (
    SentErasures,
    check_forgotten,
    check_sent,
    erasures_of,
    fetched_erasures,
    is_erased_in,
    judged,
)
from ibidem.repo.sync.have_set import HaveSet, have_set
from ibidem.repo.sync.messages import Bundle, Push, Tip, Update
from ibidem.repo.sync.missing_blocks import split_targets
from ibidem.repo.sync.names import ALWAYS, NOTES, OPTIONAL, check_ref, prefixes, tracking
from ibidem.repo.sync.negotiation import common_commits
from ibidem.repo.sync.pack import Pack
from ibidem.repo.sync.receive import comes_after, how_to_move, intake
from ibidem.repo.sync.remote import Blocks, Remote
from ibidem.repo.sync.report import CopyReport, Move, RefMove

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ibidem.objects.blocks import Source, WriteBatch
    from ibidem.objects.view import View
    from ibidem.repo.core import Core
    from ibidem.repo.state import State


def fetch(
    repository: Core,
    remote: Remote,
    name: str,
    *,
    include: Sequence[str] = (),
    force: bool = False,
    author: str = "",
    time: int | None = None,
) -> tuple[CopyReport, SentErasures]:
    """Copies the commits of a remote; records its branches and notes as `remotes/NAME/heads/…`.

    Also returns the erasures of the remote, which the caller carries out at the end; if this
    raises, they have been carried out.

    Args:
        repository: receives the copy.
        remote: the source.
        name: of the remote.
        include: out of `notes`, `runs`, `receipts`, `refs`; these but notes, and tags, are
            created if missing, advanced if the remote is ahead, and otherwise unchanged.
        force: accepts a branch that does not descend from its last known commit.

    Raises:
        ConflictError: kind `not-fast-forward`: the remote's branch was rolled back or rewritten.
        CorruptError, FormatError, NotFoundError: the received data is incomplete or invalid.
    """
    offered = remote.refs(prefixes(tuple(include)))
    known = have_set(repository.operation_log)
    wanted = _unknown(offered, known)
    counted = Counted("receiving blocks", repository.progress)
    sent = judged(repository, fetched_erasures(repository, remote, offered.erasures))
    targets = [tip.target for tip in offered.refs.values()]
    try:
        had = _common(repository, remote, known, offered, known.tips) if wanted else []
        with (
            remote.fetch(wanted, had) as blocks,
            intake(repository, counted.of(blocks), targets, sent) as found,
        ):

            def plan(now: HaveSet, _: WriteBatch) -> list[RefMove]:
                return [
                    _fetched(found.source, now, name, full_name, tip, force=force)
                    for full_name, tip in offered.refs.items()
                ]

            moves = found.publish(plan, author=author, time=time, description=f"fetch {name}")
    except Exception:
        sent.carry_out(repository, author=author, time=time)
        raise
    report = CopyReport(
        tuple(moves),
        counted.block_count,
        counted.size_bytes,
        erasure_count=len(sent.accepted),
        refused_erasure_count=len(sent.refused),
    )
    return report, sent


def push(
    repository: Core,
    remote: Remote,
    name: str | None,
    changes: Mapping[str, Cid | None],
    *,
    force: bool = False,
    expected: Mapping[str, Cid | None] | None = None,
    author: str = "",
    time: int | None = None,
) -> CopyReport:
    """Moves refs of a remote to commits of this repository, all or none.

    The remote's erasures are carried out here first, if signed by a key that may erase here;
    nothing that they name is sent.

    Args:
        repository: the source.
        remote: the target.
        name: of the remote, whose remote-tracking refs are updated; None to update none.
        changes: targets by full name; None deletes the ref there.
        force: a ref may lose commits, if it is still where it was last seen from here.
        expected: with `force`, the expected targets of refs that were never seen from here.

    Raises:
        ConflictError: kind `not-fast-forward`, or `head-moved` if another writer was first.
        InvalidInputError: kind `forgotten`: a state, or the history that the remote lacks, has a
            node that the remote has erased; no block was sent.
    """
    offered = remote.refs(tuple({full_name.partition("/")[0] + "/" for full_name in changes}))
    store = repository.store
    sent = judged(repository, fetched_erasures(repository, remote, offered.erasures))
    cleaned = sent.carry_out(repository, author=author, time=time)
    changes = {ref: target and cleaned.get(ref, target) for ref, target in changes.items()}
    split_targets(store, filter(None, changes.values()))
    check_forgotten(store, sent.all, changes)
    known = have_set(repository.operation_log)
    updates: dict[str, Update] = {}
    moves: list[RefMove] = []
    for full_name, target in sorted(changes.items()):
        there = offered.refs.get(full_name)
        if force:
            _check_lease(known, name, full_name, there, expected or {})
        how = _pushed(store, full_name, there, target, force=force)
        moves.append(RefMove(full_name, None if there is None else there.target, target, how))
        if how is not Move.UNCHANGED:
            is_loss = how in (Move.FORCED, Move.DELETED)
            updates[full_name] = Update(target, there, force=is_loss)
    counted = Counted("sending blocks", repository.progress)
    there_too = set(offered.erasures)
    erasures = tuple(cid for cid in erasures_of(repository) if cid not in there_too)
    if updates or erasures:
        targets = [update.target for update in updates.values() if update.target is not None]
        had = _common(repository, remote, known, offered, targets)
        gone, is_erased = sent.all.cids, is_erased_in(repository)
        pack = Pack(
            store,
            targets,
            had,
            is_erased=lambda cid: cid.raw in gone or is_erased(cid),
            more=erasures,
        )
        if sent.refused:
            check_sent(pack, sent.all)
        remote.push(Push(updates, erasures), counted.of(pack))
    if name is not None:
        _remember(repository, name, moves, author=author, time=time)
    return CopyReport(
        tuple(moves),
        counted.block_count,
        counted.size_bytes,
        erasure_count=len(sent.accepted),
        refused_erasure_count=len(sent.refused),
    )


def chosen(repository: Core, names: Sequence[str], delete: Sequence[str]) -> dict[str, Cid | None]:
    """Returns what to push: targets by full name, None for refs to delete.

    Args:
        repository: has the refs.
        names: short names of branches, or full names; if `delete` is empty too, the current branch.
        delete: names of refs to delete.

    Raises:
        NotFoundError: there is no such ref here.
    """
    known = have_set(repository.operation_log)
    wanted = [_full(name) for name in names] or ([] if delete else [known.head])
    found: dict[str, Cid | None] = {_full(name): None for name in delete}
    for name in wanted:
        ref = known.refs.get(name)
        if ref is None:
            raise NotFoundError(
                f"ref {name}: there is none of that name here",
                hint="it has no commit yet, or another name: repo branch",
            )
        found[name] = ref.target
    return found


def _full(name: str) -> str:
    is_full = name.startswith((*ALWAYS, *OPTIONAL.values()))
    return check_ref("ref", name if is_full else refs.HEADS + name)


class Counted:
    """Counts blocks as they are iterated."""

    def __init__(self, work: str, progress: Progress) -> None:
        self._work, self._progress = work, progress
        self.block_count = 0
        self.size_bytes = 0

    def of(self, blocks: Blocks) -> Iterator[tuple[Cid, bytes]]:
        """Yields the blocks."""
        self._progress(self._work, 0, None)
        for cid, block in blocks:
            self.block_count += 1
            self.size_bytes += len(cid.raw) + len(block)
            if not self.block_count % STEP:
                self._progress(self._work, self.block_count, None)
            yield cid, block
        self._progress(self._work, self.block_count, self.block_count)


def _unknown(offered: Bundle, known: HaveSet) -> list[Cid]:
    """Returns the targets of a remote's refs that are not here, ascending."""
    found = {
        tip.target
        for tip in offered.refs.values()
        if not (
            known.commit(tip.target)
            if isinstance(tip.target, CommitCid)
            else known.record(tip.target)
        )
    }
    return sorted(found)


def _common(
    repository: Core,
    remote: Remote,
    known: HaveSet,
    offered: Bundle,
    tips: Sequence[Cid],
) -> list[Cid]:
    """Returns commits, steps and receipts that both sides have; `tips` are here."""
    starts = [CommitCid(cid.raw) for cid in tips if isinstance(cid, CommitCid)]
    offers = {tip.target for tip in offered.refs.values()}
    hint = [cid for cid in offers if isinstance(cid, CommitCid) and known.commit(cid)]
    found: list[Cid] = list(common_commits(repository.store, starts, remote.known, hint=hint))
    found += [cid for cid in offers if not isinstance(cid, CommitCid) and known.record(cid)]
    return sorted(set(found))


def _fetched(
    source: Source,
    known: HaveSet,
    remote: str,
    full_name: str,
    tip: Tip,
    *,
    force: bool,
) -> RefMove:
    """Returns the move of one ref here, for one of the remote."""
    is_branch = full_name.startswith((refs.HEADS, NOTES))
    name = tracking(remote, full_name) if is_branch else full_name
    ref = known.refs.get(name)
    before = None if ref is None else ref.target
    try:
        how = how_to_move(source, name, before, tip.target, force=force and is_branch)
    except ConflictError as error:
        if is_branch:
            raise _rolled_back(source, full_name, before, tip.target) from error
        return RefMove(name, before, before, Move.KEPT)
    return RefMove(name, before, tip.target, how)


def _rolled_back(source: Source, full_name: str, before: Cid | None, after: Cid) -> ConflictError:
    is_older = before is not None and comes_after(source, before, after)
    said = "was rolled back to" if is_older else "was rewritten as"
    return ConflictError(
        f"ref {full_name}: the remote's {said} {after}, it was at {before}",
        kind=ErrorKind.NOT_FAST_FORWARD,
        hint="ask its owner; --force takes it as it is",
    )


def _check_lease(
    known: HaveSet,
    remote: str | None,
    full_name: str,
    there: Tip | None,
    expected: Mapping[str, Cid | None],
) -> None:
    """Raises unless a ref to be forced is where it was last seen, or where `expected` has it."""
    found = None if there is None else there.target
    if full_name in expected:
        seen = expected[full_name]
    else:
        ref = None if remote is None else known.refs.get(tracking(remote, full_name))
        seen = None if ref is None else ref.target
    if found != seen:
        raise ConflictError(
            f"ref {full_name}: it stands at {found or 'nothing'} there, expected "
            f"{seen or 'nothing'}",
            kind=ErrorKind.HEAD_MOVED,
            hint="fetch and look at it, or say with --expect where it stands",
        )


def _pushed(
    store: Source, full_name: str, there: Tip | None, target: Cid | None, *, force: bool
) -> Move:
    """Returns the kind of move of one remote ref; raises if it loses commits."""
    before = None if there is None else there.target
    if before is None and target is None:
        raise NotFoundError(f"ref {full_name}: the remote has none of that name")
    try:
        return how_to_move(store, full_name, before, target, force=force)
    except NotFoundError as error:  # its target there was never here
        if force:
            return Move.FORCED
        raise ConflictError(
            f"ref {full_name}: the remote has commits that are not here",
            kind=ErrorKind.NOT_FAST_FORWARD,
            hint="pull first, or force it with what you expect to be there",
        ) from error


def _remember(
    repository: Core,
    remote: str,
    moves: Sequence[RefMove],
    *,
    author: str,
    time: int | None,
) -> None:
    """Moves the remote-tracking refs."""
    changes = {
        tracking(remote, move.name): move.after
        for move in moves
        if move.name.startswith((refs.HEADS, NOTES))
    }

    def make(state: State, buffer: WriteBatch) -> View | None:
        now = {name: refs.read(buffer, state.view, name) for name in changes}
        moved = {
            name: target
            for name, target in changes.items()
            if target != (None if (ref := now[name]) is None else ref.target)
        }
        if not moved:
            return None
        return replace(state.view, refs=refs.changed(state.view, moved, buffer))

    repository.operation_log.change(make, author=author, time=time, description=f"push to {remote}")

"""What comes from elsewhere goes into refs here: made, moved on, merged, or left alone.

Nothing is lost and nothing is all-or-nothing: a branch that both sides moved is joined by a merge
commit, whose conflicts, if any, are listed in its root while everything works. A tag, a run and a
kept receipt that stand elsewhere here are kept as they are.

Spec: sync 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ConflictError, NotFoundError
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree
from ibidem.repo import refs
from ibidem.repo.arguments import Signature
from ibidem.repo.keep.cleaned import cleaned_commit
from ibidem.repo.keep.erased import NOTHING_ERASED, Erased
from ibidem.repo.merge import common_root, merge_roots
from ibidem.repo.publish import commit_of
from ibidem.repo.sync.known import Known
from ibidem.repo.sync.names import NOTES, tracking
from ibidem.repo.sync.receive import check_policy, comes_after, how_to_move
from ibidem.repo.sync.report import CopyReport, Move, RefMove

if TYPE_CHECKING:
    from ibidem.objects.view import View
    from ibidem.repo.operations import State
    from ibidem.repo.reader import Reader
    from ibidem.repo.sign.key import SigningKey


@record
class Merger:
    """Who joins what two sides did, and when."""

    author: str
    time: int
    """Microseconds since 1970 UTC."""
    origin: str
    """Where the other side comes from, for the message."""
    key: SigningKey | None = None
    """Signs the commits that join."""
    erased: Erased = NOTHING_ERASED
    """What was erased here, and is left out of what comes in."""

    def signature(self, message: str) -> Signature:
        """Returns the signature of a commit."""
        return Signature(self.author, message, self.time, key=self.key)


def integrated(
    name: str, before: Cid | None, theirs: Cid, buffer: WriteBatch, merger: Merger
) -> RefMove:
    """Returns the move that takes a target from elsewhere into a ref here.

    Args:
        buffer: reads both sides, and gets the blocks of a merge.
    """
    if not name.startswith((refs.HEADS, NOTES)):
        try:
            how = how_to_move(buffer, name, before, theirs, is_forced=False)
        except ConflictError:
            return RefMove(name, before, before, Move.KEPT)
        return RefMove(name, before, theirs, how)
    if before == theirs or (before is not None and comes_after(buffer, before, theirs)):
        return RefMove(name, before, before, Move.UNCHANGED)
    if before is None or comes_after(buffer, theirs, before):
        said, tip = merger.signature(""), CommitCid(theirs.raw)
        after = cleaned_commit(buffer, tip, merger.erased, said, merger.time)
        return RefMove(name, before, after, Move.CREATED if before is None else Move.FORWARDED)
    joined = _joined(name, CommitCid(before.raw), CommitCid(theirs.raw), buffer, merger)
    return RefMove(name, before, joined, Move.MERGED)


def merged_conflict_count(buffer: WriteBatch, moves: Iterable[RefMove]) -> int:
    """Returns how many conflicts stand in the roots of the commits that join."""
    count = 0
    for move in moves:
        if move.how is Move.MERGED and move.after is not None:
            commit = Commit.decode(buffer.get(move.after))
            count += len(Tree(buffer, Root.decode(buffer.get(commit.root)).conflicts))
    return count


def pull_into(
    repository: Reader, remote: str, names: Sequence[str], *, author: str, time: int | None
) -> tuple[list[RefMove], int]:
    """Takes where a remote's branches and notes were last seen into those here; returns also the
    number of conflicts in the roots of merges.

    Args:
        names: full names of the refs; all are moved, or none.

    Raises:
        NotFoundError: the remote has no branch of that name, as far as is known.
        InvalidInputError: kind `unsigned`.
    """
    operations = repository._operations
    moves: list[RefMove] = []
    conflicts = 0

    def make(state: State, buffer: WriteBatch) -> View | None:
        nonlocal conflicts
        merger = Merger(
            author,
            operations.time(time),
            remote,
            repository.signing_key,
            operations.erased(state),
        )
        moves[:] = [_pulled(state.view, buffer, remote, name, merger) for name in names]
        conflicts = merged_conflict_count(buffer, moves)
        changes = {move.name: move.after for move in moves if move.before != move.after}
        if not changes:
            return None
        check_policy(repository, buffer, Known(repository.store, state.view), changes)
        return replace(state.view, refs=refs.changed(state.view, changes, buffer))

    operations.change(make, author=author, time=time, description=f"pull from {remote}")
    return moves, conflicts


def with_pull(
    repository: Reader,
    fetched: CopyReport,
    remote: str,
    full_name: str,
    *,
    author: str,
    time: int | None,
) -> CopyReport:
    """Returns the report of a fetch together with what `pull_into` did after it: for a branch, and
    for all notes that were fetched."""
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
    """Puts a commit that joins two, with the root that merges theirs, and returns it."""
    scratch = WriteBatch(buffer)
    base = common_root(buffer, ours, theirs, scratch, erased=merger.erased)
    roots = [Commit.decode(buffer.get(side)).root for side in (ours, theirs)]
    root = merge_roots(scratch, base, roots[0], roots[1], buffer, erased=merger.erased)
    said = merger.signature(f"merge {name.partition('/')[2]} of {merger.origin}")
    commit = commit_of(said, root, (ours, theirs), merger.time)
    buffer.put(commit.cid, commit.encode())
    return commit.cid

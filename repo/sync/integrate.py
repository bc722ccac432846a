"""What comes from elsewhere goes into refs here: made, moved on, merged, or left alone.

Nothing is lost and nothing is all-or-nothing: a branch that both sides moved is joined by a merge
commit, whose conflicts, if any, are listed in its root while everything works. A tag, a run and a
kept receipt that stand elsewhere here are kept as they are.

Spec: sync 6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ibidem.objects.blocks import Buffer
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ConflictError, NotFoundError
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree
from ibidem.repo import refs
from ibidem.repo.merge import common_root, merge_roots
from ibidem.repo.sync.known import Known
from ibidem.repo.sync.names import NOTES, tracking
from ibidem.repo.sync.receive import check_policy, comes_after, how_to_move
from ibidem.repo.sync.report import CopyReport, Move, RefMove

if TYPE_CHECKING:
    from ibidem.objects.view import View
    from ibidem.repo.operations import State
    from ibidem.repo.reader import Reader
    from ibidem.repo.sign.key import SigningKey


@dataclass(frozen=True, slots=True)
class Merger:
    """Who joins what two sides did, and when."""

    author: str
    time: int
    """Microseconds since 1970 UTC."""
    origin: str
    """Where the other side comes from, for the message."""
    key: SigningKey | None = None
    """Signs the commits that join."""


def integrated(
    name: str, before: Cid | None, theirs: Cid, buffer: Buffer, merger: Merger
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
    if before is None:
        return RefMove(name, None, theirs, Move.CREATED)
    if before == theirs or comes_after(buffer, before, theirs):
        return RefMove(name, before, before, Move.UNCHANGED)
    if comes_after(buffer, theirs, before):
        return RefMove(name, before, theirs, Move.FORWARDED)
    joined = _joined(name, CommitCid(before.raw), CommitCid(theirs.raw), buffer, merger)
    return RefMove(name, before, joined, Move.MERGED)


def conflict_count(buffer: Buffer, commit: Cid) -> int:
    """Returns how many conflicts stand in the root of a commit."""
    root = Root.decode(buffer.get(Commit.decode(buffer.get(commit)).root))
    return len(Tree(buffer, root.conflicts))


def pull_into(
    repository: Reader, remote: str, full_name: str, *, author: str, time: int | None
) -> tuple[RefMove, int]:
    """Takes where a remote's branch was last seen into the branch here; returns also the number of
    conflicts in the root of a merge.

    Raises:
        NotFoundError: the remote has no branch of that name, as far as is known.
    """
    operations = repository._operations
    done: list[tuple[RefMove, int]] = []

    def make(state: State, buffer: Buffer) -> View | None:
        theirs = refs.read(buffer, state.view, tracking(remote, full_name))
        if theirs is None:
            raise NotFoundError(
                f"branch {full_name.removeprefix(refs.HEADS)!r}: remote {remote!r} has none of "
                "that name",
                hint="push it first, or switch to a branch that the remote has",
            )
        ref = refs.read(buffer, state.view, full_name)
        before = None if ref is None else ref.target
        merger = Merger(author, operations.time(time), remote, repository.signing_key)
        move = integrated(full_name, before, theirs.target, buffer, merger)
        is_merge = move.how is Move.MERGED and move.after is not None
        done[:] = [(move, conflict_count(buffer, move.after) if is_merge and move.after else 0)]
        if move.before == move.after:
            return None
        known = Known(repository.store, state.view)
        check_policy(repository, buffer, known, {full_name: move.after})
        moved = refs.changed(state.view, {full_name: move.after}, buffer)
        return replace(state.view, refs=moved)

    operations.change(make, author=author, time=time, description=f"pull {full_name} of {remote}")
    return done[0]


def with_pull(
    repository: Reader,
    fetched: CopyReport,
    remote: str,
    full_name: str,
    *,
    author: str,
    time: int | None,
) -> CopyReport:
    """Returns the report of a fetch together with what `pull_into` did after it."""
    move, conflicts = pull_into(repository, remote, full_name, author=author, time=time)
    return replace(fetched, moves=(*fetched.moves, move), conflict_count=conflicts)


def _joined(
    name: str, ours: CommitCid, theirs: CommitCid, buffer: Buffer, merger: Merger
) -> CommitCid:
    """Puts a commit that joins two, with the root that merges theirs, and returns it."""
    scratch = Buffer(buffer)
    base = common_root(buffer, ours, theirs, scratch)
    roots = [Commit.decode(buffer.get(side)).root for side in (ours, theirs)]
    root = merge_roots(scratch, base, roots[0], roots[1], buffer)
    commit = Commit(
        root,
        (ours, theirs),
        author=merger.author,
        time=merger.time,
        message=f"merge {name.partition('/')[2]} of {merger.origin}",
    )
    if merger.key is not None:
        commit = merger.key.sign(commit)
    buffer.put(commit.cid, commit.encode())
    return commit.cid

"""Shortens a history: combines commits into one, or drops those before one. States never change.
Both write new commits over the same roots and move refs to them in one operation, which undo
reverts. The old commits stay until they are unreferenced and garbage is collected. Kept receipts
and runs name roots, so they replay as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.repo import refs
from ibidem.repo.arguments import CommitInfo, commit_of
from ibidem.repo.history.ancestry import is_ancestor, newest_first, parents_first, read_commit
from ibidem.repo.refs import HEADS, OWN, TAGS

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.view import View
    from ibidem.repo.operation_log import OperationLog
    from ibidem.repo.state import State


@record
class Pruned:
    """The result of pruning."""

    first: CommitCid
    """The commit with which the history now starts."""
    moved: Mapping[str, CommitCid]
    """The moved refs, by full name, with their new commits."""
    untouched: tuple[str, ...]
    """Branches and tags that do not descend from the commit; they are unchanged."""
    rewritten_count: int
    """Number of rewritten commits."""
    dropped_count: int
    """Number of commits that the moved refs no longer reach."""


def squash(
    operations: OperationLog, full_name: str, base: CommitCid | None, signature: CommitInfo
) -> Commit:
    """Combines the commits of a branch after `base` into one with the state of the last. Its
    message defaults to that of the last.

    Args:
        base: an ancestor of the branch; None combines all commits into a new first commit.

    Raises:
        InvalidInputError: `base` is not an ancestor of the branch, or there is nothing to combine.
    """
    made: list[Commit] = []

    def make(state: State, buffer: WriteBatch) -> View:
        ref = refs.read(buffer, state.view, full_name)
        if ref is None:
            raise InvalidInputError(f"branch: {full_name!r} has no commits to combine")
        head = CommitCid(ref.target.raw)
        if base is not None and (base == head or not is_ancestor(buffer, base, head)):
            raise InvalidInputError(
                f"base: got {base}, expected an ancestor of the branch",
                hint="run 'repo log' to see its history",
            )
        tip = read_commit(buffer, head)
        parents = () if base is None else (base,)
        said = replace(signature, message=signature.message or tip.message)
        commit = commit_of(said, tip.root, parents, operations.time(signature.time))
        made[:] = [commit]
        target = _put(commit, buffer)
        return replace(state.view, refs=refs.changed(state.view, {full_name: target}, buffer))

    operations.change(
        make,
        author=signature.author,
        time=signature.time,
        description=f"squash {full_name}",
    )
    return made[0]


def prune(
    operations: OperationLog,
    first: CommitCid,
    *,
    drop_signatures: bool = False,
    author: str = "",
    time: int | None = None,
) -> Pruned:
    """Drops the history before a commit, on every branch and tag that descends from it. The commit
    and its descendants are rewritten with the same states, authors, times and messages; the first
    has no parents, and parents that do not descend from it are dropped.

    Args:
        drop_signatures: drop signatures, which are not valid for the new commits; otherwise a
            signed commit is an error.

    Raises:
        InvalidInputError: no branch or tag descends from the commit, or a commit is signed.
    """
    done: list[Pruned] = []

    def make(state: State, buffer: WriteBatch) -> View | None:
        source = operations.store
        named = {
            prefix + name: CommitCid(cid.raw)
            for prefix in (HEADS, TAGS, OWN)
            for name, cid in refs.listed(source, state.view, prefix).items()
        }
        plan = _Plan(source, first, list(named.values()))
        moved = {name: cid for name, cid in named.items() if cid in plan.after}
        if not moved:
            raise InvalidInputError(
                f"revision: got {first}, expected an ancestor of a branch or tag"
            )
        renamed = plan.rewrite(buffer, drop_signatures=drop_signatures)
        moves: dict[str, Cid | None] = {
            name: renamed[cid] for name, cid in moved.items() if renamed[cid] != cid
        }
        done[:] = [
            Pruned(
                renamed[first],
                {name: renamed[cid] for name, cid in moved.items()},
                tuple(sorted(named.keys() - moved.keys())),
                len({new for old, new in renamed.items() if new != old}),
                plan.count_behind(list(moved.values())) - len(plan.after),
            )
        ]
        if not moves:
            return None
        return replace(state.view, refs=refs.changed(state.view, moves, buffer))

    operations.change(make, author=author, time=time, description=f"prune behind {first}")
    return done[0]


class _Plan:
    """The first commit and its descendants, oldest first."""

    def __init__(self, source: Source, first: CommitCid, tips: list[CommitCid]) -> None:
        self._commits = dict(newest_first(partial(read_commit, source), tips))
        self._first = first
        self.after: dict[CommitCid, Commit] = {}
        for cid, commit in parents_first(self._commits).items():
            if cid == first or any(parent in self.after for parent in commit.parents):
                self.after[cid] = commit

    def rewrite(self, buffer: WriteBatch, *, drop_signatures: bool) -> dict[CommitCid, CommitCid]:
        """Returns the new commit of each; a commit whose parents are unchanged is unchanged."""
        renamed: dict[CommitCid, CommitCid] = {}
        for cid, commit in self.after.items():
            parents = () if cid == self._first else commit.parents
            kept = tuple(renamed[parent] for parent in parents if parent in renamed)
            if kept == commit.parents:
                renamed[cid] = cid
                continue
            if commit.signature is not None and not drop_signatures:
                raise InvalidInputError(
                    f"commit {cid} is signed, and its signature is not valid with other parents",
                    hint="--drop-signatures, or drop_signatures=True, takes its signature off",
                )
            renamed[cid] = _put(replace(commit, parents=kept, signature=None), buffer)
        return renamed

    def count_behind(self, tips: list[CommitCid]) -> int:
        """Returns the number of commits reachable from these tips."""
        return sum(1 for _ in newest_first(self._commits.__getitem__, tips))


def _put(commit: Commit, buffer: WriteBatch) -> CommitCid:
    block = commit.encode()
    cid = CommitCid.of(block)
    buffer.put(cid, block)
    return cid

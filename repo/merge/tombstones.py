"""Keeps tombstones when a history operation moves a branch.

A new commit keeps the tombstones of its parent, and a merge keeps those of both sides, by the rules
of merging. Undo, revert, cherry-pick and rebase move a branch to a state that was made without one
of its sides, which could lose a tombstone. For these there is one rule: the new state gets every
tombstone of the other side that it lacks, whether it has the node or not. Only `untombstone`
removes a tombstone. A redo needs no rule: it returns to where the branch was before an undo that no
other operation has followed.

The other side is the head of the branch. For a rebase, it is the commit onto which the branch is
moved; tombstones that the common ancestor also has are decided by the branch, which may have
removed one with `untombstone`.

Spec: merge 9.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, CommitCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.ids import NodeId
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree, diff, mutate
from ibidem.objects.view import Ref
from ibidem.repo.arguments import CommitInfo, commit_of
from ibidem.repo.refs import HEADS

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch


def with_tombstones(
    root_cid: RootCid, tombstones: TreeCid, buffer: WriteBatch, *, base: TreeCid | None = None
) -> tuple[RootCid, tuple[NodeId, ...]]:
    """Returns a root with the tombstones that it lacks added, and the ids of their nodes,
    ascending.

    A tombstone that the root already has is kept, whatever its reason.

    Args:
        tombstones: the tree of the required tombstones.
        base: the tree of those that are not required; None for none.
        buffer: reads all three, and receives the blocks of the new root.
    """
    root = Root.decode(buffer.get(root_cid))
    optional = None if base is None else Tree(buffer, base)
    lacking: dict[bytes, Cid | None] = {
        key: wanted
        for key, found, wanted in diff(buffer, root.tombstones, tombstones)
        if found is None and (optional is None or optional.get(key) != wanted)
    }
    if not lacking:
        return root_cid, ()
    block = replace(root, tombstones=mutate(root.tombstones, lacking, buffer)).encode()
    made = RootCid.of(block)
    buffer.put(made, block)
    return made, tuple(NodeId(key) for key in sorted(lacking))


def branches_with_tombstones(
    now: TreeCid,
    restored: TreeCid,
    unborn: tuple[str, RootCid],
    signature: CommitInfo,
    time: int,
    buffer: WriteBatch,
) -> tuple[dict[str, CommitCid], tuple[NodeId, ...]]:
    """Returns new commits for the branches that would otherwise lose a tombstone when restored, and
    the nodes.

    Such a commit has the restored commit as its parent, with its state and the tombstones. A branch
    that is deleted needs none.

    Args:
        now: the current refs.
        restored: the refs to restore.
        unborn: the full name of the branch that is current afterwards, and its root before its
            first commit.
        signature: of the commits.
        buffer: reads the refs, and receives the commits and their new blocks.
    """
    commits: dict[str, CommitCid] = {}
    nodes: set[NodeId] = set()
    for _, before, after in diff(buffer, restored, now):
        ref = None if after is None else Ref.decode(buffer.get(after))
        if ref is None or not ref.name.startswith(HEADS):
            continue
        parents: tuple[CommitCid, ...] = ()
        if before is not None:
            parents = (CommitCid(Ref.decode(buffer.get(before)).target.raw),)
            root_cid = Commit.decode(buffer.get(parents[0])).root
        elif ref.name == unborn[0]:
            root_cid = unborn[1]
        else:
            continue
        head = Root.decode(buffer.get(Commit.decode(buffer.get(ref.target)).root))
        root_cid, kept = with_tombstones(root_cid, head.tombstones, buffer)
        if kept:
            commit = commit_of(signature, root_cid, parents, time)
            buffer.put(commit.cid, commit.encode())
            commits[ref.name] = commit.cid
            nodes.update(kept)
    return commits, tuple(sorted(nodes, key=lambda node: node.raw))

"""What was forgotten stays forgotten, wherever a history operation moves a branch.

A branch that goes on from its head keeps the tombstones in it, and a merge keeps those of both
sides, by the rules of merging. Undo, revert, cherry-pick and rebase put a branch on a state that
was made without regard to one of its sides, and a tombstone could get lost on the way. For these
there is one rule: the new state gets every tombstone of the other side that it lacks, whether it
has the node or not. Only `untombstone` takes a tombstone away. A redo needs no rule: it returns to
where the branch was before an undo that nothing has followed.

The other side is the head of the branch; for a rebase, it is the commit that the branch is put on,
and the tombstones that the common ancestor has as well are left to the branch, which may have taken
one away with `untombstone`.

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
    """Returns a root with those tombstones that it lacks, and the nodes that these are of, by id.

    A tombstone that the root has on a node stays, whatever its reason.

    Args:
        tombstones: the tree of those that it must have.
        base: the tree of those that it need not have; None for none.
        buffer: reads all three, and gets the blocks of a new root.
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
    """Returns commits for the branches that would lose a tombstone by going back, and the nodes.

    Such a commit is made on the one that the branch goes back to, with its state and the
    tombstones. A branch that is deleted by going back needs none.

    Args:
        now: the refs as they stand.
        restored: the refs that the branches go back to.
        unborn: the full name of the branch that is then the current one, and the root that it has
            before its first commit.
        signature: of the commits.
        buffer: reads the refs, and gets the commits with all that is new in them.
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

"""The conflicts that a root records, with the fields that differ. Which value belongs to which side
is not part of a conflict, so it is the same whoever merged. The sides are found in the history: the
commit that recorded the conflict has the branch's own state as its first parent.

Spec: merge 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, ConflictCid
from ibidem.objects.commit import Commit
from ibidem.objects.conflict import EDGE, Conflict
from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import Node, join_content
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree, diff
from ibidem.repo.merge.element import read
from ibidem.repo.merge.fields import Fields, fields_of

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source


@record
class OpenConflict:
    """One unresolved conflict."""

    id: NodeId | EdgeId
    conflict: Conflict
    value: Cid | None
    """The value in the graph until it is resolved; None for an edge that is left out."""
    is_hidden: bool = False
    """Whether it has a tombstone, so that no value of it is to be shown."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the sides changed differently, ascending; `props.NAME` for a property.
        None if the conflict is about its existence."""
        return self.conflict.fields

    @property
    def what(self) -> str:
        """`node` or `edge`."""
        return self.conflict.what

    @property
    def reason(self) -> str:
        """One of `changed differently`, `changed and deleted`, `connects a deleted node`."""
        if self.conflict.nodes:
            return "connects a deleted node"
        return "changed and deleted" if self.conflict.deleted else "changed differently"


def open_conflicts(source: Source, root: Root) -> Iterator[OpenConflict]:
    """Yields the conflicts of a root, by id."""
    if root.conflicts == EMPTY_TREE:
        return
    trees = {name: Tree(source, tree) for name, tree in (("nodes", root.nodes), (EDGE, root.edges))}
    tombstones = Tree(source, root.tombstones)
    for key, cid in Tree(source, root.conflicts).items():
        conflict = read(source, cid)
        is_edge = conflict.what == EDGE
        yield OpenConflict(
            EdgeId(key) if is_edge else NodeId(key),
            conflict,
            trees[EDGE if is_edge else "nodes"].get(key),
            tombstones.get(key) is not None,
        )


def nodes_of(source: Source, conflict: Cid | None) -> list[Node]:
    """Returns the values of a node that are in conflict, none without a conflict."""
    sides = () if conflict is None else read(source, conflict).sides
    return [Node.decode(source.get(side)) for side in sides]


def sides_of(source: Source, found: OpenConflict) -> list[Fields]:
    """Returns the fields of each side that has a value, except erased ones."""
    sides = []
    for side in found.conflict.sides:
        with suppress(NotFoundError):  # an erased block is a missing one
            sides.append(fields_of(source.get(side)))
    return sides


def values_of(source: Source, root: Root, id: str) -> dict[str, tuple[Any, ...]]:  # noqa: A002
    """Returns the distinct values of each field in conflict; None where a side has none."""
    found = next((one for one in open_conflicts(source, root) if str(one.id) == id), None)
    if found is None:
        raise NotFoundError(
            f"conflict {id}: it has no conflict", hint="run 'repo status' to list the open ones"
        )
    sides = sides_of(source, found)
    distinct = {name: dict.fromkeys(side.get(name) for side in sides) for name in found.fields}
    return {
        name: tuple(_value(source, name, value) for value in values)
        for name, values in distinct.items()
    }


def _value(source: Source, name: str, encoded: bytes | None) -> Any:
    """Returns a value of a field as it is given to resolve a conflict: long content is whole."""
    value = None if encoded is None else codec.decode(encoded)
    if name == "content" and isinstance(value, list):
        return join_content(map(source.get, value))
    return value


def new_conflicts(source: Source, commit: Commit) -> tuple[NodeId | EdgeId, ...]:
    """Returns the ids whose conflict a commit has recorded or changed, ascending."""
    before, after = (
        Root.decode(source.get(root)).conflicts
        for root in (Commit.decode(source.get(commit.parents[0])).root, commit.root)
    )
    return tuple(
        EdgeId(key) if read(source, cid).what == EDGE else NodeId(key)
        for key, _, cid in diff(source, before, after)
        if cid is not None
    )


def recorded_in(source: Source, commit: CommitCid, key: bytes) -> Commit:
    """Returns the commit that recorded a conflict which is still open at `commit`.

    Follows only parents that have the conflict.
    """
    found = Commit.decode(source.get(commit))
    wanted = _conflict_at(source, found, key)
    while True:
        for parent in found.parents:
            before = Commit.decode(source.get(parent))
            if _conflict_at(source, before, key) == wanted:
                found = before
                break
        else:
            return found


def _conflict_at(source: Source, commit: Commit, key: bytes) -> ConflictCid | None:
    tree = Root.decode(source.get(commit.root)).conflicts
    found = None if tree == EMPTY_TREE else Tree(source, tree).get(key)
    return None if found is None else ConflictCid(found.raw)

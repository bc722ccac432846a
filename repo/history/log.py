"""The log: the commits behind a revision, and the changes between two of them.

A difference is computed from the trees, so its cost is proportional to the changes. A changed node
or edge lists the fields and properties that differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.objects.block import Block
from ibidem.objects.cid import Cid
from ibidem.objects.edge import Edge
from ibidem.objects.errors import ErasedError, InvalidInputError
from ibidem.objects.ids import ID_BYTES, EdgeId, NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import diff
from ibidem.repo.history.ancestry import newest_first, read_commit
from ibidem.repo.transaction.changeset import tree_names

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.commit import Commit


Position = tuple[str, str, NodeId | EdgeId]
"""Of a change in the order of changes: its family, its name, its id."""


@record
class Change:
    """One thing that differs; `before` is None where it was added, `after` where it was removed."""

    family: str
    """One of `objects.root.FAMILIES` but for conflicts."""
    id: NodeId | EdgeId
    before: Cid | None
    after: Cid | None
    name: str = ""
    """The model or vocabulary of a vector."""
    fields: tuple[str, ...] = ()
    """Of a changed node, edge or tombstone: the fields that differ, ascending; none if a side was
    erased."""
    properties: tuple[str, ...] = ()
    """Of a changed node or edge: the properties that differ, ascending."""

    @property
    def position(self) -> Position:
        """Where it is in the order of changes."""
        return self.family, self.name, self.id

    @property
    def action(self) -> str:
        """One of `added`, `removed`, `changed`."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def commits(source: Source, start: CommitCid | None) -> Iterator[Commit]:
    """Yields a commit and all its ancestors, each once, in the order of `newest_first`."""
    starts = () if start is None else (start,)
    for _, commit in newest_first(partial(read_commit, source), starts):
        yield commit


def changes(
    source: Source, before: Root, after: Root, *, beyond: Position | None = None
) -> Iterator[Change]:
    """Yields what differs between two roots, by family, name and id; with `beyond`, what comes
    after that position.

    Raises:
        InvalidInputError: the roots have no such family and name.
    """
    names = list(tree_names(before, after))
    start = None
    if beyond is not None:
        family, name, id_ = _checked_position(beyond)
        if (family, name) not in names:
            raise InvalidInputError(f"beyond: got {family!r:.80} {name!r:.80}, which do not differ")
        following = int.from_bytes(id_.raw, "big") + 1
        names = names[names.index((family, name)) :]
        if following >> (8 * ID_BYTES):
            names = names[1:]
        else:
            start = following.to_bytes(ID_BYTES, "big")
    for family, name in names:
        old, new = before.tree(family, name), after.tree(family, name)
        found, start = diff(source, old, new, start), None
        for key, was, now in found:
            identifier = EdgeId(key) if family == "edges" else NodeId(key)
            fields, properties = _fields(source, family, was, now)
            yield Change(family, identifier, was, now, name, fields, properties)


def _checked_position(position: object) -> Position:
    match position:
        case (str(family), str(name), (NodeId() | EdgeId()) as id_):
            return family, name, id_
    raise InvalidInputError(
        f"beyond: got {position!r:.80}, expected the family, the name and the id of a change"
    )


def _fields(
    source: Source, family: str, was: Cid | None, now: Cid | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    classes: dict[str, type[Block]] = {"nodes": Node, "edges": Edge, "tombstones": Tombstone}
    if family not in classes or was is None or now is None:
        return (), ()
    try:
        one, other = (classes[family].decode(source.get(cid)).to_map() for cid in (was, now))
    except ErasedError:
        return (), ()
    fields = _differing(one, other)
    if "props" not in fields:
        return fields, ()
    return fields, _differing(one.get("props", {}), other.get("props", {}))


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names whose values differ; `True`, 1 and 1.0 do."""
    names = one.keys() | other.keys()
    return tuple(
        sorted(
            name
            for name in names
            if (name in one) != (name in other)
            or codec.encode(one[name]) != codec.encode(other[name])
        )
    )

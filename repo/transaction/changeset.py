"""Changes to a root, by tree and key, and how to apply, compare and rebase them.

Edits refer to value blocks by CID, so applying them only changes trees, comparing two sets compares
CIDs, and the same edits can be applied to another root after a lost race.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

from ibidem.objects.block import empty
from ibidem.objects.cid import Cid, CommitCid, TreeCid
from ibidem.objects.config import TRUST_SETTING, Config, Model
from ibidem.objects.edge import Edge
from ibidem.objects.errors import (
    ConflictError,
    ErrorKind,
    InvalidInputError,
)
from ibidem.objects.record import record
from ibidem.objects.root import CONFLICTS, FAMILIES, NODES, NOUNS, Root, TreeName
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, Tree, diff, mutate

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source, WriteBatch
    from ibidem.objects.commit import Commit
    from ibidem.repo.events import Event
    from ibidem.repo.state import State

_ATTACHED = frozenset(family.name for family in FAMILIES if family.is_attached)
_NAMED_IN_CONFLICT = 5


@record(frozen=False)
class ChangeSet:
    """Changes by tree and 16-byte id; None deletes. Models are registered, never changed."""

    trees: dict[TreeName, dict[bytes, Cid | None]] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    fresh: set[bytes] = field(default_factory=set)
    """Ids of nodes that must not exist before, even with the same value."""
    read: set[bytes] = field(default_factory=set)
    """Ids of nodes on which the changes depend: if another writer changed one, they are refused."""
    events: dict[str, list[Event]] = field(default_factory=dict)
    """Events to add to the notes in the same step, by space."""
    config: dict[str, Any] = field(default_factory=dict)
    """Changed fields of the configuration by name, without the models; None removes a field."""
    trailers: list[str] = field(default_factory=list)
    """Lines at the end of the commit's message."""
    check_head: Callable[[CommitCid | None], object] | None = None
    """Called with the head of the branch that the changes are to be published on; refuses them by
    raising."""

    def of(self, tree_name: TreeName) -> dict[bytes, Cid | None]:
        """Returns the changes of one tree; the map is mutable."""
        return self.trees.setdefault(tree_name, {})


@record
class Published:
    """What the edits of a transaction became."""

    commit: Commit | None = None
    """The commit on the branch; None if the graph has not changed, or the edits were staged."""
    notes: Mapping[str, CommitCid] = field(default_factory=empty)
    """The new heads of the notes, by space."""
    state: State | None = None
    """The state that the publication made, where it is known."""


class Publisher(Protocol):
    """Publishes the edits of a transaction: to a branch, or to the stage."""

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        ...

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Published:
        """Publishes the edits with their value blocks, in one durable step."""
        ...


def tree_names(*roots: Root) -> list[TreeName]:
    """Returns the names of all trees of some roots, except conflicts."""
    return sorted({tree_name for root in roots for tree_name in root.trees()} - {CONFLICTS})


def between(source: Source, before: Root, after: Root) -> ChangeSet:
    """Returns the edits that turn `before` into `after`."""
    edits = ChangeSet()
    for tree_name in (*tree_names(before, after), CONFLICTS):
        old, new = before.tree(*tree_name), after.tree(*tree_name)
        if old != new:
            edits.trees[tree_name] = {key: cid for key, _, cid in diff(source, old, new)}
    known = Config.from_map(before.config).models
    models = Config.from_map(after.config).models
    edits.models = {name: model for name, model in models.items() if name not in known}
    edits.config = {
        name: after.config.get(name)
        for name in sorted((before.config.keys() | after.config.keys()) - {"models"})
        if before.config.get(name) != after.config.get(name)
    }
    return edits


def applied(root: Root, edits: ChangeSet, buffer: WriteBatch) -> Root:
    """Returns the root with the edits applied; new tree blocks go into the buffer.

    Raises:
        InvalidInputError: kind `dimension-mismatch`: the model is registered with another
            dimension.
    """
    trees: dict[TreeName, TreeCid] = {}
    for tree_name, entries in sorted(edits.trees.items()):
        if entries:
            trees[tree_name] = mutate(root.tree(*tree_name), entries, buffer)
    if EMPTY_TREE in trees.values():
        buffer.put(EMPTY_TREE, EMPTY_TREE_BLOCK)
    config = _registered(root, edits.models)
    requires = root.requires
    if edits.config:
        config = {
            name: value
            for name, value in {**config, **edits.config}.items()
            if value is not None or name not in edits.config
        }
    if TRUST_SETTING in edits.config:
        others = tuple(name for name in requires if name != TRUST_SETTING)
        requires = tuple(sorted((*others, TRUST_SETTING))) if TRUST_SETTING in config else others
    return replace(root.with_trees(trees), config=config, requires=requires)


def with_edits(begun: Root, edits: ChangeSet, buffer: WriteBatch) -> Root:
    """Returns the base root of the edits with them applied, and checks their references.

    Raises:
        InvalidInputError: kind `dangling-reference`.
    """
    root = applied(begun, edits, buffer)
    check_references(buffer, root, edits)
    return root


def check_references(source: Source, root: Root, edits: ChangeSet) -> None:
    """Raises if the edits leave an edge, vector or tombstone without its node.

    Raises:
        InvalidInputError: kind `dangling-reference`, naming what refers and the missing node.
    """
    staged = edits.of(NODES)
    # A staged node exists; the others are looked up together, in the order of their ids.
    referred = [found for found in _references(source, edits) if staged.get(found[1]) is None]
    nodes = Tree(source, root.nodes).get_many([node for _, node, _ in referred])
    for (raw, missing, what), cid in zip(referred, nodes, strict=True):
        if cid is None:
            raise InvalidInputError(
                f"{what} {raw.hex()} refers to node {missing.hex()}, which is not in the graph",
                kind=ErrorKind.DANGLING_REFERENCE,
                hint="add the node in the same transaction, or leave the reference out",
            )


def check_read(source: Source, base: Root, theirs: Root, ours: ChangeSet) -> None:
    """Raises if one of the nodes on which our changes depend has another value in their root.

    Raises:
        ConflictError: kind `conflict`, listing the ids.
    """
    keys = sorted(ours.read)
    values = (Tree(source, root.nodes).get_many(keys) for root in (base, theirs))
    _refuse([key for key, one, other in zip(keys, *values, strict=True) if one != other])


def check_rebase(source: Source, base: Root, theirs: Root, ours: ChangeSet) -> None:
    """Raises if our edits and the change to their root concern the same thing.

    This includes a node that one side removed while the other added an edge or vector to it.

    Raises:
        ConflictError: kind `conflict`, listing the ids.
    """
    others = between(source, base, theirs)
    clashes = [
        key
        for tree_name, entries in ours.trees.items()
        for key in entries
        if key in others.trees.get(tree_name, {})
    ]
    for name, model in ours.models.items():
        if others.models.get(name, model) != model:
            raise ConflictError(f"model {name!r}: both sides registered it, and differently")
    for name, value in ours.config.items():
        if name in others.config and others.config[name] != value:
            raise ConflictError(
                f"config.{name}: changed here and on the branch since the transaction began, "
                "differently",
                hint="look at the branch as it is now and make the change again",
            )
    removed = {key for key, cid in ours.of(NODES).items() if cid is None}
    if removed:
        clashes += [key for key, node, _ in _references(source, others) if node in removed]
    gone = {key for key, cid in others.of(NODES).items() if cid is None}
    if gone:
        clashes += [key for key, node, _ in _references(source, ours) if node in gone]
    _refuse(clashes)


def _refuse(clashes: Iterable[bytes]) -> None:
    named = sorted(set(clashes))
    if not named:
        return
    listed = ", ".join(key.hex() for key in named[:_NAMED_IN_CONFLICT])
    more = f" and {len(named) - _NAMED_IN_CONFLICT} more" if len(named) > _NAMED_IN_CONFLICT else ""
    raise ConflictError(
        f"{listed}{more}: changed here and on the branch since the transaction began",
        hint="look at the branch as it is now and make the change again",
    )


def edge_at(source: Source, cid: Cid) -> Edge:
    """Returns the edge in a block."""
    return Edge.decode(source.get(cid))


def _references(source: Source, edits: ChangeSet) -> Iterator[tuple[bytes, bytes, str]]:
    """Yields (referring id, node id, what refers) for everything that the edits set."""
    for (name, _), entries in sorted(edits.trees.items()):
        for key, cid in entries.items():
            if cid is None:
                continue
            if name == "edges":
                edge = edge_at(source, cid)
                yield key, edge.src.raw, "edge"
                yield key, edge.dst.raw, "edge"
            elif name in _ATTACHED:
                yield key, key, f"{NOUNS[name]} of"


def _registered(root: Root, models: Mapping[str, Model]) -> Mapping[str, object]:
    if not models:
        return root.config
    config = Config.from_map(root.config)
    for name, model in models.items():
        known = config.models.get(name, model)
        if known.dim != model.dim:
            raise dimension_mismatch(name, model.dim, known.dim)
    merged = {**models, **config.models}
    return replace(config, models=merged).to_map()


def dimension_mismatch(model: str, dim: int, expected: int) -> InvalidInputError:
    """Returns the error for a vector that does not fit its model."""
    return InvalidInputError(
        f"vector: got {dim} dimensions, expected {expected} as model {model!r} has",
        kind=ErrorKind.DIMENSION_MISMATCH,
        hint="use another model name for another model",
    )

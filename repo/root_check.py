"""What makes a root valid beyond the form of its blocks: one check for copies and for `repo fsck`.

A block that is well-formed by itself can still be wrong in its place: a node under another id, a
vector without its node, a conflict whose sides are versions of something else, a configuration
under which no question can be answered. `RootCheck` receives the values of a root, or those that
differ from a root that was checked before, and reports everything that no commit made here could
contain. A copy refuses the first fault, `repo fsck` lists them all, so a copy accepts exactly the
roots in which `repo fsck` finds no fault.

The cost is that of the differences. Added values are looked up in the trees of the root, in the
order of the keys. Removed nodes are harder, because an edge names its nodes but a node does not
name its edges: edges passed to this check are kept, 48 bytes each, and those of a root that existed
before are looked up in an index, as when a transaction removes a node.

Spec: format 5.6, 5.13; sync 5; trust 1.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ibidem.objects import codec
from ibidem.objects.block import in_version
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid, TreeCid
from ibidem.objects.config import TRUST_SETTING, Config
from ibidem.objects.conflict import EDGE, NODE, Conflict
from ibidem.objects.errors import CorruptError, ErrorKind, NotFoundError
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.record import record
from ibidem.objects.root import VECTOR_FAMILIES, Root, TreeName
from ibidem.objects.tree import EMPTY_TREE, Change, Tree, diff, mutate, verify
from ibidem.objects.tree.block import load
from ibidem.objects.tree.diff import Changes
from ibidem.objects.tree.rebuild import is_rewritten
from ibidem.objects.walk import kind_problem
from ibidem.repo.maintenance.report import Fault, FaultKind
from ibidem.retrieve.access.policy import policy_of
from ibidem.retrieve.query.fusion import configured_fusion
from ibidem.retrieve.query.settings import configured, of_conversations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ibidem.objects.blocks import Source

Report = Callable[[Fault], None]
"""Called with each fault."""
Incident = Callable[[RootCid, Sequence[bytes]], Iterable[bytes]]
"""Returns the ids of the edges of a root that start or end at some nodes."""
Fields = Mapping[str, Any]
"""Returns the differences between two trees of a source; `diff` is one."""

_ATTACHED = {family.kind: family.name for family in VECTOR_FAMILIES}
"""Kinds of values whose key is the id of a node that must exist. Tombstones are not among them:
that of an erased node stays (merge 2-e).
"""
_IDENTIFIED = frozenset(("node", "edge"))
_ROW_BYTES = 3 * ID_BYTES
_BATCH_KEYS = 65_536
"""Keys looked up together, so that each leaf of a tree is read about once a batch."""


def refuse(fault: Fault) -> None:
    """Raises the fault as an error, for callers that accept no faults."""
    is_dangling = fault.kind is FaultKind.DANGLING
    kind = ErrorKind.DANGLING_REFERENCE if is_dangling else ErrorKind.CORRUPT
    raise CorruptError(f"{fault.where}: {fault.detail}", kind=kind)


def place_problem(kind: str, key: bytes, fields: Fields) -> str | None:
    """Returns why a value is wrong in its place in a root, None if it is right.

    Args:
        kind: of the tree that contains it.
        key: its key in the tree.
        fields: the decoded block.
    """
    if fields.get("kind") != kind:
        return kind_problem(fields.get("kind"), kind)
    if kind in _IDENTIFIED and fields.get("id") != key:
        return f"got id {_shown(fields.get('id'))}, expected that of its key {key.hex()}"
    return None


def conflict_problem(source: Source, key: bytes, conflict: Conflict) -> str | None:
    """Returns why the parts of a conflict are wrong, None if they are right.

    Its sides and its base must be versions of the node or edge that it is about; its nodes must be
    those that the edge connects. Missing parts are ignored: another check decides whether they may
    be missing.

    Spec: format 5.13-b.
    """
    ends: set[object] = set()
    links = [(f"sides[{at}]", cid) for at, cid in enumerate(conflict.sides)]
    if conflict.base is not None:
        links.append(("base", conflict.base))
    for name, cid in links:
        fields = _fields(source, cid)
        if fields is None:
            continue
        problem = place_problem(conflict.what, key, fields)
        if problem is not None:
            return f"conflict.{name}: {problem}"
        if conflict.what == EDGE:
            ends.update((fields.get("src"), fields.get("dst")))
    for at, cid in enumerate(conflict.nodes):
        fields = _fields(source, cid)
        if fields is None:
            continue
        problem = place_problem(NODE, key, {**fields, "id": key})
        if problem is None and ends and fields.get("id") not in ends:
            problem = (
                f"got node {_shown(fields.get('id'))}, "
                f"expected one that the edge {key.hex()} connects"
            )
        if problem is not None:
            return f"conflict.nodes[{at}]: {problem}"
    return None


def checked_config(root: Root) -> Config:
    """Returns the configuration of a root, after checking the form of every field.

    Raises:
        CorruptError: naming the field.

    Spec: format 5.6-b; trust 1.
    """
    config = Config.from_map(root.config)
    configured_fusion(config)
    configured(config)
    of_conversations(config)
    if policy_of(config) is not None and TRUST_SETTING not in root.requires:
        raise CorruptError(
            f"root.requires: got {list(root.requires)!r:.80}, "
            f"expected {TRUST_SETTING!r} where config.trust is"
        )
    for name in root.vectors:
        if name not in config.models:
            raise CorruptError(
                f"root.vectors: got model {name!r:.80}, expected one of the root's config"
            )
    return config


def tree_problem(
    source: Source, tree: TreeCid, old: TreeCid, changes: Changes = diff
) -> str | None:
    """Returns why a tree is not the one built from its entries, None if it is.

    Args:
        source: has the blocks of both trees.
        tree: the tree to check.
        old: a tree known to be right. Applying the differences to it must give the same tree: trees
            are canonical, so this is proof, and it costs only the differences. If these are most
            of the tree, it is checked without the old one.
        changes: finds the differences.

    Raises:
        NotFoundError: a block of one of the trees is missing.
    """
    try:
        if old == EMPTY_TREE:
            verify(source, tree)
            return None
        edits = {key: after for key, _, after in changes(source, old, tree)}
        if is_rewritten(load(source, old.raw), len(edits)):
            verify(source, tree)
            return None
        again = mutate(old, edits, WriteBatch(source))
    except CorruptError as error:
        if error.kind is not ErrorKind.CORRUPT:
            raise
        return str(error)
    if again == tree:
        return None
    detail = f"got blocks in another form than its {len(edits)} changes give, expected {again}"
    try:
        verify(source, tree)
    except CorruptError as error:
        return f"{detail}: {error}"
    return detail


class RootCheck:
    """Checks a sequence of roots, each against roots that are known to be right.

    For each root, call `begin`, then `value` for the values that none of the roots that it is
    compared with has in the same place, then `end`; after the last root, call `finish`.
    """

    changes_max = 65_536
    """Differences between two trees that are kept until the root is done; more are found again."""
    all_changes_max = 4 * changes_max
    """The same, of all trees of a root together: it may have thousands, which share their
    blocks."""
    nodes_max = 65_536
    """New nodes of a root that are remembered; others are looked up in its tree of nodes."""

    def __init__(
        self,
        source: Source,
        report: Report,
        *,
        incident: Incident | None = None,
    ) -> None:
        """Prepares the check.

        Args:
            source: has the blocks of the roots.
            report: may raise; then the check must not be used any more.
            incident: called for roots that others are compared with and that were not checked.
        """
        self._source = source
        self._report = report
        self._incident = incident
        self._whole: set[TreeCid] = {EMPTY_TREE}
        self._edges = _EdgeTable()
        self._removals: list[_Removal] = []
        self._grounds: dict[RootCid, frozenset[RootCid]] = {}
        """For each checked root, the previously existing roots that it derives from."""
        self._changes: dict[tuple[TreeCid, TreeCid], list[Change]] = {}
        self._change_count = 0
        self._at: _Open | None = None

    def changes(self, source: Source, before: TreeCid, after: TreeCid) -> Iterable[Change]:
        """Returns the differences between two trees as `diff` does, once for each root."""
        known = self._changes.get((before, after))
        if known is not None:
            return known
        found = diff(source, before, after)
        some = list(islice(found, self.changes_max))
        if len(some) == self.changes_max or self._change_count + len(some) > self.all_changes_max:
            return chain(some, found)
        self._changes[before, after] = some
        self._change_count += len(some)
        return some

    def begin(self, cid: RootCid, root: Root, owner: str = "") -> None:
        """Starts a root.

        Args:
            cid: of the root.
            root: the root.
            owner: named by its faults as what needs it.
        """
        dims: dict[str, int] = {}
        try:
            dims = _dims(root)
        except CorruptError as error:
            self._report(Fault(FaultKind.MALFORMED, f"root {cid}", str(error), cid, owner))
        self._changes.clear()
        self._change_count = 0
        self._at = _Open(cid, root, owner, dims, len(self._edges))

    def value(self, kind: str, key: bytes, name: str, cid: Cid, fields: Fields | None) -> None:
        """Checks a value of the root.

        Args:
            kind: of the values of its tree, one of `root.VALUE_KINDS`.
            key: its key in the tree.
            name: of a vector: its model or vocabulary.
            cid: of the value.
            fields: the decoded block, well-formed for its kind; None if it was erased.
        """
        at = self._open
        if kind == NODE and len(at.nodes) < self.nodes_max:
            at.nodes.add(key)
        if kind in _ATTACHED:
            at.attached.setdefault((kind, name), bytearray()).extend(key)
        if fields is None:
            return
        problem = place_problem(kind, key, fields)
        if problem is None and kind == "vector":
            problem = _dim_problem(name, fields["dim"], at.dims.get(name))
        elif problem is None and kind == "conflict":
            conflict = Conflict.from_map(dict(fields))
            problem = conflict_problem(self._source, key, conflict)
            if not conflict.nodes:
                at.values_of.setdefault(conflict.what, []).append(key)
        if problem is not None:
            where = f"{kind} {key.hex()}" if not name else f"{kind} {key.hex()} in {name!r:.80}"
            self._report(Fault(FaultKind.MALFORMED, where, problem, cid, at.owner))
        elif kind == "edge":
            self._edges.add(key, fields["src"], fields["dst"])

    def end(self, bases: Mapping[RootCid, Root]) -> None:
        """Completes the root whose values were passed.

        Args:
            bases: the roots that it was compared with; the first one is similar.

        Raises:
            NotFoundError: a block of a tree is missing.
        """
        at, self._at = self._open, None
        self._check_trees(at, [base.trees() for base in bases.values()])
        self._check_ends(at)
        for (kind, name), keys in at.attached.items():
            for key in self._missing(at.root.nodes, bytes(keys), at.nodes):
                self._dangling(at.owner, f"{_ATTACHED[kind]} {name!r}", key, key)
        grounds = [self._grounds.get(base, frozenset((base,))) for base in bases]
        self._grounds[at.cid] = frozenset().union(*grounds)
        removed = self._removed(at.root, bases.values(), "nodes")
        if removed:
            self._check_removed(at, removed)
        self._check_conflicts(at, bases.values(), removed)
        self._check_dims(at, bases.values())

    def finish(self) -> None:
        """Reports edges that a root has kept although it removed one of their nodes."""
        if not self._removals:
            return
        by_node = self._edges.by_node()
        for removal in self._removals:
            found = {edge for node in removal.nodes for edge in by_node(node)}
            for ground in sorted(removal.grounds):
                if self._incident is not None:
                    found.update(self._incident(ground, removal.nodes))
            keys = sorted(found)
            values = _looked_up(self._source, removal.edges, keys)
            for key, cid in zip(keys, values, strict=True):
                if cid is not None:
                    self._dangling(removal.owner, "edge", key, self._gone_end(cid, removal.nodes))
        self._removals.clear()

    @property
    def _open(self) -> _Open:
        assert self._at is not None, "BUG: a value without a root"
        return self._at

    def _check_trees(self, at: _Open, before: Sequence[Mapping[TreeName, TreeCid]]) -> None:
        for tree_name, tree in at.root.trees().items():
            olds = [trees[tree_name] for trees in before if tree_name in trees]
            if tree in self._whole or tree in olds:
                continue
            self._whole.add(tree)
            problem = tree_problem(
                self._source, tree, olds[0] if olds else EMPTY_TREE, self.changes
            )
            if problem is not None:
                name, model = tree_name
                where = f"tree of {name} {model!r:.80}" if model else f"tree of {name}"
                fault = Fault(FaultKind.MALFORMED, f"{where} {tree}", problem, tree, at.owner)
                self._report(fault)

    def _check_ends(self, at: _Open) -> None:
        rows = self._edges.rows(at.first_row)
        missing = set(self._missing(at.root.nodes, _unique_ends(rows), at.nodes))
        if not missing:
            return
        for key, *ends in map(_split, map(bytes, rows)):
            for end in dict.fromkeys(ends):
                if end in missing:
                    self._dangling(at.owner, "edge", key, end)

    def _check_removed(self, at: _Open, removed: list[bytes]) -> None:
        for kind in _ATTACHED.values():
            for name, tree in getattr(at.root, kind).items():
                there = _looked_up(self._source, tree, removed)
                for key, cid in zip(removed, there, strict=True):
                    if cid is not None:
                        self._dangling(at.owner, f"{kind} {name!r}", key, key)
        if at.root.edges != EMPTY_TREE:
            grounds = self._grounds[at.cid]
            self._removals.append(_Removal(at.owner, at.root.edges, removed, grounds))

    def _check_conflicts(self, at: _Open, bases: Iterable[Root], removed: list[bytes]) -> None:
        """Checks that every entry with a conflict has a value, except edges that lack a node."""
        if at.root.conflicts == EMPTY_TREE:
            return
        gone = {NODE: removed, EDGE: self._removed(at.root, bases, "edges")}
        for what, keys in gone.items():
            held = _looked_up(self._source, at.root.conflicts, keys)
            for key, cid in zip(keys, held, strict=True):
                fields = None if cid is None else _fields(self._source, cid)
                if fields and fields.get("what") == what and not fields.get("nodes"):
                    at.values_of.setdefault(what, []).append(key)
        for what, tree in ((NODE, at.root.nodes), (EDGE, at.root.edges)):
            for key in self._missing(tree, b"".join(sorted(set(at.values_of.get(what, ()))))):
                detail = f"there is no {what} {key.hex()} in the graph that it could be about"
                where = f"conflict {key.hex()}"
                self._report(Fault(FaultKind.MALFORMED, where, detail, None, at.owner))

    def _check_dims(self, at: _Open, bases: Iterable[Root]) -> None:
        """Checks the vectors that a base has, and that were not passed, against a dimension that
        the config of the base does not have."""
        for name in sorted({name for base in bases for name in _redefined(base, at.dims)}):
            passed = set(_split(bytes(at.attached.get(("vector", name), b""))))
            for key, cid in Tree(self._source, at.root.vectors.get(name, EMPTY_TREE)).items():
                fields = None if key in passed else _fields(self._source, cid)
                if fields is None or fields.get("kind") != "vector":
                    continue
                problem = _dim_problem(name, fields["dim"], at.dims[name])
                if problem is not None:
                    where = f"vector {key.hex()} in {name!r:.80}"
                    self._report(Fault(FaultKind.MALFORMED, where, problem, cid, at.owner))

    def _removed(self, root: Root, bases: Iterable[Root], field: str) -> list[bytes]:
        """Returns the keys of a tree that one of the bases has and the root does not, ascending."""
        return sorted(
            {
                key
                for base in bases
                for key, _, after in self.changes(
                    self._source, getattr(base, field), getattr(root, field)
                )
                if after is None
            }
        )

    def _missing(self, tree: TreeCid, ids: bytes, there: Container[bytes] = ()) -> Iterator[bytes]:
        """Yields those of some ids, ascending and concatenated, that a tree does not have; those in
        `there` it has."""
        for start in range(0, len(ids), _BATCH_KEYS * ID_BYTES):
            keys = _split(ids[start : start + _BATCH_KEYS * ID_BYTES])
            keys = [key for key in keys if key not in there]
            values = _looked_up(self._source, tree, keys)
            yield from (key for key, cid in zip(keys, values, strict=True) if cid is None)

    def _gone_end(self, cid: Cid, nodes: Sequence[bytes]) -> bytes:
        fields = _fields(self._source, cid) or {}
        return next((fields[end] for end in ("src", "dst") if fields.get(end) in nodes), nodes[0])

    def _dangling(self, owner: str, what: str, key: bytes, node: bytes) -> None:
        detail = f"node {node.hex()}, which it refers to, is not in the graph"
        self._report(Fault(FaultKind.DANGLING, f"{what} {key.hex()}", detail, None, owner))


class _Open:
    """The root whose values are being passed."""

    def __init__(
        self, cid: RootCid, root: Root, owner: str, dims: Mapping[str, int], first_row: int
    ) -> None:
        self.cid = cid
        self.root = root
        self.owner = owner
        self.dims = dims
        self.first_row = first_row
        self.nodes: set[bytes] = set()
        """Ids of nodes that are in the root."""
        self.attached: dict[TreeName, bytearray] = {}
        """Keys of vectors, concatenated, by kind and name."""
        self.values_of: dict[str, list[bytes]] = {}
        """Keys of conflicts whose subject must be in the graph, by the kind of subject."""


@record
class _Removal:
    """Nodes that a root has removed."""

    owner: str
    edges: TreeCid
    nodes: list[bytes]
    grounds: frozenset[RootCid]


class _EdgeTable:
    """Ids and ends of edges, 48 bytes each, in the order in which they were added."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes) // _ROW_BYTES

    def add(self, key: bytes, source: bytes, target: bytes) -> None:
        """Adds an edge."""
        self._bytes += key + source + target

    def rows(self, start: int) -> NDArray[np.uint8]:
        """Returns the edges from index `start` on: (n, 48) uint8, id, source and target; a copy."""
        part = bytes(memoryview(self._bytes)[start * _ROW_BYTES :])
        return np.frombuffer(part, np.uint8).reshape(-1, _ROW_BYTES)

    def by_node(self) -> Callable[[bytes], Iterator[bytes]]:
        """Returns a function that yields the ids of the edges at a node."""
        rows = self.rows(0)
        ends = _texts(rows[:, ID_BYTES:])
        order = np.argsort(ends, kind="stable")
        ends = ends[order]

        def edges_at(node: bytes) -> Iterator[bytes]:
            wanted = np.frombuffer(node, f"S{ID_BYTES}")
            start, stop = (int(np.searchsorted(ends, wanted, side)[0]) for side in _SIDES)
            for at in order[start:stop].tolist():
                yield bytes(rows[at // 2, :ID_BYTES])

        return edges_at


_SIDES: tuple[Any, Any] = ("left", "right")


def _texts(columns: NDArray[np.uint8]) -> NDArray[np.bytes_]:
    """Returns (n, 16·m) uint8 as n·m byte strings of 16, row by row; as their width is equal,
    trailing zeros do not affect their order.
    """
    return np.ascontiguousarray(columns).reshape(-1).view(f"S{ID_BYTES}")


def _unique_ends(rows: NDArray[np.uint8]) -> bytes:
    return np.unique(_texts(rows[:, ID_BYTES:])).tobytes() if len(rows) else b""


def _split(ids: bytes) -> list[bytes]:
    return [ids[at : at + ID_BYTES] for at in range(0, len(ids), ID_BYTES)]


def _looked_up(source: Source, tree: TreeCid, keys: Sequence[bytes]) -> Iterator[Cid | None]:
    """Yields the CIDs in a tree at ascending keys, None for a missing key."""
    found = Tree(source, tree)
    for start in range(0, len(keys), _BATCH_KEYS):
        batch = keys[start : start + _BATCH_KEYS]
        yield from [None] * len(batch) if tree == EMPTY_TREE else found.get_many(batch)


def _dims(root: Root) -> dict[str, int]:
    """Returns the dimensions in the config of a root, by model."""
    return {name: model.dim for name, model in checked_config(root).models.items()}


def _redefined(base: Root, dims: Mapping[str, int]) -> list[str]:
    """Returns the models of which a base has vectors, but not the same dimension."""
    try:
        known = _dims(base)
    except CorruptError:
        known = {}
    return [name for name, dim in dims.items() if name in base.vectors and known.get(name) != dim]


def _dim_problem(model: str, dim: object, expected: int | None) -> str | None:
    if expected is None or dim == expected:
        return None
    return f"got dimension {dim}, expected {expected} as model {model!r:.80} has"


def _fields(source: Source, cid: Cid) -> Fields | None:
    """Returns a decoded block, None if it is missing."""
    try:
        fields = codec.decode(source.get(cid))
    except NotFoundError:
        return None
    return in_version(fields) if isinstance(fields, dict) else {"kind": type(fields).__name__}


def _shown(id: object) -> str:  # noqa: A002
    return id.hex() if isinstance(id, bytes) else repr(id)[:80]

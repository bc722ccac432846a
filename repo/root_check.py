"""What a root must mean beyond the form of its blocks: one check for copies and for `repo fsck`.

A block that is well-formed by itself can still be wrong in its place: a node under the id of
another, a vector without its node, a conflict whose sides are versions of something else, a
configuration that no question can be asked under. `RootCheck` is told the values of a root, or
those that differ from a root that was checked before, and reports what no commit made here could
contain. A copy refuses the first fault, `repo fsck` lists them all, so that what a copy takes in is
what `repo fsck` calls whole.

The cost follows the differences. What a root adds is looked up in its trees, in the order of the
keys. What it removes is harder, because an edge names its nodes and no node its edges: edges that
were told to this check are kept, 48 bytes each, and those of a root that was there before are asked
of an index, as they are where a transaction removes a node.

Spec: format 5.6, 5.13; sync 5; trust 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from ibidem.objects.tree import EMPTY_TREE, Tree, diff, mutate, verify
from ibidem.objects.walk import kind_problem
from ibidem.repo.maintenance.report import Fault, FaultKind
from ibidem.retrieve.access.policy import policy_of
from ibidem.retrieve.query.fusion import configured_fusion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ibidem.objects.blocks import Source

Report = Callable[[Fault], None]
"""What is done with each thing that is wrong."""
Incident = Callable[[RootCid, Sequence[bytes]], Iterable[bytes]]
"""The ids of the edges of a root that begin or end at some nodes."""
Fields = Mapping[str, Any]

_ATTACHED = {family.kind: family.name for family in VECTOR_FAMILIES}
"""Kinds of values that stand under the id of a node and need it; a tombstone does not: that of an
erased node stays (merge 2-e)."""
_IDENTIFIED = frozenset(("node", "edge"))
_ROW_BYTES = 3 * ID_BYTES
_BATCH_KEYS = 65_536
"""Looked up together, so that each leaf of a tree is read about once a batch."""


def refuse(fault: Fault) -> None:
    """Raises what is wrong, for those who take nothing in that has a fault."""
    is_dangling = fault.kind is FaultKind.DANGLING
    kind = ErrorKind.DANGLING_REFERENCE if is_dangling else ErrorKind.CORRUPT
    raise CorruptError(f"{fault.where}: {fault.detail}", kind=kind)


def place_problem(kind: str, key: bytes, fields: Fields) -> str | None:
    """Returns what is wrong with a value of a root in its place, None for nothing.

    Args:
        kind: of the tree that it stands in.
        key: that it stands under.
        fields: the decoded block.
    """
    if fields.get("kind") != kind:
        return kind_problem(fields.get("kind"), kind)
    if kind in _IDENTIFIED and fields.get("id") != key:
        return f"got id {_shown(fields.get('id'))}, expected that of its key {key.hex()}"
    return None


def conflict_problem(source: Source, key: bytes, conflict: Conflict) -> str | None:
    """Returns what is wrong with the parts of a conflict, None for nothing.

    Its sides and its base are versions of the node or edge that it is about; its nodes are those
    that the edge connects. A part that is not there is passed: whether it may be missing is not
    decided here.

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
    """Returns the configuration of a root, every field of which has its form.

    Raises:
        CorruptError: naming the field.

    Spec: format 5.6-b; trust 1.
    """
    config = Config.from_map(root.config)
    configured_fusion(config)
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


def tree_problem(source: Source, tree: TreeCid, old: TreeCid) -> str | None:
    """Returns why a tree is not what building it from its entries gives, None where it is.

    Args:
        old: a tree that is. The differences, laid on it, must give the same tree: trees have one
            form only, so this is proof, and it costs what differs.

    Raises:
        NotFoundError: a block of one of the trees is missing.
    """
    try:
        if old == EMPTY_TREE:
            verify(source, tree)
            return None
        edits = {key: after for key, _, after in diff(source, old, tree)}
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
    """Checks roots one after the other, each against roots that are known to be right.

    For each root, `begin`, then `value` for the values that it has and none of the roots that it is
    compared with has in the same place, then `end`; after the last one `finish`.
    """

    def __init__(
        self,
        source: Source,
        report: Report,
        *,
        incident: Incident | None = None,
    ) -> None:
        """Checks nothing yet.

        Args:
            report: may raise; then nothing more is asked of the check.
            incident: asked about roots that others are compared with and that were not checked.
        """
        self._source = source
        self._report = report
        self._incident = incident
        self._whole: set[TreeCid] = {EMPTY_TREE}
        self._edges = _EdgeTable()
        self._removals: list[_Removal] = []
        self._grounds: dict[RootCid, frozenset[RootCid]] = {}
        """Of each root that was checked, those behind it that were there before."""
        self._at: _Open | None = None

    def begin(self, cid: RootCid, root: Root, owner: str = "") -> None:
        """Begins with a root.

        Args:
            owner: what a fault is said to be needed by.
        """
        dims: dict[str, int] = {}
        try:
            dims = {name: model.dim for name, model in checked_config(root).models.items()}
        except CorruptError as error:
            self._report(Fault(FaultKind.MALFORMED, f"root {cid}", str(error), cid, owner))
        self._at = _Open(cid, root, owner, dims, len(self._edges))

    def value(self, kind: str, key: bytes, name: str, cid: Cid, fields: Fields | None) -> None:
        """Takes a value of the root.

        Args:
            kind: of the values of its tree, one of `root.VALUE_KINDS`.
            name: of a vector: its model or vocabulary.
            fields: the decoded block, well-formed for its kind; None where it was erased.
        """
        at = self._open
        if kind in _ATTACHED:
            at.attached.setdefault((kind, name), bytearray()).extend(key)
        if fields is None:
            return
        problem = place_problem(kind, key, fields)
        if problem is None and kind == "vector":
            dim = at.dims.get(name)
            if dim is not None and fields["dim"] != dim:
                problem = f"got dimension {fields['dim']}, expected {dim} as model {name!r:.80} has"
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
        """Ends with the root whose values were told.

        Args:
            bases: those that it was compared with, the first one of which differs little.

        Raises:
            NotFoundError: a block of a tree is missing.
        """
        at, self._at = self._open, None
        self._check_trees(at, [base.trees() for base in bases.values()])
        self._check_ends(at)
        for (kind, name), keys in at.attached.items():
            for key in self._missing(at.root.nodes, _split(bytes(keys))):
                self._dangling(at.owner, f"{_ATTACHED[kind]} {name!r}", key, key)
        grounds = [self._grounds.get(base, frozenset((base,))) for base in bases]
        self._grounds[at.cid] = frozenset().union(*grounds)
        removed = self._removed(at.root, bases.values(), "nodes")
        if removed:
            self._check_removed(at, removed)
        self._check_conflicts(at, bases.values(), removed)

    def finish(self) -> None:
        """Looks for edges that a root has kept where it removed one of their nodes."""
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
            problem = tree_problem(self._source, tree, olds[0] if olds else EMPTY_TREE)
            if problem is not None:
                name, model = tree_name
                where = f"tree of {name} {model!r:.80}" if model else f"tree of {name}"
                fault = Fault(FaultKind.MALFORMED, f"{where} {tree}", problem, tree, at.owner)
                self._report(fault)

    def _check_ends(self, at: _Open) -> None:
        rows = self._edges.rows(at.first_row)
        missing = set(self._missing(at.root.nodes, _unique_ends(rows)))
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
        """Checks that what has a conflict has a value too, but for an edge that lacks a node."""
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
            for key in self._missing(tree, sorted(set(at.values_of.get(what, ())))):
                detail = f"there is no {what} {key.hex()} in the graph that it could be about"
                where = f"conflict {key.hex()}"
                self._report(Fault(FaultKind.MALFORMED, where, detail, None, at.owner))

    def _removed(self, root: Root, bases: Iterable[Root], field: str) -> list[bytes]:
        """Returns the keys of a tree that one of the bases has and the root has not, ascending."""
        return sorted(
            {
                key
                for base in bases
                for key, _, after in diff(self._source, getattr(base, field), getattr(root, field))
                if after is None
            }
        )

    def _missing(self, tree: TreeCid, keys: Sequence[bytes]) -> Iterator[bytes]:
        values = _looked_up(self._source, tree, keys)
        return (key for key, cid in zip(keys, values, strict=True) if cid is None)

    def _gone_end(self, cid: Cid, nodes: Sequence[bytes]) -> bytes:
        fields = _fields(self._source, cid) or {}
        return next((fields[end] for end in ("src", "dst") if fields.get(end) in nodes), nodes[0])

    def _dangling(self, owner: str, what: str, key: bytes, node: bytes) -> None:
        detail = f"node {node.hex()}, which it refers to, is not in the graph"
        self._report(Fault(FaultKind.DANGLING, f"{what} {key.hex()}", detail, None, owner))


class _Open:
    """The root that values are told of."""

    def __init__(
        self, cid: RootCid, root: Root, owner: str, dims: Mapping[str, int], first_row: int
    ) -> None:
        self.cid = cid
        self.root = root
        self.owner = owner
        self.dims = dims
        self.first_row = first_row
        self.attached: dict[TreeName, bytearray] = {}
        """Keys of vectors, one after the other, by kind and name."""
        self.values_of: dict[str, list[bytes]] = {}
        """Keys of conflicts about something that must be in the graph, by what they are about."""


@record
class _Removal:
    """Nodes that a root does not have any more."""

    owner: str
    edges: TreeCid
    nodes: list[bytes]
    grounds: frozenset[RootCid]


class _EdgeTable:
    """Ids and ends of edges, 48 bytes each, in the order in which they were told."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes) // _ROW_BYTES

    def add(self, key: bytes, source: bytes, target: bytes) -> None:
        """Adds an edge."""
        self._bytes += key + source + target

    def rows(self, start: int) -> NDArray[np.uint8]:
        """Returns the edges from one on: (n, 48) uint8, id, source and target; a copy."""
        part = bytes(memoryview(self._bytes)[start * _ROW_BYTES :])
        return np.frombuffer(part, np.uint8).reshape(-1, _ROW_BYTES)

    def by_node(self) -> Callable[[bytes], Iterator[bytes]]:
        """Returns what yields the ids of the edges at a node."""
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
    """Returns (n, 16·m) uint8 as n·m byte strings of 16, row by row; of one width, trailing zeros
    do not matter to their order."""
    return np.ascontiguousarray(columns).reshape(-1).view(f"S{ID_BYTES}")


def _unique_ends(rows: NDArray[np.uint8]) -> list[bytes]:
    return _split(np.unique(_texts(rows[:, ID_BYTES:])).tobytes()) if len(rows) else []


def _split(ids: bytes) -> list[bytes]:
    return [ids[at : at + ID_BYTES] for at in range(0, len(ids), ID_BYTES)]


def _looked_up(source: Source, tree: TreeCid, keys: Sequence[bytes]) -> Iterator[Cid | None]:
    """Yields what a tree has at ascending keys."""
    found = Tree(source, tree)
    for start in range(0, len(keys), _BATCH_KEYS):
        batch = keys[start : start + _BATCH_KEYS]
        yield from [None] * len(batch) if tree == EMPTY_TREE else found.get_many(batch)


def _fields(source: Source, cid: Cid) -> Fields | None:
    """Returns a decoded block, None if it is not there."""
    try:
        fields = codec.decode(source.get(cid))
    except NotFoundError:
        return None
    return in_version(fields) if isinstance(fields, dict) else {"kind": type(fields).__name__}


def _shown(id: object) -> str:  # noqa: A002
    return id.hex() if isinstance(id, bytes) else repr(id)[:80]

"""Finds the commits that touched a node, the nodes of a label, or the parts of a document. A commit
touches what differs from all of its parents, a node or its tombstone; a merge that took a change
over from one side has not touched it. Equal trees have equal CIDs, so an unrelated commit costs
only the path to one node, or the difference of two trees. Which nodes are parts of a document is
read from its lists, so no node of another document is read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.objects.block import in_version
from ibidem.objects.cid import Cid, CommitCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.derive import node_id
from ibidem.objects.errors import CorruptError, ErasedError, InvalidInputError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.location import DOCUMENT, document_of, parts_of
from ibidem.objects.node import Node
from ibidem.objects.progress import STEP, Progress, silent
from ibidem.objects.record import record
from ibidem.objects.root import TOMBSTONES, Root
from ibidem.objects.tree import EMPTY_TREE, Change, Tree, diff
from ibidem.objects.tree.block import load
from ibidem.repo.argument_checks import check_id
from ibidem.repo.history.ancestry import CommitEnds, newest_first, read_ends
from ibidem.repo.history.documents import former_paths
from ibidem.repo.history.log import commits

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

SEARCHING = "searching commits"


@record
class Touched:
    """The filter for commits; a single node must satisfy all given conditions."""

    node: NodeId | None = None
    label: str | None = None
    path: str | None = None
    """The path of a document, as it was ingested."""
    earlier: tuple[str, ...] = ()
    """Paths that the document had before."""
    earlier_ids: tuple[NodeId, ...] = ()
    """Ids that the node had before, newest first."""

    def __post_init__(self) -> None:
        if self.node is not None:
            check_id("node", self.node, NodeId)
        for name, value in (("label", self.label), ("path", self.path)):
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidInputError(f"{name}: got {value!r:.80}, expected text")

    @property
    def keys(self) -> list[bytes]:
        """The ids of the node, now and before; none if there is no such condition."""
        return [id_.raw for id_ in (self.node, *self.earlier_ids) if id_ is not None]

    @property
    def documents(self) -> tuple[NodeId, ...]:
        """The ids of the documents of the paths; none if there is no such condition."""
        paths = () if self.path is None else (self.path, *self.earlier)
        return tuple(node_id(DOCUMENT, path) for path in paths)

    @property
    def is_any(self) -> bool:
        """Whether every commit matches."""
        return self.node is None and self.label is None and self.path is None


def touching(
    source: Source, start: CommitCid | None, touched: Touched, progress: Progress = silent
) -> Iterator[Commit]:
    """Yields a commit and its ancestors if they match, in the order of `history.commits`; only
    these are decoded.
    """
    if touched.is_any:
        yield from commits(source, start)
        return
    states = NodeStates(source)
    starts = () if start is None else (start,)
    done = 0
    for done, (cid, ends) in enumerate(newest_first(states.ends, starts)):
        if done % STEP == 0:
            progress(SEARCHING, done, None)
        parents = [states.ends(parent).root for parent in ends.parents]
        if _differs(states, touched, parents, ends.root) or _hides(
            states, touched, parents, ends.root
        ):
            yield Commit.decode(source.get(cid))
    progress(SEARCHING, done, done)


def paths_before(source: Source, root: RootCid, path: str) -> tuple[str, ...]:
    """Returns the paths that the document of a path had before, as its node lists them."""
    cid = Tree(source, Root.decode(source.get(root)).nodes).get(node_id(DOCUMENT, path).raw)
    return () if cid is None else former_paths(Node.decode(source.get(cid)))


def ids_before(source: Source, root: RootCid, id: NodeId) -> tuple[NodeId, ...]:  # noqa: A002
    """Returns the ids that a node had before its document was renamed, newest first.

    Ids of a document and its parts are derived from its path, so each had another under an earlier
    path: the one that ingest derives there for the same key.
    """
    nodes = Tree(source, Root.decode(source.get(root)).nodes)

    def read(id: NodeId) -> Node | None:  # noqa: A002
        cid = nodes.get(id.raw)
        return None if cid is None else Node.decode(source.get(cid))

    def under(document: NodeId, node: Node) -> NodeId | None:
        """The id of a part of the renamed document under another path."""
        assert node.key is not None, "BUG: a part without a key"
        namespace, value = node.key
        rest = list(value[1:]) if isinstance(value, list) else []
        if len(rest) == 1 and isinstance(rest[0], bytes):  # a section without a heading
            first = read(NodeId(rest[0]))
            inner = None if first is None or first.key is None else under(document, first)
            if inner is None:
                return None
            rest = [inner.raw]
        return node_id(namespace, [document.raw, *rest])

    node = read(id)
    if node is None or node.key is None:
        return ()
    namespace, value = node.key
    if namespace == DOCUMENT:
        document: Node | None = node
    elif isinstance(value, list) and value and isinstance(value[0], bytes):
        document = read(NodeId(value[0])) if len(value[0]) == ID_BYTES else None
    else:
        return ()
    paths = () if document is None else former_paths(document)
    homes = [node_id(DOCUMENT, path) for path in reversed(paths)]
    if node is document:
        return tuple(homes)
    return tuple(found for home in homes if (found := under(home, node)) is not None)


class NodeStates:
    """Nodes at many roots. Neighbouring commits share most blocks, so each block on the path to a
    node is read once, and only the needed fields of commits and roots are decoded.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._trees: dict[RootCid, dict[str, Any]] = {}
        self._ends: dict[CommitCid, CommitEnds] = {}
        self._below: dict[tuple[bytes, bytes], Cid | None] = {}
        self._parts: dict[tuple[TreeCid, tuple[NodeId, ...]], frozenset[bytes]] = {}

    def ends(self, commit: CommitCid) -> CommitEnds:
        """Returns the root, the parents and the time of a commit."""
        found = self._ends.get(commit)
        if found is None:
            found = read_ends(self.source, commit)
            self._ends[commit] = found
        return found

    def tree(self, root: RootCid, name: str = "nodes") -> TreeCid:
        """Returns the tree of the nodes of a root, or of their tombstones."""
        found = self._trees.get(root)
        if found is None:
            fields = codec.decode(self.source.get(root))
            if not isinstance(fields, dict) or fields.get("kind") != Root.KIND:
                raise CorruptError(f"block {root}: got no root, expected one")
            fields = in_version(fields)
            found = self._trees[root] = {
                each: fields[each].raw for each in ("nodes", TOMBSTONES[0])
            }
        return TreeCid(found[name])

    def first(self, tree: TreeCid, keys: Iterable[bytes]) -> Cid | None:
        """Returns the version of the first node that a tree has, None if it has none of them."""
        return next((found for key in keys if (found := self.node(tree, key)) is not None), None)

    def node(self, tree: TreeCid, key: bytes) -> Cid | None:
        """Returns the version of a node in a tree, None if there is none."""
        way: list[tuple[bytes, bytes]] = []
        raw, found = tree.raw, None
        while True:
            position = (raw, key)
            if position in self._below:
                found = self._below[position]
                break
            way.append(position)
            block = load(self.source, raw)
            index = (block.find if block.level else block.place)(key) if block.size else -1
            if not 0 <= index < block.size:
                break
            raw = block.cid(index)
            if not block.level:
                found = Cid(raw)
                break
        self._below.update(dict.fromkeys(way, found))
        return found

    def changes(
        self, before: TreeCid, now: TreeCid, documents: tuple[NodeId, ...]
    ) -> Iterator[Change]:
        """Yields what differs between two trees of nodes in these documents and the parts that they
        list in either, and some that are the same."""
        listed = self.parts(now, documents)
        is_same = True
        for change in diff(self.source, before, now):
            if change[0] in listed:
                is_same = False
                yield change
        if is_same:  # so is each list of parts
            self._parts[before, documents] = listed
            return
        for key in self.parts(before, documents) - listed:
            yield key, self.node(before, key), self.node(now, key)

    def parts(self, tree: TreeCid, documents: tuple[NodeId, ...]) -> frozenset[bytes]:
        """Returns the ids of documents and of all that they list, whether it exists or not."""
        found = self._parts.get((tree, documents))
        if found is None:
            met: set[bytes] = set()

            def find(id_: NodeId) -> Node | None:
                met.add(id_.raw)
                cid = self.node(tree, id_.raw)
                try:
                    return None if cid is None else Node.decode(self.source.get(cid))
                except ErasedError:  # what it listed is gone too
                    return None

            for document in filter(None, map(find, documents)):
                deque(parts_of(document, find), maxlen=0)
            found = self._parts[tree, documents] = frozenset(met)
        return found


def _hides(states: NodeStates, touched: Touched, parents: list[RootCid], root: RootCid) -> bool:
    """Returns whether the tombstone of a matching node differs from that in each of the parents."""
    befores = [states.tree(one, TOMBSTONES[0]) for one in parents] or [EMPTY_TREE]
    now, nodes = states.tree(root, TOMBSTONES[0]), states.tree(root)
    if now in befores:
        return False
    keys: Container[bytes] | None = None
    if touched.node is not None:
        keys = touched.keys
    elif touched.path is not None:
        keys = states.parts(nodes, touched.documents)
    return any(
        (keys is None or key in keys)
        and all(states.node(before, key) != is_now for before in befores[1:])
        and _matches(states, touched, states.node(nodes, key))
        for key, _, is_now in diff(states.source, befores[0], now)
    )


def _differs(states: NodeStates, touched: Touched, parents: list[RootCid], root: RootCid) -> bool:
    """Returns whether a matching node differs from its version in each of the parents."""
    befores, now = [states.tree(one) for one in parents] or [EMPTY_TREE], states.tree(root)
    if now in befores:
        return False
    if touched.node is not None:
        was, is_now = (states.first(tree, touched.keys) for tree in (befores[0], now))
        return (
            was != is_now
            and (_matches(states, touched, was) or _matches(states, touched, is_now))
            and all(states.first(before, touched.keys) != is_now for before in befores[1:])
        )
    changes = (
        diff(states.source, befores[0], now)
        if touched.path is None
        else states.changes(befores[0], now, touched.documents)
    )
    return any(
        was != is_now
        and (_matches(states, touched, was) or _matches(states, touched, is_now))
        and all(states.node(before, key) != is_now for before in befores[1:])
        for key, was, is_now in changes
    )


def _matches(states: NodeStates, touched: Touched, cid: Cid | None) -> bool:
    if cid is None:
        return False
    if touched.label is None and touched.path is None:
        return True
    try:
        node = Node.decode(states.source.get(cid))
    except ErasedError:  # of which type and document it was is gone too
        return False
    if touched.label is not None and node.ntype != touched.label:
        return False
    return touched.path is None or document_of(node) in touched.documents

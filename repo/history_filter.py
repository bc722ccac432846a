"""Which commits touched something: a node, the nodes of a label, the parts of a document.

A commit touches what differs from each of its parents; a merge that took something over from one
side has not touched it. Equal trees are told by their CIDs, so a commit that changed other things
costs the way to one node, or the difference of two trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, NodeCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree, diff
from ibidem.repo.checks import check_id

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

DOCUMENT = "document"
"""Namespace of the keys of documents, whose key is their path; keys of parts begin with its id."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What a commit has to touch; everything that is given, in one node."""

    node: NodeId | None = None
    label: str | None = None
    path: str | None = None
    """Of a document, as it was ingested."""

    def __post_init__(self) -> None:
        if self.node is not None:
            check_id("node", self.node, NodeId)
        for name, value in (("label", self.label), ("path", self.path)):
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidInputError(f"{name}: got {value!r:.80}, expected text")

    @property
    def is_any(self) -> bool:
        """Whether every commit will do."""
        return self.node is None and self.label is None and self.path is None


def touching(source: Source, commits: Iterable[Commit], touched: Touched) -> Iterator[Commit]:
    """Yields those of the commits that touched it, in their order."""
    if touched.is_any:
        yield from commits
        return
    states = NodeStates(source)
    for commit in commits:
        parents = [states.tree(states.root_of(parent)) for parent in commit.parents]
        now = states.tree(commit.root)
        if all(_differs(states, touched, before, now) for before in parents or [EMPTY_TREE]):
            yield commit


class NodeStates:
    """Nodes at many roots, each looked up once; neighbouring commits share most of it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._trees: dict[RootCid, TreeCid] = {}
        self._roots: dict[Cid, RootCid] = {}
        self._found: dict[tuple[TreeCid, bytes], Cid | None] = {}

    def root_of(self, commit: Cid) -> RootCid:
        """Returns the root of a commit."""
        if commit not in self._roots:
            self._roots[commit] = Commit.decode(self.source.get(commit)).root
        return self._roots[commit]

    def tree(self, root: RootCid) -> TreeCid:
        """Returns the tree of the nodes of a root."""
        if root not in self._trees:
            self._trees[root] = Root.decode(self.source.get(root)).nodes
        return self._trees[root]

    def node(self, tree: TreeCid, key: bytes) -> NodeCid | None:
        """Returns the version of a node in a tree, None where there is none."""
        place = (tree, key)
        if place not in self._found:
            self._found[place] = Tree(self.source, tree).get(key)
        cid = self._found[place]
        return None if cid is None else NodeCid(cid.raw)


def _differs(states: NodeStates, touched: Touched, before: TreeCid, now: TreeCid) -> bool:
    if before == now:
        return False
    if touched.node is not None:
        key = touched.node.raw
        versions = states.node(before, key), states.node(now, key)
        if versions[0] == versions[1]:
            return False
        return any(_matches(states, touched, cid) for cid in versions)
    return any(
        _matches(states, touched, cid)
        for _, was, is_now in diff(states.source, before, now)
        for cid in (was, is_now)
    )


def _matches(states: NodeStates, touched: Touched, cid: Cid | None) -> bool:
    if cid is None:
        return False
    if touched.label is None and touched.path is None:
        return True
    node = Node.decode(states.source.get(cid))
    if touched.label is not None and node.ntype != touched.label:
        return False
    return touched.path is None or _is_part(node, touched.path)


def _is_part(node: Node, path: str) -> bool:
    """Tells whether a node is the document of a path, or a part of it."""
    if node.key is None:
        return False
    namespace, key = node.key
    if namespace == DOCUMENT:
        return bool(key == path)
    return isinstance(key, list) and bool(key) and key[0] == node_id(DOCUMENT, path).raw

"""Merges vectors of all families: they never conflict, and none is dropped while its node exists. A
vector can be recomputed from its text, so one of two is enough: the one computed from the merged
text, else the one with the lower CID.

Spec: merge 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.config import Config
from ibidem.objects.node import Node, join_content
from ibidem.objects.text import node_text, text_digest
from ibidem.objects.vector import VECTORS
from ibidem.repo.merge.trees import Triples, lowest, three_way

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.repo.merge.graph import GraphMerge


class VectorMerge:
    """The merge of vectors, after that of the graph."""

    def __init__(self, graph: GraphMerge, config: Config, buffer: WriteBatch) -> None:
        self._graph = graph
        self._fields = config.fields
        self._buffer = buffer
        self._digests: dict[bytes, bytes] = {}

    def tree(self, kind: str, base: TreeCid, ours: TreeCid, theirs: TreeCid) -> TreeCid:
        """Returns the merged tree of one model or vocabulary.

        Args:
            kind: the kind of its values.
        """
        triples = Triples(self._buffer, base, ours, theirs)
        values: dict[bytes, Cid | None] = {}
        for key, found in triples.changed.items():
            value, is_both = three_way(self._graph.attached(key, found))
            if key in self._graph.removed:
                value = None
            elif is_both:
                value = self._better(kind, key, found[1], found[2])
            values[key] = value
        return triples.merged(values)

    def _better(self, kind: str, key: bytes, one: Cid | None, other: Cid | None) -> Cid | None:
        if one is not None and other is not None:
            cls = VECTORS[kind]
            digest = self._digest(key)
            fitting = [
                cid for cid in (one, other) if cls.decode(self._buffer.get(cid)).of == digest
            ]
            if len(fitting) == 1:
                return fitting[0]
        return lowest((one, other))

    def _digest(self, key: bytes) -> bytes:
        """Returns the digest of a merged node's text."""
        if key not in self._digests:
            cid = self._graph.node(key)
            assert cid is not None, "BUG: a vector of a removed node"
            node = Node.decode(self._buffer.get(cid))
            content = node.content
            if isinstance(content, tuple):
                content = join_content(self._buffer.get(part) for part in content)
            self._digests[key] = text_digest(node_text(node, self._fields, content))
        return self._digests[key]

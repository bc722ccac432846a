"""A graph in memory behind real transactions: a publisher that keeps one root and all blocks."""

from types import SimpleNamespace

from ibidem.index.index import Index
from ibidem.ingest.ingest import ingest
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, Tree
from ibidem.repo import graph as repo_graph
from ibidem.repo.transaction.changeset import Published, applied, check_references
from ibidem.repo.transaction.transaction import Transaction


class _Receipts:
    def generation(self):
        return 0


class _Read(repo_graph.Graph):
    """The graph of a root, with an index in memory."""

    def snapshot(self):
        return Index(None, self._store).snapshot(self.root_cid)


class Blocks:
    def __init__(self):
        self.by_cid = {EMPTY_TREE: EMPTY_TREE_BLOCK}

    def get(self, cid: Cid) -> bytes:
        return self.by_cid[cid]

    def get_many(self, cids):
        return [self.get(cid) for cid in cids]


class Graph:
    """Publishes into `root`; `publications` counts the times that something changed."""

    def __init__(self):
        self.blocks = Blocks()
        self.publications = 0
        self.root = Root(
            nodes=EMPTY_TREE,
            edges=EMPTY_TREE,
            vectors={},
            sparse={},
            tombstones=EMPTY_TREE,
            conflicts=EMPTY_TREE,
            config=Config.default().to_map(),
        )

    @property
    def cid(self):
        return str(RootCid.of(self.root.encode()))

    def base(self):
        return self.root

    def publish(self, edits, blocks):
        buffer = WriteBatch(self.blocks)
        buffer.new.update(blocks)
        root = applied(self.root, edits, buffer)
        check_references(buffer, root, edits)
        if root.encode() == self.root.encode():
            return Published()
        self.blocks.by_cid.update(buffer.new)
        self.root = root
        self.publications += 1
        return Published()

    def transaction(self):
        def incident(root, node_id):
            edges = [
                Edge.decode(self.blocks.get(cid))
                for _, cid in Tree(self.blocks, root.edges).items()
            ]
            return [edge.id for edge in edges if node_id in (edge.src, edge.dst)]

        def staged(root, buffer):
            self.blocks.by_cid[root.cid] = root.encode()
            return _Read(SimpleNamespace(store=self.blocks, receipts=_Receipts()), root.cid, None)

        return Transaction(
            self.blocks,
            self,
            incident=incident,
            unique_id=lambda _: NodeId(bytes(16)),
            staged=staged,
        )

    def ingest(self, *paths, **options):
        with self.transaction() as tx:
            return ingest(tx, paths, **options)

    def nodes(self):
        nodes = (
            Node.decode(self.blocks.get(cid))
            for _, cid in Tree(self.blocks, self.root.nodes).items()
        )
        return {node.id: node for node in nodes}

    def edges(self):
        return [
            Edge.decode(self.blocks.get(cid))
            for _, cid in Tree(self.blocks, self.root.edges).items()
        ]

"""A CAR of mnem: every block is checked, and the state of its head is carried over."""

from __future__ import annotations

import hashlib

import cbor2
import numpy as np
import pytest
from blake3 import blake3

import ibidem
from ibidem.adapters import importing
from ibidem.errors import ErrorKind, IbidemError

IDS = [bytes([number]) * 16 for number in range(1, 5)]


class Car:
    """A CAR that is written block by block."""

    def __init__(self):
        self.blocks: list[tuple[bytes, bytes]] = []

    def put(self, value):
        data = cbor2.dumps(value)
        cid = b"\x01\x71\x12\x20" + hashlib.sha256(data).digest()
        self.blocks.append((cid, data))
        return cbor2.CBORTag(42, b"\0" + cid)

    def tree(self, entries, *, split=False):
        listed = sorted((key, link) for key, link in entries)
        if not split:
            return self.put(
                {"_kind": "tree", "leaf": True, "entries": [list(one) for one in listed]}
            )
        half = len(listed) // 2
        children = [self.tree(listed[:half]), self.tree(listed[half:])]
        tree = {"_kind": "tree", "leaf": False, "boundaries": [listed[half][0]]}
        return self.put({**tree, "children": children})

    def data(self, root):
        def framed(data):
            size = len(data)
            head = b""
            while size >= 0x80:
                head += bytes([size & 0x7F | 0x80])
                size >>= 7
            return head + bytes([size]) + data

        header = cbor2.dumps({"roots": [root], "version": 1})
        return b"".join([framed(header), *(framed(cid + data) for cid, data in self.blocks)])


def car(*, root="operation", skip=(), **changes):
    car = Car()
    nodes = []
    for number, id_ in enumerate(IDS):
        value = {
            "_kind": "node",
            "id": id_,
            "ntype": "Doc",
            "summary": f"text {number}",
            "props": {"n": number, "list": [1, {"a": None}], "link": cbor2.CBORTag(42, b"\0abc")},
        }
        if number == 1:
            value |= {"content": b"bytes", "context_sentence": "of it", "new field": 1}
        nodes.append((id_, car.put(value)))
    edge = {
        "_kind": "edge",
        "id": b"e" * 16,
        "etype": "cites",
        "src": IDS[0],
        "dst": IDS[1],
        "props": {"why": "x"},
    }
    vectors = {
        "_kind": "embedding_bucket",
        "entries": [
            {"model": name, "embedding": {"model": name, "dtype": dtype, "dim": 2, "vector": data}}
            for name, dtype, data in (
                ("half", "f16", np.array([1, 2], "<f2").tobytes()),
                ("double", "f64", np.array([1, 2], "<f8").tobytes()),
                ("single", "f32", np.array([1, 2], "<f4").tobytes()),
            )
        ],
    }
    sparse = {
        "_kind": "sparse_bucket",
        "entries": [
            {"vocab_id": "v", "sparse": {"indices": [1, 5], "values": [0.5, 2.0], "vocab_id": "v"}}
        ],
    }

    def sidecar(bucket):
        return car.tree([(blake3(nodes[0][1].value[1:]).digest()[:16], car.put(bucket))])

    first = car.put(
        {"_kind": "commit", "parents": [], "nodes": car.tree([]), "edges": car.tree([])}
    )
    commit = {
        "_kind": "commit",
        "parents": [first],
        "nodes": car.tree(nodes, split=True),
        "edges": car.tree([(b"e" * 16, car.put(edge))]),
        "embeddings": sidecar(vectors),
        "sparse": sidecar(sparse),
        **changes,
    }
    head = car.put(commit)
    gone = [
        {"node_id": IDS[3], "reason": "private", "tombstoned_at": 1},
        {"node_id": b"?" * 16, "reason": "", "tombstoned_at": 1},
    ]
    refs = {
        "refs/heads/main": {"kind": "normal", "target": head},
        "refs/heads/old": {"kind": "normal", "target": first},
    }
    view = car.put({"_kind": "view", "heads": [head], "refs": refs, "tombstones": gone})
    operation = car.put({"_kind": "operation", "parents": [], "view": view})
    car.blocks = [block for number, block in enumerate(car.blocks) if number not in skip]
    return car.data({"operation": operation, "commit": head, "view": view}[root])


@pytest.fixture
def import_(tmp_path):
    def call(data, *, repo=None, **options):
        file = tmp_path / "graph.car"
        file.write_bytes(data)
        repo = repo or ibidem.init("memory:")
        return repo, importing.load(repo, file, **options)

    return call


def test_everything_of_the_head(import_):
    repo, report = import_(car())
    assert report.format == "mnem"
    assert (report.nodes_added, report.edge_count, report.vector_count, report.tombstone_count) == (
        (4, 1, 4, 1)
    )
    assert report.omitted == {
        "earlier commit": 1,
        "precision of a vector of float64": 1,
        "ref to another commit: refs/heads/old": 1,
        "tombstone of a node that is not there": 1,
    }
    at = repo.at()
    ids = [ibidem.NodeId(id_) for id_ in IDS]
    assert [node.id for node in at.nodes()] == ids[:3]
    assert at.tombstone(ids[3]) == "private"
    one = at.node(ids[1])
    assert (one.ntype, one.summary, one.content, one.context_sentence) == (
        ("Doc", "text 1", b"bytes", "of it")
    )
    assert one.props == {"n": 1, "list": [1, {"a": None}], "link": "bmfrgg"}
    (edge,) = at.edges()
    assert (edge.src, edge.dst, edge.etype, edge.props) == (ids[0], ids[1], "cites", {"why": "x"})
    assert at.vector(ids[0], "half").dtype == "f16"
    assert at.vector(ids[0], "single").to_array().tolist() == [1, 2]
    indices, weights = at.sparse(ids[0], "v").to_arrays()
    assert (indices.tolist(), weights.tolist()) == ([1, 5], [0.5, 2.0])
    head = repo.head
    import_(car(), repo=repo)
    assert repo.head == head


def test_the_car_of_a_commit_has_no_tombstones(import_):
    repo, report = import_(car(root="commit"))
    assert (report.nodes_added, report.tombstone_count) == (4, 0)
    assert repo.at().is_visible(ibidem.NodeId(IDS[3]))


def test_a_scrubbed_node_is_counted(import_):
    _, report = import_(car(skip={0}))
    assert report.omitted["node without its block, as an export with --scrub has it"] == 1
    assert report.omitted["edge to or from a node that is not there"] == 1


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (
            car().replace(b"text 2", b"text 3", 1),
            ErrorKind.HASH_MISMATCH,
            "other bytes than its CID",
        ),
        (car()[:-1], ErrorKind.CORRUPT, "it ends in a block"),
        (car(skip={8}), ErrorKind.CORRUPT, "it is not in the file"),
        (car(nodes=1), ErrorKind.CORRUPT, "commit.nodes: got 1, expected a link"),
        (
            car(root="view").replace(b"gversion\x01", b"gversion\x02"),
            ErrorKind.CORRUPT,
            "version 2",
        ),
    ],
)
def test_a_damaged_file_changes_nothing(import_, data, kind, expected):
    repo = ibidem.init("memory:")
    with pytest.raises(IbidemError) as caught:
        import_(data, repo=repo)
    assert caught.value.kind is kind
    assert expected in str(caught.value)
    assert repo.head is None


def test_any_flipped_byte_is_an_error_of_ours(import_):
    data = car()
    for start in range(0, len(data), 7):
        damaged = data[:start] + bytes([data[start] ^ 0x55]) + data[start + 1 :]
        repo = ibidem.init("memory:")
        with pytest.raises(IbidemError):
            import_(damaged, repo=repo, format="mnem")
        assert repo.head is None

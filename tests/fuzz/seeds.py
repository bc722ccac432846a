"""Seeds: for each target some inputs that are valid or nearly so, made here or read."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import ibidem
from ibidem.repo.repository import Repository

ROOT = Path(__file__).resolve().parents[2]

RECORDS = (
    {"node": {"name": "a", "ntype": "Doc", "summary": "one", "props": {"n": 1, "t": [1.5]}}},
    {"node": {"name": "b", "ntype": "Doc", "content": "two\nthree", "key": ["ns", "b"]}},
    {"edge": {"source": "a", "etype": "cites", "target": "b", "weight": 0.5}},
    {"vector": {"node": "a", "model": "m", "values": [0.5, 1.0, -2.0]}},
    {"sparse": {"node": "a", "vocab": "v", "indices": [1, 5], "weights": [0.5, 1.0]}},
    {"tombstone": {"node": "b", "reason": "gone"}},
    {"remove": {"node": "a"}},
)


@cache
def small() -> Repository:
    """A repository in memory with a block of every kind that a transaction makes."""
    repo = ibidem.init(clock=lambda: 0)
    with repo.transaction(author="ada", message="first") as tx:
        one = tx.add_node("Doc", summary="queue", content=b"x" * 5000, key=("doc", 1))
        two = tx.add_node("Doc", summary="retry", props={"n": 1, "f": 0.5, "l": [None, True]})
        tx.add_edge(one, "cites", two, weight=2.0)
        tx.set_vector(one, model="m", vector=np.asarray([1, 2, 3], np.float32))
        tx.set_sparse(one, vocab="v", indices=[1, 7], weights=[0.5, 1.5])
    with repo.transaction(author="ada", message="second") as tx:
        tx.tombstone(two, reason="wrong")
    repo.tag("v1")
    return repo


def blocks() -> list[bytes]:
    """Blocks of ours, and the fixtures of the format's authors."""
    store = small().core.store
    fixtures = ROOT / "tests/conformance/fixtures/ipld-codec-fixtures/positive.jsonl"
    ours = [store.get(cid) for cid in store.cids() if not cid.is_raw]
    lines = fixtures.read_text().splitlines()
    return ours + [b64decode(json.loads(line)["cbor_base64"]) for line in lines]


def receipts() -> list[bytes]:
    """Receipts of plain, filtered and vector questions."""
    repo, vector = small(), ("m", np.asarray([1, 0, 0], np.float32))
    asked = (
        repo.retrieve("queue"),
        repo.retrieve("queue", where={"n": 1}, token_budget=50),
        repo.retrieve("queue", vector=vector, mmr={"lambda": 0.5, "depth": 5}),
        repo.retrieve(label="Doc"),
    )
    return [result.receipt.encode() for result in asked if result.receipt is not None]


def goldens() -> list[bytes]:
    """Golden files of the example."""
    folder = ROOT / "examples" / "regression_suite"
    return [path.read_bytes() for path in sorted(folder.rglob("__retrieval__/**/*.txt"))]


def lines() -> list[bytes]:
    """JSON lines, one record each and all together."""
    each = [json.dumps(record).encode() + b"\n" for record in RECORDS]
    return [*each, b"".join(each)]


def documents() -> list[bytes]:
    """Our own pages."""
    return [path.read_bytes()[:4000] for path in sorted((ROOT / "docs").rglob("*.md"))][:20]


def questions() -> list[bytes]:
    """Texts as people ask, in several scripts."""
    latin = "ﬁ ß İ \u0131"
    texts = ("retry queue", '"queue café" 机器', "x" * 500, latin, "a-b_c/d.e@f 1.5e9", "\x00")
    return [text.encode() for text in texts]


def revisions() -> list[bytes]:
    """Names of revisions."""
    names = ("main", "main~3", "v1", "HEAD", "main@{2026-01-01T00:00:00Z}", "bafyrei", "a/../b")
    return [name.encode() for name in names]


SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "block": blocks,
    "receipt": receipts,
    "golden": goldens,
    "ndjson": lines,
    "markdown": documents,
    "question": questions,
    "revision": revisions,
}

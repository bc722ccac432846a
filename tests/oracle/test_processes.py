"""The same bytes in other processes: threads, BLAS kernels, hash seeds, locales, time zones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
from pathlib import Path
import dag_cbor
import numpy as np
from blake3 import blake3
from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.config import Config, Model
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import build
from ibidem.objects.vector import Vector
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve
from ibidem.retrieve.rerank import RerankRecord

digest = blake3()
for case in json.loads(Path("spec/vectors/retrieval/answers.json").read_text("ascii"))[:6]:
    buffer = WriteBatch()
    for text, block in case["input"]["blocks"].items():
        buffer.put(Cid.parse(text), bytes.fromhex(block))
    snapshot = Index(None, buffer).snapshot(RootCid.parse(case["input"]["root"]))
    for pair in case["output"]:
        query = Query.decode(bytes.fromhex(pair["query"]))
        said = dag_cbor.decode(bytes.fromhex(pair["result"]))["rerank"]
        record = None if said is None else RerankRecord.from_form(said)
        load = lambda cid: Node.decode(buffer.get(cid))
        digest.update(execute(snapshot, query, NodeSource(load), reranker=record).to_bytes())

rng = np.random.default_rng(5)
rows = rng.standard_normal((600, 96)).astype(np.float32)
rows[100:200] = rows[0] * (1 + rng.standard_normal((100, 1)) * 1e-7)
buffer, trees = WriteBatch(), {"nodes": [], "vectors": []}
for index, row in enumerate(rows):
    key = NodeId(blake3(str(index).encode()).digest()[:16])
    for name, value in (
        ("nodes", Node(id=key, ntype="N", summary=f"text {index % 7} of {index}")),
        ("vectors", Vector.from_array(row, of=bytes(32))),
    ):
        block = value.encode()
        cid = type(value).CID.of(block)
        buffer.put(cid, block)
        trees[name].append((key.raw, cid))
config = Config(models={"m": Model(dim=96)})
empty = build([], buffer)
root = Root(
    nodes=build(sorted(trees["nodes"]), buffer), edges=empty, tombstones=empty, conflicts=empty,
    vectors={"m": build(sorted(trees["vectors"]), buffer)}, config=config.to_map(),
)
buffer.put(RootCid.of(root.encode()), root.encode())
snapshot = Index(None, buffer).snapshot(RootCid.of(root.encode()))
for row in (rows[0], rows[5] * 1e-20, rows[0] * 1e20):
    query = resolve(config, text="text 3", vector=("m", row), fusion="convex", mmr={})
    result = execute(snapshot, query, NodeSource(lambda cid: Node.decode(buffer.get(cid))))
    digest.update(result.to_bytes())
print(digest.hexdigest())
"""

ENVIRONMENTS = [
    {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"},
    {"OPENBLAS_CORETYPE": "Prescott", "PYTHONHASHSEED": "2", "LC_ALL": "C"},
    {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2", "LC_ALL": "tr_TR.UTF-8"},
    {"NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX", "PYTHONUTF8": "1"},
]


def digest_in(environment):
    path = os.pathsep.join([str(ROOT / "src"), *sys.path])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, **environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def plain():
    return digest_in({})


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param(one, marks=pytest.mark.slow if one in ENVIRONMENTS[1:3] else ())
        for one in ENVIRONMENTS
    ],
    ids=" ".join,
)
def test_other_processes_give_the_same_bytes(plain, environment):
    """[2.1-a]"""
    assert digest_in(environment) == plain

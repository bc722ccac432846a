"""The vectors of spec/retrieval.md: engine and oracle both give what is written there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.node import Node
from ibidem.retrieve import numbers
from ibidem.retrieve.access.union_snapshot import UnionSnapshot
from ibidem.retrieve.answer.render import contain, render
from ibidem.retrieve.dense.lane import canonical_scores
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.tokens import HEURISTIC

from . import oracle, shown

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "spec" / "vectors" / "retrieval"


def cases(name):
    found = json.loads((FOLDER / f"{name}.json").read_text("ascii"))
    assert found, f"no vectors in {name}.json"
    return [pytest.param(case, id=case["name"]) for case in found]


@pytest.mark.parametrize("case", cases("numbers"))
def test_numbers(case):
    match case["input"]:
        case {"ln": [numerator, denominator]}:
            assert numbers.ln_ratio(numerator, denominator).hex() == case["output"]
        case {"exp": value}:
            assert numbers.exp(float.fromhex(value)).hex() == case["output"]
        case {"x": row, "q": query}:
            row, query = ([float.fromhex(text) for text in values] for values in (row, query))
            rows = np.array([row], np.float32)
            array = np.array(query, np.float32)
            assert numbers.dots(rows, array)[0].hex() == case["output"]["sum"]
            for metric in ("cosine", "dot", "euclidean"):
                engine = float(canonical_scores(rows, array, metric)[0])
                assert engine.hex() == case["output"][metric]
                assert oracle.measure(row, query, metric).hex() == case["output"][metric]


@pytest.mark.parametrize("case", cases("text"))
def test_text(case):
    given, wanted = case["input"], case["output"]
    if "text" in given:
        assert contain(given["text"]) == shown.contain(given["text"]) == wanted["contained"]
        assert HEURISTIC.estimate(given["text"]) == wanted["tokens"]
        return
    node = Node.decode(bytes.fromhex(given["node"]))
    text = render(node, given["of"], metadata=given["metadata"], edges=given["edges"])
    assert text == wanted["rendered"]
    assert HEURISTIC.estimate(text) == shown.estimate(text) == wanted["tokens"]


class Says:
    """The reranker of a vector."""

    def __init__(self, asked, scores):
        self.name, self.digest, self._scores = asked.name, asked.digest, scores

    def rerank(self, text, rendered):
        return self._scores[: len(rendered)]


@pytest.mark.parametrize(
    "case",
    [
        *cases("answers"),
        *cases("walks"),
        *cases("mentions"),
        *cases("symbols"),
        *cases("code"),
        *cases("homes"),
        *cases("passages"),
        *cases("repeats"),
        *cases("related"),
        *cases("history"),
        *cases("queries"),
    ],
)
def test_answers(case):
    buffer = WriteBatch()
    for text, block in case["input"]["blocks"].items():
        buffer.put(Cid.parse(text), bytes.fromhex(block))
    root = RootCid.parse(case["input"]["root"])
    world = oracle.World(buffer, root)
    snapshot = Index(None, buffer).snapshot(root)
    for pair in case["output"]:
        query = Query.decode(bytes.fromhex(pair["query"]))
        said = pair.get("rerank")
        scores = None if said is None else [None if one is None else float(one) for one in said]
        assert oracle.answer(world, query.form(), scores).hex() == pair["result"]
        result = execute(
            snapshot,
            query,
            NodeSource(lambda cid: Node.decode(buffer.get(cid)), world.content),
            reranker=None if scores is None else Says(query.rerank, scores),
        )
        assert result.to_bytes().hex() == pair["result"]


@pytest.mark.parametrize("case", cases("union"))
def test_unions(case):
    buffer = WriteBatch()
    for text, block in case["input"]["blocks"].items():
        buffer.put(Cid.parse(text), bytes.fromhex(block))
    roots = [RootCid.parse(text) for text in case["input"]["roots"]]
    parts = [Index(None, buffer).snapshot(root) for root in roots]
    worlds = [oracle.World(buffer, root) for root in roots]
    for pair in case["output"]:
        query = Query.decode(bytes.fromhex(pair["query"]))
        assert query.form()["union"] == roots
        for some in (parts, parts[::-1]):
            result = execute(
                UnionSnapshot(some, parts[0].config, None),
                query,
                NodeSource(lambda cid: Node.decode(buffer.get(cid)), worlds[0].content),
            )
            assert result.to_bytes().hex() == pair["result"]


def test_every_statement_of_the_spec_is_tested():
    spec = (ROOT / "spec" / "retrieval.md").read_text("utf-8")
    anchors = set(re.findall(r"\[(\d+(?:\.\d+)*-[a-z])\]", spec))
    cited = set()
    for folder in ("tests/retrieve", "tests/oracle", "tests/repo", "tests/compat"):
        for path in sorted((ROOT / folder).glob("*.py")):
            cited |= set(re.findall(r"\[(\d+(?:\.\d+)*-[a-z])\]", path.read_text("utf-8")))
    for path in sorted(FOLDER.glob("*.json")):
        for case in json.loads(path.read_text("utf-8")):
            spec_of = case.get("spec", []) if isinstance(case, dict) else []
            cited |= set([spec_of] if isinstance(spec_of, str) else spec_of)
    assert anchors
    assert sorted(anchors - cited) == []

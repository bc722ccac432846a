"""Every published version of the rules still answers as its golden vectors say. [10-d]"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.errors import FormatError
from ibidem.objects.node import Node
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.query.query import SEMANTICS, Query
from ibidem.retrieve.semantics import VERSIONS, rules

FOLDER = Path(__file__).parents[2] / "spec" / "vectors" / "retrieval"
CASES = json.loads((FOLDER / "answers.json").read_text("ascii"))


def content(node: Node) -> bytes | None:
    return node.content if isinstance(node.content, bytes) else None


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_a_published_version_answers_as_it_did(version: int) -> None:
    """[10-d]"""
    answered = 0
    for case in CASES:
        buffer = WriteBatch()
        for text, block in case["input"]["blocks"].items():
            buffer.put(Cid.parse(text), bytes.fromhex(block))
        snapshot = Index(None, buffer).snapshot(RootCid.parse(case["input"]["root"]))
        for pair in case["output"]:
            query = Query.decode(bytes.fromhex(pair["query"]))
            if query.semantics != version or query.rerank is not None:
                continue
            nodes = NodeSource(lambda cid, get=buffer.get: Node.decode(get(cid)), content)
            result = rules(version).execute(snapshot, query, nodes)
            assert result.to_bytes().hex() == pair["result"], (case["name"], pair["query"])
            answered += 1
    assert answered > 10, f"version {version} has no golden answers"


def test_the_version_in_use_is_published_and_unknown_ones_are_refused() -> None:
    assert SEMANTICS in VERSIONS
    for version in (0, SEMANTICS + 1):
        with pytest.raises(FormatError) as caught:
            rules(version)
        assert caught.value.kind == "unsupported-semantics"

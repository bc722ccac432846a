"""What of a node's content is indexed, and an index used by many threads."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibidem.index import extract
from ibidem.index.index import Index
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node, split_content
from ibidem.store.memory import MemoryStore

from .graphs import Graph, mutate, store_root
from .model import check


@given(st.text(min_size=1), st.data())
def test_a_cut_text_ends_with_its_last_whole_character(text: str, data: st.DataObject):
    raw = text.encode()
    at = data.draw(st.integers(0, len(raw)))
    longest = max((prefix for prefix in prefixes(text) if len(prefix) <= at), key=len)
    assert extract.cut_text(raw[:at]) == longest


def prefixes(text: str) -> list[bytes]:
    return [text[:stop].encode() for stop in range(len(text) + 1)]


def test_content_is_indexed_up_to_the_bound_and_not_after(monkeypatch: pytest.MonkeyPatch):
    store = MemoryStore()
    content, blocks = split_content(b"word " * 2_000 + "größe nachher".encode())
    store.put(blocks)
    node = Node(NodeId(b"n" * 16), "Document", content=content)
    graph = Graph(nodes={node.id.raw: node})
    for bound, is_found in ((10_015, True), (10_003, False)):
        monkeypatch.setattr(extract, "CONTENT_INDEXED_BYTES_MAX", bound)
        segment = Index(None, store).snapshot(store_root(graph, store)).lexical[0]
        assert segment.postings("word") is not None
        assert is_found == (segment.postings("nachher") is not None)
        assert extract.indexed_content(node, store)[-1:] != b"\xc3"


def test_threads_share_an_index(tmp_path: Path):
    draw, store, graph, roots = random.Random(2), MemoryStore(), Graph(), []
    for _ in range(6):
        graph = mutate(graph, draw, store, span=15, edits=12)
        roots.append((store_root(graph, store), graph))
    index = Index(tmp_path, store)
    with ThreadPoolExecutor(4) as pool:
        for done in [
            pool.submit(lambda root, facts: check(index.snapshot(root), facts, store), *pair)
            for pair in draw.choices(roots, k=12)
        ]:
            done.result()

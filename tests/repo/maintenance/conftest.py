"""Repositories with something of everything in them, small enough to damage byte by byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository

SECRET = "the secret that nobody may know"


def fill(repo: Repository, *, count: int = 4) -> dict[str, NodeId]:
    """Makes two branches, a tag, vectors, edges, long content, a tombstone, a stage, a receipt."""
    ids: dict[str, NodeId] = {}
    with repo.transaction(author="ada", message="first") as tx:
        for number in range(count):
            node = tx.add_node(
                "Doc",
                summary=f"summary {number}",
                content=b"x" * 5000 + bytes([number]) if number == 1 else f"body {number}",
                props={"n": number},
                key=f"doc {number}",
            )
            ids[f"doc {number}"] = node
            tx.set_vector(node, model="m", vector=np.arange(4, dtype=np.float32) + number)
            tx.set_sparse(node, vocab="v", indices=[number, number + 7], weights=[1.0, 0.5])
        tx.add_edge(ids["doc 0"], "cites", ids["doc 1"], props={"why": "because"})
    repo.branch("side")
    repo.tag("v1")
    with repo.transaction(author="ada", message="second") as tx:
        tx.update_node(ids["doc 0"], summary="another summary")
        tx.tombstone(ids["doc 2"], reason="wrong")
    repo.retrieve("summary")
    with repo.stage.transaction() as tx:
        tx.add_node("Note", summary="staged")
    return ids


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ibidem.init(tmp_path / "repo", clock=lambda: 1_000_000) as repo:
        fill(repo)
    return tmp_path / "repo"


@pytest.fixture
def repo() -> Repository:
    return ibidem.init(clock=lambda: 1_000_000)

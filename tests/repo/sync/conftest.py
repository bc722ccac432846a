"""Two repositories that know each other, and a graph with one of everything in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository
from ibidem.repo.sync.remotes import address_of

from .forging import Forge


def filled(repo: Repository, count: int = 30) -> list[NodeId]:
    """Commits nodes with content, edges, vectors and a tombstone; returns the ids of the nodes."""
    with repo.transaction(author="ada", message="first") as tx:
        ids = [
            tx.add_node(
                "Doc" if number % 2 else "Fact",
                summary=f"retry number {number} of the queue",
                content=b"line\n" * (2000 if number % 10 == 0 else 2),
                key=("doc", number),
            )
            for number in range(count)
        ]
        for number in range(count - 1):
            tx.add_edge(ids[number], "cites", ids[number + 1])
        for number in range(0, count, 3):
            vector = np.asarray([number + 1, 1, 2], np.float32)
            tx.set_vector(ids[number], model="m", vector=vector)
            tx.set_sparse(ids[number], vocab="v", indices=[1, number + 2], weights=[0.5, 1.5])
    with repo.transaction(author="ada", message="forget") as tx:
        tx.tombstone(ids[4], reason="wrong")
    return ids


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Repository, Repository]]:
    """`ours`, whose remote `origin` is `theirs`; only the latter has commits."""
    with ibidem.init(tmp_path / "theirs") as theirs, ibidem.init(tmp_path / "ours") as ours:
        filled(theirs)
        ours.sync.remotes.add("origin", address_of(str(tmp_path / "theirs")))
        yield ours, theirs


@pytest.fixture
def repo() -> Iterator[Repository]:
    """A repository that somebody means to harm."""
    with ibidem.init(clock=lambda: 0) as repository:
        filled(repository, 12)
        yield repository


@pytest.fixture
def forge() -> Forge:
    return Forge()

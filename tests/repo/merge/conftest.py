"""A repository with two branches that are still alike, for merges to be tried on."""

from __future__ import annotations

import pytest

import ibidem
from ibidem.objects.derive import node_id
from ibidem.repo.repository import Repository
from ibidem.repo.transaction.transaction import Transaction

A, B, C, D = (node_id("", key) for key in "abcd")


@pytest.fixture
def repo() -> Repository:
    repository = ibidem.init("memory:")
    with repository.transaction(message="base") as tx:
        for key in "abcd":
            tx.add_node("Doc", summary=f"{key} base", props={"p": 0, "q": 0}, key=key)
        tx.add_edge(A, "cites", B)
        tx.add_edge(C, "cites", D)
        for node in (A, B, C, D):
            tx.set_vector(node, model="m", vector=[1.0, 2.0])
            tx.set_sparse(node, vocab="v", indices=[1], weights=[1.0])
    repository.branch("side")
    return repository


def on(repo: Repository, branch: str) -> Transaction:
    """Begins a transaction on a branch."""
    return repo.transaction(branch=branch, message=f"on {branch}")

"""Vectors that a transaction attaches: kept as they are, refused where they do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ibidem.objects.errors import (
    ErrorKind,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.text import node_text, text_digest
from ibidem.repo.repository import Repository

from .staging import commit, refused


def test_a_vector_keeps_its_dtype_and_remembers_its_text(repo: Repository) -> None:
    given = text_digest("given")
    with repo.transaction() as tx:
        a = tx.add_node("Doc", summary="before", content=b"x" * 9000, key="a")
        tx.set_vector(a, model="f16", vector=np.ones(4, np.float16))
        tx.set_vector(a, model="i8", vector=np.ones(4, np.int8))
        tx.set_vector(a, model="f64", vector=np.ones(4))
        tx.set_vector(a, model="given", vector=[1, 2], of=given)
        tx.update_node(a, summary="after")
    at = repo.at()
    vectors = {model: at.vector(a, model) for model in at.root.vectors}
    assert {name: v.dtype for name, v in vectors.items() if v} == {
        "f16": "f16",
        "i8": "i8",
        "f64": "f32",
        "given": "f32",
    }
    text = node_text(at.node(a), at.config.fields, at.content(a))
    assert text.startswith("after")
    assert vectors["f16"] is not None
    assert vectors["f16"].of == text_digest(text)
    assert vectors["given"] is not None
    assert vectors["given"].of == given


@pytest.mark.parametrize(
    "vector",
    [[], [[1.0]], [float("nan")], [float("inf")], [1e39], ["a"], np.ones(4097), None, 1.0],
)
def test_bad_vectors_are_refused(repo: Repository, vector: Any) -> None:
    with repo.transaction() as tx:
        a = tx.add_node("Doc", key="a")
        with pytest.raises(InvalidInputError):
            tx.set_vector(a, model="m", vector=vector)


@pytest.mark.parametrize(
    ("indices", "weights"),
    [([1, 1], [1, 1]), ([1], [1, 2]), ([-1], [1]), ([1 << 32], [1]), ([1.5], [1]), ([1], [np.nan])],
)
def test_bad_sparse_vectors_are_refused(repo: Repository, indices: Any, weights: Any) -> None:
    with repo.transaction() as tx:
        a = tx.add_node("Doc", key="a")
        with pytest.raises(InvalidInputError):
            tx.set_sparse(a, vocab="v", indices=indices, weights=weights)


def test_a_model_keeps_its_dimension(repo: Repository) -> None:
    a = commit(repo, lambda tx: tx.add_node("Doc", key="a"))
    with repo.transaction() as tx:
        tx.set_vector(a, model="m", vector=[1.0, 2.0])
        refused(
            ErrorKind.DIMENSION_MISMATCH,
            lambda: tx.set_vector(a, model="m", vector=[1.0]),
            "1 dim",
            "2",
            "'m'",
        )
    with repo.transaction() as tx:
        refused(ErrorKind.DIMENSION_MISMATCH, lambda: tx.set_vector(a, model="m", vector=[1.0]))


def test_two_models_on_one_node_survive_later_commits(repo: Repository) -> None:
    a = commit(repo, lambda tx: tx.add_node("Doc", summary="s", key="a"))
    for model in ("one", "two"):
        commit(repo, lambda tx, model=model: tx.set_vector(a, model=model, vector=[1.0, 2.0]))  # type: ignore[misc]
    for number in range(3):
        commit(repo, lambda tx, number=number: tx.add_node("Doc", key=number))  # type: ignore[misc]
    commit(repo, lambda tx: tx.update_node(a, summary="edited"))
    assert repo.at().vector(a, "one") is not None
    assert repo.at().vector(a, "two") is not None
    commit(repo, lambda tx: tx.remove_vector(a, model="one"))
    assert repo.at().vector(a, "one") is None
    assert repo.at().vector(a, "two") is not None
    with repo.transaction() as tx, pytest.raises(NotFoundError):
        tx.remove_vector(a, model="one")

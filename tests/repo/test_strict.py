"""`strict`: what would be a warning is an error that says the same, and leaves no receipt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.repo.repository import Repository


@pytest.fixture
def asked(repo: Repository) -> Repository:
    with repo.transaction() as tx:
        node = tx.add_node("Doc", summary="retries back off", props={"year": 2024})
        tx.set_vector(node, model="m", vector=np.ones(4, np.float32))
    with repo.transaction() as tx:
        tx.update_node(node, summary="retries stop")
    return repo


WARNED: list[tuple[dict[str, Any], str]] = [
    ({"text": "retries", "label": "Nosuch"}, "label 'Nosuch'"),
    ({"text": "retries", "where": {"nosuch": 1}}, "where 'nosuch'"),
    ({"text": "?!"}, "text: the text has no term"),
    ({"vector": ("m", np.ones(4, np.float32))}, "vector 'm'"),
]


@pytest.mark.parametrize(("options", "said"), WARNED)
def test_a_warning_is_an_error_that_names_it(
    asked: Repository, options: dict[str, Any], said: str
) -> None:
    assert asked.retrieve(**options).warnings
    with pytest.raises(InvalidInputError) as caught:
        asked.retrieve(**options, strict=True)
    assert caught.value.kind is ErrorKind.INVALID_INPUT
    assert said in str(caught.value)
    assert caught.value.hint


def test_every_warning_is_named(asked: Repository) -> None:
    with pytest.raises(InvalidInputError, match=r"label 'A'.*; .*'b'"):
        asked.retrieve("retries", label="A", where={"b": 1}, strict=True)


def test_without_a_warning_strict_changes_no_byte(asked: Repository) -> None:
    strict = asked.retriever().text("retries").option(strict=True).execute()
    assert strict.to_bytes() == asked.retrieve("retries").to_bytes()
    assert strict.receipt == asked.retrieve("retries").receipt

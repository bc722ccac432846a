"""Several questions at once are answered as one by one."""

from __future__ import annotations

import numpy as np
import pytest

import ibidem
from ibidem.objects.errors import ErrorKind, InvalidInputError


@pytest.fixture
def repo():
    rng = np.random.default_rng(0)
    with ibidem.init("memory:") as made:
        with made.transaction(author="ada", message="all") as tx:
            for number in range(60):
                node = tx.add_node(
                    "Odd" if number % 2 else "Even", summary=f"text {number}", key=("n", number)
                )
                for model, dim in (("m", 8), ("other", 3)):
                    tx.set_vector(node, model=model, vector=vector(rng, dim))
        yield made


def vector(rng, dim, dtype=np.float32):
    return rng.standard_normal(dim).astype(dtype)


def test_many_questions_give_the_answers_of_each(repo):
    rng = np.random.default_rng(1)
    questions = [
        *({"vector": ("m", vector(rng, 8)), "limit": 5} for _ in range(6)),
        *({"vector": ("m", vector(rng, 8)), "label": "Odd"} for _ in range(5)),
        {"vector": ("other", vector(rng, 3)), "text": "text 7"},
        {"text": "text 9"},
        {"vector": ("m", np.zeros(8, np.float32))},
        {"label": "Even", "limit": 3},
    ]
    revision = repo.at("HEAD")
    together = revision.retrieve_many(questions)
    alone = [revision.retrieve(**question) for question in questions]
    assert [one.to_bytes() for one in together] == [one.to_bytes() for one in alone]
    assert all(repo.receipts.replay(one.receipt).cid == one.cid for one in together)
    assert revision.retrieve_many([]) == []


def test_one_wrong_question_is_named_before_any_is_answered(repo):
    with pytest.raises(InvalidInputError) as caught:
        repo.at("HEAD").retrieve_many([{"text": "text"}, {"vector": ("absent", [1.0])}])
    assert caught.value.kind == ErrorKind.UNKNOWN_MODEL


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_components_of_other_types_rank_as_the_same_numbers_in_float32(dtype):
    rng = np.random.default_rng(2)
    rows = (rng.standard_normal((40, 16)) * 50).astype(dtype)
    asked = vector(rng, 16)
    answers = []
    for kind in (dtype, np.float32):
        with ibidem.init("memory:") as made:
            with made.transaction(author="ada", message="all") as tx:
                for number, row in enumerate(rows):
                    node = tx.add_node("N", summary=str(number), key=("n", number))
                    tx.set_vector(node, model="m", vector=row.astype(kind))
            result = made.retrieve(vector=("m", asked), limit=20)
            answers.append([(item.node.id, item.score) for item in result.items])
    assert answers[0] == answers[1]
    assert len(answers[0]) == 20

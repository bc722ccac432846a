"""A question in text whose model is missing: an error, or words alone and a warning."""

from __future__ import annotations

import numpy as np
import pytest

import ibidem
from ibidem.embed.protocol import identity
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve.query.query import Query


class Letters:
    name = "letters"
    dim = 26
    digest = identity({"algorithm": "letters-1"})

    def embed(self, texts):
        counts = [[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts]
        return np.array(counts, np.float32)


@pytest.fixture
def repo():
    found = ibidem.init("memory:")
    with found.transaction(author="ada", message="notes") as tx:
        for text in ("abba sings", "zoo", "jazz sings"):
            tx.add_node("Note", summary=text)
    found.embed(Letters())
    with found.transaction(author="ada", message="model") as tx:
        tx.configure(model="letters")
    return found


def test_the_configured_model_ranks_where_it_is(repo):
    answer = repo.retrieve("sings", degrade=True)
    assert answer.query.vector.model == "letters"
    assert (answer.query.degraded, answer.warnings) == (None, ())
    assert answer.query == repo.retrieve("sings").query


def test_without_the_model_words_alone_rank_where_that_is_allowed(repo):
    words = repo.retrieve("sings", model=None)
    repo.core.embedders.clear()
    with pytest.raises(InvalidInputError) as caught:
        repo.retrieve("sings")
    assert caught.value.kind is ErrorKind.UNKNOWN_MODEL
    for way in ("use_embedder", "'repo embed install minilm'", "degrade=True"):
        assert way in str(caught.value.hint)
    answer = repo.retrieve("sings", degrade=True)
    assert [item.node.id for item in answer] == [item.node.id for item in words]
    (warning,) = answer.warnings
    assert warning.form() == ["model_missing", "model", "letters", None]
    with pytest.raises(InvalidInputError, match="words alone"):
        repo.retrieve("sings", degrade=True, strict=True)
    assert Query.decode(answer.query.encode()) == answer.query
    repo.use_embedder(Letters())
    assert repo.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()


def test_packs_and_prompts_degrade_as_answers_do(repo):
    repo.core.embedders.clear()
    assert [w.code for w in repo.packs("sings", degrade=True).warnings] == ["model_missing"]
    assert "sings" in repo.prompt("sings", degrade=True).text


def test_another_model_of_the_same_name_is_an_error_all_the_same(repo):
    class Other(Letters):
        digest = identity({"algorithm": "letters-2"})

    repo.use_embedder(Other())
    with pytest.raises(InvalidInputError) as caught:
        repo.retrieve("sings", degrade=True)
    assert caught.value.kind is ErrorKind.MODEL_MISMATCH


def test_a_revision_without_its_vectors_degrades_by_the_name_of_the_embedder(repo):
    class Other(Letters):
        name = "other"

    answer = repo.retrieve("sings", embedder=Other(), degrade=True)
    assert answer.query.degraded == "other"

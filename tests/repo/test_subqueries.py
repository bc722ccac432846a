"""Several questions in one answer: wordings of the caller, and what language models write."""

from __future__ import annotations

import numpy as np
import pytest

import ibidem
from ibidem.embed.protocol import identity
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve.answer.sealed import seal
from ibidem.retrieve.query.query import Query


class Letters:
    name = "letters"
    dim = 26
    digest = identity({"algorithm": "letters-1"})

    def embed(self, texts):
        counts = [[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts]
        return np.array(counts, np.float32)


class Writer:
    """A language model that writes what it was given, and counts its calls."""

    name = "test:writer"

    def __init__(self, text):
        self.text, self.calls = text, []

    def complete(self, system, text):
        self.calls.append((system, text))
        return self.text


TEXTS = ("cars rust in winter", "vehicles corrode by salt", "cake recipes", "salt in the cake")


@pytest.fixture
def repo():
    found = ibidem.init("memory:")
    with found.transaction(author="ada", message="notes") as tx:
        for text in TEXTS:
            tx.add_node("Note", summary=text)
    return found


def texts(answer):
    return [item.node.summary for item in answer]


def test_another_wording_finds_what_the_question_misses(repo):
    assert texts(repo.retrieve("cars rust")) == [TEXTS[0]]
    answer = repo.retrieve("cars rust", queries=["vehicles corrode", "corrode"])
    assert texts(answer) == [TEXTS[1], TEXTS[0]]
    assert set(answer.items[0].lanes) == {"queries[0]", "queries[1]"}
    assert set(answer.items[1].lanes) >= {"lexical"}
    for item in answer:
        assert item.score == sum(lane.contribution for lane in item.lanes.values())
    assert answer.status["queries[1]"] == "ok"


def test_the_weight_of_subqueries_is_one_for_all(repo):
    heavy = repo.retrieve("cars rust", queries=["vehicles"], weights={"queries": 9})
    assert texts(heavy) == [TEXTS[1], TEXTS[0]]
    light = repo.retrieve("cars rust", queries=["vehicles"], weights={"queries": 0.5})
    assert texts(light) == [TEXTS[0], TEXTS[1]]


def test_conditions_hold_for_every_subquery(repo):
    with repo.transaction(author="ada", message="other") as tx:
        tx.add_node("Draft", summary="vehicles everywhere")
    found = texts(repo.retrieve("cars", queries=["vehicles"], label="Note"))
    assert sorted(found) == [TEXTS[0], TEXTS[1]]


def test_an_answer_with_subqueries_replays_from_its_receipt(repo):
    repo.embed(Letters())
    answer = repo.retrieve("cars rust", queries=["vehicles corrode"], model="letters")
    (one,) = answer.query.queries
    assert (one.text, one.vector.model, one.source) == ("vehicles corrode", "letters", None)
    assert Query.decode(answer.query.encode()) == answer.query
    repo.core.embedders.clear()
    assert repo.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()


def test_an_old_query_has_no_such_field(repo):
    for nothing in (None, [], ()):
        assert "queries" not in repo.retrieve("cars", queries=nothing).query.form()


def test_an_imagined_answer_is_kept_and_never_written_again(repo):
    writer = Writer("Vehicles corrode where salt is spread.")
    answer = repo.retrieve("why is there rust", imagine=writer)
    assert texts(answer)[0] == TEXTS[1]
    (one,) = answer.query.queries
    assert (one.text, one.source) == (writer.text, "test:writer")
    assert [text for _, text in writer.calls] == ["why is there rust"]
    assert repo.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()
    assert len(writer.calls) == 1


def test_rewordings_are_lines_without_the_marks_of_a_list(repo):
    writer = Writer(
        "1. vehicles corrode\n\n- vehicles corrode\n* salt\n3) cars rust\ncake\nrecipes"
    )
    answer = repo.retrieve("cars rust", reword=writer, queries=["winter"])
    assert [one.text for one in answer.query.queries] == [
        "winter", "vehicles corrode", "salt", "cake",
    ]  # fmt: skip
    assert [one.source for one in answer.query.queries] == [None, *["test:writer"] * 3]


def test_a_run_is_replayed_without_the_model(repo):
    writer = Writer("vehicles corrode")
    with repo.runs.start("widely") as run:
        asked = texts(run.retrieve("rust", imagine=writer))
    with repo.runs.open("widely").replay() as run:
        assert texts(run.retrieve("rust", imagine=Writer("cake"))) == asked
    assert len(writer.calls) == 1


def test_a_run_that_asks_in_other_words_is_another_run(repo):
    repo.embed(Letters())
    with repo.runs.start("widely") as run:
        run.retrieve("rust", queries=["vehicles", "salt"], model="letters")
    repo.core.embedders.clear()
    recording = repo.runs.open("widely")
    with recording.replay() as run:
        run.retrieve("rust", queries=["vehicles", {"text": "salt"}], model="letters")
    for queries in (["vehicles", "cake"], ["vehicles"], None):
        with pytest.raises(ibidem.IbidemError), recording.replay() as run:
            run.retrieve("rust", queries=queries, model="letters")


def test_packs_prompts_and_contexts_take_them(repo):
    found = repo.packs("cars rust", queries=["vehicles corrode"])
    assert len(found) == 2
    assert "vehicles corrode" in repo.prompt("cars rust", queries=["vehicles corrode"]).text
    assert "vehicles corrode" in repo.context("cars rust", queries=["vehicles corrode"]).text


def test_a_subquery_that_ranks_nothing_warns(repo):
    (warning,) = repo.retrieve("cars", queries=["rust", "!!"]).warnings
    assert warning.form() == ["no_query_terms", "queries", "queries[1]", None]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"queries": "words"}, "queries: got str"),
        ({"queries": ["x"] * 17}, "queries: got list of 17"),
        ({"queries": [""]}, r"queries\[0\]\.text"),
        ({"queries": ["a", "  "]}, r"queries\[1\]\.text"),
        ({"queries": [7]}, r"queries\[0\]: got 7"),
        ({"queries": [{}]}, r"queries\[0\]: got {}"),
        ({"queries": [{"source": "x"}]}, r"queries\[0\]: got nothing to rank by"),
        ({"queries": [{"text": "x", "limit": 3}]}, r"queries\[0\]: got"),
        ({"queries": [{"vector": ("m", [float("nan")])}]}, r"queries\[0\]\.vector"),
        ({"queries": ["a", {"vector": ("unknown", [1.0])}]}, r"queries\[1\]\.vector: .*unknown"),
        ({"text": None, "queries": ["x"], "label": "Note"}, "queries: got it without anything"),
        ({"text": None, "imagine": Writer("x"), "label": "Note"}, "imagine: got it without a text"),
        ({"reword": Writer("cars")}, "wrote nothing but the question"),
        ({"imagine": Writer(" ")}, "test:writer: wrote"),
        ({"imagine": True}, "imagine: got True, expected a LanguageModel"),
        ({"reword": 5}, "reword: got 5, expected a LanguageModel"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(repo, options, match):
    with pytest.raises(InvalidInputError, match=match):
        repo.retrieve(**{"text": "cars", **options})


def test_a_bad_subquery_is_refused_before_a_model_is_called(repo):
    writer = Writer("words")
    with pytest.raises(InvalidInputError):
        repo.retrieve("cars", queries=[7], imagine=writer)
    assert writer.calls == []


def test_a_receipt_with_subqueries_is_not_sealed(repo):
    receipt = repo.retrieve("cars", queries=["rust"]).receipt
    with pytest.raises(InvalidInputError, match="further questions"):
        seal(receipt, bytes(32))


def test_hybrid_packs_have_two_lanes_only(repo):
    repo.embed(Letters())
    with pytest.raises(InvalidInputError, match="queries: got some with rank 'hybrid'") as caught:
        repo.packs("cars", rank="hybrid", model="letters", queries=["rust"])
    assert caught.value.kind is ErrorKind.INVALID_INPUT

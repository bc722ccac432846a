"""Votes, and what was not useful: AR10 to AR19, each under its id."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.memory.recall.feedback import Feedback
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.events import VOTE
from ibidem.repo.repository import Repository
from ibidem.retrieve.recall.factors import adjusted
from ibidem.retrieve.recall.feedback import (
    NotUseful,
    Penalties,
    feedback_factors,
    word_digests,
)

from .helpers import NOW, add, ids, shares


def test_ar10_votes_are_bounded() -> None:
    moved = [Penalties().percent(up, down, 0) for up, down in ((1, 0), (9, 0), (0, 9), (9, 9))]
    assert moved == [5, 15, -30, -15]


@pytest.mark.parametrize(("asked", "now", "factor"), [(50, 100, 0.95), (49, 99, None)])
def test_a_question_with_half_of_the_words_is_the_same(
    asked: int, now: int, factor: float | None
) -> None:
    """[3-a]"""
    words = [f"word{one}{other}" for one in "abcdefghij" for other in "abcdefghij"]
    node = NodeId(bytes(16))
    mark = NotUseful(1, b"", "ada", node, word_digests(" ".join(words[:asked]), node))
    found = feedback_factors([], [mark], " ".join(words[:now]), Penalties())
    assert found.get(node) == factor


def test_ar11_votes_and_negatives_together_are_bounded(repo: Repository) -> None:
    (node,) = add(repo, "alpha")
    result = repo.retrieve("alpha")
    for number in range(9):
        Feedback(repo).vote(result, node, -1, author=f"author {number}")
    for number in range(12):
        Feedback(repo).not_useful(result, [node], author=f"author {number}")
    assert shares(repo.retrieve("alpha", feedback=True), "feedback") == {node: 0.7}


@pytest.mark.parametrize(
    ("rank", "factor", "place"), [(1, 0.70, 27), (10, 1.15, 1), (11, 1.15, 2), (20, 1.15, 10)]
)
def test_ar12_displacement_is_bounded(rank: int, factor: float, place: int) -> None:
    scores = 1.0 / (60.0 + np.arange(1, 101, dtype=np.float64))
    moved, _ = adjusted(
        scores,
        [("feedback", lambda one: factor if one == rank - 1 else 1.0)],
        lambda values: np.argsort(-values, kind="stable").tolist(),
    )
    order = np.argsort(-moved, kind="stable").tolist()
    assert order.index(rank - 1) + 1 == place


def test_ar13_what_is_hated_is_still_found(repo: Repository) -> None:
    (node,) = add(repo, "alpha")
    result = repo.retrieve("alpha")
    for number in range(30):
        Feedback(repo).vote(result, node, -1, author=f"author {number}")
    assert ids(repo.retrieve("alpha", feedback=True)) == [node]


def test_ar14_one_actor_has_one_vote_and_the_last_counts(repo: Repository) -> None:
    (node,) = add(repo, "alpha")
    result = repo.retrieve("alpha")
    for number in range(100):
        Feedback(repo).vote(result, node, 1, author="ada", time=NOW + number)
    assert shares(repo.retrieve("alpha", feedback=True), "feedback") == {node: 1.05}
    Feedback(repo).vote(result, node, -1, author="ada", time=NOW + 1000)
    assert shares(repo.retrieve("alpha", feedback=True), "feedback") == {node: 0.9}


def test_ar15_votes_are_pinned(repo: Repository) -> None:
    one, _ = add(repo, "alpha one", "alpha two")
    before, root = repo.head, repo.at().root_cid
    result = repo.retrieve("alpha", feedback=True)
    notes = Feedback(repo).vote(result, one, -1, author="ada")
    seen = repo.retrieve("alpha", feedback=True)
    Feedback(repo).vote(result, one, 1, author="bob")
    assert (repo.head, repo.at().root_cid) == (before, root)
    again = repo.retrieve("alpha", feedback=True, notes=notes)
    assert again.to_bytes() == seen.to_bytes()
    assert seen.receipt is not None
    assert seen.receipt.notes_head == notes
    assert repo.receipts.replay(seen.receipt).to_bytes() == seen.to_bytes()
    assert result.receipt is not None
    assert repo.receipts.replay(result.receipt).to_bytes() == result.to_bytes()


def test_ar16_negatives_count_for_questions_like_theirs(repo: Repository) -> None:
    (node,) = add(repo, "alpha beta gamma delta")
    first = repo.retrieve("alpha beta")
    other = repo.retrieve("gamma delta", feedback=True)
    Feedback(repo).not_useful(first, [node], author="ada")
    later = repo.retrieve("gamma delta", feedback=True)
    assert [item.score for item in later.items] == [item.score for item in other.items]
    assert shares(later, "feedback") == {node: 1.0}
    assert shares(repo.retrieve("beta alpha", feedback=True), "feedback") == {node: 0.95}


def test_ar17_negatives_saturate() -> None:
    assert [-Penalties().percent(0, 0, hits) for hits in (1, 4, 5, 6, 12)] == [5, 20, 25, 25, 25]


def test_ar18_a_batch_says_what_it_means(repo: Repository) -> None:
    one, two = add(repo, "alpha one", "alpha two")
    (elsewhere,) = add(repo, "beta")
    result = repo.retrieve("alpha")
    for given in ({}, {"nodes": []}, {"useful": []}, {"nodes": [one], "useful": [two]}):
        with pytest.raises(InvalidInputError):
            Feedback(repo).not_useful(result, author="ada", **given)
    with pytest.raises(InvalidInputError, match="nodes: got none"):
        Feedback(repo).not_useful(result, author="ada")
    with pytest.raises(InvalidInputError, match="of the answer"):
        Feedback(repo).not_useful(result, [elsewhere], author="ada")
    with pytest.raises(InvalidInputError, match="of the answer"):
        Feedback(repo).vote(result, elsewhere, 1, author="ada")
    with pytest.raises(InvalidInputError, match="left over"):
        Feedback(repo).not_useful(result, useful=[one, two], author="ada")
    with pytest.raises(InvalidInputError, match="author"):
        Feedback(repo).not_useful(result, [one], author="")
    assert repo.notes.space().head is None
    Feedback(repo).not_useful(result, useful=[one], author="ada")
    assert [event.targets for event in repo.notes.space().log().events] == [(two,)]


def test_ar19_concurrent_votes_are_all_there(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        node = add(repo, "alpha")[0]
        errors: list[BaseException] = []

        def votes(writer: int) -> None:
            try:
                for number in range(VOTES_EACH):
                    repo.notes.space().vote(node, 1, author=f"{writer} {number}")
            except BaseException as error:  # told by the test's own thread
                errors.append(error)

        threads = [threading.Thread(target=votes, args=(writer,)) for writer in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        authors = {event.author for event in repo.notes.space().log().of_kind(VOTE)}
        assert len(authors) == 20 * VOTES_EACH


VOTES_EACH = 5


def test_a_vote_is_about_a_hit_of_a_pack(repo: Repository) -> None:
    text = "The mill grinds.\n\nIt has four stones.\n\nThe stones are old.\n\nA cat sleeps.\n"
    with repo.transaction(author="ada") as tx:
        ingest_text(tx, text, path="mill.txt")
        ingest_text(tx, "One of the stones fell.\n", path="news.txt")
    packs = repo.packs("stones", per_hit_neighbors=1)
    assert len(packs) == 2
    hits = [hit.id for pack in packs for hit in pack.hits]
    assert len(hits) == 3
    for hit in hits:
        Feedback(repo).vote(packs, hit, 1, author="ada")
    assert set(shares(repo.retrieve("stones", feedback=True), "feedback").values()) == {1.05}
    around = next(member.id for pack in packs for member in pack.members if member.id not in hits)
    with pytest.raises(InvalidInputError, match=r"^nodes: got .*, expected nodes of the answer"):
        Feedback(repo).vote(packs, around, 1, author="ada")


def test_packs_without_a_useful_hit_did_not_help(repo: Repository) -> None:
    with repo.transaction(author="ada") as tx:
        ingest_text(tx, "It has four stones.\n\nThe stones are old.\n", path="mill.txt")
        ingest_text(tx, "One of the stones fell.\n", path="news.txt")
    packs = repo.packs("stones", per_hit_neighbors=1)
    mill = next(pack for pack in packs if len(pack.hits) == 2)
    news = next(pack for pack in packs if pack is not mill)
    Feedback(repo).not_useful(packs, useful=[mill.hits[1].id], author="ada")
    [event] = repo.notes.space().log().of_kind("not_useful")
    assert event.targets == (news.entry.id,)
    assert event.about == packs.cid


def test_a_vote_has_a_reason_and_no_answer_depends_on_it(repo: Repository) -> None:
    one, other = add(repo, "alpha one", "alpha two")
    result = repo.retrieve("alpha")
    said = Feedback(repo, author="ada")
    said.vote(result, one, -1, reason="outdated since May")
    with_reason = repo.retrieve("alpha", feedback=True)
    said.not_useful(result, [other], reason="another subject")
    votes = repo.notes.space().log().events
    assert [event.detail["reason"] for event in votes] == ["outdated since May", "another subject"]
    said.vote(result, one, -1)
    assert "reason" not in repo.notes.space().log().events[-1].detail
    assert shares(with_reason, "feedback")[one] == shares(result_of(repo), "feedback")[one]
    for bad in (lambda: said.vote(result, one, 1, reason=3),):  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match=r"^reason"):
            bad()


def result_of(repo: Repository) -> object:
    return repo.retrieve("alpha", feedback=True)


def test_feedback_takes_what_was_made_from_an_answer(repo: Repository) -> None:
    chat = repo.conversations
    chat.append("t", [("user", "the gate is green"), ("user", "lunch is late")])
    said = Feedback(repo, author="ada")
    (node,) = ids(repo.retrieve("gate", label="Message"))
    for answer in (
        ibidem.recall(repo, "gate"),
        chat.select("gate", thread="t", limit=1),
        chat.context("gate", thread="t", token_budget=100, recent=0, similar=1),
        repo.prompt("gate"),
        repo.context("gate", thread="t", recent=0, token_budget=1000),
    ):
        assert said.vote(answer, node, 1) is not None, type(answer)
    assert len(repo.notes.space().log().events) == 5
    with pytest.raises(InvalidInputError, match=r"^answer"):
        said.vote("gate", node, 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"^answer"):
        said.vote(chat.select(None, thread="t"), node, 1)


def test_penalties_are_parameters_of_the_question(repo: Repository) -> None:
    first, second = add(repo, "alpha one", "alpha two")
    plain = repo.retrieve("alpha")
    Feedback(repo).vote(plain, first, -1, author="ada")
    factors = {}
    for feedback in (True, {"down": 40, "lowest": -90}, {"down": 0}, {"lowest": -5}):
        answer = repo.retrieve("alpha", feedback=feedback)
        factors[str(feedback)] = {one.id: one.lanes["feedback"].score for one in answer}[first]
        again = repo.receipts.replay(answer.receipt)
        assert again.to_bytes() == answer.to_bytes()
        has = "penalties" in answer.query.form()["recall"]
        assert has is (feedback is not True)  # what was asked before has its bytes
    assert list(factors.values()) == [0.9, 0.6, 1.0, 0.95]
    same = repo.retrieve("alpha", feedback={"down": 10})
    assert same.cid == repo.retrieve("alpha", feedback=True).cid
    assert second in {one.id for one in same}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"down": 101}, "feedback.down"),
        ({"up": -1}, "feedback.up"),
        ({"lowest": 1}, "feedback.lowest"),
        ({"highest": 2.5}, "feedback.highest"),
        ({"sideways": 1}, "feedback"),
        (7, "feedback"),
    ],
)
def test_a_penalty_of_another_form_is_named(repo: Repository, given: object, named: str) -> None:
    add(repo, "alpha one")
    with pytest.raises(InvalidInputError, match=f"{named}: got"):
        repo.retrieve("alpha", feedback=given)  # type: ignore[arg-type]

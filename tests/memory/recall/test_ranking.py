"""Widening, reranking and diversity: AR1 to AR9, each under its id."""

from __future__ import annotations

from pathlib import Path

import pytest
from blake3 import blake3

from ibidem.memory.recall.rerank_cache import CachedReranker, remembered
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.retrieve.diversity import diversify
from ibidem.retrieve.rerank import RerankStatus

from .helpers import Scripted, add, ids


def test_ar1_an_unknown_word_is_widened(repo: Repository) -> None:
    (found,) = add(repo, "mission control")
    assert ids(repo.retrieve("msision control", operator="and")) == [found]
    assert ids(repo.retrieve("msisoin control", operator="and")) == []
    assert ids(repo.retrieve("mision control", operator="and")) == [found]
    assert ids(repo.retrieve("mision control", operator="and", fuzzy=False)) == []


@pytest.mark.parametrize("given", [{"terms": 0}, {"weight": 2.0}, {"length": True}, {"x": 1}, 3])
def test_ar1_options_of_widening_are_strict(repo: Repository, given: object) -> None:
    add(repo, "alpha")
    with pytest.raises(InvalidInputError, match="fuzzy"):
        repo.retrieve("alpha", fuzzy=given)


def test_ar2_a_known_word_is_not_widened(repo: Repository) -> None:
    own, near = add(repo, "gateway", "gatewax")
    assert ids(repo.retrieve("gateway")) == [own]
    assert set(ids(repo.retrieve("gateway", fuzzy={"rare": 2}))) == {own, near}


def test_ar3_a_neighbour_counts_less_than_the_word(repo: Repository) -> None:
    exact, near = add(repo, "gateway zebra", "gatewax zebra")
    found = repo.retrieve("gateway zebra", fuzzy={"rare": 2})
    assert ids(found) == [exact, near]
    assert found.items[0].score > found.items[1].score


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ([1.0, 2.0, None], RerankStatus.OK),
        ([1.0, float("nan"), 0.0], RerankStatus.NOT_NUMBERS),
        (["1", 2.0, 3.0], RerankStatus.NOT_NUMBERS),
        ([1.0], RerankStatus.WRONG_COUNT),
        ([1.0, 2.0, 3.0, 4.0], RerankStatus.WRONG_COUNT),
    ],
)
def test_ar4_what_a_reranker_may_say(
    repo: Repository, answer: object, status: RerankStatus
) -> None:
    add(repo, "alpha one", "alpha two", "alpha three")
    plain = ids(repo.retrieve("alpha"))
    result = repo.retrieve("alpha", rerank=Scripted(answer))
    assert result.status["rerank"] is status
    expected = [plain[1], plain[0], plain[2]] if status is RerankStatus.OK else plain
    assert ids(result) == expected


def test_ar4_one_candidate_is_not_shown_to_a_model(repo: Repository) -> None:
    add(repo, "alpha")
    model = Scripted([1.0])
    assert repo.retrieve("alpha", rerank=model).status["rerank"] is RerankStatus.TOO_FEW
    assert model.calls == 0


@pytest.mark.parametrize("answer", [TimeoutError(), ValueError("truncated"), None])
def test_ar5_a_failure_is_visible_and_not_kept(repo: Repository, answer: object) -> None:
    add(repo, "alpha one", "alpha two")
    model = Scripted(answer)
    plain = ids(repo.retrieve("alpha"))
    first = repo.retrieve("alpha", rerank=model)
    assert ids(first) == plain
    assert first.status["rerank"] in (RerankStatus.TIMEOUT, RerankStatus.ERROR)
    model.answer = [1.0, 2.0]
    assert ids(repo.retrieve("alpha", rerank=model)) == plain[::-1]
    assert model.calls == 2


@pytest.mark.parametrize("kept", ["in files", "in memory"])
def test_ar6_a_reranker_is_asked_once(repo: Repository, tmp_path: Path, kept: str) -> None:
    folder = tmp_path / "reranks" if kept == "in files" else None
    model = Scripted([1.0, 2.0])
    one, two = ["first", "second"], ["first", "changed"]
    reranker = CachedReranker(model, folder)
    assert reranker.rerank("alpha", one) == reranker.rerank("alpha", one) == [1.0, 2.0]
    assert model.calls == 1
    reranker.rerank("alpha", two)
    reranker.rerank("beta", one)
    assert model.calls == 3
    other = Scripted([3.0, 4.0])
    other.digest = blake3(b"another prompt").digest()
    assert CachedReranker(other, folder).rerank("alpha", one) == [3.0, 4.0]
    model.answer = [1.0, float("nan")]
    for _ in range(2):
        reranker.rerank("gamma", one)
    assert model.calls == 5
    add(repo, "alpha one", "alpha two")
    said = remembered(repo.core, Scripted([1.0, 2.0]))
    first, second = repo.retrieve("alpha", rerank=said), repo.retrieve("alpha", rerank=said)
    assert first.to_bytes() == second.to_bytes()


def test_ar7_a_reranked_answer_replays_without_the_model(repo: Repository) -> None:
    add(repo, "alpha one", "alpha two")
    model = Scripted([1.0, 2.0])
    result = repo.retrieve("alpha", rerank=model)
    assert result.receipt is not None
    assert repo.receipts.replay(result.receipt).to_bytes() == result.to_bytes()
    assert model.calls == 1


def test_ar8_diversity_does_not_undo_the_reranking(repo: Repository) -> None:
    add(repo, "alpha one two", "alpha three four", "alpha five six")
    plain = ids(repo.retrieve("alpha"))
    said = repo.retrieve("alpha", rerank=Scripted([2.0, 1.0, 3.0]), mmr={"lambda": 0.7})
    assert ids(said) == [plain[2], plain[0], plain[1]]


def test_ar9_mmr() -> None:
    alike = [[1.0, 0.95, 0.0], [0.95, 1.0, 0.0], [0.0, 0.0, 1.0]]
    scores = [0.95, 0.94, 0.70]
    for share, order in ((0.7, [0, 2, 1]), (1.0, [0, 1, 2])):
        assert diversify(scores, share, lambda one, rest: [alike[one][i] for i in rest]) == order
    assert scores == [0.95, 0.94, 0.70]

"""What an answer says of itself: coverage, scores, and its neighbours."""

from __future__ import annotations

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.answer.assessment import Coverage, coverage_of


@pytest.fixture
def repo():
    found = ibidem.init("memory:")
    with found.transaction(author="ada", message="notes") as tx:
        best = tx.add_node("Note", summary="The queue keeps its order while retries back off.")
        far = tx.add_node("Note", summary="Zinc mining in Bolivia")
        near = tx.add_node("Note", summary="Order of the day: sleep")
        tx.add_edge(best, "see", far)
        tx.add_edge(near, "see", far)
        tx.add_edge(best, "see", near)
        tx.add_edge(best, "see", tx.add_node("Note", summary="Copper in Chile"))
    return found


def test_coverage_counts_the_terms_of_the_question():
    """[9.6-a]"""
    found = coverage_of("the queue, the queues and Norway", ["a queue", "nothing"])
    assert found == Coverage(1, 2, ("norway",))
    assert found.permille == 500
    assert coverage_of("!!", []).permille == 1000


def test_a_question_is_known_in_the_language_of_each_item():
    """[9.6-a]"""
    found = ibidem.init("memory:")
    with found.transaction(author="ada", message="notes") as tx:
        tx.add_node("Note", summary="Die Versicherung zahlt für das Haus und nicht für den Garten.")
        tx.add_node("Note", summary="The roof is over the house and the shed.")
    answer = found.retrieve("Versicherungen Häuser", coverage_min=1000, strict=True)
    assert answer.warnings == ()
    assert answer.assess().coverage == Coverage(2, 2, ())


def test_scores_say_how_far_the_best_is_ahead(repo):
    found = repo.retrieve("order of the queue").assess().scores
    assert (found.count, found.highest > found.median, found.lead) == (2, True, 546)
    assert found.median == found.lowest
    assert repo.retrieve("unheard").assess().scores is None


def test_packs_have_coverage(repo):
    found = repo.packs("queue order").assess()
    assert found.coverage.permille == 1000
    assert found.to_dict()["scores"]["count"] == 2


def test_a_floor_that_is_not_met_warns_or_is_an_error(repo):
    """[9.3-c]"""
    assert repo.retrieve("queue", coverage_min=1000).warnings == ()
    for ask in (repo.retrieve, repo.packs):
        (warning,) = ask("queue in Norway", coverage_min=501).warnings
        assert warning.form() == ["low_coverage", "coverage_min", None, 1]
        assert ask("queue in Norway", coverage_min=500).warnings == ()
        with pytest.raises(InvalidInputError, match="coverage_min"):
            ask("queue in Norway", coverage_min=501, strict=True)
    for options in ({"text": None, "label": "Note"}, {"coverage_min": 1001}, {"coverage_min": "1"}):
        with pytest.raises(InvalidInputError, match="coverage_min"):
            repo.retrieve(**{"text": "queue", "coverage_min": 1, **options})


def test_neighbours_are_joined_by_edges_and_not_in_the_answer(repo):
    answer = repo.retrieve("order of the queue")
    found = repo.at().neighbours(answer)
    assert [one.node.summary for one in found] == ["Zinc mining in Bolivia", "Copper in Chile"]
    assert [one.points for one in found] == [3, 2]
    assert (found[0].items, found[1].items) == ((0, 1), (0,))
    assert repo.at().neighbours(answer, limit=0) == []
    assert repo.at().neighbours(repo.retrieve("unheard")) == []
    assert len(repo.at().neighbours(repo.packs("order of the queue"))) == 2
    with pytest.raises(InvalidInputError, match="limit"):
        repo.at().neighbours(answer, limit=-1)


def test_a_thousand_edges_of_an_item_lead_to_neighbours():
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="ada", message="notes") as tx:
            hub = tx.add_node("Note", summary="hub")
            for number in range(1001):
                tx.add_edge(hub, "to", tx.add_node("Note", key=number))
        answer = repo.retrieve("hub")
        found = {one.id for one in repo.at().neighbours(answer, limit=1000)}
        last = max(repo.at().edges_of(hub), key=lambda edge: edge.id.raw)
        assert len(found) == 1000
        assert last.dst not in found
        with pytest.raises(InvalidInputError, match="limit"):
            repo.at().neighbours(answer, limit=1001)


def test_a_hidden_node_is_no_neighbour(repo):
    answer = repo.retrieve("order of the queue")
    (first, *_) = repo.at().neighbours(answer)
    with repo.transaction(author="ada", message="hide") as tx:
        tx.tombstone(first.id, reason="old")
    assert first.id not in [one.id for one in repo.at().neighbours(answer)]

"""The slow log, procedures, worth and time: AR29 to AR35, each under its id."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem.memory.recall.feedback import Feedback
from ibidem.memory.recall.procedures import (
    Attempt,
    add_procedure,
    mine,
    offers,
    procedure_score,
    set_status,
)
from ibidem.memory.recall.recall import Disclosure, recall
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.events import Event
from ibidem.repo.repository import Repository
from ibidem.repo.slow_log import slow_questions
from ibidem.retrieve.query.options import DAY
from ibidem.retrieve.recall.feedback import halved, worth
from ibidem.retrieve.records.noted import OUTCOME

from .helpers import NOW, add, set_slow, shares


def test_ar29_the_slow_log_says_nothing_of_the_question(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        set_slow(repo, 10**9)
        recall(repo, "alpha canary", disclosure="chunk")
        assert list(slow_questions(repo.folder)) == []
        set_slow(repo, 0)
        where = {"hidden": "canary"}
        recall(repo, "alpha canary", disclosure="chunk", where=where, limit=3)
        (line,) = slow_questions(repo.folder)
    counts = {"items", "candidates", "lanes", "options"}
    assert set(line) == {"operation", "milliseconds", "time"} | counts
    assert line["options"] == ["limit", "where"]
    assert line["lanes"] == {"lexical": "ok"}
    assert "canary" not in str(line)


def test_ar30_procedures(repo: Repository) -> None:
    assert procedure_score("deploy the gateway", "deploy gateway now", 1.0) == pytest.approx(
        0.55 * 2 / 4 + 0.45, abs=0
    )
    nodes = [
        add_procedure(repo, f"deploy the gateway {word}", ["build", "ship"])
        for word in ("now", "slowly", "twice")
    ]
    found = offers(repo.at(), "deploy the gateway")
    assert len(found) == 2
    assert found[0].steps == ("build", "ship")
    assert offers(repo.at(), "we deployed it last week") == []
    for node in nodes:
        set_status(repo, node, "retired")
    assert offers(repo.at(), "deploy the gateway") == []
    assert offers(repo.at(), "deploy", score_min=0.0) == []
    with pytest.raises(InvalidInputError, match="limit"):
        offers(repo.at(), "deploy the gateway", limit=11)


def test_ar30_a_question_finds_a_procedure_by_what_its_author_says(repo: Repository) -> None:
    opened = add_procedure(
        repo, "contribute a change", ["branch", "push"], triggers=["open a PR", "Änderung"]
    )
    merged = add_procedure(repo, "merge a branch", ["review", "merge"], intent="release")
    for text in ("how do I open a new PR", "eine änderung bitte"):
        assert [one.node.id for one in offers(repo.at(), text)] == [opened]
    assert offers(repo.at(), "open the door") == []
    assert [one.node.id for one in offers(repo.at(), "?", intent="release")] == [merged]
    assert [one.score for one in offers(repo.at(), "open a PR")] == [0.45]
    for bad in ("open", ["?"], [3]):
        with pytest.raises(InvalidInputError, match=r"^triggers"):
            add_procedure(repo, "goal", ["step"], triggers=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(("common", "own", "is_offered"), [(5, 6, True), (4, 5, False)])
def test_an_offer_has_a_measure_of_a_quarter(
    repo: Repository, common: int, own: int, is_offered: bool
) -> None:
    """[5-a]: 0.55 of 5 of 11 words is 0.25, of 4 of 9 words less."""
    words = [f"word{letter}" for letter in "abcdefghijk"]
    goal = add_procedure(repo, " ".join(words[: common + own]), ["build", "ship"])
    found = offers(repo.at(), " ".join(words[:common]))
    assert [one.node.id for one in found] == [goal] * is_offered


def test_there_are_at_most_10_offers_and_100_triggers(repo: Repository) -> None:
    """[5-a]"""
    assert offers(repo.at(), "deploy", limit=10) == []
    triggers = [f"trigger {number}" for number in range(101)]
    add_procedure(repo, "goal", ["step"], triggers=triggers[:100])
    with pytest.raises(InvalidInputError, match=r"^triggers"):
        add_procedure(repo, "goal", ["step"], triggers=triggers)


def attempts(nodes: list[NodeId], *, successes: int) -> list[Attempt]:
    return [
        Attempt("rotate the key", ("vault",), ("stop", "rotate", "start"), place < successes, node)
        for place, node in enumerate(nodes)
    ]


def test_ar31_the_miner(repo: Repository) -> None:
    nodes = add(repo, "one", "two", "three", "four")
    assert mine(repo, attempts(nodes[:2], successes=2)) is None
    assert mine(repo, attempts(nodes, successes=4), occurrences_min=0) is None
    assert mine(repo, attempts(nodes, successes=2)) is None
    assert mine(repo, attempts(nodes[:3], successes=3)) is not None
    assert mine(repo, attempts(nodes[:3], successes=3)) is None
    (found,) = repo.at().query(label="Procedure")
    assert found.props["status"] == "pending_review"
    assert list(found.props["sources"]) == sorted(node.raw for node in nodes[:3])
    assert offers(repo.at(), "rotate the key") == []
    long = "rotate " + "x" * 600
    two = [Attempt(long + end, (), ("a", "b"), True, node) for end in "yz" for node in nodes[:3]]
    mine(repo, two)
    assert repo.at().count(label="Procedure") == 3


@pytest.mark.parametrize(("given", "mined"), [(1, None), (2, 2), (6, 6), (7, 6)])
def test_mined_procedures_have_2_to_6_steps(
    repo: Repository, given: int, mined: int | None
) -> None:
    """[5-d]"""
    steps = tuple("abcdefg"[:given])
    mine(repo, [Attempt("goal", (), steps, True, node) for node in add(repo, "1", "2", "3")])
    found = repo.at().query(label="Procedure")
    assert [len(one.props["steps"]) for one in found] == ([] if mined is None else [mined])


@pytest.mark.parametrize(("count", "successes", "is_mined"), [(4, 3, True), (15, 11, False)])
def test_three_of_four_attempts_succeeded(
    repo: Repository, count: int, successes: int, is_mined: bool
) -> None:
    """[5-d]"""
    nodes = add(repo, *map(str, range(count)))
    assert (mine(repo, attempts(nodes, successes=successes)) is not None) is is_mined


def test_ar32_worth(repo: Repository) -> None:
    assert [worth(*counts) for counts in ((0, 0), (3, 0), (0, 3))] == [1.0, 1.6, 0.4]
    one, two = add(repo, "alpha one", "alpha two")
    for _ in range(3):
        repo.notes.space().outcome(one, True)
        repo.notes.space().outcome(two, False)
    assert shares(repo.retrieve("alpha", worth=True), "worth") == {one: 1.6, two: 0.4}
    with pytest.raises(InvalidInputError, match="value"):
        repo.notes.space().add([Event(OUTCOME, (one,), value=float("nan"))])
    for _ in range(3):
        repo.notes.space().outcome(one, False, time=NOW - 7 * DAY)
    aged = repo.retrieve("alpha", worth={"half_life": 7 * DAY})
    assert shares(aged, "worth")[one] == worth(3.0, 1.5)
    early = repo.retrieve("alpha", worth=True, as_of=NOW - 8 * DAY)
    assert shares(early, "worth") == {one: 1.0, two: 1.0}


def test_what_came_of_an_answer_counts_without_a_commit_after_it(repo: Repository) -> None:
    one, two = add(repo, "alpha one", "alpha two")
    old = repo.commit_at().time + 10 * DAY
    repo.notes.space().outcome(one, True, time=old)
    asked = repo.retrieve("alpha", worth=True)
    assert shares(asked, "worth")[one] == worth(1.0, 0.0)
    assert shares(asked, "worth")[two] == 1.0
    assert repo.receipts.replay(asked.receipt).to_bytes() == asked.to_bytes()
    fixed = repo.retrieve("alpha", worth=True, as_of=repo.commit_at().time)
    assert shares(fixed, "worth")[one] == 1.0


def test_ar33_ages_are_measured_from_the_commit(repo: Repository) -> None:
    add(repo, "alpha", time=NOW - 7 * DAY)
    said = repo.retrieve("alpha", recency=True)
    told = repo.retrieve("alpha", recency=True, as_of=NOW)
    assert said.query.recall == told.query.recall
    assert [one.lanes for one in said] == [one.lanes for one in told]
    assert (said.query.as_of, told.query.as_of) == (None, NOW)
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="beta", props={"valid_from": NOW, "valid_to": NOW + 10})
    for at, count in ((NOW - 1, 0), (NOW, 1), (NOW + 9, 1), (NOW + 10, 0)):
        assert len(repo.retrieve("beta", as_of=at).items) == count


def test_ar34_disclosure(tmp_path: Path) -> None:
    from ibidem.ingest.ingest import ingest_text

    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        with repo.transaction() as tx:
            ingest_text(tx, "# Retries\n\nalpha beta\n\ngamma delta\n", path="a.md")
        near = recall(repo, "alpha beta")
        assert (near.disclosure, near.is_escalated) == (Disclosure.CHUNK, False)
        far = recall(repo, "alpha words that are nowhere here")
        assert (far.disclosure, far.is_escalated) == (Disclosure.SECTION, True)
        assert any("gamma delta" in text for text in far.texts)
        told = recall(repo, "alpha words that are nowhere here", disclosure="chunk")
        assert (told.disclosure, told.is_escalated) == (Disclosure.CHUNK, False)
        raw = recall(repo, "alpha beta", disclosure="raw")
        assert raw.texts == ("# Retries\n\nalpha beta\n\ngamma delta\n",)
        with pytest.raises(InvalidInputError, match="disclosure"):
            recall(repo, "alpha", disclosure="everything")


@pytest.mark.parametrize(("asked", "is_escalated"), [(1000, False), (1001, True)])
def test_less_than_half_of_the_words_shows_whole_sections(
    tmp_path: Path, asked: int, is_escalated: bool
) -> None:
    """[6-a]: 500 of 1,001 words are 499 permille."""
    letters = "abcdefghijk"
    words = [f"w{one}{two}{three}" for one in letters for two in letters for three in letters]
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, " ".join(words[:500]))
        assert recall(repo, " ".join(words[:asked])).is_escalated is is_escalated


@pytest.mark.parametrize(
    ("age", "factor"),
    [(0, 1.0), (7 * DAY, 0.8 + 0.2 * 0.5), (14 * DAY, 0.8 + 0.2 * 0.25), (-DAY, 1.0)],
)
def test_ar35_recency(repo: Repository, age: int, factor: float) -> None:
    (node,) = add(repo, "alpha", time=NOW - age)
    (silent,) = add(repo, "alpha beta")
    found = shares(repo.retrieve("alpha", recency=True), "recency")
    assert found == {node: factor, silent: 1.0}
    assert halved(7, 14) == pytest.approx(2**-0.5, abs=1e-15)


def test_x11_every_contribution_adds_up(repo: Repository) -> None:
    one, _ = add(repo, "alpha one", "alpha two", time=NOW - 3 * DAY, importance=0.9)
    Feedback(repo).vote(repo.retrieve("alpha"), one, 1, author="ada")
    repo.notes.space().outcome(one, True)
    options = {"recency": True, "importance": True, "feedback": True, "worth": True}
    for item in repo.retrieve("alpha one", **options).items:
        total = 0.0
        for said in item.lanes.values():
            total += said.contribution
        assert total == item.score
        assert list(item.lanes)[-4:] == ["recency", "importance", "feedback", "worth"]

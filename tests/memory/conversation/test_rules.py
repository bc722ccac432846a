"""Facts that rules find in messages, against a set that people would agree on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ibidem
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.rules import facts_by_rules
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy

SENTENCES = Path(__file__).parent / "data" / "sentences.tsv"
"""Sentences with the facts that a reader would note about the speaker, `a|b` for either; written
for this test, with those that only look like facts."""


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init("memory:", clock=lambda: 1) as repository:
        yield repository


def found_in(text: str) -> list[str]:
    with ibidem.init("memory:", clock=lambda: 1) as repository:
        memory = Conversations(repository)
        memory.append("a", [("user", text)])
        made = []
        for one in facts_by_rules(memory.messages("a")):
            about = "" if one.triple.subject == "user" else f"{one.triple.subject}/"
            made.append(f"{about}{one.triple.predicate}={one.triple.object}")
        return made


def test_what_they_find_is_right_and_most_of_it() -> None:
    right = wrong = missed = 0
    complaints = []
    for row in SENTENCES.read_text("utf-8").splitlines():
        text, _, wanted = row.partition("\t")
        expected = [] if wanted == "-" else wanted.split("; ")
        found = found_in(text.replace("\\n", "\n"))
        allowed = []
        for one in expected:
            name, _, objects = one.partition("=")
            allowed.append({f"{name}={object_}" for object_ in objects.split("|")})
        hits = [one for one in found if any(one in each for each in allowed)]
        right += len(hits)
        wrong += len(found) - len(hits)
        missed += len(expected) - len(hits)
        if len(found) != len(hits) or len(expected) != len(hits):
            complaints.append((text, found, expected))
    report = "\n".join(map(str, complaints))
    assert right >= 60, report
    assert right / (right + wrong) >= 0.95, report
    assert right / (right + missed) >= 0.9, report


@pytest.mark.parametrize(
    ("most", "text"),
    [
        (12, lambda size: f"I prefer {' '.join(['tea'] * size)}."),
        (40, lambda size: f"Please remember that {' '.join(['tea'] * size)}."),
        (1000, lambda size: f"I prefer {'x' * (size - 10)}."),
    ],
)
def test_what_is_too_long_is_no_fact(most: int, text: Callable[[int], str]) -> None:
    assert len(found_in(text(most))) == 1
    assert found_in(text(most + 1)) == []


def test_they_are_proposals_with_their_message(repo: Repository) -> None:
    memory = Conversations(repo)
    memory.append(
        "a",
        [
            ("user", "I live in Graz."),
            ("assistant", "My name is Robo."),
            ("user", "Well, I live in Wien. I prefer tea."),
            ("user", "I live in graz? No, I live in Graz."),
        ],
        time=7,
    )
    made = memory.propose_by_rules("a", 0, 3)
    waiting = repo.records.proposals()
    assert sorted(one.record.text for one in waiting) == [
        "user lives in Graz",
        "user lives in Wien",
        "user prefers tea",
    ]
    assert {one.id for one in waiting} == set(made)
    [graz] = [one for one in waiting if one.record.text.endswith("Graz")]
    messages = [str(one.id) for one in memory.messages("a")]
    assert [source["ref"] for source in graz.record.provenance] == [messages[0], messages[3]]
    assert {one.record.confidence for one in waiting} == {0.75}  # [12-a]
    assert {source["rule"] for source in graz.record.provenance} == {"en.lives-in"}
    assert repo.records.retrieve_graph("Graz").items == ()  # nothing is a fact by itself
    assert memory.propose_by_rules("a", 0, 3) == ()
    repo.records.accept([graz.id])
    [wien] = [one for one in repo.records.proposals() if one.record.text.endswith("Wien")]
    assert [one.text for one in wien.conflicts] == ["user lives in Graz"]


def test_an_accepted_fact_is_in_the_context_of_the_conversation(repo: Repository) -> None:
    memory = Conversations(repo)
    memory.append("a", [("user", "I live in Graz."), *(("user", f"more {n}") for n in range(9))])
    [graz] = memory.propose_by_rules("a", 0, 0)
    question = "where does the user live"
    facts = repo.context(question, thread="a", recent=2, conversation=1, token_budget=300)
    assert not [pack for pack in facts.packs if pack.source == "Semantic"]
    repo.records.accept([graz])
    shown = repo.context(question, thread="a", recent=2, conversation=1, token_budget=300)
    assert [pack.text for pack in shown.packs if pack.source == "Semantic"] == [
        "user lives in Graz"
    ]
    assert [pack for pack in shown.packs if pack.source == "a"]
    assert shown.packs.tokens_used <= 300


def test_the_user_may_have_a_name(repo: Repository) -> None:
    memory = Conversations(repo)
    memory.append("a", [("user", "I prefer tea.")])
    memory.propose_by_rules("a", 0, 0, user="ada")
    [one] = repo.records.proposals()
    assert (one.record.text, one.record.user) == ("ada prefers tea", "ada")
    with pytest.raises(InvalidInputError, match="range"):
        memory.propose_by_rules("a", 0, 1)
    with pytest.raises(InvalidInputError, match="user"):
        memory.propose_by_rules("a", 0, 0, user="")


def test_a_proposal_is_as_secret_as_its_message(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
    memory = Conversations(repo, viewer=ALL)
    memory.append("a", [ibidem.Message("user", "I live in Graz.", props={"level": 3})])
    memory.propose_by_rules("a", 0, 0)
    [one] = repo.records.proposals()
    assert one.record.level == 3


def test_a_run_in_a_transaction_is_one_commit(repo: Repository) -> None:
    Conversations(repo).append("a", [("user", "I live in Graz. I prefer tea.")])
    before = len(list(repo.history.log()))
    with repo.transaction() as tx:
        assert len(Conversations(tx).propose_by_rules("a", 0, 0)) == 2
    assert len(list(repo.history.log())) == before + 1


@pytest.mark.parametrize(
    "text",
    [
        "I prefer _.",
        "My pronouns are \N{SPARKLES}",
        "I prefer",
        "",
        "my name is",
        "The _ is due on 3 May",
    ],
)
def test_what_has_no_words_is_no_fact(text: str) -> None:
    assert found_in(text) == []


@pytest.mark.parametrize(
    "text", ["„" * 100_000, "i prefer x, " * 9_000, "'a " * 60_000, "My name is " + "A b " * 50_000]
)
def test_hostile_texts_take_no_time(text: str) -> None:
    begun = time.process_time()
    found_in(text)
    assert time.process_time() - begun < 20  # a quadratic rule takes minutes

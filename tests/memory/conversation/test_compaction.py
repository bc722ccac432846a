"""Summaries of summaries, and threads that are compacted when they have grown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

import ibidem
from ibidem.memory.conversation.compaction import Compaction
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import Message, Stored
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init("memory:", clock=lambda: 1) as repository:
        yield repository


def said(*texts: str) -> list[tuple[str, str]]:
    return [("user", text) for text in texts]


def view(memory: Conversations) -> list[tuple[int, int, str]]:
    return [(one.ord, one.last, one.text) for one in memory.view("a")]


def joined(found: Sequence[Stored]) -> str:
    return f"{found[0].ord}-{found[-1].last} of {len(found)}"


def test_a_summary_of_summaries_stands_for_them(repo: Repository) -> None:
    memory = Conversations(repo)
    memory.append("a", said(*"abcdef"))
    memory.compact("a", 0, 1, "ab")
    memory.compact("a", 2, 3, "cd")
    for first, last in ((0, 1), (1, 2), (0, 2), (3, 5)):
        with pytest.raises(InvalidInputError, match="overlaps"):
            memory.compact("a", first, last, "again")
    memory.compact("a", 0, 4, "a to e")
    assert view(memory) == [(0, 4, "a to e"), (5, 5, "f")]
    assert memory.thread("a").summaries == ((0, 4),)
    [top] = repo.query(label="Summary")
    assert len(top.props["sources"]) == 3  # two summaries and a message
    assert len(repo.query(label="Summary", include_tombstoned=True)) == 3
    assert [one.text for one in memory.messages("a")] == list("abcdef")
    memory.clear("a")
    assert memory.view("a") == []


def test_a_summary_of_summaries_is_as_secret_as_they_are(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
    memory = Conversations(repo, viewer=ALL)
    memory.append("a", said("x", "y", "z"))
    memory.compact("a", 0, 1, "a secret", level="high")
    memory.compact("a", 0, 2, "all")
    low = Conversations(repo, viewer=Viewer(level=1, scopes=()))
    assert [one.text for one in low.view("a")] == ["x", "y", "z"]
    assert [one.text for one in memory.view("a")] == ["all"]


def test_a_thread_that_has_grown_is_compacted(repo: Repository) -> None:
    rule = Compaction(over_tokens=20, summarise=joined, recent=2, model="a rule")
    memory = Conversations(repo, compaction=rule)
    memory.append("a", said("short", "too"))
    assert len(list(repo.history.log())) == 1
    memory.append("a", said("long " * 20))
    assert view(memory)[0] == (0, 0, "short")  # one message is not summarised alone
    memory.append("a", said("four"))
    assert [one[:2] for one in view(memory)] == [(0, 1), (2, 2), (3, 3)]
    memory.append("a", said("five", "six"))
    assert view(memory) == [(0, 3, "0-3 of 3"), (4, 4, "five"), (5, 5, "six")]
    assert {node.props["model"] for node in repo.query(label="Summary")} == {"a rule"}
    head = repo.head
    memory.save("a", said("short", "too", "long " * 20, "four", "five", "six"))
    assert repo.head == head


def test_a_call_and_its_answer_stay_together(repo: Repository) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "long " * 30},
        {"role": "user", "content": "ask"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "answer"},
    ]
    memory = Conversations(repo, compaction=Compaction(5, joined, recent=1))
    memory.append("a", messages)
    assert [one[:2] for one in view(memory)] == [(0, 1), (2, 2), (3, 3)]


def test_if_the_function_fails_the_messages_are_stored(repo: Repository) -> None:
    def failing(_: Sequence[Stored]) -> str:
        raise RuntimeError("no model")

    memory = Conversations(repo, compaction=Compaction(0, failing, recent=0))
    with pytest.raises(RuntimeError, match="no model"):
        memory.append("a", [Message("user", "x"), Message("user", "y")])
    assert [one.text for one in memory.messages("a")] == ["x", "y"]


def test_in_a_transaction_it_is_staged(repo: Repository) -> None:
    with repo.transaction() as tx:
        Conversations(tx, compaction=Compaction(0, joined, recent=1)).append("a", said(*"abc"))
    assert view(repo.conversations)[0] == (0, 1, "0-1 of 2")
    assert len(list(repo.history.log())) == 1


@pytest.mark.parametrize("bad", [{"over_tokens": -1}, {"recent": -1}, {"summarise": "x"}])
def test_its_fields_are_checked(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        Compaction(**{"over_tokens": 1, "summarise": joined, **bad})  # type: ignore[arg-type]


def test_a_gap_before_a_summary_is_summarised_too(repo: Repository) -> None:
    plain = Conversations(repo)
    plain.append("a", said(*"abcdef"))
    plain.compact("a", 2, 3, "cd")
    Conversations(repo, compaction=Compaction(0, joined, recent=1)).append("a", said("g"))
    assert view(plain) == [(0, 5, "0-5 of 5"), (6, 6, "g")]
    plain.clear("a")
    Conversations(repo, compaction=Compaction(0, joined, recent=1)).append("a", said(*"hij"))
    assert view(plain) == [(7, 8, "7-8 of 2"), (9, 9, "j")]


def test_a_restricted_viewer_may_not_compact(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
    low = repo.as_viewer(Viewer(level=1, scopes=()))
    with pytest.raises(InvalidInputError) as raised:
        Conversations(low, compaction=Compaction(0, joined))
    assert raised.value.kind is ErrorKind.NOT_PERMITTED


def test_another_writer_may_compact_first(repo: Repository) -> None:
    def second(found: Sequence[Stored]) -> str:
        Conversations(repo).compact("a", 1, 2, "the other's")
        return joined(found)

    memory = Conversations(repo, compaction=Compaction(0, second, recent=1))
    memory.append("a", said(*"abc"))
    assert view(memory) == [(0, 0, "a"), (1, 2, "the other's")]


def test_ten_units_stay_if_not_told(repo: Repository) -> None:
    memory = Conversations(repo)
    memory.append("a", said(*"abcdefghijkl"))
    rule = Compaction.of_sentences(over_tokens=1)
    assert [one.ord for one in memory.outgrown(rule, "a")] == [0, 1]


def test_a_summary_has_eight_sentences_or_the_first_400_characters(repo: Repository) -> None:
    memory = Conversations(repo)
    rule = Compaction.of_sentences(over_tokens=1, recent=1)
    memory.append("a", said(*(f"Gate number{one} was painted." for one in "abcdefghi"), "end"))
    memory.compact_by(rule, "a")
    assert memory.view("a")[0].text.count("painted.") == 8
    memory.append("b", said("x" * 399, "yz", "end"))
    memory.compact_by(rule, "b")
    assert memory.view("b")[0].text == f"{'x' * 399}  <...+2 chars>"


def test_names_and_ranges_have_limits(repo: Repository) -> None:
    memory = Conversations(repo)
    memory.append("t" * 200, said("a"))
    with pytest.raises(InvalidInputError, match="200 characters"):
        memory.append("t" * 201, said("a"))
    memory.append("b", said(*("m" for _ in range(4097))))
    with pytest.raises(InvalidInputError, match="at most 4096") as raised:
        memory.compact("b", 0, 4096, "all of it")
    assert raised.value.kind is ErrorKind.LIMIT_EXCEEDED
    memory.compact("b", 0, 4095, "most of it")
    assert repo.at().count(label="ThreadPart") == 1 + 4096 // 64 + 1


def test_a_thread_is_compacted_on_request_by_its_sentences(repo: Repository) -> None:
    rule = Compaction.of_sentences(over_tokens=60, recent=1)
    memory = Conversations(repo)
    told = [f"The gate number {index} was painted red in May." for index in range(9)]
    memory.append("a", said(*told))
    assert [one.ord for one in memory.outgrown(rule, "a")] == list(range(8))
    assert memory.view("a")[0].is_summary is False  # to look changes nothing
    assert memory.compact_by(rule, "a").ords == tuple(range(8))
    [summary, last] = memory.view("a")
    assert summary.text.split(". ")[0] in " ".join(told)
    assert (last.ord, repo.query(label="Summary")[0].props["model"]) == (8, "sentences")
    assert memory.compact_by(rule, "a").commit is None
    memory.append("b", said(*["ok"] * 90))
    assert memory.compact_by(rule, "b").ords[0] == 0  # without a sentence

"""Runs: what an agent did is recorded in order, and done again without asking anybody."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ibidem.objects.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    RunMismatchError,
)
from ibidem.repo.repository import Repository
from ibidem.repo.runs import step_format  # noqa: F401 - reads the defaults before a test changes them
from ibidem.repo.runs.session import offered
from ibidem.retrieve.query.match import Fuzzy, Match


class Counted:
    """Counts how often it is called, and answers by the number of the call."""

    def __init__(self, answers: Callable[..., Any]) -> None:
        self.count = 0
        self._answers = answers

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.count += 1
        return self._answers(*given, **named)


def seeded(repo: Repository) -> Repository:
    with repo.transaction(message="seed") as tx:
        for index in range(8):
            tx.add_node("Note", summary=f"retry advice number {index}", key=index)
    return repo


def agent(
    repo: Any, model: Counted, *, question: str = "retry advice", steps: int = 3
) -> list[str]:
    """Asks the graph, asks a model about the answer, and writes down what it said."""
    ask = repo.tool("model", model)
    said = []
    for index in range(steps):
        found = repo.retrieve(question, limit=2)
        answer = ask([item.rendered for item in found.items], temperature=0.5)
        with repo.transaction(author="agent", message=f"turn {index}") as tx:
            note = tx.add_node("Answer", summary=answer["text"], unique=True)
            tx.add_edge(note, "answers", found.items[0].id)
        said.append(f"{answer['text']} {tx.commit.cid} {note}")
    return said


def model() -> Counted:
    return Counted(
        lambda texts, temperature: {"text": f"{len(texts)} {texts[0][:30]} {temperature}"}
    )


def test_a_run_of_200_steps_replays_without_a_call(repo: Repository) -> None:
    live = model()
    with seeded(repo).runs.start("nightly", agent="scripted", task="answer") as run:
        said = agent(run, live, steps=40)
    assert live.count == 40
    recording = repo.runs.open("nightly")
    assert recording.name == run.name == "nightly/1"
    assert len(recording.steps) == 202
    operations, cids = len(list(repo.history.operations())), set(repo.core.store.cids())
    again = model()
    with run.replay() as replay:
        assert agent(replay, again, steps=40) == said
        assert replay.remaining_count == 1
    assert again.count == 0
    assert (len(list(repo.history.operations())), set(repo.core.store.cids())) == (operations, cids)


@pytest.mark.parametrize("question", ["what does --all do", "slash advice", "the with statement"])
def test_a_run_of_a_release_before_symbols_were_terms_replays(
    repo: Repository, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    resolved = Match.for_texts
    before = Match(fuzzy=Fuzzy(rare=1, swaps=False, letters=False))

    def without_symbols(match: Match, texts: Sequence[str], *, related: bool) -> Match:
        return resolved(match, texts, related=related).counting_like(before)

    with monkeypatch.context() as patch:
        patch.setattr(Match, "for_texts", without_symbols)
        with seeded(repo).runs.start("nightly") as run:
            said = agent(run, model(), question=f"{question}, retry")
    with run.replay() as replay:
        assert agent(replay, model(), question=f"{question}, retry") == said
    with repo.runs.fork("nightly", 2) as fork:
        fork.tool("model", model())
        assert fork.retrieve(f"{question}, retry", limit=2).items


def test_a_changed_agent_fails_at_the_changed_step_and_both_are_shown(repo: Repository) -> None:
    with seeded(repo).runs.start("nightly") as run:
        agent(run, model())
    with pytest.raises(RunMismatchError) as caught, run.replay() as replay:
        agent(replay, model(), question="retry budget")
    error = caught.value
    assert error.step_index == 1
    assert str(error) == (
        "run 'nightly/1' no longer does what was recorded, from step 1 on\n"
        "  recorded: retrieved for 'retry advice' at HEAD (limit 2)\n"
        "  now:      retrieved for 'retry budget' at HEAD (limit 2)\n"
        "  differs in text: 'retry advice' then, 'retry budget' now"
    )
    assert error.hint is not None
    assert "record the run again" in error.hint


@pytest.mark.parametrize(
    ("change", "step", "said"),
    [
        (lambda r: r.retrieve("retry", limit=3), 1, "differs in limit: 2 then, 3 now"),
        (lambda r: r.at("main").retrieve("retry", limit=2), 1, "read the graph at main"),
        (lambda r: r.event("log"), 1, "event 'log'"),
        (lambda r: r.head, 1, "read the graph at HEAD"),
        (lambda r: r.branches(), 1, "called branches()"),
        (lambda r: r.transaction(message="x"), 1, "began a transaction (message 'x')"),
        (lambda r: None, 1, "the agent ended without an error"),
    ],
)
def test_every_other_step_is_refused_in_words(repo, change, step, said) -> None:
    with seeded(repo).runs.start("once") as run:
        run.retrieve("retry", limit=2)
    with pytest.raises(RunMismatchError) as caught, run.replay() as replay:
        change(replay)
    assert caught.value.step_index == step
    assert said in str(caught.value)
    assert "recorded: retrieved for 'retry' at HEAD (limit 2)" in str(caught.value)


def test_another_commit_is_shown_by_what_it_changes(repo: Repository) -> None:
    def write(session: Any, summary: str, message: str = "m") -> None:
        with session.transaction(message=message) as tx:
            tx.add_node("Note", summary=summary, key="it")

    with repo.runs.start("writer") as run:
        write(run, "one")
    with run.replay() as replay:
        write(replay, "one")
    with pytest.raises(RunMismatchError) as caught, run.replay() as replay:
        write(replay, "two")
    assert caught.value.step_index == 2
    assert "recorded: committed bafy" in str(caught.value)
    assert "summary" in str(caught.value)
    with pytest.raises(RunMismatchError, match="differs in message: 'm' then, 'n' now"):
        write(run.replay(), "one", "n")


def test_a_longer_and_a_shorter_agent_are_noticed(repo: Repository) -> None:
    with seeded(repo).runs.start("turns") as run:
        agent(run, model())
    with pytest.raises(RunMismatchError, match="recorded: the run ended"):
        agent(run.replay(), model(), steps=4)
    with (
        pytest.raises(RunMismatchError, match="the agent ended without an error"),
        run.replay() as replay,
    ):
        agent(replay, model(), steps=2)


def test_models_are_not_asked_in_a_replay(repo: Repository) -> None:
    class Embedder:
        name = "toy"
        digest = bytes(32)
        dim = 2

        def __init__(self) -> None:
            self.count = 0

        def embed(self, texts: Any) -> Any:
            self.count += 1
            return np.array([[len(text), 1.0] for text in texts], "float32")

    class Reranker:
        name = "length"
        digest = bytes(32)

        def __init__(self) -> None:
            self.count = 0

        def rerank(self, text: str, rendered: Any) -> list[float]:
            self.count += 1
            return [float(len(one)) for one in rendered]

    embedder, reranker = Embedder(), Reranker()
    seeded(repo).embed(embedder)

    def asking(session: Any) -> bytes:
        found = session.retrieve("retry", model="toy", rerank=reranker)
        again = session.retriever().text("advice").option(embedder=embedder).execute()
        return bytes(found.to_bytes() + again.to_bytes())

    with repo.runs.start("models") as run:
        live = asking(run)
    counts = embedder.count, reranker.count
    repo.core.embedders.clear()
    with run.replay() as replay:
        assert asking(replay) == live
    assert (embedder.count, reranker.count) == counts


def test_what_others_write_meanwhile_does_not_disturb_a_replay(repo: Repository) -> None:
    def edits(session: Any, meanwhile: Callable[[], None]) -> list[Any]:
        seen = [session.head]
        with session.transaction() as tx:
            tx.add_node("Note", summary="mine", key="mine")
            meanwhile()
        seen += [tx.commit.cid, session.head, len(session.query(label="Note"))]
        meanwhile()
        return [*seen, session.head, session.current_branch, session.branches(), session.tags()]

    count = 0

    def other() -> None:
        nonlocal count
        count += 1
        with repo.transaction() as tx:
            tx.add_node("Note", summary="theirs", key=f"theirs {count}")

    with seeded(repo).runs.start("shared") as run:
        live = edits(run, other)
    with run.replay() as replay:
        assert edits(replay, lambda: None) == live


def test_a_lost_race_is_recorded_and_comes_again(repo: Repository) -> None:
    (node,) = (seeded(repo).query(where={}, label="Note")[0],)

    def racing(session: Any, meanwhile: Callable[[], None]) -> str:
        try:
            with session.transaction() as tx:
                tx.remove_node(node.id)
                meanwhile()
        except ConflictError as error:
            return str(error)
        return str(tx.commit.cid)

    def other() -> None:
        with repo.transaction() as tx:
            tx.update_node(node.id, summary="changed")

    with repo.runs.start("race") as run:
        live = racing(run, other)
    with run.replay() as replay:
        assert racing(replay, lambda: None) == live


def test_the_page_names_what_a_run_offers() -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "replay-runs.md"
    [listed] = re.findall(r"A session offers (.*?)\.\s", page.read_text("utf-8"), re.DOTALL)
    assert set(re.findall(r"`([^`]+)`", listed)) == {*offered()} - {"folder"}


def test_refs_that_an_agent_makes_are_given_back(repo: Repository) -> None:
    def branching(session: Any) -> list[Any]:
        made = [session.branch("idea"), session.tag("before", at="main")]
        session.switch("idea")
        return [*made, session.current_branch, sorted(session.branches())]

    with seeded(repo).runs.start("names") as run:
        live = branching(run)
    repo.switch("main")
    repo.delete_branch("idea")
    with run.replay() as replay:
        assert branching(replay) == live
    assert repo.current_branch == "main"


def test_runs_of_one_name_are_numbered_and_the_newest_is_meant(repo: Repository) -> None:
    for answer in range(3):
        with repo.runs.start("nightly", agent="a", task="t") as run:
            run.event("count", answer)
    assert [run.name for run in repo.runs.list()] == ["nightly/1", "nightly/2", "nightly/3"]
    assert repo.runs.open("nightly").name == "nightly/3"
    assert repo.runs.open("nightly/2").lines()[1] == "event 'count' with 1"
    assert repo.runs.drop("nightly") == run._chain.tip
    assert repo.runs.open("nightly").name == "nightly/2"
    with pytest.raises(NotFoundError, match="'weekly'"):
        repo.runs.open("weekly")
    with pytest.raises(InvalidInputError, match="run: got 'Nightly'"):
        repo.runs.start("Nightly")


def test_undo_leaves_a_run_alone_and_takes_back_its_commit(repo: Repository) -> None:
    with repo.runs.start("writer") as run, run.transaction() as tx:
        tx.add_node("Note", summary="one", key=1)
    repo.history.undo()
    assert repo.head is None
    with run.replay() as replay, replay.transaction() as tx:
        tx.add_node("Note", summary="one", key=1)


def test_what_feedback_and_time_counted_is_taken_from_the_recording(repo: Repository) -> None:
    def asking(session: Any) -> list[str]:
        options = {"feedback": True, "recency": {"half_life": 3_600_000_000}}
        return [str(session.retrieve("advice", **options).cid) for _ in range(2)]

    with seeded(repo).runs.start("counts") as run:
        live = asking(run)
    with repo.transaction(message="later") as tx:
        tx.add_node("Note", summary="advice", key="late")
    with run.replay() as replay:
        assert asking(replay) == live


def test_a_name_that_could_not_travel_with_its_number_is_refused(repo: Repository) -> None:
    with pytest.raises(InvalidInputError, match="run"), repo.runs.start("x" * 254):
        pass
    assert not list(repo.runs.list())
    with repo.runs.start("x" * 253) as run:
        run.retrieve("x")
    assert run.name == "x" * 253 + "/1"

"""Runs: what an agent did is recorded in order, and done again without asking anybody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects.errors import ConflictError, IbidemError, InvalidInputError, NotFoundError
from ibidem.repo.repository import Repository
from ibidem.repo.run.outcome import RecordedError
from ibidem.repo.run.player import RunMismatchError


class QuotaError(Exception):
    """A tool's own error."""


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
    with seeded(repo).run("nightly", agent="scripted", task="answer") as run:
        said = agent(run, live, steps=40)
    assert live.count == 40
    recording = repo.recorded("nightly")
    assert recording.name == run.name == "nightly/1"
    assert len(recording.steps) == 202
    operations, cids = len(list(repo.operations())), set(repo.store.cids())
    again = model()
    with run.replay() as replay:
        assert agent(replay, again, steps=40) == said
        assert replay.remaining_count == 1
    assert again.count == 0
    assert (len(list(repo.operations())), set(repo.store.cids())) == (operations, cids)


def test_a_changed_agent_fails_at_the_changed_step_and_both_are_shown(repo: Repository) -> None:
    with seeded(repo).run("nightly") as run:
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
    with seeded(repo).run("once") as run:
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

    with repo.run("writer") as run:
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
    with seeded(repo).run("turns") as run:
        agent(run, model())
    with pytest.raises(RunMismatchError, match="recorded: the run ended"):
        agent(run.replay(), model(), steps=4)
    with (
        pytest.raises(RunMismatchError, match="the agent ended without an error"),
        run.replay() as replay,
    ):
        agent(replay, model(), steps=2)


def test_errors_of_tools_and_of_the_repository_come_again(repo: Repository) -> None:
    def attempts(session: Any, search: Callable[..., Any]) -> list[str]:
        call = session.tool("search", search, errors=[QuotaError])
        seen = []
        for kind in ("timeout", "quota", "fine"):
            try:
                seen.append(str(call(kind)))
            except (TimeoutError, QuotaError) as error:
                seen.append(f"{type(error).__name__}: {error}")
        for question in ({"text": "x", "limit": -1}, {"text": "x", "vector": ("m", [1.0])}):
            try:
                session.retrieve(**question)
            except InvalidInputError as error:
                seen.append(str(error))
        try:
            session.at("nowhere")
        except NotFoundError as error:
            seen.append(f"{error.kind} {error}")
        return seen

    def search(kind: str) -> str:
        if kind == "timeout":
            raise TimeoutError("after 8 s")
        if kind == "quota":
            raise QuotaError("none left")
        return kind

    counted = Counted(search)
    with seeded(repo).run("errors") as run:
        live = attempts(run, counted)
    assert live[:3] == ["TimeoutError: after 8 s", "QuotaError: none left", "fine"]
    with run.replay() as replay:
        assert attempts(replay, counted) == live
    assert counted.count == 3
    foreign = run.replay().tool("search", counted)
    with pytest.raises(TimeoutError):
        foreign("timeout")
    with pytest.raises(RecordedError, match=r"QuotaError: none left"):
        run_to_quota(run.replay(), counted)


def run_to_quota(session: Any, function: Callable[..., Any]) -> None:
    call = session.tool("search", function)
    with pytest.raises(TimeoutError):
        call("timeout")
    call("quota")


def test_an_agent_that_failed_fails_again_in_the_same_way(repo: Repository) -> None:
    def failing(session: Any) -> None:
        session.event("plan", {"goal": "fail"})
        raise LookupError("nothing to do")

    with pytest.raises(LookupError), repo.run("fails") as run:
        failing(run)
    assert repo.runs()[0].failure == "LookupError: nothing to do"
    with pytest.raises(LookupError), run.replay() as replay:
        failing(replay)
    with (
        pytest.raises(RunMismatchError, match="the run ended with LookupError"),
        run.replay() as replay,
    ):
        replay.event("plan", {"goal": "fail"})


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

    with repo.run("models") as run:
        live = asking(run)
    counts = embedder.count, reranker.count
    repo.embedders.clear()
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

    with seeded(repo).run("shared") as run:
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

    with repo.run("race") as run:
        live = racing(run, other)
    with run.replay() as replay:
        assert racing(replay, lambda: None) == live


def test_refs_that_an_agent_makes_are_given_back(repo: Repository) -> None:
    def branching(session: Any) -> list[Any]:
        made = [session.branch("idea"), session.tag("before", at="main")]
        session.switch("idea")
        return [*made, session.current_branch, sorted(session.branches())]

    with seeded(repo).run("refs") as run:
        live = branching(run)
    repo.switch("main")
    repo.delete_branch("idea")
    with run.replay() as replay:
        assert branching(replay) == live
    assert repo.current_branch == "main"


def test_runs_of_one_name_are_numbered_and_the_newest_is_meant(repo: Repository) -> None:
    for answer in range(3):
        with repo.run("nightly", agent="a", task="t") as run:
            run.event("count", answer)
    assert [run.name for run in repo.runs()] == ["nightly/1", "nightly/2", "nightly/3"]
    assert repo.recorded("nightly").name == "nightly/3"
    assert repo.recorded("nightly/2").lines()[1] == "event 'count' with 1"
    assert repo.drop_run("nightly") == run._chain.tip
    assert repo.recorded("nightly").name == "nightly/2"
    with pytest.raises(NotFoundError, match="'weekly'"):
        repo.recorded("weekly")
    with pytest.raises(InvalidInputError, match="run: got 'Nightly'"):
        repo.run("Nightly")


def test_undo_leaves_a_run_alone_and_takes_back_its_commit(repo: Repository) -> None:
    with repo.run("writer") as run, run.transaction() as tx:
        tx.add_node("Note", summary="one", key=1)
    repo.undo()
    assert repo.head is None
    with run.replay() as replay, replay.transaction() as tx:
        tx.add_node("Note", summary="one", key=1)


def test_a_killed_run_ends_where_it_was_last_made_durable(tmp_path: Path) -> None:
    repo = ibidem.init(tmp_path)
    run = seeded(repo).run("killed")
    run.event("began")
    run.retrieve("retry")
    repo.close()
    with ibidem.open(tmp_path) as repo:
        summary = repo.runs()[0]
        assert (summary.step_count, summary.ended, summary.failure) == (2, None, None)
        replay = repo.recorded("killed").replay()
        replay.event("began")
        with pytest.raises(RunMismatchError, match="as if its process had been killed"):
            replay.retrieve("retry")


def test_what_cannot_be_recorded_is_refused_at_once(repo: Repository) -> None:
    with seeded(repo).run("refused") as run:
        for value in ({1, 2}, float("nan"), object(), "x" * (2 << 20)):
            with pytest.raises(InvalidInputError, match="thing: "):
                run.event("thing", value)
        with pytest.raises(InvalidInputError, match="event: got name"):
            run.event("")
        with pytest.raises(AttributeError, match="a run has no 'reindex'"):
            run.reindex()
        with pytest.raises(InvalidInputError, match="does not record the history"):
            run.at().log()
        with pytest.raises(InvalidInputError, match="being recorded"):
            run.replay()
        assert run.event("large", call=lambda: "x" * 500_000) == "x" * 500_000
        assert run.event("pair", call=lambda: (1, 2)) == [1, 2]
    with pytest.raises(InvalidInputError, match="it has ended"):
        run.retrieve("retry")
    with run.replay() as replay:
        replay.at()
        assert len(replay.event("large")) == 500_000
        assert replay.event("pair") == [1, 2]


def test_a_run_that_was_dropped_meanwhile_says_so(repo: Repository) -> None:
    run = repo.run("gone")
    repo.drop_run("gone")
    with pytest.raises(ConflictError, match="dropped or moved"):
        run.event("late")


def test_what_feedback_and_time_counted_is_taken_from_the_recording(repo: Repository) -> None:
    def asking(session: Any) -> list[str]:
        options = {"feedback": True, "recency": {"half_life": 3_600_000_000}}
        return [str(session.retrieve("advice", **options).cid) for _ in range(2)]

    with seeded(repo).run("counts") as run:
        live = asking(run)
    with repo.transaction(message="later") as tx:
        tx.add_node("Note", summary="advice", key="late")
    with run.replay() as replay:
        assert asking(replay) == live


def test_a_refused_conflict_is_recorded_and_refused_again(repo: Repository) -> None:
    node = seeded(repo).query(label="Note")[0].id

    def edit(session: Any, meanwhile: Callable[[], None]) -> None:
        with session.transaction(on_conflict="raise") as tx:
            tx.update_node(node, summary="mine")
            meanwhile()

    def racing(session: Any, meanwhile: Callable[[], None]) -> str:
        with pytest.raises(ConflictError) as caught:
            edit(session, meanwhile)
        return str(caught.value)

    def other() -> None:
        with repo.transaction() as tx:
            tx.update_node(node, summary="theirs")

    with repo.run("strict") as run:
        live = racing(run, other)
    with run.replay() as replay:
        assert racing(replay, lambda: None) == live
    with pytest.raises(RunMismatchError, match="differs in on_conflict: 'raise' then, None now"):
        run.replay().transaction()


def test_a_run_whose_step_was_erased_is_listed_and_says_why(repo: Repository) -> None:
    with repo.transaction() as tx:
        node = tx.add_node("Note", summary="a secret that is long enough to be looked for")
    with repo.run("quoting") as run:
        found = run.retrieve("secret")
        run.event("model", [item.rendered for item in found.items], lambda: "seen")
    repo.erase(node)
    (summary,) = repo.runs()
    assert (summary.name, summary.step_count) == ("quoting/1", 4)
    assert summary.failure is not None
    assert "was erased" in summary.failure
    with pytest.raises(IbidemError, match="was erased"):
        run.replay()
    repo.drop_run("quoting")
    assert repo.runs() == []

"""Runs that are done again, from a step on or on other facts.

Spec: replay 4.1-a, 4.1-b, 4.1-c.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError, NotFoundError, RunMismatchError


class Model:
    """Answers with the number of the call, so that an answer that was made again is noticed."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> str:
        self.asked.append(text)
        return f"{text}! ({len(self.asked)})"


@pytest.fixture
def repo() -> Iterator[ibidem.Repository]:
    with ibidem.init("memory:") as found:
        note(found, "tea is green", key="tea")
        yield found


def note(repo: Any, text: str, **options: Any) -> None:
    with repo.transaction(message=text) as tx:
        tx.add_node("Fact", summary=text, **options)


def agent(session: Any, model: Model, *, ask: str = "{}", turns: int = 3) -> list[str]:
    """Looks up what is known, asks the model about it, and remembers the answer."""
    tool, answers = session.tool("model", model), []
    for turn in range(turns):
        found = session.retrieve("tea", limit=1).items[0].node.summary
        answers.append(tool(ask.format(f"{turn} {found}")))
        with session.transaction(message=f"turn {turn}", author="agent") as tx:
            tx.add_node("Said", summary=answers[-1], unique=True)
    assert session.commit_at().message == f"turn {turns - 1}"
    assert len(session.query(label="Said")) == turns
    return answers


@pytest.fixture
def recorded(repo: Any) -> list[str]:
    with repo.runs.start("tea", agent="a") as run:
        return agent(run, Model())


def state(repo: Any) -> Any:
    return repo.branches(), repo.tags(), repo.head


def cids(repo: Any, name: str) -> list[Any]:
    return [step.cid for step in repo.runs.open(name).steps]


def test_a_fork_at_the_end_has_the_steps_of_its_run(repo: Any, recorded: Any):
    before, last = state(repo), len(repo.runs.open("tea").steps) - 1
    with repo.runs.fork("tea", last) as fork:
        assert agent(fork, Model()) == recorded
    assert fork.name == "tea-fork/1"
    assert fork.difference is None
    assert cids(repo, fork.name)[:-1] == cids(repo, "tea")[:-1]
    assert state(repo) == before
    assert repo.runs.open("tea").name == "tea/1"


def test_from_its_step_on_models_are_asked_again(repo: Any, recorded: Any):
    before, model = state(repo), Model()
    model.asked = ["before"] * 5
    steps = repo.runs.open("tea").steps
    events = [step.index for step in steps if step.action == "event"]
    with repo.runs.fork("tea", events[1]) as fork:
        answers = agent(fork, model)
    assert len(model.asked) == 7
    assert answers[0] == recorded[0]
    assert answers[1] != recorded[1]
    assert fork.difference.step_index == events[1]
    assert "differs in value" in str(fork.difference)
    assert cids(repo, fork.name)[: events[1]] == cids(repo, "tea")[: events[1]]
    assert state(repo) == before
    differing = fork.differences()
    assert differing[0].index == events[1]
    assert not differing[0].is_request_changed


def test_a_fork_replays_as_any_run(repo: Any, recorded: Any):
    with repo.runs.fork("tea", 1) as fork:
        answers = agent(fork, Model())
    model = Model()
    with repo.runs.open(fork.name).replay() as replay:
        assert agent(replay, model) == answers
    assert model.asked == []
    assert not repo.maintenance.fsck().faults


def test_before_its_step_another_agent_is_refused(repo: Any, recorded: Any):
    with pytest.raises(RunMismatchError) as error, repo.runs.fork("tea", 9) as fork:
        agent(fork, Model(), ask="please {}")
    assert error.value.step_index == 2
    assert "ended" not in str(error.value)
    summary = repo.runs.open("tea-fork").summary()
    assert summary.failure.startswith("ibidem.objects.errors.RunMismatchError")


def test_other_facts_that_change_nothing_ask_nobody(repo: Any, recorded_of: Any):
    note(repo, "milk is white")
    model, before = Model(), state(repo)
    with repo.runs.fork("label", at="main") as fork:
        assert agent_of(fork, model) == recorded_of
    assert (model.asked, fork.difference, state(repo)) == ([], None, before)


def agent_of(session: Any, model: Model) -> list[str]:
    """The agent without what depends on the number of nodes."""
    tool, answers = session.tool("model", model), []
    for turn in range(3):
        found = session.retrieve("tea", limit=1, label="Fact").items[0].node.summary
        answers.append(tool(f"{turn} {found}"))
        with session.transaction(message=f"turn {turn}", author="agent") as tx:
            tx.add_node("Said", summary=answers[-1], unique=True)
    session.commit_at()
    session.query(label="Said")
    return answers


@pytest.fixture
def recorded_of(repo: Any) -> list[str]:
    with repo.runs.start("label") as run:
        return agent_of(run, Model())


def test_other_facts_stop_at_the_first_answer_that_differs(repo: Any, recorded_of: Any):
    with repo.transaction(message="corrected") as tx:
        tx.update_node(repo.query(label="Fact")[0].id, summary="tea is black")
    model = Model()
    with pytest.raises(RunMismatchError) as error, repo.runs.fork("label", at="main") as fork:
        agent_of(fork, model)
    assert error.value.step_index == 1
    assert "tea is green" in str(error.value)
    assert "tea is black" in str(error.value)
    assert model.asked == []

    with repo.runs.fork("label", at="main", go_on=True) as fork:
        answers = agent_of(fork, model)
    assert [answer.partition("!")[0] for answer in answers] == [
        f"{turn} tea is black" for turn in range(3)
    ]
    assert fork.difference.step_index == 1
    assert fork.differences()[0].index == 1


def test_another_prompt_asks_only_what_was_not_asked(repo: Any):
    def work(session: Any, model: Model, last: str) -> list[str]:
        tool = session.tool("model", model)
        return [tool("one"), tool(last), tool("three")]

    with repo.runs.start("ask") as run:
        said = work(run, Model(), "two")
    model = Model()
    with repo.runs.fork("ask", go_on=True) as fork:
        answers = work(fork, model, "another")
    assert model.asked == ["another"]
    assert (answers[0], answers[2]) == (said[0], said[2])
    assert "'two' then, 'another' now" in str(fork.difference)
    with pytest.raises(RunMismatchError, match="'another' now"), repo.runs.fork("ask") as fork:
        work(fork, model, "another")
    with pytest.raises(RunMismatchError, match="the agent ended"), repo.runs.fork("ask") as fork:
        fork.tool("model", model)("one")
    assert model.asked == ["another"]


def test_a_fork_writes_nothing_else(repo: Any, recorded: Any):
    before = state(repo)
    with repo.runs.fork("tea", 1) as fork:
        with pytest.raises(InvalidInputError, match="changes no branch or tag"):
            fork.branch("other")
        with pytest.raises(InvalidInputError, match="changes no branch or tag"):
            fork.tag("v1")
        assert fork.current_branch == "main"
        assert set(fork.branches()) == {"main"}
        assert fork.now() > 0
    assert state(repo) == before


def test_recorded_calls_are_answered_as_recorded(repo: Any):
    def work(session: Any) -> list[Any]:
        return [session.now(), session.branch("b"), session.current_branch, session.branches()]

    with repo.runs.start("calls") as run:
        said = work(run)
    before = state(repo)
    with repo.runs.fork("calls") as fork:
        assert work(fork) == said
    assert state(repo) == before


@pytest.mark.parametrize("step", [0, -1, 99])
def test_a_step_that_is_not_there_is_refused(step: int, repo: Any, recorded: Any):
    before = [run.name for run in repo.runs.list()]
    with pytest.raises(InvalidInputError, match=f"step: got {step}, expected"):
        repo.runs.fork("tea", step)
    with pytest.raises(NotFoundError):
        repo.runs.fork("nothing", 1)
    with pytest.raises(NotFoundError):
        repo.runs.fork("tea", 1, at="nowhere")
    assert [run.name for run in repo.runs.list()] == before


def test_a_fork_of_a_copy_goes_on_in_another_repository(repo: Any, recorded: Any, tmp_path: Any):
    repo.runs.open("tea").export(tmp_path / "run.car")
    with ibidem.init("memory:") as other:
        other.runs.load(tmp_path / "run.car")
        with other.runs.fork("tea", 6, as_name="what/if") as fork:
            answers = agent(fork, Model())
        assert fork.name == "what/if/1"
        assert answers[0] == recorded[0]
        assert other.head is None

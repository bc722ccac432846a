"""Events that overlap others: streamed and awaited answers, and what a tool does itself.

Spec: replay 3-d, 4-d; format 5.12-c.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ibidem.objects.errors import InvalidInputError, RecordedError, RunMismatchError
from ibidem.repo.repository import Repository


def names(repo: Repository, run: str) -> list[tuple[str, int]]:
    steps = repo.runs.open(run).steps
    return [(step.name or step.action, step.start) for step in steps[1:-1]]


def finish(event: Any, value: Any) -> Any:
    return event.answer() if event.is_answered else event.finish(value)


def test_steps_that_overlap_replay_in_the_order_of_the_agent(repo: Repository):
    def agent(session: Any) -> list[Any]:
        one = session.open_event("one", 1)
        two = session.open_event("two", 2)
        found = len(session.retrieve("tea"))
        said = [finish(two, "b"), found, finish(one, "a")]
        return [*said, finish(session.open_event("three"), "c")]

    with repo.runs.start("agent") as run:
        said = agent(run)
    assert names(repo, "agent") == [("retrieve", 0), ("two", 1), ("one", 1), ("three", 0)]
    with run.replay() as replay:
        assert agent(replay) == said


def test_tasks_may_end_in_another_order_and_go_on(repo: Repository):
    with repo.runs.start("agent") as run:
        a, b = run.open_event("ask", "a"), run.open_event("ask", "b")
        b.finish("of b")
        after = run.open_event("ask", "after b")
        a.finish("of a")
        after.finish("last")
    with run.replay() as replay:
        assert replay.open_event("ask", "a").answer() == "of a"
        assert replay.remaining_count == 3
        assert replay.open_event("ask", "b").answer() == "of b"
        assert replay.open_event("ask", "after b").answer() == "last"


def test_what_did_not_overlap_keeps_its_order(repo: Repository):
    with repo.runs.start("agent") as run:
        run.event("ask", "a", lambda: 1)
        run.event("ask", "b", lambda: 2)
    with pytest.raises(RunMismatchError) as error:
        run.replay().open_event("ask", "b")
    assert error.value.step_index == 1


def test_other_steps_keep_their_order_among_events_that_overlap(repo: Repository):
    with repo.runs.start("agent") as run:
        event = run.open_event("ask")
        run.retrieve("tea")
        run.retrieve("milk")
        event.finish(1)
    with pytest.raises(RunMismatchError, match="'milk' now"):
        run.replay().retrieve("milk")
    with pytest.raises(RunMismatchError, match="the agent ended"), run.replay() as replay:
        replay.retrieve("tea")


def test_what_a_tool_does_itself_is_not_recorded_and_not_done_again(repo: Repository):
    calls = []

    def agent(session: Any) -> Any:
        def work(text: str) -> Any:
            calls.append(text)
            inner = session.tool("inner", lambda: len(session.retrieve(text)))()
            with session.transaction(message="of the tool") as tx:
                tx.add_node("Note", summary=text)
            return inner

        return session.tool("work", work)("tea")

    with repo.runs.start("agent") as run:
        said = agent(run)
    assert names(repo, "agent") == [("work", 0)]
    assert [commit.message for commit in repo.history.log()] == ["of the tool"]
    with run.replay() as replay:
        assert agent(replay) == said
    assert calls == ["tea"]


def test_an_event_fails_notes_and_ends_once(repo: Repository):
    with repo.runs.start("agent") as run:
        run.open_event("note").note()
        event = run.open_event("ask")
        event.fail(KeyError("x"))
        with pytest.raises(InvalidInputError, match="it has ended"):
            event.finish(1)
        unfit = run.open_event("ask")
        with pytest.raises(InvalidInputError):
            unfit.finish(object())
    with run.replay() as replay:
        assert replay.open_event("note").answer() is None
        with pytest.raises(KeyError):
            replay.open_event("ask").answer()
        with pytest.raises(InvalidInputError):
            replay.open_event("ask").answer()


@pytest.mark.parametrize("name", ["", 5, None])
def test_an_event_needs_a_name(name: Any, repo: Repository):
    with repo.runs.start("agent") as run, pytest.raises(InvalidInputError, match="expected text"):
        run.open_event(name)


def test_an_event_that_ends_after_its_run_is_refused(repo: Repository):
    with repo.runs.start("agent") as run:
        event = run.open_event("ask")
    with pytest.raises(InvalidInputError, match="it has ended"):
        event.finish(1)
    assert names(repo, "agent") == []


def test_a_tool_that_was_cancelled_is_a_step_that_says_so(repo: Repository):
    async def slow(_: str) -> str:
        await asyncio.sleep(3600)
        return "never"

    async def agent(session: Any, **options: Any) -> str:
        task = asyncio.create_task(session.tool("slow", slow, **options)("x"))
        await asyncio.sleep(0)
        task.cancel()
        try:
            return str(await task)
        except asyncio.CancelledError:
            session.event("note", "it was too slow")
            return "cancelled"

    with repo.runs.start("agent") as run:
        assert asyncio.run(agent(run)) == "cancelled"
    assert names(repo, "agent") == [("slow", 0), ("note", 0)]
    assert "CancelledError" in "\n".join(repo.runs.open("agent").lines())
    with run.replay() as replay:
        assert asyncio.run(agent(replay, errors=[asyncio.CancelledError])) == "cancelled"
    with pytest.raises(RecordedError, match="CancelledError"):
        asyncio.run(agent(run.replay()))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_tool_that_was_interrupted_is_a_step_that_says_so(
    repo: Repository, error: type[BaseException]
):
    def stop() -> None:
        raise error

    with pytest.raises(error), repo.runs.start("agent") as run:
        run.tool("stop", stop)()
    assert names(repo, "agent") == [("stop", 0)]
    assert repo.runs.open("agent").summary().failure == f"{error.__name__}: "
    with pytest.raises(RecordedError, match=error.__name__):
        run.replay().tool("stop", stop)()


def test_a_tool_that_is_cancelled_after_its_run_is_cancelled_all_the_same(repo: Repository):
    async def slow() -> None:
        await asyncio.sleep(3600)

    async def agent() -> None:
        with repo.runs.start("agent") as run:
            task = asyncio.create_task(run.tool("slow", slow)())
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(agent())
    assert names(repo, "agent") == []

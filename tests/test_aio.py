"""The library for asyncio: the same names, calls that do not block the loop, current types."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tools import make_stub
from tests.tools.type_check import CHECKERS, assert_typed

import ibidem
from ibidem import aio

SAMPLE = Path(__file__).parent / "typed_aio_sample.py"
PURE = {
    "anomalies",
    "citations_of",
    "exposure_of",
    "fence_of",
    "format_record",
    "node_id",
    "parse_record",
    "read_lines",
    "secret_in",
    "set_proxies",
    "set_threads",
    "facts_from_messages",
    "summary_of",
    "thread_id",
    "without_secrets",
}
"""Public functions that neither read nor write."""


def with_anyio(main: Callable[[], Awaitable[Any]]) -> None:
    pytest.importorskip("anyio").run(main)


def with_asyncio(main: Callable[[], Awaitable[Any]]) -> None:
    asyncio.run(main())  # type: ignore[arg-type]


@pytest.mark.parametrize("run", [with_asyncio, with_anyio])
def test_a_program_reads_writes_and_asks(run: Callable[..., None], tmp_path: Path):
    async def main() -> None:
        async with aio.init(tmp_path) as repo:
            async with repo.transaction(author="ada", message="facts") as tx:
                node = await tx.add_node("Fact", summary="tea at five")
                await aio.ingest_text(tx, "# Mail\n\nThe parcel arrives.\n", path="mail.md")
            assert tx.commit.cid == repo.head
            [item] = await repo.retrieve("tea")
            assert item.id == node
            revision = await repo.at("main")
            assert isinstance(revision, aio.Revision)
            assert (await revision.node(str(node))).summary == "tea at five"
            assert [one.message for one in await repo.history.log()] == ["facts"]
            talk = aio.Conversations(repo, author="ada")
            await talk.append("a", [("user", "hello")])
            assert (await talk.context("hello", thread="a", token_budget=50)).messages
            assert "parcel" in (await repo.recall("parcel")).text
        async with aio.open(tmp_path) as again:
            assert await again.branches() == {"main": again.head}

    run(main)


@pytest.mark.parametrize("run", [with_asyncio, with_anyio])
def test_the_layers_are_awaited_too(run: Callable[..., None], tmp_path: Path):
    (tmp_path / "mail.md").write_text("# Mail\n\nThe parcel arrives.\n")

    async def main() -> None:
        async with aio.init("memory:") as repo:
            async with repo.transaction(author="ada", message="one step") as tx:
                fact = await tx.add("tea at five")
                report = await tx.ingest(tmp_path / "mail.md")
                assert report.documents_added == 1
                assert isinstance(tx.conversations, aio.Conversations)
                await tx.conversations.append("a", [("user", "when is tea")])
            assert len(await repo.history.log()) == 1
            assert await repo.add("tea at five") == fact
            answer = await repo.retrieve("tea", label="Semantic")
            assert isinstance(repo.feedback, aio.Feedback)
            await repo.feedback.vote(answer, fact, 1, author="ada")
            assert isinstance(repo.records, aio.GraphMemory)
            assert [one.text for one in await repo.records.list()] == ["tea at five"]
            assert (await repo.conversations.threads())[0].name == "a"
            assert "tea" in (await repo.recall("tea")).text

    run(main)


def test_a_layer_of_a_repository_runs_in_its_pool():
    async def main() -> None:
        async with aio.init("memory:") as repo:
            adding = repo.add("tea")
            assert repo.conversations._pool is adding._pool is repo._pool
            await adding

    asyncio.run(main())


def test_a_call_does_not_block_the_loop():
    started, done = threading.Event(), threading.Event()

    class Slow:
        name, dim, digest = "slow", 1, bytes(32)

        def embed(self, texts: Any) -> Any:
            started.set()
            assert done.wait(20)
            return [[1.0] for _ in texts]

    async def main() -> None:
        async with aio.init("memory:") as repo:
            async with repo.transaction() as tx:
                await tx.add_node("Fact", summary="tea")
            embedding = asyncio.create_task(repo.embed(Slow()))
            while not started.is_set():
                await asyncio.sleep(0.001)
            assert (await repo.retrieve("tea")).items
            assert (await repo.context("tea", token_budget=200)).citations
            done.set()
            await embedding

    asyncio.run(main())


def test_an_error_in_the_block_takes_a_transaction_back():
    async def main() -> None:
        async with aio.init("memory:") as repo:
            try:
                async with repo.transaction() as tx:
                    await tx.add_node("Fact", summary="tea")
                    raise KeyError
            except KeyError:
                pass
            assert (await repo.query()) == []
            with pytest.raises(ibidem.NotFoundError):
                await repo.at("nothing")

    asyncio.run(main())


def test_a_call_that_has_begun_is_finished_before_it_is_cancelled():
    begun, may_go, finished = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert may_go.wait(20)
        finished.set()

    async def main() -> None:
        async with aio.init("memory:") as repo:
            call = aio.Call(repo._pool, "work", work)
            task = asyncio.create_task(call)
            while not begun.is_set():
                await asyncio.sleep(0.001)
            for _ in range(3):
                task.cancel()
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.01)
            assert not task.done()
            may_go.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert finished.is_set()

    asyncio.run(main())


def test_a_task_runs_a_call():
    async def main() -> None:
        async with aio.init("memory:") as repo:
            await repo.add("tea at five")
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(repo.retrieve("tea")) for _ in range(9)]
            assert {len(task.result()) for task in tasks} == {1}
            late = asyncio.create_task(repo.add("tea at six"))
            late.cancel()
            with pytest.raises(asyncio.CancelledError):
                await late
            assert len(await repo.query(label="Semantic")) == 1

    asyncio.run(main(), debug=True)


def test_a_call_that_waits_for_its_turn_is_not_begun_once_it_is_cancelled():
    async def main() -> None:
        async with aio.init("memory:") as repo:
            running = threading.Semaphore(0)
            go_on = threading.Event()

            def hold() -> None:
                running.release()
                go_on.wait()

            for _ in range(aio.THREADS):
                repo._pool.submit(hold)
            for _ in range(aio.THREADS):
                running.acquire()
            waiting = [asyncio.create_task(repo.add(f"tea at {hour}")) for hour in range(20)]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            for one in waiting:
                one.cancel()
            done = await asyncio.gather(*waiting, return_exceptions=True)
            assert {type(one) for one in done} == {asyncio.CancelledError}
            assert not go_on.is_set(), "nobody waited for the calls before them"
            go_on.set()
            assert await (await repo.at()).count() == 0

    asyncio.run(main(), debug=True)


def test_a_transaction_is_left_even_if_its_task_is_cancelled():
    async def main() -> None:
        async with aio.init("memory:") as repo:

            async def work() -> None:
                async with repo.transaction() as tx:
                    await tx.add_node("Fact", summary="tea at five")
                    await asyncio.sleep(60)

            task = asyncio.create_task(work())
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await repo.add("tea at six")
            assert await (await repo.at()).count() == 1

    asyncio.run(main(), debug=True)


def test_a_call_that_is_not_awaited_says_so():
    async def main() -> None:
        async with aio.init("memory:") as repo:
            with pytest.warns(RuntimeWarning, match="'add' was never awaited"):
                repo.add("tea at five")
            asked = repo.retrieve("tea")
            with pytest.raises(AttributeError, match="'retrieve' has no 'text': await it first"):
                _ = asked.text
            assert not await asked

    asyncio.run(main())


def test_a_call_runs_once():
    async def main() -> None:
        async with aio.init("memory:") as repo:
            adding = repo.add("tea at five")
            await asyncio.create_task(adding)
            with pytest.raises(RuntimeError, match="already awaited"):
                await adding
            assert len(await repo.query(label="Semantic")) == 1
            dropped = repo.add("tea at six")
            dropped.close()
            del dropped
            assert len(await repo.query(label="Semantic")) == 1

    asyncio.run(main())


def test_an_agent_with_awaited_tools_is_recorded_and_replayed():
    called: list[str] = []

    async def model(prompt: str) -> str:
        called.append(prompt)
        await asyncio.sleep(0.001 * len(prompt))
        if "?" not in prompt:
            raise ValueError("no question")
        return f"said: {prompt}"

    async def agent(session: Any, model: Any) -> list[object]:
        ask = await session.tool("model", model)
        [item] = await session.retrieve("tea", limit=1)
        prompts = [f"{item.node.summary}, why?", "who?", "no question"]
        said = await asyncio.gather(*map(ask, prompts), return_exceptions=True)
        async with session.transaction(author="bot") as tx:
            await tx.add(said[0])
        return [str(one) for one in said]

    async def main() -> None:
        async with aio.init("memory:") as repo:
            await repo.add("tea at five")
            async with repo.runs.start("bot") as run:
                first = await agent(run, model)
            assert first[1:] == ["said: who?", "no question"]
            assert len(called) == 3
            async with repo.runs.replay("bot") as replay:
                assert isinstance(replay, aio.Replay)
                assert await agent(replay, model) == first
            assert len(called) == 3
            with pytest.raises(ibidem.RunMismatchError):
                async with repo.runs.replay("bot/1"):
                    pass

    asyncio.run(main())


def test_a_tool_may_be_an_object_and_one_that_only_returns_an_awaitable_is_refused():
    class Model:
        async def __call__(self, prompt: str) -> str:
            return f"said: {prompt}"

    async def agent(session: Any) -> object:
        ask = await session.tool("model", Model())
        return await ask("who?")

    async def main() -> None:
        async with aio.init("memory:") as repo:
            async with repo.runs.start("bot") as run:
                assert await agent(run) == "said: who?"
            async with repo.runs.replay("bot") as replay:
                assert await agent(replay) == "said: who?"
            async with repo.runs.start("other") as run:
                answer = Model()("who?")
                ask = await run.tool("model", lambda _: answer)
                with pytest.raises(ibidem.InvalidInputError, match="got an awaitable") as raised:
                    ask("who?")
                assert "'async def'" in str(raised.value.hint)
                await answer

    asyncio.run(main())


def test_everything_that_reads_or_writes_has_a_face():
    functions = {name for name in ibidem.__all__ if inspect.isfunction(getattr(ibidem, name))}
    assert functions == {*aio.FUNCTIONS} | PURE
    for name in aio.CLASSES:
        face, cls = getattr(aio, name), getattr(ibidem, name)
        assert {one for one in dir(cls) if not one.startswith("_")} <= set(dir(face))
    assert set(dir(aio)) == set(aio.__all__)


def test_what_a_call_returns_has_a_face_too():
    """A class with calls of its own, that a call returns, must be in `aio.CLASSES`."""
    text = make_stub.stub()
    for name in ibidem.__all__:
        if name.endswith(("Transaction", "Repository", "Revision", "Space", "Spaces")):
            assert f"class {name}:" in text


def test_the_stub_is_current():
    assert make_stub.STUB.read_text("utf-8") == make_stub.stub(), "run tests/tools/make_stub.py"


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_sample_program_is_typed(checker: str, tmp_path: Path):
    assert_typed(checker, SAMPLE, tmp_path)


def test_several_repositories_are_asked_at_once():
    async def main() -> None:
        async with aio.init("memory:") as one, aio.init("memory:") as other:
            for repo in (one, other):
                async with repo.transaction() as tx:
                    await tx.add_node("Fact", summary=f"tea {len(await repo.branches())}")
                async with repo.transaction() as tx:
                    await tx.add_node("Fact", summary=f"parcel {id(repo)}")
            union = await aio.union([one, other])
            answer = await union.retrieve("parcel")
            assert len(answer.items) == 2
            home = await union.revision(answer.items[0].root)
            assert await home.node(answer.items[0].id) == answer.items[0].node
            assert await union.replay(answer.receipt) == answer
            same = await aio.union((one, other))
            assert await same.retrieve("parcel") == answer

    asyncio.run(main())

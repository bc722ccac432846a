"""A session of OpenAI Agents beside the one in SQLite, and an agent that runs with it."""

import asyncio
import os
import warnings

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import ibidem
from ibidem.adapters.openai_agents import IbidemSession

TEXTS = st.sampled_from(["is the gate open", "since nine", ""])
ITEMS = (
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": TEXTS})
    | st.fixed_dictionaries(
        {
            "type": st.just("message"),
            "role": st.just("assistant"),
            "content": st.lists(
                st.fixed_dictionaries({"type": st.just("output_text"), "text": TEXTS}), max_size=2
            ),
        }
    )
    | st.fixed_dictionaries(
        {"type": st.just("function_call"), "call_id": TEXTS, "arguments": st.just('{"a": 1.5}')}
    )
    | st.fixed_dictionaries({"type": st.just("function_call_output"), "output": TEXTS})
    | st.fixed_dictionaries({"type": st.just("reasoning"), "summary": st.just([])})
)


class Beside(RuleBasedStateMachine):
    """What a list has, the session has."""

    def __init__(self):
        super().__init__()
        self.repo = ibidem.init("memory:")
        self.session, self.items = IbidemSession("s", self.repo), []

    def teardown(self):
        self.repo.close()

    @rule(items=st.lists(ITEMS, max_size=3))
    def add(self, items):
        asyncio.run(self.session.add_items(items))
        self.items += items

    @rule()
    def pop(self):
        assert asyncio.run(self.session.pop_item()) == (self.items.pop() if self.items else None)

    @rule()
    def clear(self):
        asyncio.run(self.session.clear_session())
        self.items = []

    @rule(limit=st.integers(0, 4))
    def last(self, limit):
        found = asyncio.run(self.session.get_items(limit))
        assert found == (self.items[-limit:] if limit else [])

    @invariant()
    def everything(self):
        assert asyncio.run(self.session.get_items()) == self.items


Beside.TestCase.settings = settings(max_examples=30, stateful_step_count=12)
TestBeside = Beside.TestCase


def test_no_two_calls_pop_the_same(tmp_path):
    with ibidem.init(tmp_path) as one, ibidem.open(tmp_path) as other:
        sessions = [IbidemSession("s", repo) for repo in (one, other)]
        items = [{"role": "user", "content": str(n)} for n in range(12)]

        async def main():
            await sessions[0].add_items(items)
            return await asyncio.gather(*(sessions[n % 2].pop_item() for n in range(13)))

        popped = asyncio.run(main())
        texts = [one["content"] for one in popped if one is not None]
        assert sorted(texts, key=int) == [one["content"] for one in items]
        assert one.conflicts() == []


def test_a_cancelled_call_is_finished_first():
    with ibidem.init("memory:") as repo:
        session = IbidemSession("s", repo)

        async def main():
            task = asyncio.ensure_future(session.add_items([{"role": "user", "content": "x"}]))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await session.get_items()

        assert asyncio.run(main()) in ([], [{"role": "user", "content": "x"}])


@pytest.mark.parametrize(
    "call",
    [
        lambda session: session.add_items(["text"]),
        lambda session: session.add_items([{"role": "user", "content": "\ud800"}]),
        lambda session: session.add_items([{"role": "user", "content": "x", "n": float("nan")}]),
        lambda session: session.get_items(-1),
    ],
)
def test_wrong_input_is_an_error_that_changes_nothing(call):
    with ibidem.init("memory:") as repo:
        session = IbidemSession("s", repo)
        asyncio.run(session.add_items([{"role": "user", "content": "there"}]))
        head = repo.head
        with pytest.raises(ibidem.InvalidInputError) as caught:
            asyncio.run(call(session))
        assert caught.value.kind
        assert repo.head == head


def test_an_agent_runs_with_it():
    pytest.importorskip("agents")
    os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from agents import Agent, Model, ModelResponse, Runner, Usage
        from agents.memory import Session
        from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    class Echo(Model):
        """A model that says how many items it was given."""

        async def get_response(self, system_instructions, input, *given, **named):  # noqa: A002
            count = 1 if isinstance(input, str) else len(input)
            text = ResponseOutputText(
                annotations=[], text=f"given {count}", type="output_text", logprobs=[]
            )
            said = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[said], usage=Usage(), response_id=None)

        def stream_response(self, *given, **named):
            raise NotImplementedError

    with ibidem.init("memory:") as repo:
        session = IbidemSession("ada", repo)
        assert isinstance(session, Session)
        agent = Agent(name="echo", model=Echo())

        async def main():
            first = await Runner.run(agent, "hello", session=session)
            again = await Runner.run(agent, "and now", session=session)
            return [first.final_output, again.final_output]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert asyncio.run(main()) == ["given 1", "given 3"]
        assert [one.text for one in repo.conversations.messages("ada")] == [
            "hello",
            "given 1",
            "and now",
            "given 3",
        ]

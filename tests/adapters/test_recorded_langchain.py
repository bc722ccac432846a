"""Agents on LangChain in a run: models over HTTP, models of other kinds, and tools."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import ibidem
from ibidem.adapters.recording import model_calls

from .model_server import ModelServer, model_server

pytest.importorskip("langchain_core")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    langchain_openai = pytest.importorskip("langchain_openai")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableParallel
    from langchain_core.tools import tool

    from ibidem.adapters.recording.langchain import RunCache, RunCallbacks

KEY = "sk-" + "a1B2c3D4" * 6
pytestmark = pytest.mark.filterwarnings("ignore::Warning")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as found:
        yield found


@pytest.fixture
def repo() -> Iterator[ibidem.Repository]:
    with ibidem.init("memory:") as found:
        yield found


@pytest.fixture
def http_client() -> Iterator[Any]:
    """A client of the module that LangChain uses."""
    openai = pytest.importorskip("openai")
    with openai.DefaultHttpxClient() as found:
        yield found


def chat_model(server: ModelServer, http_client: Any) -> Any:
    url = f"{server.url}/v1"
    return langchain_openai.ChatOpenAI(
        model="m", api_key=KEY, base_url=url, max_retries=0, http_client=http_client
    )


def test_models_over_http_are_recorded_and_answered(
    repo: Any, server: ModelServer, http_client: Any
):
    def agent() -> list[Any]:
        model = chat_model(server, http_client)
        parallel = RunnableParallel(a=model, b=model)  # in threads
        both = parallel.invoke("wait 5")
        return [
            model.invoke("hello").content,
            [chunk.content for chunk in model.stream("a b")],
            sorted(message.content for message in both.values()),
        ]

    with repo.runs.start("agent") as run, model_calls(run):
        said = agent()
    assert server.count == 4
    with run.replay() as replay, model_calls(replay):
        assert agent() == said
    assert server.count == 4


def test_other_models_are_answered_from_the_cache(repo: Any):
    def agent(session: Any, answers: list[str]) -> list[str]:
        messages = iter([AIMessage(content=answer) for answer in answers])
        model = GenericFakeChatModel(messages=messages, cache=RunCache(session))
        return [model.invoke("hello").content, model.invoke("hello").content]

    with repo.runs.start("agent") as run:
        assert agent(run, ["one", "two"]) == ["one", "two"]
    with run.replay() as replay:
        assert agent(replay, []) == ["one", "two"]


def test_tools_are_noted_and_compared(repo: Any):
    def agent(session: Any, factor: int) -> Any:
        @tool
        def price(count: int) -> int:
            """Returns a price."""
            return count * factor

        config = {"callbacks": [RunCallbacks(session)]}
        return price.invoke({"count": 3}, config=config)

    with repo.runs.start("agent") as run:
        assert agent(run, 2) == 6
    names = [step.name for step in repo.runs.open("agent").steps]
    assert names == ["agent", "tool-call", "tool-result", ""]
    with run.replay() as replay:
        assert agent(replay, 2) == 6
    with pytest.raises(ibidem.RunMismatchError, match="6 then, 9 now"), run.replay() as replay:
        agent(replay, 3)


def test_a_key_in_the_arguments_of_a_tool_is_not_recorded(repo: Any):
    @tool
    def fetch(header: str) -> str:
        """Fetches something."""
        raise KeyError(header)

    with repo.runs.start("agent") as run, pytest.raises(KeyError):
        fetch.invoke({"header": KEY}, config={"callbacks": [RunCallbacks(run)]})
    store = repo.core.store
    blocks = b"".join(store.get(cid) for cid in store.cids())
    assert KEY.encode() not in blocks
    assert b"tool-error" in blocks

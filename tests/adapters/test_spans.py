"""Recorded runs as spans, read from the exporter in memory of the SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import ibidem
from ibidem.adapters.recording import model_calls

from .model_server import ModelServer, model_server

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")
pytest.importorskip("opentelemetry.sdk")

SECRET = "the parcel of Ada"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as found:
        yield found


@pytest.fixture
def repo() -> Iterator[ibidem.Repository]:
    times = iter(range(1_000_000, 2_000_000, 1000))
    with ibidem.init("memory:", clock=lambda: next(times)) as found:
        with found.transaction(message="seed") as tx:
            tx.add_node("Fact", summary=SECRET)
        yield found


def spans_of(repo: Any, name: str, **options: Any) -> dict[str, Any]:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from ibidem.adapters.recording.spans import trace_run

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace_run(repo.runs.open(name), provider=provider, **options)
    return {span.name: span for span in exporter.get_finished_spans()}


def agent(run: Any, server: ModelServer) -> None:
    found = run.retrieve("parcel").items[0].node.summary
    options = {"api_key": "none", "max_retries": 0}
    with (
        openai.OpenAI(base_url=f"{server.url}/v1", **options) as client,
        anthropic.Anthropic(base_url=server.url, **options) as claude,
    ):
        ask(run, found, client, claude)


def ask(run: Any, found: str, client: Any, claude: Any) -> None:
    said = [{"role": "user", "content": found}]
    client.chat.completions.create(model="gpt", messages=said, temperature=0.5, max_tokens=9)
    client.embeddings.create(model="small", input="x", encoding_format="float")
    stream = claude.messages.create(model="claude", max_tokens=9, messages=said, stream=True)
    assert list(stream)
    run.tool("look up", lambda text: text.upper())(found)
    with pytest.raises(KeyError):
        run.tool("fails", {}.__getitem__)(found)
    with run.transaction(message="said") as tx:
        tx.add_node("Answer", summary=found)
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(
            model="busy", messages=[{"role": "user", "content": "overloaded"}]
        )


@pytest.fixture
def recorded(repo: Any, server: ModelServer) -> Any:
    with repo.runs.start("desk", agent="helper") as run, model_calls(run):
        agent(run, server)
    return repo


def test_spans_follow_the_conventions(recorded: Any):
    spans = spans_of(recorded, "desk")
    root = spans["invoke_agent helper"]
    assert dict(root.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "helper",
        "gen_ai.conversation.id": "desk/1",
        "ibidem.run": str(recorded.runs.open("desk").tip),
    }
    assert set(spans) == {
        *("invoke_agent helper", "retrieval", "chat gpt", "embeddings small", "chat claude"),
        *("execute_tool look up", "execute_tool fails", "commit", "chat busy"),
    }
    chat = dict(spans["chat gpt"].attributes)
    step = chat.pop("ibidem.step")
    assert chat == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt",
        "gen_ai.request.stream": False,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.model": "gpt-test-1",
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 5,
    }
    claude = spans["chat claude"].attributes
    assert claude["gen_ai.provider.name"] == "anthropic"
    assert claude["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert (claude["gen_ai.usage.input_tokens"], claude["gen_ai.usage.output_tokens"]) == (7, 5)
    assert spans["embeddings small"].attributes["gen_ai.usage.input_tokens"] == 1
    retrieval = spans["retrieval"].attributes
    assert retrieval["ibidem.root"] == str(recorded.runs.open("desk").steps[1].root)
    steps = recorded.runs.open("desk").steps
    assert spans["chat gpt"].start_time == steps[step - 1].time * 1000
    assert spans["chat gpt"].end_time == steps[step].time * 1000
    assert root.start_time == steps[0].time * 1000
    for name, span in spans.items():
        assert (span.parent is None) == (span is root)
        assert span.status.is_ok == (name not in ("execute_tool fails", "chat busy"))
    assert spans["execute_tool fails"].attributes["error.type"] == "builtins.KeyError"
    assert spans["chat busy"].attributes["error.type"] == "429"


def test_spans_are_made_while_a_run_is_recorded(repo: Any, server: ModelServer):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from ibidem.adapters.recording.spans import RunSpans

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with repo.runs.start("desk", agent="helper", watch=RunSpans(provider=provider)) as run:
        run.retrieve("parcel")
        assert [span.name for span in exporter.get_finished_spans()] == ["retrieval"]
        with model_calls(run):
            agent(run, server)
    with pytest.raises(RuntimeError), repo.runs.start("bad", watch=RunSpans(provider=provider)):
        raise RuntimeError("no")
    live = exporter.get_finished_spans()
    assert SECRET not in json.dumps([dict(span.attributes) for span in live])
    for name, agent_name in (("desk", "helper"), ("bad", "bad/1")):
        later = spans_of(repo, name)
        assert f"invoke_agent {agent_name}" in later
        for span in later.values():
            assert (span.name, dict(span.attributes), span.status.status_code) in [
                (one.name, dict(one.attributes), one.status.status_code)
                for one in live
                if (one.start_time, one.end_time) == (span.start_time, span.end_time)
            ]


def test_spans_of_a_fork_are_those_of_its_record(repo: Any, server: ModelServer):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from ibidem.adapters.recording.spans import RunSpans

    with repo.runs.start("desk", agent="helper") as run, model_calls(run):
        agent(run, server)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with repo.runs.fork("desk", watch=RunSpans(provider=provider)) as run, model_calls(run):
        agent(run, server)
    live = {span.name: span.attributes for span in exporter.get_finished_spans()}
    later = {name: span.attributes for name, span in spans_of(repo, run.name).items()}
    assert live == later
    assert live["invoke_agent helper"]["gen_ai.conversation.id"] == "desk-fork/1"


def test_content_is_in_them_only_if_it_is_asked_for(recorded: Any):
    plain = spans_of(recorded, "desk")
    assert SECRET not in json.dumps([dict(span.attributes) for span in plain.values()])
    spans = spans_of(recorded, "desk", content=True)
    for name in ("chat gpt", "chat claude"):
        values = spans[name].attributes
        assert json.loads(values["gen_ai.input.messages"])[0]["content"] == SECRET
        [message] = json.loads(values["gen_ai.output.messages"])
        assert message["parts"][0]["content"].startswith(f"{SECRET}, said ")
    assert spans["retrieval"].attributes["gen_ai.retrieval.query.text"] == "parcel"
    tool = spans["execute_tool look up"].attributes
    assert tool["gen_ai.tool.call.result"] == f'"{SECRET.upper()}"'


def test_a_run_that_failed_or_has_not_ended_has_spans(repo: Any):
    with pytest.raises(RuntimeError), repo.runs.start("bad") as run:
        raise RuntimeError("no")
    assert not spans_of(repo, "bad")["invoke_agent bad/1"].status.is_ok
    run = repo.runs.start("open")
    run.event("look", 1, lambda: 2)
    assert "execute_tool look" in spans_of(repo, "open")

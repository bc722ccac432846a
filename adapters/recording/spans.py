"""A run as spans of OpenTelemetry, by its conventions for generative AI.

The spans are made from the record, while it is made or later: one for the agent, and below it one
for each retrieval, call of a model, call of a tool and commit, with the recorded times. So a run of
last month can be looked at as one of now. Only names, numbers and CIDs are in them, unless
`content` is asked for; what was redacted in the record is not there either way.

A step has the time at which it ended. Its span starts when the step before its start ended, so it
includes what the agent did by itself in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider

import ibidem
from ibidem.adapters.recording import http_call

_PROVIDERS = (
    ("/messages", "anthropic"),
    (":generateContent", "gcp.gemini"),
    (":streamGenerateContent", "gcp.gemini"),
    ("/api/chat", "ollama"),
    ("/api/generate", "ollama"),
    ("", "openai"),
)
"""What a path ends with, and who answers there or speaks that protocol; the first that fits."""
_OPTIONS = {
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}
"""Options of a request by their name there, and in `gen_ai.request.`."""
_NANOSECONDS = 1000
"""In one microsecond."""


class RunSpans:
    """Makes the spans of runs from their steps, below the span that is current when a run begins.

    An instance is what `repo.runs.start(name, watch=…)` tells the steps of a run, so each span is
    there as soon as its step has ended.
    """

    def __init__(self, *, provider: TracerProvider | None = None, content: bool = False) -> None:
        """Chooses the tracer.

        Args:
            provider: of the tracer; by default the global one.
            content: whether questions, prompts, answers and arguments are in the spans.
        """
        self._tracer = trace.get_tracer("ibidem", ibidem.__version__, tracer_provider=provider)
        self._content = content
        self._open: dict[str, tuple[Span, list[int]]] = {}
        """By name the span of each run that has not ended, and the times of its steps."""

    def __call__(self, name: str, found: Any) -> None:
        """Makes the span of a step of the run of this name."""
        step = found.step
        time = step.time * _NANOSECONDS
        if step.action == "begin":
            self._begin(name, found.request["agent"] or name, time)
            return
        root, times = self._open[name]
        times.append(time)
        if step.action == "end":
            root.set_attribute("ibidem.run", str(step.cid))
            self.end(name, _failure(found.answer))
            return
        described = _described(found, content=self._content)
        if described is None:
            return
        title, kind, values, failure = described
        span = self._tracer.start_span(
            title,
            context=trace.set_span_in_context(root),
            kind=kind,
            attributes={**values, "ibidem.step": step.index},
            start_time=times[(step.start or step.index) - 1],
        )
        _end(span, failure, time)

    def end(self, name: str, failure: str | None = None) -> None:
        """Ends the span of a run with its last step; nothing if it has ended."""
        if name in self._open:
            root, times = self._open.pop(name)
            _end(root, failure, times[-1])

    def _begin(self, name: str, agent: str, time: int) -> None:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": name,
        }
        root = self._tracer.start_span(
            f"invoke_agent {agent}",
            kind=SpanKind.INTERNAL,
            attributes=attributes,
            start_time=time,
        )
        self._open[name] = root, [time]


def trace_run(run: Any, *, provider: TracerProvider | None = None, content: bool = False) -> None:
    """Hands a recorded run to a tracer, below the span that is current.

    Args:
        run: what `repo.runs.open` returned.
        provider: as of `RunSpans`, and `content` too.
    """
    spans = RunSpans(provider=provider, content=content)
    for found in run.read():
        spans(run.name, found)
    spans.end(run.name)


def _end(span: Span, failure: str | None, time: int) -> None:
    if failure is not None:
        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", failure.partition(":")[0])
    span.end(end_time=time)


_Described = tuple[str, SpanKind, dict[str, Any], str | None]
"""Name, kind, attributes and the error of a span."""


def _described(found: Any, *, content: bool) -> _Described | None:
    step, failure = found.step, _failure(found.answer)
    match step.action:
        case "retrieve":
            values = {"gen_ai.operation.name": "retrieval"}
            values |= {
                f"ibidem.{name}": str(cid)
                for name, cid in (("root", step.root), ("receipt", step.receipt))
                if cid is not None
            }
            if content and found.request["text"] is not None:
                values["gen_ai.retrieval.query.text"] = str(found.request["text"])
            return "retrieval", SpanKind.CLIENT, values, failure
        case "commit":
            values = {} if step.root is None else {"ibidem.root": str(step.root)}
            return "commit", SpanKind.INTERNAL, values, failure
        case "event" if step.name == http_call.EVENT:
            return _model_call(found, content=content)
        case "event" if found.answer is not None:
            values = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": step.name}
            if content:
                values["gen_ai.tool.call.arguments"] = _json(found.request)
                values["gen_ai.tool.call.result"] = _json(found.answer.get("value"))
            return f"execute_tool {step.name}", SpanKind.INTERNAL, values, failure
    return None


def _model_call(found: Any, *, content: bool) -> _Described:
    request, answer = found.request, (found.answer or {}).get("value") or {}
    body = request["body"] if isinstance(request["body"], dict) else {}
    path = request["path"].partition("?")[0]
    operation = "embeddings" if path.endswith(("/embeddings", "/api/embed")) else "chat"
    model = body.get("model", "")
    values: dict[str, Any] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": next(name for end, name in _PROVIDERS if path.endswith(end)),
        "gen_ai.request.model": model,
        "gen_ai.request.stream": bool(body.get("stream")),
    }
    values |= {
        f"gen_ai.request.{name}": body[given]
        for given, name in _OPTIONS.items()
        if isinstance(body.get(given), int | float)
    }
    messages = list(_messages(answer))
    values |= _answer_values(messages)
    if content:
        values["gen_ai.input.messages"] = _json(body.get("messages", body.get("input")))
        text = "".join(piece for message in messages for piece in _texts(message))
        parts = [{"type": "text", "content": text}]
        values["gen_ai.output.messages"] = _json([{"role": "assistant", "parts": parts}])
    failure = _failure(found.answer)
    if "failure" in answer:
        failure = str(answer["failure"][0])
    elif answer.get("status", 200) >= 400:
        failure = str(answer["status"])
    return f"{operation} {model}".strip(), SpanKind.CLIENT, values, failure


def _messages(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the JSON values of an answer: one, or those of the events of a stream."""
    for part in http_call.parts(answer) if "body" in answer else ():
        lines = part.decode("utf-8", "replace").splitlines()
        data = [line[5:].strip() for line in lines if line.startswith("data:")]
        try:
            value = json.loads("\n".join(data or lines))
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _answer_values(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the attributes of an answer: its model, id, reasons to stop and tokens."""
    values: dict[str, Any] = {}
    reasons: list[str] = []
    for message in messages:
        # The value itself, and where the events of both protocols have it.
        named = [message.get(name) for name in ("response", "message", "delta")]
        maps = [message, *named, *(message.get("choices") or ())]
        for one in (one for one in maps if isinstance(one, dict)):
            for name in ("id", "model"):
                if isinstance(one.get(name), str):
                    values.setdefault(f"gen_ai.response.{name}", one[name])
            usage = one.get("usage") or {}
            for name, other in (("input", "prompt"), ("output", "completion")):
                tokens = usage.get(f"{name}_tokens", usage.get(f"{other}_tokens"))
                if isinstance(tokens, int):
                    values[f"gen_ai.usage.{name}_tokens"] = tokens
            reason = one.get("finish_reason") or one.get("stop_reason")
            if isinstance(reason, str):
                reasons.append(reason)
    if reasons:
        values["gen_ai.response.finish_reasons"] = reasons
    return values


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yields the pieces of text that an answer or an event of one has."""
    for choice in message.get("choices") or ():
        yield (choice.get("message") or choice.get("delta") or {}).get("content") or ""
    for item in message.get("output") or ():
        for part in item.get("content") or ():
            yield part.get("text") or ""
    for part in message.get("content") or ():
        yield part.get("text") or ""
    delta = message.get("delta")
    if isinstance(delta, dict):
        yield delta.get("text") or ""
    elif isinstance(delta, str):
        yield delta


def _failure(outcome: Any) -> str | None:
    """Returns the class of the error of an outcome; None if it has none."""
    is_failed = isinstance(outcome, dict) and "error" in outcome
    return str(outcome["error"][0]) if is_failed else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

"""Steps as text for people who do not know how a run is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ibidem.objects.config import Config
from ibidem.objects.printable import one_line
from ibidem.objects.step import Step
from ibidem.repo.runs import payload
from ibidem.repo.runs.payload import shown
from ibidem.repo.runs.shape import ReadStep
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.query.match import requested_options
from ibidem.retrieve.query.query import Query, resolve

if TYPE_CHECKING:
    from ibidem.store.protocol import Store

MODEL_CALL = "model-call"
"""The name of the events that are calls of models over HTTP (spec: replay 3.1)."""
_PLAIN = Query().form()
_PLAIN_TEXT = resolve(Config(), text="text").form()
"""The defaults of a question with a text."""


def step_line(store: Store, found: ReadStep) -> str:
    """Returns one line of text on a step."""
    request, answer = _request_text(store, found.step, found.request), found.answer
    if payload.is_failed(answer) and found.step.action not in ("event", "end"):
        return one_line(f"{request}, which failed with {payload.summary(answer)}")
    return one_line(request + _answered(found))


def question(rev: str, form: Mapping[str, Any]) -> str:
    """Returns a retrieval as text: its resolved query, with every option that is not a default."""
    text = form.get("text")
    said = "retrieved" if text is None else f"retrieved for {shown(text)}"
    plain = _PLAIN if text is None else _PLAIN_TEXT
    options = {
        name: value
        for name, value in form.items()
        if name not in ("kind", "v", "semantics", "text", "fusion")
        and requested_options(name, value) != requested_options(name, plain.get(name))
    }
    listed = ", ".join(f"{name} {_short(value)}" for name, value in options.items())
    return f"{said} at {rev}" + (f" ({listed})" if listed else "")


def retrieval(request: Mapping[str, Any]) -> str:
    """Returns a retrieval as text, as far as its request describes it."""
    kind = {name: True for name in ("packs", "records") if request.get(name)}
    return question(request["at"], {"text": request["text"], **kind})


def event(name: str, request: Any) -> str:
    """Returns a call of a tool, or a note, as text."""
    if name == MODEL_CALL and isinstance(request, dict):
        body = request.get("body")
        model = body.get("model") if isinstance(body, dict) else None
        return f"asked {'a model' if model is None else shown(model)} at {request.get('path')}"
    if _is_call(request):
        given = [shown(value) for value in request["arguments"]]
        given += [f"{option}={shown(value)}" for option, value in request["options"].items()]
        return f"called {name}({', '.join(given)})"
    return f"event {name!r}" + ("" if request is None else f" with {shown(request)}")


def transaction(request: Mapping[str, Any]) -> str:
    """Returns the beginning of a transaction as text."""
    given = [f"{name} {shown(value)}" for name, value in sorted(request.items()) if value]
    return "began a transaction" + (f" ({', '.join(given)})" if given else "")


def call(name: str, request: Mapping[str, Any]) -> str:
    """Returns a call of the repository as text."""
    given = ", ".join(f"{key}={shown(value)}" for key, value in sorted(request.items()) if value)
    return f"called {name}({given})"


def _is_call(request: Any) -> bool:
    """Returns whether the request of an event is one of `Session.tool`."""
    return (
        isinstance(request, dict)
        and set(request) == {"arguments", "options"}
        and isinstance(request["arguments"], list)
        and isinstance(request["options"], dict)
    )


def _request_text(store: Store, step: Step, request: Any) -> str:
    match step.action:
        case "begin":
            return f"began run {step.name!r}"
        case "end":
            return "the run ended"
        case "read":
            return f"read the graph at {request['at']}"
        case "retrieve" if step.receipt is not None:
            receipt = Receipt.decode(store.get(step.receipt))
            return question(request["at"], receipt.query.form())
        case "retrieve":
            return retrieval(request)
        case "transaction":
            return transaction(request)
        case "commit":
            return "committed" if step.commit is not None else "committed nothing"
        case "random":
            return "named a new node"
        case "event":
            return event(step.name, request)
        case "call":
            return call(step.name, request)
        case other:
            return f"{other} {step.name}".strip()


def _answered(found: ReadStep) -> str:
    step, answer = found.step, found.answer
    if payload.is_failed(answer):
        return (
            f", which raised {payload.summary(answer)}"
            if step.action == "event"
            else (f" with {payload.summary(answer)}")
        )
    commit = found.commit
    if commit is not None and step.action == "commit":
        return f" {commit.cid}" + (f" {shown(commit.message)}" if commit.message else "")
    if step.action in ("event", "call") and isinstance(answer, dict):
        value = answer[payload.VALUE]
        if step.name == MODEL_CALL and isinstance(value, dict) and "status" in value:
            return f" -> {value['status']} {shown(value.get('body'))}"
        return f" -> {shown(value)}"
    return ""


def _short(value: Any) -> str:
    if isinstance(value, Mapping) and "data" in value:
        return f"of model {value.get('model')!r}"
    return shown(value)

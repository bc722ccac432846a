"""Tools and models of LangChain in a run.

`model_calls` records every model of LangChain that sends through `httpx`, which are those of
OpenAI, Anthropic and most others; hand nothing to the model for that. The two classes here record
what does not go that way:

* `RunCallbacks` records the calls of tools: their names, arguments and results, as notes that a
  replay compares. LangChain runs the tools in a replay too, because callbacks cannot answer; a tool
  that must not run again is wrapped by `session.tool`.
* `RunCache` records the answers of any chat model, and answers in a replay:
  `Model(cache=RunCache(run))`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.load import dumps, loads
from langchain_core.outputs import Generation

from ibidem import OpenEvent
from ibidem.adapters.recording import http_call

ANSWER = "langchain-model"
CALL, RESULT, ERROR = "tool-call", "tool-result", "tool-error"
"""The names of the events."""


class RunCallbacks(BaseCallbackHandler):
    """Records the calls of tools: `agent.invoke(…, config={"callbacks": [RunCallbacks(run)]})`."""

    raise_error = True
    run_inline = True

    def __init__(self, session: Any) -> None:
        """Takes what `repo.runs.start`, `replay` or `fork` returned."""
        self._session = session

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        inputs: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Records the name and the arguments of a tool."""
        arguments = input_str if inputs is None else inputs
        self._note(CALL, {"tool": (serialized or {}).get("name"), "arguments": arguments})

    def on_tool_end(self, output: Any, **_: Any) -> None:
        """Records the result of a tool."""
        self._note(RESULT, getattr(output, "content", output))

    def on_tool_error(self, error: BaseException, **_: Any) -> None:
        """Records the error of a tool."""
        self._note(ERROR, f"{type(error).__name__}: {error}")

    def _note(self, name: str, value: Any) -> None:
        self._session.event(name, _plain(value))


class RunCache(BaseCache):
    """Records the answers of a model, and gives them in a replay."""

    def __init__(self, session: Any) -> None:
        """Takes what `repo.runs.start`, `replay` or `fork` returned."""
        self._session = session
        self._open: dict[tuple[str, str], list[OpenEvent]] = {}

    def lookup(self, prompt: str, llm_string: str) -> Sequence[Generation] | None:
        """Returns the recorded answer; None if the model is to be asked."""
        request = {"prompt": _plain(prompt), "model": _plain(llm_string)}
        event = self._session.open_event(ANSWER, request)
        if event.is_answered:
            return [loads(text, allowed_objects="core") for text in event.answer()]
        self._open.setdefault((prompt, llm_string), []).append(event)
        return None

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        """Records what the model answered."""
        event = self._open[prompt, llm_string].pop(0)
        event.finish([http_call.redacted_json(dumps(one)) for one in return_val])

    def clear(self, **_: Any) -> None:
        """Does nothing: what is recorded stays."""


def _plain(value: Any) -> Any:
    """Returns a value as JSON, without secrets."""
    return json.loads(http_call.redacted_json(json.dumps([value], default=str)))[0]

"""Agents that exist already, recorded into a run without a change to them.

`model_calls` records what the clients of language models send and receive, and a replay answers
them from the record. `langchain` adds the tools of LangChain; `spans` hands a recorded run to
OpenTelemetry.
"""

from ibidem.adapters.recording.model_calls import model_calls

__all__ = ["model_calls"]

"""LangGraph's own tests of a checkpointer, unaltered: all capabilities, base and extended."""

import asyncio
import warnings

import pytest

pytest.importorskip("langgraph")
pytest.importorskip("langgraph.checkpoint.conformance")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langgraph.checkpoint.conformance import checkpointer_test, validate
    from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

import ibidem
from ibidem.adapters.langgraph import IbidemSaver


@checkpointer_test(name="IbidemSaver")
async def saver():
    with ibidem.init("memory:") as repo:
        yield IbidemSaver(repo)


@pytest.mark.parametrize("capability", sorted(one.value for one in ALL_CAPABILITIES))
def test_a_capability(capability: str):
    report = asyncio.run(validate(saver, capabilities={capability}))
    (result,) = [one for name, one in report.results.items() if name == capability]
    assert result.detected
    assert result.passed, "\n".join(result.failures)
    assert result.tests_passed

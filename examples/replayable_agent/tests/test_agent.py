"""What the agent did once, it does again: nothing is asked of a model or a network."""

from __future__ import annotations

import agent
import pytest
from scripted import QUESTIONS, ScriptedModel

from ibidem import ReplayError


def test_the_agent_does_what_it_did(recorded):
    model = ScriptedModel()
    with recorded.replay() as session:
        answers = agent.work(session, QUESTIONS, model)
    assert model.call_count == 0
    assert "after one second" in answers[0]
    assert "six hundred requests" in answers[1]
    # The third answer rests on the first one, which the agent wrote into its memory itself.
    assert answers[2] == f"As noted: {QUESTIONS[0]} {answers[0]}"


def test_another_prompt_is_found_at_the_step_it_changes(recorded, monkeypatch):
    monkeypatch.setattr(agent, "INSTRUCTIONS", "Answer briefly.")
    with pytest.raises(ReplayError) as caught, recorded.replay() as session:
        agent.work(session, QUESTIONS, ScriptedModel())
    assert "from step 2 on" in str(caught.value)
    assert "differs in arguments[0].instructions: 'Answer from what" in str(caught.value)
    assert "'Answer briefly.' now" in str(caught.value)


def test_an_agent_that_searches_for_something_else_is_found(recorded):
    with pytest.raises(ReplayError, match="differs in text"), recorded.replay() as session:
        agent.work(session, ["How do I sign a webhook?"], ScriptedModel())

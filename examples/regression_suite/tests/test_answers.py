"""What readers ask most, and what they get: the goldens are in `__retrieval__`."""

from __future__ import annotations

import pytest

QUESTIONS = {
    "backoff": "how long does the first retry wait",
    "expired": "what happens when my token has expired",
    "limit": "how many requests may I send a minute",
    "signature": "is a delivery signed",
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_answer(retrieval, name):
    retrieval.check(QUESTIONS[name], label="Passage", limit=3)


def test_everything_about_a_deadline(retrieval):
    retrieval.check("deadline of a call", name="two best", label="Passage", limit=2, mode="set")
    result = retrieval.check("deadline of a call", name="in 60 tokens", token_budget=60)
    assert result.tokens_used <= 60

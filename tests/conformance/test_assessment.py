"""Coverage and summaries against the vectors of spec/vectors/retrieval/assessment.json."""

import json
from pathlib import Path
from typing import Any

import pytest

from ibidem.retrieve.answer.assessment import Coverage, coverage_of
from ibidem.retrieve.answer.summary import summary_of

CASES = json.loads(
    (Path(__file__).parents[2] / "spec/vectors/retrieval/assessment.json").read_text("utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_assessment(case: dict[str, Any]) -> None:
    question, texts = case["question"], case["texts"]
    if "coverage" in case:
        wanted = case["coverage"]
        assert coverage_of(question, texts) == Coverage(
            wanted["covered_count"], wanted["term_count"], tuple(wanted["missing"])
        )
    else:
        found = summary_of(texts, question, case["count"]).sentences
        assert [[one.item, one.text] for one in found] == case["summary"]

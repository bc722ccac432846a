"""The questions that measure prompts, and the plain way that they are compared with."""

import importlib.util
import json
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "bench" / "answers.py"
SPEC = importlib.util.spec_from_file_location("bench_answers", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
ANSWERS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ANSWERS)


def test_there_are_fifty_questions_each_with_its_lines() -> None:
    questions = [json.loads(line) for line in ANSWERS.QUESTIONS.read_text("utf-8").splitlines()]
    assert len({question["id"] for question in questions}) == 50
    assert len({question["question"] for question in questions}) == 50
    for question in questions:
        first, last = question["lines"]
        assert 1 <= first <= last < first + 6
        assert question["set"] in ANSWERS.SUFFIXES
        assert len(bytes.fromhex(question["answer_sha256"])) == 32


def test_a_chunk_knows_its_headings_in_both_notations() -> None:
    markdown = "# Guide\nhello\n## Setup\n" + "long line of words\n" * 50
    found = ANSWERS.chunks(markdown)
    assert found[0] == ("Guide", "# Guide\nhello\n")
    assert {path for path, _ in found[1:]} == {"Guide > Setup"}
    assert all(len(part) <= ANSWERS.CHUNK for _, part in found)
    structured = "Guide\n=====\nhello\n\nSetup\n-----\nmore\n\nUse\n---\nend\n"
    assert [path for path, _ in ANSWERS.chunks(structured)] == [
        "Guide",
        "Guide > Setup",
        "Guide > Use",
    ]


def test_markup_does_not_keep_an_answer_from_counting() -> None:
    span = ANSWERS.span("a\n* Use `x`,\n  **not** y.\n", [2, 3])
    assert ANSWERS.words(span) in ANSWERS.words("so: *use* (x) not y!")

"""The demo does what it says, on any Python that carries its language reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import pytest
from click.testing import Result

from ibidem.cli import demo_corpus

Run = Callable[..., Result]
Data = Callable[..., dict[str, Any]]


def test_the_demo_ends_with_the_same_bytes_in_another_process(data: Data, run: Run):
    facts = data("demo", "tour")
    assert facts["is_identical"] is True
    assert facts["answers_differ"] is True
    assert len(facts["questions"]) == len(demo_corpus.QUESTIONS)
    assert all(question["items"] for question in facts["questions"])
    assert facts["document_count"] > 40
    assert facts["verified_count"] == facts["citation_count"] > 1
    commits = data("log", "-R", "tour")["commits"]
    assert [commit["cid"] for commit in commits] == [facts["edit_commit"], facts["commit"]]
    assert data("replay", facts["receipt"], "-R", "tour")["result"] == facts["result"]
    assert data("doctor", "-R", "tour", "--full")["is_ok"] is True
    assert "already holds" in run("demo", "tour", code=2).stderr


def test_the_demo_can_be_read(run: Run, tmp_path: Path):
    text = run("demo").stdout
    assert [f"\n{step}. " in text for step in range(1, 7)] == [True] * 6
    assert "same bytes" in text
    assert " [1] reference/compound.md > " in text
    assert "citations verified" in text
    assert max(map(len, text.splitlines())) <= 100
    assert list(tmp_path.iterdir()) == [], "the temporary folder is somewhere else, and gone"


@pytest.mark.parametrize("name", sorted(topics))
def test_topics_become_markdown_without_losing_a_word(name: str):
    text = demo_corpus.as_markdown(topics[name])
    assert text.startswith("# ")

    def words(source: str) -> list[str]:
        return [word for word in source.split() if word.strip('#*=-~^"')]

    assert words(text) == words(topics[name])


def test_the_edit_puts_one_paragraph_before_what_it_is_about(tmp_path: Path):
    demo_corpus.write_corpus(tmp_path)
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    name = demo_corpus.edit_corpus(tmp_path)
    after = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {changed for changed in after if after[changed] != before[changed]} == {name}
    assert after[name].replace(f"{demo_corpus.HOUSE_RULE}\n\n", "", 1) == before[name]

"""Gates on what a reader gets: questions over how-to pages of this project, in their words.

The pages are a copy, in `manual/`, that later edits of the docs leave alone. Each question was
written from a page, in other words than the page has where that was possible. It counts if the
words of its answer stand, in order and together, in a prompt of 1,000 tokens. The gates are a
little below what was measured; the sets that they stand for are in `bench/answers.py` and
`bench/quality.py`, whose data is no part of the project.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ibidem

PAGES = Path(__file__).parent / "manual"
QUESTIONS = (
    ("What is done about a damaged index?", "A damaged index needs no repair"),
    ("Where do intact blocks come from when some are missing?", "taken from another copy of the"),
    ("What do I do if a command waits because of a lock?", "names the process that holds it"),
    ("Which files does the folder of a model need?", "`config.json`, `model.safetensors`"),
    ("What is a cross-encoder and what does it cost?", "reads the question and a text together"),
    ("What happens to a question on a machine without the model?", "names the command"),
    ("How do I change the embedding model?", "fill in the vectors of the new one first"),
    ("Are files with passwords ever ingested?", "files with secrets are never ingested"),
    ("Which node is made for each heading?", "one for each heading, nested by level"),
    ("How large may an archive be when it is unpacked?", "An archive may unpack to 128 MiB"),
    ("How does it know that a file was not changed?", "has the size, times and inode of each"),
    ("Are attachments of mails read?", "attachments are not read"),
    ("What becomes of a model name that both branches use for different models?", "as `NAME~`"),
    ("May two versions of one file be merged?", "merged paragraph by paragraph"),
    ("How do I take both versions in a conflict?", "ingest it on the branch, and choose `--keep`"),
    ("Does hidden text influence the scores that others see?", "that never had the hidden nodes"),
    ("How far around a hit does a pack reach?", "up to four on each side"),
    ("What does a citation contain?", "names the root, the commit, the pack"),
    ("How is the text of a question kept secret in a receipt?", "only a keyed digest of the text"),
    ("Does garbage collection delete receipts that I keep?", "A kept receipt is a ref"),
)


def words(text: str) -> str:
    return " " + " ".join(re.findall(r"\w+", text.lower())) + " "


@pytest.fixture(scope="module")
def manual() -> ibidem.Repository:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        for page in sorted(PAGES.glob("*.md")):
            ibidem.ingest_text(tx, page.read_text("utf-8"), path=page.name)
    return repo


@pytest.mark.slow
def test_every_answer_is_in_the_pages() -> None:
    text = words("\n".join(page.read_text("utf-8") for page in PAGES.glob("*.md")))
    assert [answer for _, answer in QUESTIONS if words(answer) not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "least"), [(1000, 17), (2000, 18)])
def test_prompts_hold_the_answers(manual: ibidem.Repository, budget: int, least: int) -> None:
    missed = [
        question
        for question, answer in QUESTIONS
        if words(answer) not in words(manual.prompt(question, token_budget=budget).user)
    ]
    assert len(QUESTIONS) - len(missed) >= least, missed

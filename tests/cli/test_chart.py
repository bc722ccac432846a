"""The chart of `--explain`: the same bytes for the same answer and width, on a terminal alone."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

import ibidem
from ibidem.cli.render.chart import chart_lines

CHART = """\
what each lane adds: █ lexical, ▓ graph
  [1]  ███████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓  0.03252  docs/mill.md
  [2]  ███████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓    0.032  a store\\x1b[2J
  [3]  ███████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓    0.0315  the baker

left out, by reason
  limit  ██████████████████████████████  1

"""


def plain(lines: list[str]) -> str:
    """Returns lines without the marks of styles."""
    return "".join(
        "".join(c for c in line if not 0xD800 <= ord(c) <= 0xDFFF) + "\n" for line in lines
    )


@pytest.fixture
def answers() -> Any:
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            mill, miller, baker, mixed = (
                tx.add_node("Note", key=text, summary=text)
                for text in ("the mill", "the mill and the mill", "the baker", "mill of the dam")
            )
            tx.add_edge(mill, "near", baker)
            tx.add_edge(miller, "near", baker)
            tx.add_edge(baker, "near", mixed)
        yield lambda **options: repo.retrieve("mill", **options)


def chart(found: Any, **given: Any) -> list[str]:
    titles = ["docs/mill.md", "a store\x1b[2J", "the baker", "x" * 200][: len(found.items)]
    return chart_lines(found, titles, **given)


def test_a_chart_is_the_same_bytes_for_the_same_answer_and_width(answers: Any):
    found = answers(graph={"mode": "ppr"}, limit=3, fusion="rrf")
    shown = plain(chart(found, width=80))
    assert shown == CHART
    assert shown == plain(chart(answers(graph={"mode": "ppr"}, limit=3, fusion="rrf"), width=80))


@pytest.mark.parametrize("width", [40, 47, 60, 80, 100, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_no_line_is_wider_than_the_terminal(answers: Any, width: int, encoding: str):
    found = answers(graph={"mode": "ppr"}, limit=3, fusion="rrf", token_budget=6)
    shown = plain(chart(found, width=width, encoding=encoding))
    shown.encode(encoding)
    assert max(len(line) for line in shown.splitlines()) <= width
    assert "left out, by reason" in shown
    assert "of 6 tokens" in shown


def test_wide_characters_and_marks_are_counted_in_cells(answers: Any):
    found = answers(limit=3)
    for title in ("水車小屋" * 40, "한국어 문장 " * 20, "e\u0301" * 200, "👍🏽" * 60):
        for width in (60, 61, 80):
            shown = plain(chart_lines(found, [title] * len(found.items), width=width))
            line = shown.splitlines()[1]
            wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
            marks = sum(unicodedata.category(c) == "Mn" for c in line)
            assert width - 2 <= len(line) + wide - marks <= width
            assert line.endswith("…")


def test_columns_of_a_table_are_aligned_by_cells():
    from ibidem.cli.render import output

    lines = output.table([("水車", "x"), ("mill", "x"), ("ou\u0301ch", "x")])
    assert lines == ["水車  x", "mill  x", "ou\u0301ch  x"]


def test_an_answer_without_items_or_lanes_has_no_bars(answers: Any):
    assert plain(chart(answers(label="Nobody"), width=80)) == ""
    assert "adds" not in plain(chart(answers(limit=0), width=80))


def test_only_a_terminal_gets_the_chart(notes: Run, tmp_path: Path):
    asked = ["retrieve", "request retried", "--explain", "--limit", "2"]
    plain = notes(*asked)
    text = plain.stdout
    assert "what each lane adds" not in text
    reader, terminal = os.openpty()
    ran = subprocess.run(
        [sys.executable, "-m", "ibidem", "--color", "never", *asked],
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "70", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    drawn = os.read(reader, 100_000).decode().replace("\r\n", "\n")
    os.close(terminal)
    os.close(reader)
    head, _, chart = drawn.partition("what each lane adds: █ lexical\n")
    assert text.startswith(head)
    assert "  [1]  █████" in chart
    assert ran.stderr.splitlines()[-2:] == plain.stderr.splitlines()[-2:]
    assert " tokens" in ran.stderr

"""`repo retrieve --operator --phrases --fuzzy`: how a question's words must match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Run

Data = Callable[..., dict[str, Any]]
TEXTS = ("green stone walls", "stone green", "walls of green", "grean hills")


@pytest.fixture
def filled(notes: Run, data: Data) -> None:
    lines = "".join(
        f'{{"node": {{"ntype": "Memo", "key": {i}, "summary": "{text}"}}}}\n'
        for i, text in enumerate(TEXTS)
    )
    data("add", "-", stdin=lines.encode())
    notes("commit")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["green stone"], {0, 1, 2}),
        (["green stone", "--operator", "and"], {0, 1}),
        (['"green stone"', "--phrases"], {0}),
        (["green", "--fuzzy"], {0, 1, 2, 3}),
        (["green"], {0, 1, 2}),
    ],
)
@pytest.mark.usefixtures("filled")
def test_options_decide_what_matches(data: Data, options: list[str], found: set[int]):
    items = data("retrieve", *options, "--label", "Memo")["items"]
    summaries = {item["rendered"] for item in items}
    assert summaries == {TEXTS[i] for i in found}

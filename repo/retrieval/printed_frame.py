"""The frame of an answer that is printed for people, with numbers, titles and indentation, so that
the budget counts all of it; a page of the explorer shows what the command prints.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.retrieve.answer.stated import asks_value
from ibidem.retrieve.records.record import LAYERS
from ibidem.retrieve.tokens import HEURISTIC

INDENT = " " * 4
"""Before the lines of an item below its title."""
STATED_TOKENS = 40
"""Of a stated value above the items, under a budget."""
STATUS_CHARS = 12
"""Of the status of a record that does not hold."""
_NUMBER_MAX = 999
_LINES = ":99999-99999"
"""Of a source, in the title of an item."""


def frame_of_items(
    source: Any,
    text: str | None,
    options: Mapping[str, Any],
    names: Collection[str] = (),
) -> dict[str, int]:
    """Returns the option `frame` of a question whose items are printed for people.

    Args:
        source: the revision or the union that is asked.
        text: the question; None for a list of nodes.
        options: of the question.
        names: of the repositories, for an answer over several.
    """
    status = f" ({'x' * STATUS_CHARS})" if names or _has_records(source) else ""
    return {
        "answer": STATED_TOKENS if text is not None and asks_value(text) else 0,
        **_frame(options, names, f"{_LINES}{status}"),
    }


def frame_of_packs(options: Mapping[str, Any], names: Collection[str]) -> dict[str, int]:
    """Returns the option `frame` of a question whose packs are printed for people, likewise."""
    return _frame(options, names, "")


def _frame(options: Mapping[str, Any], names: Collection[str], after_title: str) -> dict[str, int]:
    # An item has three tokens or more, so no number has more digits than this one.
    number = max(_NUMBER_MAX, (options.get("token_budget") or 0) // 3)
    name = max((f"{one}: " for one in names), key=len, default="")
    estimate = estimator_of(options.get("estimator", HEURISTIC.name)).estimate
    return {"item": estimate(f"[{number}] {name}{after_title}\n\n"), "indent": len(INDENT)}


def _has_records(source: Any) -> bool:
    return bool(source.count(label=[*map(str, LAYERS)], include_tombstoned=True))

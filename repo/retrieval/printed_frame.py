"""The frame of an answer that is printed for people, with numbers, titles and indentation, so that
the budget counts all of it; a page of the explorer shows what the command prints.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.retrieve.answer.stated import asks_value
from ibidem.retrieve.tokens import HEURISTIC

INDENT = " " * 4
"""Before the lines of an item below its title."""
_STATED_TOKENS, _STATED_SHARE = 40, 5
"""The tokens of a stated value above the items, at most, and its part of a budget."""
_NUMBER_MAX = 999
_LINES = ":99999-99999"
"""Of a source, in the title of an item."""


def frame_of_items(
    text: str | None, options: Mapping[str, Any], names: Collection[str] = ()
) -> dict[str, int]:
    """Returns the option `frame` of a question whose items are printed for people.

    Args:
        text: the question; None for a list of nodes.
        options: of the question.
        names: of the repositories, for an answer over several.
    """
    stated = min(_STATED_TOKENS, (options.get("token_budget") or 0) // _STATED_SHARE)
    return {
        "answer": stated if text is not None and asks_value(text) else 0,
        "part": estimator_of(options.get("estimator", HEURISTIC.name)).estimate(_LINES),
        **frame_of_packs(options, names),
    }


def frame_of_packs(options: Mapping[str, Any], names: Collection[str] = ()) -> dict[str, int]:
    """Returns the option `frame` of a question whose packs are printed for people, likewise."""
    # An item has three tokens or more, so no number has more digits than this one.
    number = max(_NUMBER_MAX, (options.get("token_budget") or 0) // 3)
    name = max((f"{one}: " for one in names), key=len, default="")
    estimate = estimator_of(options.get("estimator", HEURISTIC.name)).estimate
    return {"item": estimate(f"[{number}] {name}\n\n"), "indent": len(INDENT)}

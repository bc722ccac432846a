"""The frame of an answer: what is written around it and its items, in tokens, so that a budget
counts all that is handed over.

Spec: retrieval 8.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import defaults
from ibidem.retrieve.tokens import TokenEstimator


@record
class Frame:
    """What is written around an answer and its items."""

    answer: int = 0
    """Tokens around all items together, if there are any."""
    item: int = 0
    """Tokens around each item."""
    part: int = 0
    """Tokens more around an item that is a part of a document, for where it stands there."""
    indent: int = 0
    """Spaces before each line of an item but the first."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form: every field."""
        return {
            "answer": self.answer,
            "item": self.item,
            "part": self.part,
            "indent": self.indent,
        }

    @classmethod
    def from_form(cls, form: object) -> Self:
        """Returns the frame of a canonical form."""
        if not isinstance(form, Mapping) or form.keys() != defaults("frame").keys():
            raise InvalidInputError(f"frame: got {checks.show(form)}, expected its four fields")
        found = cls(**option_checks.parts("frame", form))
        if found == cls():
            raise InvalidInputError("frame: got one of no tokens, expected nothing")
        return found

    def total(self, tokens: Sequence[int]) -> int:
        """Returns the tokens of an answer with items of these tokens."""
        return sum(tokens) + self.answer if tokens else 0


NO_FRAME = Frame()


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts the tokens of texts, and of items with what is written around each."""

    estimator: TokenEstimator
    frame: Frame = NO_FRAME

    def estimate(self, text: str) -> int:
        """Returns the tokens of a text alone."""
        return self.estimator.estimate(text)

    def cost(self, item: str) -> int:
        """Returns the tokens of an item, written with its frame."""
        if self.frame.indent:
            item = item.replace("\n", "\n" + " " * self.frame.indent)
        return self.frame.item + self.estimator.estimate(item)


def resolve_frame(given: object, budget: int | None) -> Frame | None:
    """Returns the frame that a caller gave; None for one of no tokens, and without a budget, which
    is what counts it.

    Raises:
        InvalidInputError: it is no mapping, or a part is unknown or out of bounds.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InvalidInputError(
            f"frame: got {checks.show(given)}, expected a mapping such as {{'item': 4}}"
        )
    known = defaults("frame")
    for name in sorted(str(one) for one in given if one not in known):
        raise InvalidInputError(
            f"frame.{name}: got an unknown option, expected one of {', '.join(known)}"
        )
    found = Frame(**option_checks.parts("frame", {**known, **given}))
    return None if budget is None or found == NO_FRAME else found

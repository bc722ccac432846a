"""Query expansion: shorter forms of a question, which are searched too and cannot displace the
results of the question itself.

The forms are derived from the question alone. Their results make one more lane, `expansion`; nodes
that only this lane found stay below the first `safe` nodes of the others, whatever the fusion.

Spec: recall 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ibidem.objects.record import record
from ibidem.retrieve.query import option_checks
from ibidem.retrieve.query.options import default
from ibidem.retrieve.recall.words import words

_WORDS_MAX = 6
_STOP = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "has", "have"),
        *("i", "in", "is", "it", "of", "on", "or", "that", "the", "this", "to", "was", "were"),
        "with",
    )
)


@record
class Expansion:
    """The option of expansion."""

    queries: int = default("expansion.queries")
    """The most texts that are searched, the question included."""
    letters_min: int = default("expansion.letters_min")
    safe: int = default("expansion.safe")
    """The number of the question's own best nodes that stay above nodes found only by a form."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {"queries": self.queries, "letters_min": self.letters_min, "safe": self.safe}

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the option of a canonical form."""
        return cls(**option_checks.parts("expansion", form))


def resolve_expansion(given: object) -> Expansion | None:
    """Returns the option that a caller gave: True, or a mapping of parts of it."""
    parts = option_checks.filled("expansion", given)
    return None if parts is None else Expansion.from_form(parts)


def expansions(
    text: str,
    queries: int = default("expansion.queries"),
    letters_min: int = default("expansion.letters_min"),
) -> list[str]:
    """Returns the texts that are searched, the question first.

    Spec: recall 2.

    >>> expansions("mission control cron issues and timeouts")[1:]
    ['mission control cron', 'mission control', 'mission']
    """
    found = words(text, _STOP, letters_min=letters_min)[:_WORDS_MAX]
    forms = [" ".join(found[:3]), " ".join(found[:2]), *found[:3]]
    return list(dict.fromkeys([text, *filter(None, forms)]))[:queries]

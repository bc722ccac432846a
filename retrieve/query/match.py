"""What a document must have to be ranked by the text, beside one of its terms.

    operator   `or`: any term will do; `and`: every term of the text is needed
    phrases    whether what stands in double quotes must occur as it stands, term by term
    fuzzy      terms at edit distance 1 count as well, for less

Spec: retrieval 4.1.2 to 4.1.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks

OR, AND = "or", "and"
FUZZY_WEIGHT, FUZZY_TERMS, FUZZY_LENGTH = 0.5, 20, 4
FUZZY_WEIGHT_MIN = 0.01
FUZZY_TERMS_MAX, FUZZY_LENGTH_MAX = 100, 100


@record
class Fuzzy:
    """How terms at edit distance 1 count."""

    weight: float = FUZZY_WEIGHT
    """What their gain is multiplied with."""
    terms: int = FUZZY_TERMS
    """How many of them a term of the query brings in at most."""
    length: int = FUZZY_LENGTH
    """Shorter terms of the query bring in none; in characters."""
    rare: int | None = None
    """Terms of the query that this many documents have bring in none; None: all do."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form: `rare` only where it is given."""
        form = {"weight": self.weight, "terms": self.terms, "length": self.length}
        return form if self.rare is None else {**form, "rare": self.rare}


@record
class Match:
    """The lexical options of a query."""

    operator: str = OR
    phrases: bool = False
    fuzzy: Fuzzy | None = None

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        fuzzy = None if self.fuzzy is None else self.fuzzy.form()
        return {"operator": self.operator, "phrases": self.phrases, "fuzzy": fuzzy}


def resolve_match(operator: object, phrases: object, fuzzy: object) -> Match:
    """Returns the options of a person, checked.

    Args:
        operator: `or` or `and`.
        phrases: a boolean.
        fuzzy: True for the defaults, False or None for no, or a map of some of `weight` (0.01 to
            1), `terms` (1 to 100), `length` (1 to 100) and `rare` (from 1).

    Raises:
        InvalidInputError: something else was given; the message names it.
    """
    if operator not in (OR, AND):
        raise InvalidInputError(f"operator: got {checks.show(operator)}, expected 'or' or 'and'")
    return Match(str(operator), checks.flag("phrases", phrases), _fuzzy(fuzzy))


def match_of_form(form: object) -> Match:
    """Returns the options of a canonical form."""
    if not isinstance(form, dict) or set(form) != {"operator", "phrases", "fuzzy"}:
        raise InvalidInputError(f"match: got {checks.show(form)}, expected its three fields")
    return resolve_match(form["operator"], form["phrases"], form["fuzzy"])


def _fuzzy(fuzzy: object) -> Fuzzy | None:
    if fuzzy is None or fuzzy is False:
        return None
    if fuzzy is True:
        return Fuzzy()
    if not isinstance(fuzzy, Mapping):
        raise InvalidInputError(
            f"fuzzy: got {checks.show(fuzzy)}, expected True, False or a map of options"
        )
    unknown = sorted(str(name) for name in set(fuzzy) - {"weight", "terms", "length", "rare"})
    if unknown:
        raise InvalidInputError(
            f"fuzzy.{unknown[0]}: got an unknown option, expected weight, terms, length or rare"
        )
    weight = checks.number("fuzzy.weight", fuzzy.get("weight", FUZZY_WEIGHT), high=1.0)
    if weight < FUZZY_WEIGHT_MIN:
        raise InvalidInputError(
            f"fuzzy.weight: got {weight!r}, expected a number from {FUZZY_WEIGHT_MIN} to 1"
        )
    terms = fuzzy.get("terms", FUZZY_TERMS)
    length = fuzzy.get("length", FUZZY_LENGTH)
    rare = fuzzy.get("rare")
    return Fuzzy(
        weight,
        checks.count("fuzzy.terms", terms, low=1, high=FUZZY_TERMS_MAX),
        checks.count("fuzzy.length", length, low=1, high=FUZZY_LENGTH_MAX),
        None if rare is None else checks.count("fuzzy.rare", rare, low=1),
    )

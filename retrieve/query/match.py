"""The conditions that a document must meet to be ranked by the text, besides having a term of it.

    operator   `or`: any term is enough; `and`: every term of the text is needed
    phrases    whether text in double quotes must occur exactly, term by term
    fuzzy      terms at edit distance 1 also count, with a lower weight: if not said otherwise,
               those of terms that no document has
    symbols    whether symbols of the text count, and those that it names

The last one is no option: it holds for every question whose text has symbols or names of them.
Questions of before symbols were terms do not have it, and are answered as they were.

Spec: retrieval 4.1.2 to 4.1.4, 4.1.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ibidem.index.analysis.symbols import symbol_words
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import default, defaults

OR, AND = "or", "and"


@record
class Fuzzy:
    """How terms at edit distance 1 count."""

    weight: float = default("fuzzy.weight")
    """The factor of their gain."""
    terms: int = default("fuzzy.terms")
    """The most such terms that one term of the query adds."""
    length: int = default("fuzzy.length")
    """Terms of the query that are shorter than this, in characters, add none."""
    rare: int | None = default("fuzzy.rare")
    """Terms of the query that occur in at least this many documents add none; None: all do."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form, with `rare` only if it is given."""
        form = {"weight": self.weight, "terms": self.terms, "length": self.length}
        return form if self.rare is None else {**form, "rare": self.rare}


@record
class Match:
    """The lexical options of a query."""

    operator: str = default("operator")
    phrases: bool = default("phrases")
    fuzzy: Fuzzy | None = Fuzzy(rare=1)
    """By default only terms that no document has bring in others."""
    symbols: bool = False

    def form(self) -> dict[str, Any]:
        """Returns the canonical form, with `symbols` only if they count."""
        fuzzy = None if self.fuzzy is None else self.fuzzy.form()
        form = {"operator": self.operator, "phrases": self.phrases, "fuzzy": fuzzy}
        return {**form, "symbols": True} if self.symbols else form

    def with_symbols_of(self, texts: Iterable[str | None]) -> Match:
        """Returns the options of a question with some texts: symbols count if one has any."""
        has_symbols = any(text is not None and symbol_words(text) for text in texts)
        return replace(self, symbols=True) if has_symbols else self


def resolve_match(operator: object, phrases: object, fuzzy: object) -> Match:
    """Returns the lexical options of a caller, checked.

    Raises:
        InvalidInputError: a value is of another form; the message names the option.
    """
    return Match(
        option_checks.option("operator", operator),
        option_checks.option("phrases", phrases),
        _fuzzy(fuzzy),
    )


def match_of_form(form: object) -> Match:
    """Returns the options of a canonical form."""
    if not isinstance(form, dict) or set(form) - {"symbols"} != {"operator", "phrases", "fuzzy"}:
        raise InvalidInputError(f"match: got {checks.show(form)}, expected its three fields")
    if form.get("symbols", True) is not True:
        raise InvalidInputError(f"match.symbols: got {checks.show(form)}, expected true or nothing")
    fuzzy = False if form["fuzzy"] is None else form["fuzzy"]
    found = resolve_match(form["operator"], form["phrases"], fuzzy)
    return replace(found, symbols="symbols" in form)


def _fuzzy(fuzzy: object) -> Fuzzy | None:
    if fuzzy is None:
        return Fuzzy(rare=1)
    if fuzzy is False:
        return None
    if fuzzy is True:
        return Fuzzy()
    if not isinstance(fuzzy, Mapping):
        raise InvalidInputError(
            f"fuzzy: got {checks.show(fuzzy)}, expected True, False or a map of options"
        )
    known = defaults("fuzzy")
    unknown = sorted(str(name) for name in set(fuzzy) - set(known))
    if unknown:
        raise InvalidInputError(
            f"fuzzy.{unknown[0]}: got an unknown option, expected weight, terms, length or rare"
        )
    return Fuzzy(**option_checks.parts("fuzzy", {**known, **fuzzy}))

"""The conditions that a document must meet to be ranked by the text, besides having a term of it.

    operator   `or`: any term is enough; `and`: every term of the text is needed
    phrases    whether text in double quotes must occur exactly, term by term
    fuzzy      terms at edit distance 1 also count, with a lower weight: if not said otherwise,
               those of terms that no document has
    symbols    whether symbols of the text count, and those that it names
    code       whether words of code in the text, such as `--all` and WITH, count
    related    whether passages are also ranked by related words
    bounded    whether edits are looked for in the first words of the text alone
    minor      whether words that no document has also count under the analysers of few documents

The last five are written only where they count. `symbols`, `code`, `bounded` and `minor` are no
options: they hold for every question whose text has some, is long, or is there. `related` is one
that new repositories have set. Questions of before do not have them, and are answered as they were.

Spec: retrieval 4.1.2 to 4.1.4, 4.1.7, 4.1.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ibidem.index.analysis.related import has_related_terms
from ibidem.index.analysis.symbols import code_words, symbol_words
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import RULES, default, defaults

OR, AND = "or", "and"
WHERE_THEY_COUNT = ("accents", "bounded", "code", "minor", "related", "symbols")
"""The fields that depend on the words of a text, and are written only where they are true."""
_RESPELT_TEXT_MAX = 128
"""Code points of a text in which every word is looked at for edits: a sentence or two. Over texts
in nine languages that takes at most about as long as the 32 words of a longer text."""
_FUZZY_RULES = ("swaps", "letters")
"""The fields of `fuzzy` that no option sets."""


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
    swaps: bool = True
    """Whether two neighbouring characters that have changed places are one edit. Neither this nor
    the next one is an option: only questions of before do without."""
    letters: bool = True
    """Whether a letter too few, or another one, is looked for in the word and not in its stem."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form, with `rare` only if it is given, and the rules only that
        hold."""
        form = {"weight": self.weight, "terms": self.terms, "length": self.length}
        if self.rare is not None:
            form["rare"] = self.rare
        return form | {name: True for name in _FUZZY_RULES if getattr(self, name)}


@record
class Match:
    """The lexical options of a query."""

    operator: str = default("operator")
    phrases: bool = default("phrases")
    fuzzy: Fuzzy | None = Fuzzy(rare=1)
    """By default only terms that no document has bring in others."""
    symbols: bool = False
    code: bool = False
    related: bool = False
    accents: bool = False
    bounded: bool = False
    minor: bool = False

    def form(self) -> dict[str, Any]:
        """Returns the canonical form, with those of `WHERE_THEY_COUNT` only that count."""
        fuzzy = None if self.fuzzy is None else self.fuzzy.form()
        counting = {name: True for name in WHERE_THEY_COUNT if getattr(self, name)}
        return {"operator": self.operator, "phrases": self.phrases, "fuzzy": fuzzy, **counting}

    @property
    def is_of_any_word(self) -> bool:
        """Whether one word of the text is enough."""
        return self.operator == OR and not self.phrases

    def for_texts(self, texts: Sequence[str], *, related: bool) -> Match:
        """Returns the options of a question with some texts.

        Symbols and words of code count if a text has any; related words if a text has words with
        any, and one word is enough; accents and analysers of few documents in every text; the
        bound of edits if one is long.

        Args:
            texts: of the question and of its subqueries.
            related: whether related words are asked for.
        """
        has_symbols = any(map(symbol_words, texts))
        has_code = any(map(code_words, texts))
        has_related = related and self.is_of_any_word and any(map(has_related_terms, texts))
        is_long = self.fuzzy is not None and any(len(text) > _RESPELT_TEXT_MAX for text in texts)
        has_text = bool(texts)
        return _counting(self, has_text, is_long, has_code, has_text, has_related, has_symbols)

    def counting_like(self, recorded: Match) -> Match:
        """Returns the same with those accents, symbols, words of code, edits, bounds and analysers
        alone that a recorded question counts: it may be of a release before they counted."""
        fuzzy = self.fuzzy
        if fuzzy is not None and recorded.fuzzy is not None:
            rules = {name: getattr(recorded.fuzzy, name) for name in _FUZZY_RULES}
            fuzzy = replace(fuzzy, **rules)
        return _counting(
            replace(self, fuzzy=fuzzy),
            self.accents and recorded.accents,
            self.bounded and recorded.bounded,
            self.code and recorded.code,
            self.minor and recorded.minor,
            self.related,
            self.symbols and recorded.symbols,
        )

    @property
    def of_any_text(self) -> Match:
        """The same without what depends on the words of the text, or on when it was asked."""
        fuzzy = self.fuzzy
        if fuzzy is not None:
            fuzzy = replace(fuzzy, **dict.fromkeys(_FUZZY_RULES, True))
        return _counting(replace(self, fuzzy=fuzzy), *(False for _ in WHERE_THEY_COUNT))


@lru_cache(maxsize=64)
def _counting(match: Match, *counting: bool) -> Match:
    """Returns the same object for equal options: what has been encoded is found by it.

    Args:
        match: the options.
        counting: the fields of `WHERE_THEY_COUNT`.
    """
    fields: dict[str, Any] = dict(zip(WHERE_THEY_COUNT, counting, strict=True))
    return replace(match, **fields)


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


def requested_options(name: str, form: Any) -> Any:
    """Returns a field of a canonical form without what its words, or the release, alone put there,
    to compare what two questions were asked with."""
    if name == "match":
        options = {key: value for key, value in form.items() if key not in WHERE_THEY_COUNT}
        return {**options, "fuzzy": _requested_fuzzy(form["fuzzy"])}
    if name in ("passages", "frame", "slack"):
        return None
    if name == "packs" and isinstance(form, dict):
        return {key: value for key, value in form.items() if key not in RULES}
    return form


def match_of_form(form: object) -> Match:
    """Returns the options of a canonical form."""
    counting = set(form).intersection(WHERE_THEY_COUNT) if isinstance(form, dict) else set()
    if not isinstance(form, dict) or set(form) - counting != {"operator", "phrases", "fuzzy"}:
        raise InvalidInputError(f"match: got {checks.show(form)}, expected its three fields")
    for name in sorted(counting):
        if form[name] is not True:
            raise InvalidInputError(
                f"match.{name}: got {checks.show(form)}, expected true or nothing"
            )
    fuzzy = False if form["fuzzy"] is None else _requested_fuzzy(form["fuzzy"])
    found = resolve_match(form["operator"], form["phrases"], fuzzy)
    if found.fuzzy is not None:
        rules = {name: name in form["fuzzy"] for name in _FUZZY_RULES}
        found = replace(found, fuzzy=replace(found.fuzzy, **rules))
    return _counting(found, *(name in form for name in WHERE_THEY_COUNT))


def _requested_fuzzy(form: object) -> object:
    if isinstance(form, dict):
        return {name: value for name, value in form.items() if name not in _FUZZY_RULES}
    return form


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

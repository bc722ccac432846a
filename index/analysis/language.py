"""The language of a text, counted by its stop words, and what the words of a language end in.

Problem: one repository holds texts in several languages, and nobody says which text is in which.
Idea: function words are frequent and differ, so the language with most of them in a text is its
own; a text with too few is taken to be in the language of the repository. Script needs no decision
about a text: a word of Cyrillic letters is stemmed as Russian wherever it stands.

Spec: analysis 5 to 7.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from typing import Protocol

from ibidem.index.analysis.fold import fold
from ibidem.index.analysis.normalise import normalised
from ibidem.index.analysis.stem import stem
from ibidem.index.analysis.stem_search import Searches
from ibidem.index.analysis.stop import STOP_WORDS
from ibidem.index.analysis.words import TERM_MAX

ENGLISH = "english"
LANGUAGES = tuple(sorted(STOP_WORDS.keys() - {"russian"} - {ENGLISH}))
"""The languages in Latin script that have stop words and stems here, apart from English."""
_LETTERS = "\u0439\u0451" + "".join(
    map(chr, {*range(0xE0, 0x100)} - {0xE6, 0xF0, 0xF7, 0xF8, 0xFE})
)
"""Letters with a mark that the stemmers know; folded text has letter and mark apart."""
_LATIN = re.compile(r"[a-z\u00e0-\u00f6\u00f8-\u00ff\u0131\u0153]+\Z")
_CYRILLIC = re.compile(r"[\u0430-\u044f\u0451]+\Z")
_STEMS_MAX = 1 << 12
"""Stems that are remembered of a language: identifiers share most of their parts."""


class Stemmer(Protocol):
    """One word being stemmed."""

    def set_current(self, value: str) -> None:
        """Sets the word."""

    def _stem(self) -> None:
        """Replaces it by its stem."""

    def get_current(self) -> str:
        """Returns what it is now."""


def stems(language: str) -> Callable[[str], str]:
    """Returns the function from a folded term to its stem without accents, under one language.

    A term of other letters, with digits or underscores, only loses its accents.

    >>> stems("german")(fold("h\u00e4user")), stems("english")(fold("caf\u00e9s"))
    ('haus', 'cafe')
    >>> stems("spanish")(fold("ni\u00f1os")) == stems("spanish")("nino")
    True
    """
    stemmed = stem if language == ENGLISH else _stemmer(language)

    def change(term: str) -> str:
        if term.isascii():
            return stemmed(term) if term.isalpha() else term
        whole = _composed(term)
        if _CYRILLIC.match(whole):
            whole = _stemmer("russian")(whole)
        elif language != ENGLISH and _LATIN.match(whole):
            whole = fold(stemmed(whole))  # letters and marks apart, so that these are removed
        else:
            whole = normalised(term)
            whole = stemmed(whole) if whole.isascii() and whole.isalpha() else whole
        return normalised(whole)[:TERM_MAX]

    return change


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    """Returns the stemmer of a language from composed words; it may be called in any thread."""
    module = import_module(f"ibidem.index.analysis.snowball.{language}_stemmer")
    generated = getattr(module, f"{language.capitalize()}Stemmer")
    create: Callable[[], Stemmer] = type(generated.__name__, (Searches, generated), {})

    @lru_cache(_STEMS_MAX)
    def stemmed(word: str) -> str:
        one = create()
        one.set_current(word)
        one._stem()
        return one.get_current() or word

    return stemmed


@cache
def stop_words(language: str, in_ascii: bool = False) -> frozenset[str]:
    """Returns the stop words of a language, folded, and the Russian ones, which no other has; for
    a text `in_ascii` those of the language are enough."""
    own = _folded(language)
    return own if in_ascii else own | _folded("russian")


@cache
def languages_by_word() -> dict[str, tuple[str, ...]]:
    """Returns the languages in Latin script of each folded stop word of two or more code points."""
    found: dict[str, tuple[str, ...]] = {}
    for language in (ENGLISH, *LANGUAGES):
        for word in sorted(word for word in _folded(language) if len(word) > 1):
            found[word] = (*found.get(word, ()), language)
    return found


@cache
def _folded(language: str) -> frozenset[str]:
    return frozenset(fold(STOP_WORDS[language]).split())


@cache
def _composition() -> tuple[re.Pattern[str], dict[str, str]]:
    letters = {fold(letter): letter for letter in _LETTERS}
    return re.compile("|".join(letters)), letters


def _composed(term: str) -> str:
    pattern, letters = _composition()
    return pattern.sub(lambda match: letters[match[0]], term)

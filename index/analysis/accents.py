"""Spellings of a word with and without accents: a question is typed without them, or a text is.

Problem: a stem has no accents, but these tell the stemmer which ending a word has: "affichées" is
`affich`, and "affichees" `affiche`. Idea: a word of a question also stands for what it is without
its accents; a word that has none for what it is with one or two on its last letters, of those that
endings of the language have.

Cost: ten to fifty spellings are stemmed for a word and language that have not been met lately, for
the first words of a question alone.

Spec: analysis 6.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations, islice, product

from ibidem.index.analysis.analyser import analyse
from ibidem.index.analysis.fold import fold
from ibidem.index.analysis.normalise import normalised

LETTERS = {
    "dutch-1": "\u00e9\u00eb",
    "finnish-1": "\u00e4\u00f6",
    "french-1": "\u00e2\u00e8\u00e9\u00ee",
    "italian-1": "\u00e0\u00e8\u00ec\u00f2",
    "portuguese-1": "\u00e1\u00e2\u00e3\u00e7\u00e9\u00ea\u00ed\u00f5",
    "spanish-1": "\u00e1\u00e9\u00ed\u00f3",
    "swedish-1": "\u00f6",
}
"""By analyser, the letters with a mark in those endings of its stemmer that have two letters or
more; other analysers have none."""
_LAST = (6, 4)
"""How many of the last letters may have one accent, and how many two."""
_WORDS_MAX = 32
_WORD_CHARS_MAX = 24
_CACHED_MAX = 1 << 12
_BY_PLAIN = {
    analyser: {
        plain: [one for one in letters if normalised(fold(one)) == plain]
        for plain in {normalised(fold(one)) for one in letters}
    }
    for analyser, letters in LETTERS.items()
}


def first_words(words: Iterable[str]) -> list[str]:
    """Returns those words of a question whose spellings count: the first ones, if not too long."""
    short = dict.fromkeys(word for word in words if len(word) <= _WORD_CHARS_MAX)
    return list(islice(short, _WORDS_MAX))


def without_accents(word: str) -> str:
    """Returns a word of Latin letters in lower case without its accents, empty for any other.

    >>> without_accents("\u00c9t\u00e9"), without_accents("x1"), without_accents("\u6771")
    ('ete', '', '')
    """
    plain = normalised(fold(word).lower())
    return plain if plain.isascii() and plain.isalpha() else ""


def spelt_terms(word: str, analyser: str) -> frozenset[str]:
    """Returns the terms of the spellings of a word under an analyser; none for a word with anything
    but Latin letters, and if accents make no difference to its stems.

    >>> sorted(spelt_terms("affichees", "french-1")), spelt_terms("affichees", "english-1")
    (['affich', 'affiche', 'affichees'], frozenset())
    """
    return _spelt_terms(word, analyser) if analyser in LETTERS else frozenset()


@lru_cache(maxsize=_CACHED_MAX)
def _spelt_terms(word: str, analyser: str) -> frozenset[str]:
    plain = without_accents(word)
    if not plain:
        return frozenset()
    is_plain = plain == fold(word).lower()
    spellings = _spellings(plain, _BY_PLAIN[analyser]) if is_plain else (plain,)
    found = (analyse(spelling, analyser) for spelling in spellings)
    return frozenset(terms[0] for terms in found if len(terms) == 1)


def _spellings(plain: str, letters: dict[str, list[str]]) -> Iterator[str]:
    """Yields a word without accents, then with them."""
    yield plain
    for count, size in enumerate(_LAST, 1):
        last = [at for at in range(max(0, len(plain) - size), len(plain)) if plain[at] in letters]
        for chosen in combinations(last, count):
            for marked in product(*(letters[plain[at]] for at in chosen)):
                spelling = list(plain)
                for at, letter in zip(chosen, marked, strict=True):
                    spelling[at] = letter
                yield "".join(spelling)

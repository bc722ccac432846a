"""The words of a question: each with the term that it is under every analyser of the documents.

Problem: a document is analysed by the analyser of its own language, so one word is another term in
another document. Idea: the question is cut into words by the analyser of its own language, and each
word takes, besides its own term, the term that each other analyser of the documents finds at the
same place. All of these *forms* of a word weigh the same.

Invariant: where all documents have one analyser, a word has one form, its term.

Spec: retrieval 4.1.6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from types import MappingProxyType

from ibidem.index.analysis import (
    analyse,
    analyse_positions,
    analyser_of,
    code_words,
    symbol_words,
)
from ibidem.index.analysis.accents import LETTERS, first_words, spelt_terms, without_accents
from ibidem.index.analysis.words import TERM_MAX
from ibidem.retrieve.query.query import Query

Word = tuple[str, ...]
"""The distinct forms of a word, ascending."""
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_RESPELT_MAX = 4
"""The most words of a question that are looked for with each letter in each place."""
_RESPELT_CHARS_MAX = 24
"""The most characters of such a word."""


def words_of(
    text: str, home: str, analysers: Sequence[str], *, accents: bool = False
) -> Counter[Word]:
    """Returns the words of a question and how often it has each.

    Args:
        text: of the question.
        home: the analyser of the root's config.
        analysers: those of the documents; `home` if there are none.
        accents: whether a word also has the forms of its spellings with and without accents.

    >>> words_of("H\u00e4user", "english-1", ("english-1", "german-1"))
    Counter({('haus', 'hauser'): 1})
    """
    analysers = analysers or (home,)
    if len(analysers) == 1 and not (accents and analysers[0] in LETTERS):
        return Counter(zip(analyse(text, analysers[0]), strict=True))
    own = analyser_of(text, home, analysers)
    return Counter(word for word, _, _ in _with_ranges(text, own, analysers, accents=accents))


def with_forms(
    text: str,
    home: str,
    analysers: Sequence[str],
    every: Sequence[str],
    words: Collection[Word],
    *,
    accents: bool,
) -> dict[Word, Word]:
    """Returns what some words of a question are with the forms of more analysers, too.

    Args:
        text: of the question.
        home: as for `words_of`.
        analysers: those by which the words have their forms.
        every: these and more.
        words: those that are looked at.
        accents: as for `words_of`.

    >>> with_forms("a chevaux", "english-1", ["english-1"], ["english-1", "french-1"],
    ...            [("chevaux",)], accents=False)
    {('chevaux',): ('cheval', 'chevaux')}
    """
    own = analyser_of(text, home, analysers)
    forms: dict[Word, set[str]] = {}
    for (word, _, _), (wide, _, _) in zip(
        _with_ranges(text, own, analysers, accents=accents),
        _with_ranges(text, own, every, accents=accents),
        strict=True,
    ):
        if word in words:
            forms.setdefault(word, set(word)).update(wide)
    return {word: tuple(sorted(found)) for word, found in forms.items()}


def possible_terms(text: str, analysers: Iterable[str], *, accents: bool) -> set[str]:
    """Returns every form that a word of a question can have, whichever of some analysers the
    documents have."""
    names = list(analysers)
    found: set[str] = set()
    typed: set[str] = set()
    for one in names:
        words = analyse_positions(text, one)
        found.update(term for term, _, _ in words)
        if accents:
            typed.update(first_words(text[start:stop] for _, start, stop in words))
    return found.union(*(spelt_terms(word, one) for word in typed for one in names))


def terms_of(text: str, analyser: str, *, accents: bool) -> list[str]:
    """Returns the terms of a question under one analyser, those of other spellings behind them.

    >>> terms_of("affichees", "french-1", accents=True)
    ['affiche', 'affich', 'affichees']
    """
    terms = analyse(text, analyser)
    if not accents or analyser not in LETTERS:
        return terms
    words = _with_ranges(text, analyser, (analyser,), accents=True)
    return list(dict.fromkeys([*terms, *(form for word, _, _ in words for form in word)]))


def query_symbols(query: Query) -> frozenset[str]:
    """Returns every symbol that the symbols of a question stand for."""
    if query.text is None:
        return frozenset()
    return frozenset(symbol for word in symbol_counts(query) for symbol in word)


def symbol_counts(query: Query) -> Counter[Word]:
    """Returns what the symbols of a question stand for, and its words of code, as words whose
    forms are symbols.

    They add to a score and are never required: a text that explains `//` may do without it.

    Spec: retrieval 4.1.7.
    """
    assert query.text is not None, "BUG: the lexical lane runs on a text"
    signs = symbol_words(query.text) if query.match.symbols else []
    code = code_words(query.text) if query.match.code else []
    return Counter(signs + code)


def edited_terms(
    query: Query,
    home: str,
    analysers: Sequence[str],
    words: Iterable[Word],
    wide: Mapping[Word, Word] = MappingProxyType({}),
) -> dict[Word, set[str]]:
    """Returns the terms that some words of a question are without one of their characters, with two
    neighbouring ones swapped, or with one letter more or another one.

    Stems of mistyped words are far from the right ones: `serverss` is its own stem, and one letter
    less is a plural; so is `servng`. A word has hundreds of neighbours with a letter more or
    another one, so these are looked for in the language of the question, for its first few words.
    The others are looked for in every language, so a long question is bounded to its first words,
    those with parts left out.

    Args:
        query: has a text, and the option `fuzzy`.
        home: as for `words_of`.
        analysers: as for `words_of`.
        words: those that are looked at; of one with more than TERM_MAX characters nothing is found.
        wide: what words are that have forms of more analysers.
    """
    text, fuzzy = query.text, query.match.fuzzy
    assert text is not None, "BUG: words come from a text"
    assert fuzzy is not None, "BUG: asked for edits without the option"
    analysers = analysers or (home,)
    found: dict[Word, set[str]] = {word: set() for word in words}
    own = analyser_of(text, home, analysers)
    with_letters = 0
    ranges: dict[str, Word] = {}
    for named, start, stop in _with_ranges(text, own, analysers, accents=query.match.accents):
        word = wide.get(named, named)
        if word in found and stop - start <= TERM_MAX:
            ranges.setdefault(text[start:stop], word)
    respelt: Iterable[str] = ranges
    if query.match.bounded:
        respelt = first_words(typed for typed in ranges if len(analyse(typed, own)) == 1)
    for typed in respelt:
        edits = [(other, analysers) for other in _edited(typed, swaps=fuzzy.swaps)]
        is_short = len(typed) <= _RESPELT_CHARS_MAX
        if fuzzy.letters and with_letters < _RESPELT_MAX and is_short and without_accents(typed):
            with_letters += 1
            edits += [(other, (own,)) for other in _with_letters(typed.translate(_LOWER))]
        for other, languages in edits:
            for one in languages:
                terms = analyse(other, one)
                found[ranges[typed]].update(terms if len(terms) == 1 else ())
    return found


def _with_letters(word: str) -> Iterator[str]:
    """Yields a word with each letter in each gap, and instead of each character."""
    for letter in ascii_lowercase:
        for at in range(len(word) + 1):
            yield word[:at] + letter + word[at:]
        for at in range(len(word)):
            yield word[:at] + letter + word[at + 1 :]


def _edited(word: str, *, swaps: bool) -> Iterator[str]:
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]
    if swaps:
        for at in range(len(word) - 1):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _with_ranges(
    text: str, own: str, analysers: Sequence[str], *, accents: bool
) -> Iterator[tuple[Word, int, int]]:
    """Yields the words of a question in order, each with its range, as `own` cuts the text."""
    others = [
        {(start, stop): term for term, start, stop in analyse_positions(text, one)}
        for one in analysers
        if one != own
    ]
    words = analyse_positions(text, own)
    spelt = first_words(text[start:stop] for _, start, stop in words) if accents else ()
    for term, start, stop in words:
        forms = {term} | {found[start, stop] for found in others if (start, stop) in found}
        if text[start:stop] in spelt:
            forms = forms.union(*(spelt_terms(text[start:stop], one) for one in analysers))
        yield tuple(sorted(forms)), start, stop


def phrases_of(text: str, analyser: str) -> Iterator[tuple[str, ...]]:
    """Yields the terms between the first and second, the third and fourth quotation mark, and so
    on.

    >>> list(phrases_of('say "new york" or "boston" now', "unicode-1"))
    [('new', 'york'), ('boston',)]
    """
    quotes = [place for place, character in enumerate(text) if character == '"']
    found = analyse_positions(text, analyser)
    for first, last in zip(quotes[::2], quotes[1::2], strict=False):
        yield tuple(term for term, start, stop in found if start > first and stop <= last)


def phrase_forms(text: str, home: str, analysers: Sequence[str]) -> list[list[Word]]:
    """Returns the phrases of a question: of each the distinct runs of terms that it is under the
    analysers of the documents. Phrases without terms are left out."""
    found = zip(*(phrases_of(text, one) for one in analysers or (home,)), strict=True)
    phrases = [list(dict.fromkeys(run for run in runs if run)) for runs in found]
    return [runs for runs in phrases if runs]

"""Names in a text: its capitalised phrases and identifiers, as runs of the analyser's terms.

A term with a capital letter or an underscore is a word of a name. Words with nothing but a space or
a hyphen between them form one name. A stop word ends it, so "See the Retry Policy" has the name
"Retry Policy". Nothing tells a name from the first word of a sentence: that is left to how rare it
is.

Cost: that of analysing the beginning of the text. No model, no list of names, no table of its own.

Spec: retrieval 5.6.1.
"""

from __future__ import annotations

from ibidem.index.analysis.analyser import analyse_positions
from ibidem.objects.record import record

NAMED_CHARS = 4096
"""The names of a longer text are those of its beginning, in code points."""
NAMES_MAX = 64
NAME_TERMS_MAX = 8
_JOINTS = frozenset(("", " ", "-", "'", "\u2019", ".", " & "))
_DIGITS = frozenset("0123456789")


@record
class Name:
    """A name as it stands in a text, and its terms in the order of the analyser."""

    text: str
    terms: tuple[str, ...]


def names_of(text: str, analyser: str) -> list[Name]:
    """Returns the names of a text, each once, in order of their first occurrence.

    Raises:
        FormatError: the text may have names, and `analyser` is unknown (kind
            unsupported-semantics).

    >>> [name.text for name in names_of("See the Retry Policy, and open_file.", "english-1")]
    ['See', 'Retry Policy', 'open_file']
    """
    text = text[:NAMED_CHARS]
    if not _begins_name(text):
        return []
    terms = analyse_positions(text, analyser)
    words = _words(terms)
    found: dict[tuple[str, ...], str] = {}
    index = 0
    while index < len(words) and len(found) < NAMES_MAX:
        first, last, start, stop = words[index]
        index += 1
        if not _begins_name(text[start:stop]):
            continue
        while index < len(words):
            _, after, next_start, next_stop = words[index]
            if not _is_joint(text[stop:next_start], stop - start):
                break
            if not _goes_on(text[next_start:next_stop]):
                break
            last, start, stop = after, next_start, next_stop
            index += 1
        if last - first <= NAME_TERMS_MAX:
            begin = terms[first][1]
            found.setdefault(tuple(term for term, _, _ in terms[first:last]), text[begin:stop])
    return [Name(name, key) for key, name in found.items()]


def _words(terms: list[tuple[str, int, int]]) -> list[tuple[int, int, int, int]]:
    """Returns (first term, term after the last, start, stop) of each word; the parts of an
    identifier belong to it."""
    words: list[tuple[int, int, int, int]] = []
    for index, (_, start, stop) in enumerate(terms):
        if words and start < words[-1][3]:
            first, _, begin, end = words[-1]
            words[-1] = first, index + 1, begin, max(end, stop)
        else:
            words.append((index, index + 1, start, stop))
    return words


def _begins_name(word: str) -> bool:
    return "_" in word or (not word.islower() and any(map(str.isupper, word)))


def _goes_on(word: str) -> bool:
    return _begins_name(word) or not _DIGITS.isdisjoint(word)


def _is_joint(between: str, length: int) -> bool:
    """Returns whether words with this text between them, the first of that length, are one name."""
    return between in _JOINTS or (between == ". " and length == 1)

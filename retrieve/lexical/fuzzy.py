"""Terms at edit distance 1, found by leaping through the sorted terms of a segment.

A term at distance 1 shares the characters before the edit; at each place only characters that some
term has there are tried. So the cost follows how the terms branch, not how many there are.

Spec: retrieval 4.1.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from ibidem.retrieve.lexical.statistics import Statistics
from ibidem.retrieve.lexical.view import LexicalView
from ibidem.retrieve.protocol import LexicalSegment
from ibidem.retrieve.query.query import Query

_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def near_terms(
    lexical_view: LexicalView, statistics: Statistics, texts: list[str], query: Query
) -> dict[str, list[str]]:
    """Returns for each distinct term of the query the terms that it brings in, in their order."""
    fuzzy = query.match.fuzzy
    assert fuzzy is not None, "BUG: asked for near terms without the option"
    own = set(texts)
    found: dict[str, list[str]] = {}
    for text in texts:
        ranked: list[tuple[int, str]] = []
        is_rare = (
            fuzzy.rare is None
            or lexical_view.term(text, statistics, query.k1, query.b).frequency < fuzzy.rare
        )
        if len(text) >= fuzzy.length and is_rare:
            every = {one for segment in lexical_view.segments for one in _near(segment, text)}
            for one in every - own:
                frequency = lexical_view.term(one, statistics, query.k1, query.b).frequency
                if frequency:
                    ranked.append((-frequency, one))
        found[text] = [one for _, one in sorted(ranked)[: fuzzy.terms]]
    return found


def _near(segment: LexicalSegment, text: str) -> Iterator[str]:
    """Yields the terms of a segment at edit distance 1, some more than once."""
    for place in range(len(text) + 1):
        head = text[:place]
        tails = [text[place:]]
        if place < len(text):
            tails.append(text[place + 1 :])
            if _has(segment, head + tails[1]):
                yield head + tails[1]
        for character in _next_characters(segment, head):
            for tail in tails:
                one = head + character + tail
                if one != text and _has(segment, one):
                    yield one


def _next_characters(segment: LexicalSegment, head: str) -> Iterator[str]:
    """Yields the characters that follow `head` in the terms of a segment, ascending."""
    code = 0
    while code <= _LAST:
        first = next(iter(segment.terms_from(head + chr(code))), None)
        if first is None or not first.startswith(head):
            return
        yield first[len(head)]
        code = ord(first[len(head)]) + 1
        if code in _SURROGATES:
            code = _SURROGATES.stop


def _has(segment: LexicalSegment, text: str) -> bool:
    return next(iter(segment.terms_from(text)), None) == text

"""An extractive summary of an answer: the sentences of its items that say most about the question,
word for word, chosen by integers.

A term is worth the number of items that have it, and four times that if the question has it. A
sentence is worth the terms that no chosen sentence has yet, per length, and more the better its
item ranks. The best sentence is taken until there are enough or none adds anything, so nothing is
said twice; they are shown in the order of the items. No model writes here; for a summary in new
words, `prompt(style="summary")` asks one.

Spec: retrieval 9.5.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ibidem.index.analysis import analyse, analyser_of
from ibidem.objects.config import Config
from ibidem.objects.record import record
from ibidem.retrieve.query import checks

SENTENCES_MAX = 100
_TERMS_MIN, _TERMS_MAX = 3, 60
"""Shorter sentences say too little alone, longer ones are tables and lists."""
_QUESTION_FACTOR = 4
_LENGTH_OFFSET = 8
"""Terms added to the length of each sentence, so that the shortest do not win by shortness."""
_SCALE = 1 << 20
_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n[ \t]*\n")
_HOME = Config().analyser


@record
class Sentence:
    """A sentence of an item."""

    item: int
    """The position of the item in the answer, from 0."""
    text: str


@record
class Summary:
    """Sentences of an answer, in the order of its items."""

    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(one.text for one in self.sentences)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Returns the summary as plain data."""
        rows = [{"item": one.item, "text": one.text} for one in self.sentences]
        return {"text": self.text, "sentences": rows}


@record
class _Candidate:
    position: tuple[int, int]
    text: str
    terms: frozenset[str]


def summary_of(texts: Sequence[str], question: str, sentences: int) -> Summary:
    """Returns the sentences of some texts that summarise them.

    Args:
        texts: of the items, best first.
        question: what they answer; may be empty.
        sentences: most sentences to take.

    Raises:
        InvalidInputError: `sentences` is not an integer from 1 to SENTENCES_MAX.
    """
    checks.count("sentences", sentences, low=1, high=SENTENCES_MAX)
    wanted = frozenset(_terms(question))
    candidates = list(_candidates(texts))
    items: Counter[str] = Counter()
    for at in range(len(texts)):
        own = (one.terms for one in candidates if one.position[0] == at)
        items.update(frozenset[str]().union(*own))
    worth = {
        term: count * (_QUESTION_FACTOR if term in wanted else 1) for term, count in items.items()
    }
    taken: list[_Candidate] = []
    covered: frozenset[str] = frozenset()
    while len(taken) < sentences and candidates:
        values = [_value(one, worth, covered, len(texts)) for one in candidates]
        best = max(values)
        if not best:
            break
        chosen = candidates.pop(values.index(best))
        taken.append(chosen)
        covered |= chosen.terms
    taken.sort(key=lambda one: one.position)
    return Summary(tuple(Sentence(one.position[0], one.text) for one in taken))


def _value(one: _Candidate, worth: dict[str, int], covered: frozenset[str], count: int) -> int:
    """Returns what a sentence adds, per length; an integer."""
    gain = sum(worth[term] for term in one.terms - covered)
    return gain * (2 * count - one.position[0]) * _SCALE // (_LENGTH_OFFSET + len(one.terms))


def _candidates(texts: Sequence[str]) -> Iterator[_Candidate]:
    """Yields the sentences in order, each text once."""
    known: set[str] = set()
    for item, text in enumerate(texts):
        for at, part in enumerate(_END.split(text)):
            found = " ".join(part.split())
            terms = frozenset(_terms(found))
            if found not in known and _TERMS_MIN <= len(terms) <= _TERMS_MAX:
                known.add(found)
                yield _Candidate((item, at), found, terms)


def _terms(text: str) -> list[str]:
    return analyse(text, analyser_of(text, _HOME))

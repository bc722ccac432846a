"""An extractive summary of an answer: the sentences of its items that say most about the question,
word for word, chosen by integers.

Sentences of prose are quoted (`prose_of`), and no code, row of a table, directive or label. If
there are not enough of them, the rest of the summary is chosen from what stands between them: first
from labels and notes without full stops, last from code, so that an answer without prose has one.

A term is worth the number of items that have it, and four times that if the question has it. A
sentence is worth the terms that no chosen sentence has yet, per length, and more the better its
item ranks. The best sentence is taken until there are enough or none adds anything, so nothing is
said twice; they are shown in the order of the items. No model writes here; for a summary in new
words, `prompt(style="summarize")` asks one.

That is the method `cover`. The others rank sentences alone, by what their terms are worth per
length: `centroid` by how many items have a term, `query` by the terms of the question, `centrality`
by how many other sentences have it; `mmr` takes the best by `centroid` whose terms are least in one
sentence that was taken.

Cost: each term of a sentence is taken off its gain once, so the whole is near linear in the terms;
`mmr` compares each sentence with those that were taken.

Spec: retrieval 9.5, packs 7.3.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import chain, islice
from typing import Any

from ibidem.index.analysis import analyse, analyser_of
from ibidem.objects.config import Config
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.context.pieces import BLANK, QUOTES, has_words, prose_of
from ibidem.retrieve.query import checks

SENTENCES_MAX = 100
_TERMS_MIN, _TERMS_MAX = 3, 60
"""Shorter sentences say too little alone, longer ones are lists."""
_QUESTION_FACTOR = 4
_LENGTH_OFFSET = 8
"""Terms added to the length of each sentence, so that the shortest do not win by shortness."""
_SCALE = 1 << 20
COVER, CENTROID, QUERY, MMR, CENTRALITY = "cover", "centroid", "query", "mmr", "centrality"
METHODS = (COVER, CENTROID, QUERY, MMR, CENTRALITY)
_QUOTES = re.compile(rf"\n[{BLANK}]*{QUOTES}")
"""What lines of a quotation begin with, after the first one."""
_END = re.compile(r"(?<=[.!?])(?<!\.\.)(?<!\.[A-Za-z]\.)\s+|(?<=[\u3002\uff01\uff1f])|\n[ \t]*\n")
"""What other parts end at: not the `..` of a directive, nor `e.g.`."""
_HOME = Config().analyser

Parts = Callable[[str], Iterator[tuple[int, int]]]
"""Yields the start and the end of each part of a text."""


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
    analyser: str
    terms: frozenset[str]


def summary_of(
    texts: Sequence[str], question: str, sentences: int, *, method: str = COVER
) -> Summary:
    """Returns the sentences of some texts that summarise them.

    Args:
        texts: of the items, best first.
        question: what they answer; may be empty.
        sentences: most sentences to take.
        method: how sentences are chosen, one of METHODS.

    Raises:
        InvalidInputError: `sentences` is not an integer from 1 to SENTENCES_MAX, there is no such
            method, or the method "query" has no question.
    """
    checks.count("sentences", sentences, low=1, high=SENTENCES_MAX)
    if method not in METHODS:
        raise InvalidInputError(f"method: got {method!r:.80}, expected one of {', '.join(METHODS)}")
    if method == QUERY and not question.strip():
        raise InvalidInputError("question: got none, expected one for the method query")
    known: set[str] = set()
    taken: list[_Candidate] = []
    for parts in (prose_of, _notes, _others):
        if len(taken) < sentences:
            candidates = list(_candidates(texts, parts, known))
            if method == COVER:
                found = _chosen(candidates, _worth(candidates, question), len(texts))
            else:
                found = _ranked(candidates, _values(candidates, question, method), method)
            taken += islice(found, sentences - len(taken))
    taken.sort(key=lambda one: one.position)
    return Summary(tuple(Sentence(one.position[0], one.text) for one in taken))


def _worth(candidates: Sequence[_Candidate], question: str) -> dict[str, int]:
    """Returns what each term of the candidates is worth."""
    analysers = {one.analyser for one in candidates}
    wanted = {term for one in analysers for term in analyse(question, one)}
    items = Counter(
        term for _, term in {(one.position[0], t) for one in candidates for t in one.terms}
    )
    return {
        term: count * (_QUESTION_FACTOR if term in wanted else 1) for term, count in items.items()
    }


def _chosen(
    candidates: Sequence[_Candidate], worth: dict[str, int], count: int
) -> Iterator[_Candidate]:
    """Yields the candidates by what each adds to those before it, while it adds anything."""
    sums = [sum(map(worth.__getitem__, one.terms)) for one in candidates]
    having: dict[str, list[int]] = {}
    for at, one in enumerate(candidates):
        for term in one.terms:
            having.setdefault(term, []).append(at)

    def entry(at: int) -> tuple[int, int]:
        one = candidates[at]
        scale = (2 * count - one.position[0]) * _SCALE
        return -(sums[at] * scale // (_LENGTH_OFFSET + len(one.terms))), at

    # Values only fall, so an entry that is out of date stands too early, never too late.
    heap = list(map(entry, range(len(candidates))))
    heapify(heap)
    while heap and heap[0][0]:
        at = heap[0][1]
        if heap[0] != entry(at):
            heapreplace(heap, entry(at))
            continue
        yield candidates[heappop(heap)[1]]
        for term in candidates[at].terms:
            for other in having.pop(term, ()):
                sums[other] -= worth[term]


def _values(candidates: Sequence[_Candidate], question: str, method: str) -> list[int]:
    """Returns what each candidate is worth alone."""
    if method == QUERY:
        analysers = {one.analyser for one in candidates}
        worth = Counter({term for one in analysers for term in analyse(question, one)})
    elif method == CENTRALITY:
        worth = Counter(term for one in candidates for term in one.terms)
        worth = Counter({term: count - 1 for term, count in worth.items()})
    else:
        worth = Counter(_worth(candidates, ""))
        worth = Counter({term: count - 1 for term, count in worth.items()})
    return [
        sum(worth[term] for term in one.terms) * _SCALE // (_LENGTH_OFFSET + len(one.terms))
        for one in candidates
    ]


def _ranked(
    candidates: Sequence[_Candidate], values: Sequence[int], method: str
) -> Iterator[_Candidate]:
    """Yields the candidates that are worth anything, the best first, ties in their order."""
    rest = [at for at, value in enumerate(values) if value > 0]
    nearest = dict.fromkeys(rest, 0)
    while rest:
        taken = max(rest, key=lambda at: (values[at] - nearest[at], -at))
        if values[taken] <= nearest[taken]:
            return
        rest.remove(taken)
        one = candidates[taken]
        yield one
        if method == MMR:
            for at in rest:
                other = candidates[at].terms
                share = len(other & one.terms) * values[at] // len(other)
                nearest[at] = max(nearest[at], share)


def _candidates(texts: Sequence[str], parts: Parts, known: set[str]) -> Iterator[_Candidate]:
    """Yields the parts of some texts that say enough, in order, none that is known, which they
    are then."""
    for item, text in enumerate(texts):
        for start, end in parts(text):
            found = " ".join(_QUOTES.sub("\n", text[start:end]).split())
            if found in known:
                continue
            analyser = analyser_of(found, _HOME)
            terms = frozenset(analyse(found, analyser))
            if _TERMS_MIN <= len(terms) <= _TERMS_MAX:
                known.add(found)
                yield _Candidate((item, start), found, analyser, terms)


def _notes(text: str) -> Iterator[tuple[int, int]]:
    """Yields the others that consist of words, such as labels, and notes without full stops."""
    return ((start, end) for start, end in _others(text) if has_words(text[start:end]))


def _others(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and the end of each part of a text that is no sentence of prose."""
    done = 0
    for start, end in chain(prose_of(text), [(len(text), len(text))]):
        for found in chain(_END.finditer(text, done, start), [None]):
            stop = found.start() if found else start
            yield done, stop
            done = found.end() if found else end

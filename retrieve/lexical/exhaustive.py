"""The best of the lexical lane by adding up what postings add, for terms that not too many rows
have.

What a posting adds follows from its view and the weight of its term, so it is kept with the term,
rows of the view only. Added in text order from 0.0, these numbers are canonical scores themselves:
nothing is bounded by bytes and nothing scored twice. Terms are either summed whole, or looked up
for the rows that are marked: those with a term that is summed whole, and those for which one of the
others adds unusually much. Rows without a mark are proved to be worse than the best.

Spec: retrieval 4.1.1 has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from ibidem.index.arrays import firsts
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.lexical.bm25 import Scorer, Weighted
from ibidem.retrieve.lexical.postings import Contributions, Slots
from ibidem.retrieve.lexical.view import LexicalView
from ibidem.retrieve.numbers import Float64s, kth_largest_at_most

_POSTINGS_MAX = 98_304
"""Postings of a query beyond which bounds are cheaper."""
_TERMS_MANY = 256
"""Terms of a query from which bounds say little of each: then all postings are added up."""
_NEW_MAX = 49_152
"""Postings of terms that nobody asked for before beyond which bounds are cheaper."""
_WEIGHTS_KEPT = 4
"""Weights of a term that are remembered; there are others than one where a query repeats it."""
_GUESS, _GUESS_DEEP, _SHALLOW = 1.05, 0.8, 32
"""What the last of the best is likely to score, in the most that one term adds, for few and for
many; a depth up to `_SHALLOW` is few."""
_SPLIT_MIN = 64
"""Terms with fewer postings have no exceptions."""
_EXCEPTIONS = 32
"""One posting in so many may add more than what is taken for the most that a term adds."""


def best_sums(universe: Universe, scorer: Scorer) -> tuple[Slots, Float64s] | None:
    """Returns slots of the universe, ascending, and their canonical scores.

    Every row among the best `depth` is in them. None where this would be the long way.
    """
    lexical_view, depth = scorer.lexical_view, universe.query.depth
    scope = None if universe.scope is universe.view else universe.scope
    gains = _gains(scorer)
    if gains is None:
        return _all_summed(scorer, scope) if len(scorer.terms) >= _TERMS_MANY else None
    order = sorted(range(len(gains)), key=lambda place: gains[place].most, reverse=True)
    slack = 1.0 + (len(gains) + 8) * 2.0**-50
    rests = [rest * slack for rest in accumulate(gains[place].most for place in reversed(order))]
    rests = [*reversed(rests), 0.0]
    # A guess at first, which costs another round where it was too high; then what is certain.
    least = gains[order[0]].top * (_GUESS if depth <= _SHALLOW else _GUESS_DEEP)
    count = 0
    while True:
        while rests[count] >= least and count < len(order):
            count += 1
        slots, scores = _summed(lexical_view, scope, gains, frozenset(order[:count]), depth)
        least = -np.inf
        if scores.shape[0] >= depth:
            least = float(np.partition(scores, -depth)[-depth])
        if rests[count] < least or count == len(order):
            return slots, scores


def _gains(scorer: Scorer) -> list[Contributions] | None:
    """Returns the gains of all terms; None where that is too much."""
    terms = scorer.terms
    if sum(term.joined.count for term in terms) > _POSTINGS_MAX:
        return None
    new = {place: term for place, term in enumerate(terms) if term.weight not in term.joined.gains}
    for term in new.values():
        _keep(term, None)
    if sum(term.joined.count for term in new.values()) > _NEW_MAX:
        return None
    fresh = dict(zip(new, _fresh(scorer, list(new.values())), strict=True)) if new else {}
    return [
        fresh.get(place) or term.joined.gains[term.weight] or _made(scorer, term)
        for place, term in enumerate(terms)
    ]


def _fresh(scorer: Scorer, terms: Sequence[Weighted]) -> list[Contributions]:
    """Returns the gains of terms that nobody asked for before, made in one go; they are not kept
    and have no exceptions, since most terms are not asked for again."""
    parts = [part for term in terms for part in term.joined.parts]
    slots = np.concatenate([part.rows for _, _, part in parts])
    sizes = [part.rows.shape[0] for _, _, part in parts]
    slots += np.repeat(np.array([start for _, start, _ in parts], np.uint32), sizes)
    frequencies = np.concatenate([part.frequencies for _, _, part in parts])
    ends = np.array([0, *accumulate(term.joined.count for term in terms)])
    inside = scorer.lexical_view.inside
    if inside is not None:
        places = inside.take(slots).nonzero()[0]
        slots, frequencies = slots.take(places), frequencies.take(places)
        ends = places.searchsorted(ends)
    weights = np.repeat(np.array([term.weight for term in terms]), np.diff(ends))
    values = scorer.gains(slots, frequencies, weights)
    found = []
    for start, stop in pairwise(ends.tolist()):
        part = values[start:stop]
        top = float(part.max(initial=0.0))
        found.append(Contributions(slots[start:stop], part, top, top, slots[:0]))
    return found


def _made(scorer: Scorer, term: Weighted) -> Contributions:
    """Returns the gains of a term that was asked for before, and keeps them with it."""
    slots, values = _added(scorer, term)
    top = most = float(values.max(initial=0.0))
    exceptions = slots[:0]
    if values.shape[0] >= _SPLIT_MIN:
        few = values.shape[0] // _EXCEPTIONS
        most = float(np.partition(values, -few)[-few])
        exceptions = slots[values > most]
    found = Contributions(slots, values, top, most, exceptions)
    scorer.lexical_view.keep(slots.nbytes + values.nbytes)
    _keep(term, found)
    return found


def _added(scorer: Scorer, term: Weighted) -> tuple[Slots, Float64s]:
    """Returns the slots of the view that have a term, ascending, and what it adds to each."""
    slots, frequencies, inside = (
        term.joined.slots,
        term.joined.frequencies,
        scorer.lexical_view.inside,
    )
    if inside is not None:
        places = inside.take(slots).nonzero()[0]
        slots, frequencies = slots.take(places), frequencies.take(places)
    return slots, scorer.gains(slots, frequencies, term.weight)


def _all_summed(scorer: Scorer, scope: NodeSet | None) -> tuple[Slots, Float64s]:
    """Returns all rows of the scope with a term, and their scores."""
    lexical_view = scorer.lexical_view
    sums = np.zeros(lexical_view.size)
    for term in scorer.terms:
        slots, values = _added(scorer, term)
        sums[slots] += values  # a row has a term once
    found = sums.nonzero()[0]
    if scope is not None:
        found = found[scope.flags().take(lexical_view.ordinals.take(found))]
    return found.astype(np.uint32), sums.take(found)


def _keep(term: Weighted, gains: Contributions | None) -> None:
    known = term.joined.gains
    if len(known) >= _WEIGHTS_KEPT:
        known.clear()
    known[term.weight] = gains


def _summed(
    lexical_view: LexicalView,
    scope: NodeSet | None,
    gains: Sequence[Contributions],
    whole: frozenset[int],
    depth: int,
) -> tuple[Slots, Float64s]:
    """Returns rows with a term of `whole`, or exceptions of another term, and their scores.

    The best `depth` of them, with all that are equal to the last one, and some more.
    """
    marked = np.concatenate(
        [one.slots if place in whole else one.exceptions for place, one in enumerate(gains)],
        dtype=np.intp,
    )
    sums, marks = (
        lexical_view.places.spare.take(np.float64),
        lexical_view.places.spare.take(np.bool_),
    )
    marks[marked] = True
    stop = 0
    for place, one in enumerate(gains):
        if place in whole:
            start, stop = stop, stop + one.slots.shape[0]
            np.add.at(sums, marked[start:stop], one.values)
            continue
        stop += one.exceptions.shape[0]
        hits = marks.take(one.slots).nonzero()[0]
        if hits.shape[0]:
            np.add.at(sums, one.slots.take(hits), one.values.take(hits))
    values = sums.take(marked)
    if scope is not None:
        values[~scope.flags().take(lexical_view.ordinals.take(marked))] = -np.inf
    # A row is there once for each term at most.
    bar = kth_largest_at_most(values, depth * len(gains))
    found = marked.take((values >= bar if bar > 0.0 else values > 0.0).nonzero()[0])
    found.sort()
    found = found[firsts(found)]
    scores = sums.take(found)
    sums[marked] = 0.0
    marks[marked] = False
    lexical_view.places.spare.give(sums)
    lexical_view.places.spare.give(marks)
    return found.astype(np.uint32), scores

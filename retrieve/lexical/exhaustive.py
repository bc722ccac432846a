"""Exhaustive, term-at-a-time scoring, used when the posting lists of a query are short.

Problem: for short lists, bounds cost more than they save, yet most postings of the query's common
terms still cannot matter. Idea: the contribution of each posting is a float64 that depends on the
view and the term's weight only, so it is computed when a term is asked for again and cached with
it; a query then only adds. Of a term that is new to the process, the largest impact of its postings
is the bound, and contributions are computed for the documents that need them. As in MaxScore, terms
are divided into *essential* ones, whose postings are all added, and the others, which are looked up
only for documents that are marked: those with an essential term, and those for which another term
contributes unusually much (its *exceptions*, one posting in 32, which lets the bound of the
remaining ones be much lower than the maximum).

Invariant: an unmarked document scores at most the sum of the bounds of the non-essential terms. If
that is below the depth-th best marked document, no unmarked one can be among the best; else more
terms become essential and the round is repeated. Added in text order from 0.0, contributions are
canonical scores, so nothing is scored twice.

Cost: the postings of essential terms, one lookup a posting of the others, no work per document.
Papers: Turtle and Flood, "Query evaluation: strategies and optimizations" (1995), for MaxScore;
Buckley and Lewit, "Optimization of inverted vector searches" (1985), for term-at-a-time
evaluation.

Spec: retrieval 4.1.1 has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ibidem.index.arrays import firsts
from ibidem.retrieve.filter import NodeSet, Universe
from ibidem.retrieve.lexical.bm25 import Scorer, WeightedTerm
from ibidem.retrieve.lexical.postings import Contributions, Slots
from ibidem.retrieve.lexical.tuning import CACHED_WEIGHTS_MAX
from ibidem.retrieve.numbers import Float64s, kth_largest, kth_largest_at_most

Number = TypeVar("Number", bound=np.generic)
_NO_SLOTS = np.zeros(0, np.uint32)

Part = npt.NDArray[np.intp] | None
"""Some of the postings of a term, None for all."""


def rank_exhaustively(universe: Universe, scorer: Scorer) -> tuple[Slots, Float64s] | None:
    """Returns slots of the universe, ascending, and their canonical scores; or None.

    Every document among the best `depth` is among them. None where pruning by impacts is cheaper.
    """
    depth = universe.query.depth
    scope = None if universe.nodes is universe.view else universe.nodes
    contributions = _contributions(scorer)
    if contributions is None:
        return (
            _scores_of_all(scorer, scope)
            if len(scorer.terms) >= scorer.tuning.many_terms_min
            else None
        )
    order = sorted(
        range(len(contributions)), key=lambda index: contributions[index].bound, reverse=True
    )
    slack = 1.0 + (len(contributions) + 8) * 2.0**-50
    remaining = [
        partial * slack
        for partial in accumulate(contributions[index].bound for index in reversed(order))
    ]
    remaining = [*reversed(remaining), 0.0]
    # At first a guess, which costs another round where it was too high; then a proven threshold.
    is_shallow = depth <= scorer.tuning.shallow_depth_max
    guess = (
        scorer.tuning.first_threshold_shallow if is_shallow else scorer.tuning.first_threshold_deep
    )
    threshold = contributions[order[0]].maximum * guess
    # Where no term has exceptions, no document is marked before the first term is essential.
    count = 0 if any(one.exceptions.shape[0] for one in contributions) else 1
    while True:
        while remaining[count] >= threshold and count < len(order):
            count += 1
        slots, scores = _accumulate(scorer, scope, contributions, frozenset(order[:count]), depth)
        threshold = -np.inf
        if scores.shape[0] >= depth:
            threshold = kth_largest(scores, depth)
        if remaining[count] < threshold or count == len(order):
            return slots, scores


def _contributions(scorer: Scorer) -> list[Contributions] | None:
    """Returns the contributions of each term; None where the posting lists are too long."""
    terms = scorer.terms
    if sum(term.postings.count for term in terms) > scorer.tuning.exhaustive_postings_max:
        return None
    return [
        term.postings.contributions[term.weight] or _computed_and_cached(scorer, term)
        if term.weight in term.postings.contributions
        else _bounded(scorer, term)
        for term in terms
    ]


def _bounded(scorer: Scorer, term: WeightedTerm) -> Contributions:
    """Returns the bound of a term that is new to this process, and records that it was asked for.

    Its values are not cached but computed for the documents that need them, since most terms are
    not asked for again.
    """
    bound = scorer.gain_factor * term.weight * scorer.ratio_max(term)
    _remember(term, None)
    return Contributions(term.postings.slots, None, bound, bound, _NO_SLOTS)


def _computed_and_cached(scorer: Scorer, term: WeightedTerm) -> Contributions:
    """Returns the contributions of a term that was asked for before, and caches them with it."""
    slots, values = _contributions_of(scorer, term)
    maximum = bound = float(values.max(initial=0.0))
    exceptions = slots[:0]
    if values.shape[0] >= scorer.tuning.exception_postings_min:
        # Any bound will do, so one value in some stands for the others.
        some = values[:: 1 + values.shape[0] // scorer.tuning.exception_sample]
        bound = kth_largest(some, max(1, some.shape[0] // scorer.tuning.exception_share))
        exceptions = slots[values > bound]
    found = Contributions(slots, values, maximum, bound, exceptions)
    scorer.lexical_view.charge(slots.nbytes + values.nbytes)
    _remember(term, found)
    return found


def _contributions_of(scorer: Scorer, term: WeightedTerm) -> tuple[Slots, Float64s]:
    """Returns the slots of the view with a term, ascending, and what it contributes to each."""
    slots, frequencies = term.postings.slots, term.postings.frequencies
    in_view = scorer.lexical_view.in_view
    if in_view is not None:
        kept = in_view.take(slots).nonzero()[0]
        slots, frequencies = slots.take(kept), frequencies.take(kept)
    return slots, scorer.contributions(slots, frequencies, term.weight)


def _scores_of_all(scorer: Scorer, scope: NodeSet | None) -> tuple[Slots, Float64s]:
    """Returns all rows of the scope with one of the terms, and their scores."""
    lexical_view = scorer.lexical_view
    sums = np.zeros(lexical_view.size)
    for term in scorer.terms:
        slots, values = _contributions_of(scorer, term)
        sums[slots] += values  # a posting list has a row once
    found = sums.nonzero()[0]
    if scope is not None:
        found = found[scope.flags().take(lexical_view.ordinals.take(found))]
    return found.astype(np.uint32), sums.take(found)


def _remember(term: WeightedTerm, contributions: Contributions | None) -> None:
    """Caches the contributions of a term for its weight; None records that it was asked for."""
    known = term.postings.contributions
    if len(known) >= CACHED_WEIGHTS_MAX:
        known.clear()
    known[term.weight] = contributions


def _accumulate(
    scorer: Scorer,
    scope: NodeSet | None,
    contributions: Sequence[Contributions],
    essential: frozenset[int],
    depth: int,
) -> tuple[Slots, Float64s]:
    """Returns slots that have an essential term or are an exception of another, and their scores.

    Among them are the best `depth` of those, with all that tie with the last, and some more.
    """
    lexical_view = scorer.lexical_view
    marked = np.concatenate(
        [
            one.slots if index in essential else one.exceptions
            for index, one in enumerate(contributions)
        ],
        dtype=np.intp,
    )
    pool = lexical_view.layout.zeros_pool
    sums, marks = pool.acquire(np.float64), pool.acquire(np.bool_)
    marks[marked] = True
    parts: list[Part] = [
        None if index in essential else marks.take(one.slots).nonzero()[0]
        for index, one in enumerate(contributions)
    ]
    slots = [_taken(one.slots, part) for one, part in zip(contributions, parts, strict=True)]
    np.add.at(
        sums,
        np.concatenate(slots, dtype=np.intp),
        _values(scorer, contributions, parts, slots),
    )
    values_of = sums.take(marked)
    if lexical_view.in_view is not None:
        values_of[~lexical_view.in_view.take(marked)] = -np.inf
    if scope is not None:
        values_of[~scope.flags().take(lexical_view.ordinals.take(marked))] = -np.inf
    # `marked` has a row at most once for each term.
    cutoff = kth_largest_at_most(values_of, depth * len(contributions))
    found = marked.take((values_of >= cutoff if cutoff > 0.0 else values_of > 0.0).nonzero()[0])
    found.sort()
    found = found[firsts(found)]
    scores = sums.take(found)
    sums[marked] = 0.0
    marks[marked] = False
    pool.release(sums)
    pool.release(marks)
    return found.astype(np.uint32), scores


def _values(
    scorer: Scorer,
    contributions: Sequence[Contributions],
    parts: Sequence[Part],
    documents: Sequence[Slots],
) -> Float64s:
    """Returns what a part of the postings of each term contributes, one term after the other.

    Args:
        scorer: of the query.
        contributions: of each of its terms; those without values are computed in one pass.
        parts: of the postings of each.
        documents: the slots of these.
    """
    new = [index for index, one in enumerate(contributions) if one.values is None]
    if not new:
        return np.concatenate(
            [
                _taken(one.values, part)
                for one, part in zip(contributions, parts, strict=True)
                if one.values is not None
            ]
        )
    sizes = [documents[index].shape[0] for index in new]
    computed = scorer.contributions(
        np.concatenate([documents[index] for index in new], dtype=np.intp),
        np.concatenate(
            [_taken(scorer.terms[index].postings.frequencies, parts[index]) for index in new]
        ),
        np.array([scorer.terms[index].weight for index in new]).repeat(sizes),
    )
    if len(new) == len(contributions):
        return computed
    cuts = pairwise([0, *accumulate(sizes)])
    each = (computed[start:stop] for start, stop in cuts)
    return np.concatenate(
        [
            next(each) if one.values is None else _taken(one.values, part)
            for one, part in zip(contributions, parts, strict=True)
        ]
    )


def _taken(column: npt.NDArray[Number], part: Part) -> npt.NDArray[Number]:
    return column if part is None else column.take(part)

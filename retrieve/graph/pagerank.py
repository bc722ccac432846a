"""Personalised PageRank in integers: local, synchronous, with the same result on every machine.

Mass is counted in units of 2^-40. In a round, every node that holds enough for its number of arcs
keeps the restart share as its rank and sends the rest along its arcs. All nodes of a round send at
once, so no order matters; the remainder of a division stays at its node, so nothing is ever lost:
ranks and held mass always add up to the mass of the seeds.

No step can overflow int64. All mass together is at most 2^40. Restart shares, arc shares and seed
shares are at most 2^20, so products are at most 2^60. Mass that arrives is summed by `bincount` in
float64, where integers up to 2^53 add exactly.

Spec: retrieval 5.4.
"""

from __future__ import annotations

import numpy as np

from ibidem.retrieve.graph.neighbourhood import SHARE_BITS, Int64s, Neighbourhood, Places, shares
from ibidem.retrieve.graph.option import PageRank
from ibidem.retrieve.numbers import Float64s

UNIT_BITS = 40
UNIT = 1 << UNIT_BITS


def seed_mass(strengths: Float64s) -> Int64s:
    """Returns the initial units of each seed: floor(RN(strength / total) · 2^40).

    The total is summed one by one in the order of the seeds.
    """
    total = 0.0
    for strength in strengths.tolist():
        total += strength
    return np.asarray((strengths / total) * float(UNIT), np.float64).astype(np.int64)


def walk_pagerank(near: Neighbourhood, strengths: Float64s, options: PageRank) -> Float64s:
    """Returns the rank of every node that was met: (n,) float64, 0.0 for none.

    Args:
        near: a neighbourhood whose first nodes are the seeds, in their order.
        strengths: (s,) of the seeds, above zero.
        options: damping, epsilon and rounds.
    """
    mass = seed_mass(strengths)
    restart = (1 << SHARE_BITS) - int(options.damping * (1 << SHARE_BITS))
    enough = int(options.epsilon * UNIT)
    flow = Flow(near, mass)
    held, ranks = mass.copy(), np.zeros(mass.shape[0], np.int64)
    for _ in range(options.rounds):
        active = flow.active(held, enough)
        if active.shape[0] == 0:
            break
        held, ranks = flow.fit(held), flow.fit(ranks)
        sent = held[active]
        kept = (sent * restart) >> SHARE_BITS
        ranks[active] += kept
        held[active] = 0
        held += flow.send(active, sent - kept)
    final = flow.fit(ranks) + ((flow.fit(held) * restart) >> SHARE_BITS)
    return final.astype(np.float64) / float(UNIT)


def cap_seeds(places: Places, scores: Float64s, seed_count: int) -> Float64s:
    """Returns the scores, with those of the seeds lowered to just above the best other score.

    The rank of a seed is mostly its initial mass, many times the rank of other nodes. In a fusion
    by score all other nodes would count for nothing. Single units keep the seeds in their order
    and ahead.

    Args:
        places: (n,) positions in the neighbourhood; seeds are those below `seed_count`.
        scores: (n,) parallel to `places`, multiples of 2^-40.
        seed_count: the number of seeds.

    Spec: retrieval 5.4.
    """
    is_seed = places < seed_count
    if is_seed.all():
        return scores
    caps = scores[~is_seed].max() + (seed_count - places) / float(UNIT)
    return np.where(is_seed, np.minimum(scores, caps), scores)


class Flow:
    """The arcs of the nodes walked from, with integer weights, and the seeds' shares."""

    def __init__(self, near: Neighbourhood, mass: Int64s) -> None:
        self._near = near
        self._seeds = mass >> (UNIT_BITS - SHARE_BITS)
        self._parts = np.zeros(0, np.int64)
        self._sums = np.zeros(0, np.int64)

    def active(self, held: Int64s, enough: int) -> Places:
        """Returns the nodes that hold at least `enough` units per arc, a node without arcs counting
        as having one. The walk reads their arcs first."""
        near = self._near
        able = np.flatnonzero(held >= max(1, enough))
        near.walk(able)
        self._read()
        return able[held[able] // np.maximum(near.degrees[able], 1) >= enough]

    def send(self, active: Places, mass: Int64s) -> Int64s:
        """Returns by node the mass that arrives if `active` nodes send `mass`; nothing is lost."""
        near = self._near
        owners, arcs = near.arcs_of(active)
        moved = (mass[owners] * self._parts[arcs]) // self._sums[active][owners]
        arrived = _added(near.targets[arcs], moved, near.count)
        stays = mass - _added(owners, moved, active.shape[0])
        is_dangling = near.degrees[active] == 0
        arrived[active] += np.where(is_dangling, 0, stays)
        returned = int(stays[is_dangling].sum())
        if returned:
            back = (returned * self._seeds) >> SHARE_BITS
            arrived[: back.shape[0]] += back
            arrived[0] += returned - int(back.sum())
        return arrived

    def fit(self, values: Int64s) -> Int64s:
        """Returns (n,) values, extended with 0 for the nodes that were met since."""
        return np.concatenate([values, np.zeros(self._near.count - values.shape[0], np.int64)])

    def _read(self) -> None:
        """Adds the arcs that were read since the last call."""
        near, start = self._near, self._parts.shape[0]
        self._sums = self.fit(self._sums)
        sources = near.sources[start:]
        if sources.shape[0] == 0:
            return
        begins = np.flatnonzero(np.concatenate([[True], sources[1:] != sources[:-1]]))
        counts = np.diff(np.append(begins, sources.shape[0]))
        parts, sums = shares(near.weights[start:], begins, counts)
        self._parts = np.concatenate([self._parts, parts])
        self._sums[sources[begins]] = sums


def _added(places: Places, units: Int64s, count: int) -> Int64s:
    """Returns the sum of the units of each position; exact, as their total is below 2^53."""
    return np.asarray(np.bincount(places, units, minlength=count), np.float64).astype(np.int64)

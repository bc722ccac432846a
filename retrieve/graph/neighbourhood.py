"""The part of a graph that a walk has visited so far, in arrays that grow with the walk.

It contains only visible edges: live rows of the requested types that hold at the time of the
question, both ends in the view, with a weight above zero. Nodes are numbered in the order in which
they were met; no answer may depend on that number, or on the order of arcs. Nodes that are never
reached cost nothing.

Spec: retrieval 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ibidem.objects.ids import NodeId
from ibidem.retrieve.answer.lane_path import LanePath
from ibidem.retrieve.filter import NodeSet
from ibidem.retrieve.numbers import Float64s
from ibidem.retrieve.protocol import Arcs, Ordinals

WEIGHT_HIGH = 1.7976931348623157e308
"""The largest float64; larger products are clamped to it."""
SHARE_BITS = 20
"""Weights of the arcs of one node, relative to the largest, are integers up to 2^20."""

Places = npt.NDArray[np.intp]
Int64s = npt.NDArray[np.int64]


class Neighbourhood:
    """Nodes met so far, numbered from 0, and the arcs of those that were walked from."""

    def __init__(
        self,
        view: NodeSet,
        *,
        direction: str,
        etypes: tuple[str, ...] | None,
        weights: Mapping[str, float],
        seeds: Ordinals,
        at: int | None,
    ) -> None:
        self._view = view
        self._at = at
        self._ways = {"outgoing": (True,), "incoming": (False,), "both": (True, False)}[direction]
        self._factors = [
            np.array(
                [
                    0.0 if etypes is not None and name not in etypes else weights.get(name, 1.0)
                    for name in segment.etypes
                ],
                np.float64,
            )
            for segment in view.snapshot.edges
        ]
        self._flags = view.flags()
        self._is_all_visible = bool(self._flags.all())
        # By ordinal, position + 1; 0 for a node not met, so that untouched pages cost nothing.
        self._number = np.zeros(view.snapshot.ordinal_count, np.int32)
        self.ordinals = np.zeros(0, np.uint32)
        """(n,) uint32: the nodes, by position."""
        self.met = np.zeros(0, np.int32)
        """(n,) the step at which each was met, 0 for the seeds."""
        self.walked = np.zeros(0, np.int32)
        """(n,) the step at which its arcs were read, 0 for not yet."""
        self.degrees = np.zeros(0, np.int64)
        """(n,) the number of arcs of each node that was walked from."""
        self._starts = np.zeros(0, np.int64)
        self.sources = np.zeros(0, np.intp)
        """(m,) the position of the node that each arc leaves."""
        self.targets = np.zeros(0, np.intp)
        """(m,) the position of the node that each arc reaches."""
        self.weights = np.zeros(0, np.float64)
        """(m,) float64 above zero, finite."""
        self._step = 0
        self._meet(seeds)

    @property
    def count(self) -> int:
        """The number of nodes met so far."""
        return int(self.ordinals.shape[0])

    def walk(self, places: Places) -> None:
        """Reads the arcs of the nodes at `places`, without repeats, that were not walked from."""
        self._step += 1
        fresh = places[self.walked[places] == 0]
        if fresh.shape[0] == 0:
            return
        fresh = fresh[np.argsort(self.ordinals[fresh], kind="stable")]  # the order of segments
        self.walked[fresh] = self._step
        sources, nodes, weights = self._read(fresh)
        self._meet(nodes)
        counts = np.bincount(sources, minlength=fresh.shape[0])
        self.degrees[fresh] = counts
        self._starts[fresh] = self.sources.shape[0] + np.cumsum(counts) - counts
        self.sources = np.concatenate([self.sources, fresh[sources]])
        self.targets = np.concatenate([self.targets, self._number[nodes].astype(np.intp) - 1])
        self.weights = np.concatenate([self.weights, weights])

    def arcs_of(self, places: Places) -> tuple[Places, Places]:
        """Returns all arcs of walked nodes, in the order of `places`: (index into `places`, index
        into `targets` and `weights`)."""
        counts = self.degrees[places]
        owners = np.repeat(np.arange(places.shape[0], dtype=np.intp), counts)
        shift = np.repeat(self._starts[places] - (np.cumsum(counts) - counts), counts)
        return owners, np.arange(owners.shape[0], dtype=np.intp) + shift

    def path(self, position: int) -> LanePath:
        """Returns a shortest path from a seed that the walk found, the node itself last.

        If a node was met from several nodes, the one with the smallest id is taken.
        """
        trail = [position]
        while self.met[position]:
            near = self.sources[self.targets == position]
            near = near[self.walked[near] == self.met[position]]
            ids = self._view.snapshot.node_ids(self.ordinals[near])
            words = np.ascontiguousarray(ids).view(">u8")
            position = int(near[np.lexsort((words[:, 1], words[:, 0]))[0]])
            trail.append(position)
        trail.reverse()
        ids = self._view.snapshot.node_ids(self.ordinals[trail])
        edges = [self._edge(*ends) for ends in pairwise(trail)]
        return LanePath(
            tuple(NodeId(row.tobytes()) for row in ids),
            tuple(etype for etype, _ in edges),
            tuple(is_back for _, is_back in edges),
        )

    def _edge(self, position: int, near: int) -> tuple[str, bool]:
        """Returns the first type of the arcs from one node to another that were walked, and whether
        the edge points back."""
        found = []
        for segment, factors in zip(self._view.snapshot.edges, self._factors, strict=True):
            for outgoing in self._ways:
                arcs = segment.arcs(self.ordinals[[position]], outgoing=outgoing, at=self._at)
                if len(arcs.codes):
                    between = arcs.neighbours == self.ordinals[near]
                    with np.errstate(over="ignore", under="ignore"):
                        between &= arcs.weights * factors[arcs.codes] > 0.0
                    codes = np.unique(arcs.codes[between]).tolist()
                    found += [(segment.etypes[code], not outgoing) for code in codes]
        return min(found)

    def places_of(self, ordinals: Ordinals) -> Places:
        """Returns the positions of nodes, -1 for those not met."""
        return self._number[ordinals].astype(np.intp) - 1

    def _read(self, places: Places) -> tuple[Places, Ordinals, Float64s]:
        """Returns (index into `places`, neighbour, weight) of visible arcs, by index ascending."""
        nodes = self.ordinals[places]
        found: list[tuple[Places, Ordinals, Float64s]] = []
        for segment, factors in zip(self._view.snapshot.edges, self._factors, strict=True):
            if not factors.any():
                continue
            for outgoing in self._ways:
                arcs = segment.arcs(nodes, outgoing=outgoing, at=self._at)
                if arcs.places.shape[0]:
                    found.append(self._visible(arcs, factors))
        if not found:
            return np.zeros(0, np.intp), np.zeros(0, np.uint32), np.zeros(0, np.float64)
        if len(found) == 1:
            return found[0]
        owners = np.concatenate([part[0] for part in found])
        order = np.argsort(owners, kind="stable")
        return (
            owners[order],
            np.concatenate([part[1] for part in found])[order],
            np.concatenate([part[2] for part in found])[order],
        )

    def _visible(self, arcs: Arcs, factors: Float64s) -> tuple[Places, Ordinals, Float64s]:
        """Returns the visible arcs among some arcs, with their effective weights."""
        places, neighbours, weights = arcs.places, arcs.neighbours, arcs.weights
        if (factors != 1.0).any():
            with np.errstate(over="ignore", under="ignore"):
                weights = np.minimum(weights * factors[arcs.codes], WEIGHT_HIGH)
        keep = weights > 0.0
        if not self._is_all_visible:
            keep &= self._flags[neighbours]
        if keep.all():
            return places, neighbours, weights
        return places[keep], neighbours[keep], weights[keep]

    def _meet(self, nodes: Ordinals) -> None:
        """Numbers the nodes that are new."""
        fresh = nodes[self._number[nodes] == 0]
        if fresh.shape[0] == 0:
            return
        trial = np.arange(1, fresh.shape[0] + 1, dtype=np.int32)
        self._number[fresh] = trial
        fresh = fresh[self._number[fresh] == trial]  # drops repeats of a node
        extra = fresh.shape[0]
        self._number[fresh] = np.arange(self.count + 1, self.count + extra + 1, dtype=np.int32)
        self.ordinals = np.concatenate([self.ordinals, fresh])
        self.met = np.concatenate([self.met, np.full(extra, self._step, np.int32)])
        for name in ("walked", "degrees", "_starts"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(extra, column.dtype)]))


def shares(weights: Float64s, starts: Places, counts: Int64s) -> tuple[Int64s, Int64s]:
    """Returns the weights of each node's arcs as integers, and by node their sums.

    A weight becomes floor(RN(w / largest of the node) · 2^20). The quotient is at most 1, so a
    share is at most 2^20 and a sum of n of them at most n · 2^20: integers whose sum has no order.

    Args:
        weights: (m,) above zero, arcs of one node contiguous.
        starts: (k,) where each node's arcs begin, ascending; every node has an arc.
        counts: (k,) the number of arcs of each node.

    Spec: retrieval 5.2.
    """
    if weights.shape[0] == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    largest = np.maximum.reduceat(weights, starts)
    with np.errstate(under="ignore"):
        parts = (weights / np.repeat(largest, counts)) * float(1 << SHARE_BITS)
    whole = parts.astype(np.int64)
    return whole, np.add.reduceat(whole, starts)

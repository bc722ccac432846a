"""Paths: all paths from given nodes along edges of given types, in canonical order.

Only visible nodes are walked. Nodes from which the last step cannot be reached are removed before
paths are enumerated, so a dead end costs as much as its nodes, not as its paths.

Spec: retrieval 11.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.notebook import Drawn
from ibidem.objects.record import record
from ibidem.retrieve.filter import NodeSet
from ibidem.retrieve.query import checks

DIRECTIONS = ("out", "in", "both")
REPEATS = ("none", "nodes", "all")
STEPS_MAX = 16
PATHS_DEFAULT, PATHS_MAX = 1000, 100_000
EDGES_READ_MAX = 1_000_000
WALKED_MAX = 1_000_000

_Arc = tuple[bytes, bytes, int]
"""Id of the node at the other end, id of the edge, ordinal of the node."""


@record
class Step:
    """One edge of a path."""

    etype: str | None
    """None for any type."""
    direction: str = "out"
    """`out` along the edge, `in` against it, `both`."""


@record
class GraphPath(Drawn):
    """One path: n + 1 nodes and the n edges between them."""

    nodes: tuple[NodeId, ...]
    edges: tuple[EdgeId, ...]


def parse_steps(path: object) -> tuple[Step, ...]:
    """Returns the steps of a caller's list: each is an edge type, or (edge type, direction).

    The type `*`, or None, matches any.

    Raises:
        InvalidInputError: it is not such a list, or it is empty or too long.
    """
    if isinstance(path, str) or not isinstance(path, Iterable):
        raise InvalidInputError(f"path: got {checks.show(path)}, expected a list of steps")
    steps = tuple(_step(one) for one in path)
    if not 1 <= len(steps) <= STEPS_MAX:
        raise InvalidInputError(
            f"path: got {len(steps)} steps, expected 1 to {STEPS_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED if steps else ErrorKind.INVALID_INPUT,
        )
    return steps


def find_paths(
    view: NodeSet,
    starts: Iterable[NodeId],
    steps: Sequence[Step],
    *,
    limit: int | None = PATHS_DEFAULT,
    repeats: str = "none",
    as_of: int | None = None,
) -> list[GraphPath]:
    """Returns the first paths in canonical order.

    Args:
        view: the visible nodes; a start outside it has no path.
        starts: where paths begin; repeats count once.
        steps: the edges to follow, one for each step.
        limit: the most paths that are returned; None for all, if they are no more than PATHS_MAX.
        repeats: what may occur twice in a path: `none`, no node; `nodes`, a node but no edge;
            `all`, both.
        as_of: only edges that hold at this microsecond; None for all.

    Raises:
        InvalidInputError: an option is invalid; kind `limit-exceeded`: the graph is too wide here.

    Spec: retrieval 11.2.
    """
    if limit is not None:
        checks.count("limit", limit, high=PATHS_MAX)
    if repeats not in REPEATS:
        raise InvalidInputError(
            f"repeats: got {checks.show(repeats)}, expected one of {', '.join(REPEATS)}"
        )
    walk = _Walk(view, steps, repeats, as_of)
    found: list[GraphPath] = []
    for path in walk.paths(starts) if limit != 0 else ():
        if limit is None and len(found) == PATHS_MAX:
            raise InvalidInputError(
                f"limit: got None, and there are more than {PATHS_MAX} paths",
                kind=ErrorKind.LIMIT_EXCEEDED,
                hint="say how many are wanted, or walk fewer steps",
            )
        found.append(path)
        if len(found) == limit:
            break
    return found


class _Walk:
    """The paths of one request; the edges of a node are read once for each kind of step."""

    def __init__(
        self, view: NodeSet, steps: Sequence[Step], repeats: str, as_of: int | None
    ) -> None:
        self._view = view
        self._steps = steps
        self._repeats = repeats
        self._as_of = as_of
        self._arcs: dict[tuple[int, Step], list[_Arc]] = {}
        self._read_count = 0
        self._walked_count = 0
        self._fruitful: list[set[int]] = []

    def paths(self, starts: Iterable[NodeId]) -> Iterator[GraphPath]:
        """Yields every path, by start id, then at each step by the node reached, then by edge."""
        snapshot, members = self._view.snapshot, self._view.members
        ordinals = ((raw, snapshot.ordinal(NodeId(raw))) for raw in sorted({s.raw for s in starts}))
        known = [(raw, at) for raw, at in ordinals if at is not None and at in members]
        self._fruitful = self._reaching({at for _, at in known})
        for raw, at in known:
            if at in self._fruitful[0]:
                yield from self._from([raw], [], at)

    def _from(self, nodes: list[bytes], edges: list[bytes], at: int) -> Iterator[GraphPath]:
        if len(edges) == len(self._steps):
            yield GraphPath(tuple(map(NodeId, nodes)), tuple(map(EdgeId, edges)))
            return
        level = len(edges)
        for other, edge, ordinal in self._arcs_of(at, self._steps[level]):
            if ordinal not in self._fruitful[level + 1] or self._is_repeat(
                nodes, edges, other, edge
            ):
                continue
            self._walked_count += 1
            if self._walked_count > WALKED_MAX:
                raise _too_wide(f"{WALKED_MAX} steps walked")
            yield from self._from([*nodes, other], [*edges, edge], ordinal)

    def _is_repeat(self, nodes: list[bytes], edges: list[bytes], other: bytes, edge: bytes) -> bool:
        if self._repeats == "none":
            return other in nodes
        return self._repeats == "nodes" and edge in edges

    def _reaching(self, starts: set[int]) -> list[set[int]]:
        """Returns by level the reachable nodes from which the last step can be reached."""
        levels = [starts]
        for step in self._steps:
            levels.append({arc[2] for at in levels[-1] for arc in self._arcs_of(at, step)})
        for level in range(len(self._steps) - 1, -1, -1):
            step, ahead = self._steps[level], levels[level + 1]
            levels[level] = {
                at
                for at in levels[level]
                if any(arc[2] in ahead for arc in self._arcs_of(at, step))
            }
        return levels

    def _arcs_of(self, at: int, step: Step) -> list[_Arc]:
        """Returns the visible arcs of a step from a node, each once, by node, then edge."""
        found = self._arcs.get((at, step))
        if found is None:
            arcs: set[_Arc] = set()
            for direction in ("out", "in"):
                if step.direction in (direction, "both"):
                    arcs.update(self._read(at, direction, step.etype))
            found = self._arcs[at, step] = sorted(arcs)
        return found

    def _read(self, at: int, direction: str, etype: str | None) -> Iterator[_Arc]:
        snapshot, members = self._view.snapshot, self._view.members
        read = snapshot.outgoing if direction == "out" else snapshot.incoming
        edges = read(at, at=self._as_of)
        self._read_count += len(edges.etypes)
        if self._read_count > EDGES_READ_MAX:
            raise _too_wide(f"{EDGES_READ_MAX} edges read")
        kept = [
            index
            for index, (name, other) in enumerate(
                zip(edges.etypes, edges.neighbours.tolist(), strict=True)
            )
            if (etype is None or name == etype) and other in members
        ]
        ordinals = np.asarray(edges.neighbours)[kept]
        ids = snapshot.node_ids(ordinals).tobytes()
        for position, index in enumerate(kept):
            other = ids[16 * position : 16 * position + 16]
            yield other, edges.edge_ids[index].tobytes(), int(ordinals[position])


def _step(given: object) -> Step:
    if isinstance(given, Step):
        given = (given.etype, given.direction)
    if given is None or isinstance(given, str):
        given = (given, "out")
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InvalidInputError(
            f"path: got the step {checks.show(given)}, expected a type or (type, direction)"
        )
    etype, direction = given
    if direction not in DIRECTIONS or not isinstance(direction, str):
        raise InvalidInputError(
            f"path: got the direction {checks.show(direction)}, "
            f"expected one of {', '.join(DIRECTIONS)}"
        )
    return Step(None if etype in (None, "*") else checks.name("path", etype), direction)


def _too_wide(what: str) -> InvalidInputError:
    return InvalidInputError(
        f"path: gave up after {what}",
        kind=ErrorKind.LIMIT_EXCEEDED,
        hint="begin at fewer nodes, name the edge types, or walk fewer steps",
    )

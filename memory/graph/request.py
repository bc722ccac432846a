"""What is asked of a graph memory, resolved: the question, the limits of the walk, the notes.

Spec: memory 4.
"""

from __future__ import annotations

from typing import Any, Self

from ibidem.memory.graph.selector import GAP_MIN, TOP_MIN
from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.query import Query

ROOTS_DEFAULT, NODES_DEFAULT, EDGES_DEFAULT, HOPS_DEFAULT = 10, 25, 100, 1
COUNT_MAX, HOPS_MAX = 10_000, 16
DEPTH_DEFAULT = 200
"""Records that are considered as roots."""
DIRECTIONS = ("outgoing", "incoming", "both")


@record
class Request:
    """A question to a graph memory with nothing left to assume."""

    query: Query
    """What ranks, and which records may be returned at all; trust is part of it."""
    as_of: int
    """Salience and recency are those of this time, microseconds since 1970 UTC."""
    undated: int | None = None
    """The time of records that have none: that of the commit. None where there was no commit, for
    `as_of`; or where every record that is seen has one."""
    notes_head: CommitCid | None = None
    """The events that count; None for none."""
    min_salience: float = 0.0
    root_limit: int = ROOTS_DEFAULT
    node_limit: int = NODES_DEFAULT
    edge_limit: int = EDGES_DEFAULT
    hops: int = HOPS_DEFAULT
    direction: str = "both"
    top_min: float = TOP_MIN
    gap_min: float = GAP_MIN

    def __post_init__(self) -> None:
        for name in ("as_of",) if self.undated is None else ("as_of", "undated"):
            checks.count(name, getattr(self, name), low=-(2**63), high=2**63 - 1)
        for name in ("root_limit", "node_limit", "edge_limit"):
            checks.count(name, getattr(self, name), high=COUNT_MAX)
        checks.count("hops", self.hops, high=HOPS_MAX)
        for name in ("min_salience", "top_min", "gap_min"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name), high=1.0))
        if self.direction not in DIRECTIONS:
            raise InvalidInputError(
                f"direction: got {checks.show(self.direction)}, "
                f"expected one of {', '.join(DIRECTIONS)}"
            )

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "query": self.query.form(),
            "notes_head": self.notes_head,
        }

    @classmethod
    def from_form(cls, form: Any) -> Self:
        """Returns the request of a canonical form; raises `CorruptError` for another one."""
        try:
            notes = form["notes_head"]
            if notes is not None and not isinstance(notes, Cid):
                raise TypeError("notes_head is no link")
            found = cls(
                query=Query.from_form(form["query"]),
                notes_head=None if notes is None else CommitCid(notes.raw),
                **{name: form[name] for name in _PLAIN},
            )
        except (InvalidInputError, KeyError, TypeError) as error:
            raise CorruptError(f"request: {error}") from error
        if codec.encode(found.form()) != codec.encode(form):
            raise CorruptError("request: got a form that does not write back to itself")
        return found


_PLAIN = (
    "as_of",
    "undated",
    "min_salience",
    "root_limit",
    "node_limit",
    "edge_limit",
    "hops",
    "direction",
    "top_min",
    "gap_min",
)

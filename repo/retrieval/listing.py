"""Structured queries: nodes by conditions, ordered, counted and paged; paths.

Nothing is ranked and there is no receipt: the result is everything that matches, in a defined
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.objects.errors import ErrorKind, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.repo.argument_checks import check_ids
from ibidem.repo.arguments import checked_time
from ibidem.repo.retrieval.history import with_history
from ibidem.retrieve.access.restricted_snapshot import CallerSnapshot
from ibidem.retrieve.answer.tuple_sequence import TupleSequence
from ibidem.retrieve.answer.warning import AnswerWarning, capped
from ibidem.retrieve.condition_warnings import type_mismatches, unknown_names
from ibidem.retrieve.filter import NodeSet, universe, view_of
from ibidem.retrieve.graph.paths import PATHS_DEFAULT, GraphPath, find_paths, parse_steps
from ibidem.retrieve.listing import Order, list_nodes
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.predicate import condition_of, names
from ibidem.retrieve.schema import Schema, schema_of
from ibidem.retrieve.semantics import resolve

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.cid import NodeCid, RootCid
    from ibidem.repo.graph import Graph
    from ibidem.repo.served.answer import ServedWarning
    from ibidem.retrieve.query.predicate import Predicate
    from ibidem.retrieve.query.query import Query

T = TypeVar("T")
_BATCH_NODES = 1000
"""Nodes that are read from the store at once."""


@record
class Page(TupleSequence[Node]):
    """One page of the matching nodes, as a sequence."""

    nodes: tuple[Node, ...]
    count: int
    """The number of matching nodes on all pages."""
    next: str | None
    """The value of `after` for the next page; None on the last one."""
    warnings: tuple[AnswerWarning | ServedWarning, ...] = ()
    """Names in the conditions and the order that no node has, and values of another type than the
    property's. Those of a server are a `ServedWarning`."""

    @property
    def _listed(self) -> tuple[Node, ...]:
        return self.nodes


def page(
    revision: Graph,
    *,
    order_by: str | tuple[str, str] | None = None,
    limit: int | None = None,
    offset: int = 0,
    after: str | None = None,
    **conditions: Any,
) -> Page:
    """Returns one page of the nodes that meet all conditions, in the given order.

    Args:
        revision: the graph to query.
        order_by: a property, `-` and a property for descending, or (property, "ascending" |
            "descending"); nodes with equal values by id, those without a value last. None: by id.
        limit: maximal number of nodes, None for all.
        offset: number of nodes to skip.
        after: `next` of the previous page, which may be of any revision.
        conditions: `label`, `where`, `as_of`, `valid_missing`, `include_tombstoned`, and the
            times of `retrieve.query.history`.

    Raises:
        InvalidInputError: an option is wrong; the message names it.
    """
    store = revision.core.store
    conditions = with_history(revision, conditions)

    def found(snapshot: Snapshot) -> Page:
        query, scope = _scope(revision, snapshot, **conditions)
        order = Order.parse(order_by)
        listed = list_nodes(
            scope,
            order,
            offset=checks.count("offset", offset),
            limit=None if limit is None else checks.count("limit", limit),
            after=after,
        )
        cids = snapshot.node_cids(listed.ordinals)
        nodes: list[Node] = []
        for start in range(0, len(cids), _BATCH_NODES):
            nodes += read(snapshot, cids[start : start + _BATCH_NODES])
        warnings = capped(list(_warnings(snapshot, query, order)))
        return Page(tuple(nodes), listed.count, listed.next, warnings)

    def read(snapshot: Snapshot, cids: Sequence[NodeCid]) -> list[Node]:
        if isinstance(snapshot, CallerSnapshot):
            return snapshot.load_many(cids, stored)
        return stored(cids)

    def stored(cids: Sequence[NodeCid]) -> list[Node]:
        return list(map(Node.decode, store.get_many(cids)))

    return _answer(revision, found)


def count(revision: Graph, **conditions: Any) -> int:
    """Returns the number of nodes that meet all conditions; no node is read."""
    return matching(revision, **conditions)[0]


def schema(revision: Graph, *, include_tombstoned: bool) -> Schema:
    """Returns the schema of a graph as its caller sees it; no node is read."""
    hidden = checks.flag("include_tombstoned", include_tombstoned)
    return _answer(
        revision, lambda snapshot: schema_of(view_of(snapshot, include_tombstoned=hidden))
    )


def matching(revision: Graph, **conditions: Any) -> tuple[int, Callable[[NodeId], bool]]:
    """Returns how many nodes meet all conditions, those of `page`, and a function that tells
    whether one does."""
    conditions = with_history(revision, conditions)

    def found(snapshot: Snapshot) -> tuple[int, Callable[[NodeId], bool]]:
        members = _scope(revision, snapshot, **conditions)[1].members

        def is_member(node: NodeId) -> bool:
            ordinal = snapshot.ordinal(node)
            return ordinal is not None and ordinal in members

        return len(members), is_member

    return _answer(revision, found)


def paths(
    revision: Graph,
    starts: NodeId | str | Iterable[NodeId | str],
    path: Iterable[str | tuple[str, str]],
    *,
    limit: int | None = PATHS_DEFAULT,
    repeats: str = "none",
    as_of: int | datetime | None = None,
    include_tombstoned: bool = False,
) -> list[GraphPath]:
    """Returns every path from some nodes along edges of the given types.

    Args:
        revision: the graph to walk.
        starts: a node, or several.
        path: steps, each an edge type or (edge type, "out" | "in" | "both"); `*` is any type.
        limit: maximal number of paths, up to 100,000; None for all, an error if there are more than
            that.
        repeats: what may occur twice in a path: `none`, no node; `nodes`, a node but no edge;
            `all`, both.
        as_of: only edges that hold at this time; microseconds since 1970 UTC, or an aware
            datetime.
        include_tombstoned: whether paths may pass hidden nodes.

    Raises:
        NotFoundError: a start does not exist, or has a tombstone.
        InvalidInputError: an option is wrong; kind `limit-exceeded`: there are too many paths.
    """
    nodes = check_ids("starts", starts)
    hidden = checks.flag("include_tombstoned", include_tombstoned)
    steps = parse_steps(path)
    moment = _checked_moment(as_of)

    def found(snapshot: Snapshot) -> list[GraphPath]:
        view = view_of(snapshot, include_tombstoned=hidden)
        for node in nodes:
            ordinal = snapshot.ordinal(node)
            if ordinal is None or ordinal not in snapshot.live:
                raise NotFoundError(f"node {node} is not in the graph at this revision")
            if ordinal not in view.members:
                raise NotFoundError(f"node {node} was forgotten", kind=ErrorKind.FORGOTTEN)
        return find_paths(view, nodes, steps, limit=limit, repeats=repeats, as_of=moment)

    return _answer(revision, found)


def _checked_moment(as_of: int | datetime | None) -> int | None:
    if as_of is None:
        return None
    moment: int = option_checks.present("as_of", checked_time(as_of, "as_of"))
    return moment


def _answer(revision: Graph, question: Callable[[Snapshot], T]) -> T:
    return revision.seen_by(revision.viewer).with_snapshot(question)


def _scope(
    revision: Graph,
    snapshot: Snapshot,
    *,
    label: str | Iterable[str] | None = None,
    where: Mapping[str, Any] | Predicate | None = None,
    as_of: int | datetime | None = None,
    valid_missing: str | None = None,
    history: Mapping[str, RootCid | None] | None = None,
    include_tombstoned: bool = False,
) -> tuple[Query | None, NodeSet]:
    """Returns the query of some conditions and the nodes that meet them all; all nodes, and no
    query, if there is none."""
    condition = None if where is None else condition_of(where)
    is_list = isinstance(label, Iterable) and not isinstance(label, str)
    labels = list(label or ()) or None if is_list else label
    if all(one is None for one in (labels, condition, as_of, valid_missing, history)):
        hidden = checks.flag("include_tombstoned", include_tombstoned)
        return None, view_of(snapshot, include_tombstoned=hidden)
    query = resolve(
        revision.config,
        viewer=revision.viewer,
        label=labels,
        where=condition,
        as_of=_checked_moment(as_of),
        valid_missing=valid_missing,
        history=history,
        include_tombstoned=include_tombstoned,
    )
    return query, universe(snapshot, query).nodes


def _warnings(snapshot: Snapshot, query: Query | None, order: Order) -> Iterator[AnswerWarning]:
    """Yields the warnings of a listing, by code and then in the order of the options."""
    where = None if query is None else query.where
    properties = [("where", name) for name in (() if where is None else names(where))]
    if order.name is not None:
        properties.append(("order_by", order.name))
    yield from unknown_names(snapshot, () if query is None else query.labels, properties)
    if where is not None:
        yield from type_mismatches(snapshot, where)

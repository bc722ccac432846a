"""Queries for the records of a revision. Options that are not given are resolved from the commit
and the notes, never from the clock.

Spec: memory 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.argument_checks import check_names
from ibidem.repo.event_log import SPACE_DEFAULT
from ibidem.repo.retrieval.feedback import notes_head, notes_time
from ibidem.repo.retrieval.given_time import given_time
from ibidem.repo.retrieval.newest import newest_time
from ibidem.repo.retrieval.retrieve import answered, ask
from ibidem.retrieve.answer.answer import Answer, AnswerKind
from ibidem.retrieve.query.options import members
from ibidem.retrieve.query.predicate import And, Exists, Not, OneOf, Or, Predicate, parse
from ibidem.retrieve.records.item import RecordItem
from ibidem.retrieve.records.record import LAYERS, STANDING, RecordType, Status

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.repo.retrieval.retrieve import PreparedQuery
    from ibidem.retrieve.access.policy import Viewer

TIME = "time"
"""The property with the time of a record."""
DEPTH_DEFAULT = 200
"""Number of records that each lane ranks."""


def records(
    core: Core, revision: Graph, text: str | None = None, **options: Any
) -> Answer[RecordItem]:
    """Returns the records that a question is about, and the records related to them, with the
    receipt; see `ask_records` for the options.
    """
    result = answered(core, revision, ask_records(core, revision, text, **options))
    assert result.kind is AnswerKind.RECORDS, "BUG: a question for records"
    return result


def ask_records(
    core: Core,
    revision: Graph,
    text: str | None = None,
    *,
    viewer: Viewer | None = None,
    types: Iterable[RecordType | str] | None = None,
    as_of: int | datetime | None = None,
    notes: CommitCid | str | None = SPACE_DEFAULT,
    include_status: Iterable[Status | str] = (),
    depth: int = DEPTH_DEFAULT,
    **options: Any,
) -> PreparedQuery:
    """Resolves a query for records.

    Args:
        text: the question; without one, and without a vector, every record by its salience.
        viewer: the caller; required if there is a trust policy.
        types: the types of the returned records; by default all six.
        as_of: the time for salience and validity; by default that of the commit, or of the notes if
            that is later.
        notes: the notes head whose events count, or the name of the space; None for no events.
        include_status: statuses to include in addition to `active` and `contested`. With one, and
            without `as_of`, records are found whenever they were valid, because what was
            superseded is not valid any more.
        depth: number of records that each lane ranks.
        options: those of records (`retrieve.query.options`), and those of `Revision.retrieve` that
            rank or filter, such as `vector`, `embedder`, `where`, `graph`, `feedback`, `recency` or
            `rerank`. Ages are computed at `as_of`, and feedback from `notes`.

    Raises:
        InvalidInputError: an option is wrong, or would have no effect; kind `viewer-required`.
    """
    included = checked_statuses(include_status)
    graph = revision if revision.viewer is not None else revision.seen_by(viewer)
    head = notes_head(core, notes)
    moment = moment_of(core, graph, as_of, head)
    own = {one.key for one in members("records")}
    given = {name: options.pop(name) for name in sorted(own & options.keys())}
    given = {name: value for name, value in given.items() if value is not None}
    if options.get("recency") or options.get("worth"):
        options["moment"] = moment
    if options.get("feedback") or options.get("worth"):
        options["notes"] = head
    return ask(
        core,
        graph,
        text=text,
        label=checked_types(types),
        where=_standing(included, options.pop("where", None)),
        as_of=None if included and as_of is None else moment,
        depth=depth,
        limit=None,
        viewer=viewer,
        records={
            **given,
            "as_of": moment,
            "undated": _undated(graph),
            "notes": head,
        },
        **options,
    )


def moment_of(
    core: Core, graph: Graph, as_of: int | datetime | None, notes: CommitCid | None
) -> int:
    """Returns the time of a query: the given one, else the later of the commit and the notes; never
    the clock's. For a restricted caller, only visible records and events count.
    """
    given = given_time(as_of, "as_of", graph)
    if given is not None:
        return given
    return max(newest_time(graph, TIME) or 0, notes_time(core, graph, notes))


def _undated(graph: Graph) -> int | None:
    """Returns the time used for records without one; None if all visible records have one.

    So an answer with dated records alone does not reveal the time of the commit.
    """

    def lacks(snapshot: Snapshot) -> bool:
        dated = snapshot.exists(TIME)
        return any((snapshot.label(one) & snapshot.live) - dated for one in LAYERS)

    return newest_time(graph, TIME) if graph.with_snapshot(lacks) else None


def checked_types(types: Iterable[RecordType | str] | None) -> list[str]:
    """Returns types of records, all of them for None; raises `InvalidInputError` for others."""
    found = LAYERS if types is None else check_names("types", types)
    for one in found:
        if one not in LAYERS:
            raise InvalidInputError(f"types: got {one!r:.40}, expected some of {', '.join(LAYERS)}")
    if not found:
        raise InvalidInputError("types: got none, expected one or more")
    return [str(one) for one in found]


def checked_statuses(given: Iterable[Status | str]) -> list[str]:
    """Returns statuses of records, given one or several; raises `InvalidInputError` for others."""
    found = check_names("include_status", [given] if isinstance(given, str) else given)
    for one in found:
        if one not in tuple(Status):
            raise InvalidInputError(
                f"include_status: got {one!r:.40}, expected some of {', '.join(Status)}"
            )
    return [str(one) for one in found]


def _standing(given: Sequence[str], where: Mapping[str, object] | None) -> Predicate:
    if isinstance(where, Mapping) and "status" in where:
        raise InvalidInputError("where: got a condition on status, expected include_status")
    wanted = tuple(sorted({*map(str, STANDING), *given}))
    # A record without a status is active.
    standing = Or((Not(Exists("status")), OneOf("status", wanted)))
    return standing if where is None or where == {} else And((parse(where), standing))

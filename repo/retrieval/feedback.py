"""Feedback from the notes as factors of a query: votes, outcomes, reports of items not useful.

Events are read at the notes head that the query names, so later events do not change a replay.

Spec: recall 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ibidem.objects.block import EMPTY
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo import refs
from ibidem.repo.event_log import SPACE_DEFAULT, read_log
from ibidem.repo.events import NOT_USEFUL, NOTES, QUESTION, VOTE, WORDS, Event, Log
from ibidem.repo.retrieval.newest import newest_time
from ibidem.retrieve.query.options import default
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.recall.factors import Opinions
from ibidem.retrieve.recall.feedback import (
    NotUseful,
    Outcome,
    Vote,
    feedback_factors,
    question_digest,
    word_digests,
    worth_factors,
)
from ibidem.retrieve.records.noted import OUTCOME

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph


def opinions(repository: Core, query: Query) -> Opinions:
    """Returns the feedback for a query from the notes that it names.

    Raises:
        NotFoundError: the notes are not in this repository.
    """
    recall = query.recall
    if recall is None or not recall.counts_notes:
        return {}
    log = read_log(repository, recall.notes, repository.note_logs.setdefault("", {}))
    found: dict[str, Mapping[NodeId, float]] = {}
    if recall.feedback is not None:
        said = [_not_useful(event, node) for event, node in _each(log, NOT_USEFUL)]
        found["feedback"] = feedback_factors(
            _votes(log), said, query.text or "", recall.feedback.penalties
        )
    if recall.worth is not None:
        outcomes = [
            Outcome(event.time, _id(event), node, event.value == 1.0)
            for event, node in _each(log, OUTCOME)
        ]
        worth = recall.worth
        found["worth"] = worth_factors(outcomes, as_of=worth.as_of, half_life=worth.half_life)
    return found


def vote_detail(text: str, node: NodeId) -> dict[str, bytes]:
    """Returns the detail of a vote about its query, without the query's words."""
    return {QUESTION: question_digest(text, node)}


def not_useful_event(
    text: str,
    node: NodeId,
    author: str,
    about: Cid | None = None,
    detail: Mapping[str, Any] = EMPTY,
) -> Event:
    """Returns the event which records that a node did not help with a question."""
    detail = {**detail, WORDS: sorted(word_digests(text, node))}
    return Event(NOT_USEFUL, (node,), author, about=about, detail=detail)


def _votes(log: Log) -> list[Vote]:
    return [
        Vote(
            event.time,
            _id(event),
            event.author,
            node,
            event.detail.get(QUESTION, b""),
            int(event.value or 0),
        )
        for event, node in _each(log, VOTE)
    ]


def _not_useful(event: Event, node: NodeId) -> NotUseful:
    words = frozenset(event.detail[WORDS])
    return NotUseful(event.time, _id(event), event.author, node, words)


def _each(log: Log, kind: str) -> Iterable[tuple[Event, NodeId]]:
    return ((event, node) for event in log.of_kind(kind) for node in event.targets)


def _id(event: Event) -> bytes:
    assert event.id is not None, "BUG: an event that was read has an id"
    return event.id.raw


def notes_head(repository: Core, notes: object) -> CommitCid | None:
    """Returns the given notes head, or the newest one of the named space.

    Raises:
        InvalidInputError: the notes are neither.
    """
    if isinstance(notes, str):
        ref = repository.operation_log.ref(NOTES + refs.check_name("notes", notes))
        return None if ref is None else CommitCid(ref.target.raw)
    if notes is None or isinstance(notes, CommitCid):
        return notes
    raise InvalidInputError(
        f"notes: got {notes!r:.80}, expected a CommitCid or the name of a space"
    )


def notes_time(core: Core, graph: Graph, notes: CommitCid | None) -> int:
    """Returns the time of a notes head, 0 without one; for a restricted caller, the time of the
    newest event about a visible node.
    """
    if notes is None:
        return 0
    if not graph.is_restricted:
        return core.commit_at(notes).time
    log = read_log(core, notes, core.note_logs.setdefault("", {}))
    return max(
        (one.time for one in log.events if any(map(graph.is_visible, one.targets))), default=0
    )


def resolve_moment(
    repository: Core, revision: Graph, as_of: int | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the options of a query with `moment` and `notes` resolved.

    Args:
        as_of: the time that the question is about. Without one, and without `moment`, ages are
            computed at the time of the commit, or of the notes if outcomes count and they are
            newer; never at the clock's.
        options: `notes` may be a commit or the name of a space.

    Raises:
        InvalidInputError: the notes are neither.
    """
    moment = options.get("moment", as_of)
    recency, worth = options.get("recency"), options.get("worth")
    counts = options.get("feedback") or worth
    notes = notes_head(repository, options.get("notes", SPACE_DEFAULT if counts else None))
    if moment is None and (recency or worth):
        named = recency if isinstance(recency, Mapping) else {}
        graph = revision if revision.viewer is not None else revision.seen_by(options.get("viewer"))
        moment = newest_time(graph, named.get("property", default("recency.property"))) or 0
        if worth:
            # Outcomes noted after the commit are to count, as votes do.
            moment = max(moment, notes_time(repository, graph, notes))
    return {**options, "moment": moment if recency or worth else None, "notes": notes}

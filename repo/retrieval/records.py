"""Questions about the records of a revision: what is not said of a question is decided here, from
the commit and the notes, never from the clock.

Spec: memory 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.arguments import checked_time
from ibidem.repo.notes import SPACE_DEFAULT
from ibidem.repo.retrieval.feedback import notes_head, notes_time
from ibidem.repo.retrieval.newest import newest_time
from ibidem.repo.retrieval.retrieve import answered, ask
from ibidem.retrieve.answer.answer import Answer, AnswerKind
from ibidem.retrieve.query.options import members
from ibidem.retrieve.records.item import RecordItem
from ibidem.retrieve.records.record import LAYERS, STANDING, RecordType, Status

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.repo.retrieval.retrieve import PreparedQuery
    from ibidem.retrieve.access.policy import TrustContext

TIME = "time"
"""The property with the time of a record."""
DEPTH_DEFAULT = 200
"""Records that each lane of the question puts forward."""
_OTHER_NAMES = {"label": "types", "limit": "root_limit or node_limit", "valid_at": "as_of"}
"""Options of `retrieve` that go by another name here."""
_WITHOUT_EFFECT = frozenset(
    ("adjacency", "content_chars", "direct", "estimator", "packs", "strict", "token_budget")
)
"""Options that shape an answer of nodes."""


def records(
    core: Core, revision: Graph, text: str | None = None, **options: Any
) -> Answer[RecordItem]:
    """Returns the records that a question is about, and what they are tied to, with the receipt;
    `ask_records` has the options."""
    result = answered(core, revision, ask_records(core, revision, text, **options))
    assert result.kind is AnswerKind.RECORDS, "BUG: a question for records"
    return result


def ask_records(
    core: Core,
    revision: Graph,
    text: str | None = None,
    *,
    trust: TrustContext | None = None,
    types: Iterable[RecordType | str] | None = None,
    as_of: int | datetime | None = None,
    notes: CommitCid | str | None = SPACE_DEFAULT,
    include_status: Iterable[Status | str] = (),
    depth: int = DEPTH_DEFAULT,
    **options: Any,
) -> PreparedQuery:
    """Returns a question about records resolved.

    Args:
        text: the question; without one, and without a vector, every record by its salience.
        trust: who asks; required where there is a trust policy.
        types: of the records that are returned, all six unless given.
        as_of: the time of salience and validity; that of the commit, or of the notes if that is
            later, unless given.
        notes: the notes head whose events count, or the name of their space; None for none.
        include_status: statuses beside `active` and `contested`.
        depth: records that each lane puts forward.
        options: those of records (`retrieve.query.options`), and those of `Revision.retrieve` that
            rank or narrow, such as `vector`, `embedder`, `where`, `graph`, `feedback`, `recency` or
            `rerank`. Ages are those at `as_of`, and opinions those of `notes`. Options that shape
            an answer of nodes are refused.

    Raises:
        InvalidInputError: an option is wrong, or would have no effect; kind `trust-required`.
    """
    _check_options(options)
    graph = revision if revision.trust is not None else revision.seen_by(trust)
    head = notes_head(core, notes)
    moment = moment_of(core, graph, as_of, head)
    own = {one.key for one in members("records")}
    given = {name: options.pop(name) for name in sorted(own & options.keys())}
    given = {name: value for name, value in given.items() if value is not None}
    if options.get("recency") or options.get("worth"):
        options["as_of"] = moment
    if options.get("feedback") or options.get("worth"):
        options["notes"] = head
    return ask(
        core,
        graph,
        text=text,
        label=_types(types),
        where=_standing(include_status, options.pop("where", None)),
        valid_at=moment,
        depth=depth,
        limit=None,
        trust=trust,
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
    """Returns the time of a question: the one given, else that of the last thing that it can know
    of, be it the commit or the notes; never the clock's. For a restricted caller these are the
    records and the events that he sees."""
    given = checked_time(as_of)
    if given is not None:
        return given
    return max(newest_time(graph, TIME) or 0, notes_time(core, graph, notes))


def _undated(graph: Graph) -> int | None:
    """Returns the time of the records that have none, None where all that are seen have one.

    So an answer about dated records alone does not say when the commit was made.
    """

    def lacks(snapshot: Snapshot) -> bool:
        dated = snapshot.exists(TIME)
        return any((snapshot.label(one) & snapshot.live) - dated for one in LAYERS)

    return newest_time(graph, TIME) if graph.asked(lacks) else None


def _types(types: Iterable[RecordType | str] | None) -> list[str]:
    found = LAYERS if types is None else list(types)
    for one in found:
        if isinstance(types, str) or one not in LAYERS:
            raise InvalidInputError(f"types: got {one!r:.40}, expected some of {', '.join(LAYERS)}")
    if not found:
        raise InvalidInputError("types: got none, expected one or more")
    return [str(one) for one in found]


def _check_options(options: Mapping[str, object]) -> None:
    """Raises `InvalidInputError` for an option of `retrieve` that would have no effect."""
    for name in sorted(options):
        if name in _OTHER_NAMES:
            raise InvalidInputError(f"{name}: got it for a graph, expected {_OTHER_NAMES[name]}")
        if name in _WITHOUT_EFFECT:
            raise InvalidInputError(
                f"{name}: got it for a graph, where it has no effect; expected an option that "
                "ranks or narrows",
                hint="leave it out, or ask with retrieve",
            )


def _standing(
    include: Iterable[Status | str], where: Mapping[str, object] | None
) -> Mapping[str, object]:
    given = [include] if isinstance(include, str) else list(include)
    for one in given:
        if one not in tuple(Status):
            raise InvalidInputError(
                f"include_status: got {one!r:.40}, expected some of {', '.join(Status)}"
            )
    if where is not None and "status" in where:
        raise InvalidInputError("where: got a condition on status, expected include_status")
    return {**(where or {}), "status": {"in": sorted({*map(str, STANDING), *map(str, given)})}}

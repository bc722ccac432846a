"""Selection of messages: filters by thread, window and time, then ranks and takes the best. All
filters apply before ranking, so other threads cannot crowd out the requested one. Time is an
argument, by default that of the commit, never the clock's: expired messages are not selected, with
or without a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeGuard

from ibidem.index.analysis import home_of
from ibidem.memory.conversation.answer import MessageAnswer
from ibidem.memory.conversation.message import (
    MESSAGE,
    THREAD,
    Stored,
    checked_name,
    reader_of,
    stored_of,
    thread_info,
)
from ibidem.memory.conversation.passages import Passage, best_passage
from ibidem.memory.conversation.units import Unit, calls_of, check_kind, is_question
from ibidem.objects.block import EMPTY
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.plain import fields_of
from ibidem.objects.record import record
from ibidem.repo.arguments import checked_time
from ibidem.retrieve.access.policy import policy_of
from ibidem.retrieve.answer.warning import AnswerWarning, WarningCode, capped
from ibidem.retrieve.context.sources import with_beside
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.options import default
from ibidem.retrieve.query.predicate import VALUES_MAX
from ibidem.retrieve.query.settings import of_conversations
from ibidem.retrieve.tokens import HEURISTIC

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.retrieval.listing import Page
    from ibidem.repo.revision import Revision
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item

LIMIT_DEFAULT = 10
ORDERS = ("similarity", "chronological")
_TIME_MIN = -(2**63)
_PAGE = 64


@record
class Selection(MessageAnswer):
    """The selected messages. Their answer is the one in which they were ranked; without a text the
    one that holds exactly them."""

    units: tuple[Unit, ...]
    """In the requested order; the messages of one unit in the order of their thread."""
    scores: Mapping[NodeId, float]
    """The score of each ranked message, its neighbours counted; empty without a text."""
    passages: Mapping[NodeId, Passage]
    """Of each long message the piece that the text is about; empty without a text."""
    outside: tuple[AnswerWarning, ...] = ()
    """One warning for each thread with messages outside the window that the configuration of the
    root sets."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the selection as plain data; a long message has the range of its passage."""
        made = MessageAnswer.to_dict(self)
        for one, item in zip(self.messages, made["items"], strict=True):
            if one.id in self.passages:
                item["passage"] = fields_of(self.passages[one.id], "start", "stop")
        return made

    @property
    def warnings(self) -> tuple[AnswerWarning, ...]:
        """The warnings of the answer, and those about windows."""
        return capped((*self.result.warnings, *self.outside))


def select(
    revision: Revision,
    text: str | None,
    *,
    thread: str | None,
    limit: int | None = LIMIT_DEFAULT,
    order: str = "similarity",
    unit: str = "message",
    window: int | None = None,
    ttl: int | None = None,
    as_of: int | datetime | None = None,
    depth: int | None = None,
    **options: Any,
) -> Selection:
    """Returns the messages most relevant to a text, or without one the last.

    Args:
        revision: the graph to read.
        text: ranks by its words, and with a model by vector similarity; blank or None for the last
            ones.
        thread: selects from one thread; None from all visible ones.
        limit: number of units, None for all that were found.
        order: `similarity`, best first; or `chronological`. Without a query always the latter.
        unit: `message`, where a tool call and its answers are one; or `exchange`, a user's message
            and what follows it.
        window: selects from the newest `window` messages of the thread. The setting `thread_window`
            of the root limits it, and every thread.
        ttl: selects from messages of the last `ttl` microseconds before `as_of`.
        as_of: later and expired messages are left out; by default the time of the commit.
        depth: number of messages that each lane ranks; by default 4 * limit, at least 100.
        options: of `Revision.retrieve`.

    Raises:
        InvalidInputError: an option is of the wrong form; it is named.
    """
    if limit is not None:
        checks.count("limit", limit, low=1)
    check_kind(unit)
    if order not in ORDERS:
        raise InvalidInputError(f"order: got {order!r:.80}, expected {' or '.join(ORDERS)}")
    for name in ("where", "label", "as_of", "token_budget"):
        if name in options:
            raise InvalidInputError(f"{name}: got an option that a selection sets itself")
    scope = Scope(revision, thread, window, ttl, as_of)
    if not has_words(text):
        latest = _first(scope.newest(), scope, limit, unit)[::-1]
        return _selection(latest, scope.of(latest), {}, {}, scope.outside)
    ranked = scope.ask(
        text,
        depth=max(default("depth"), 4 * (limit or 0)) if depth is None else depth,
        **options,
    )
    messages, scores = _beside(scope, ranked, limit)
    best = _first(messages, scope, limit, unit)
    if order == "chronological":
        best.sort(key=lambda one: _time_key(one.messages[0]))
    every = (message for one in best for message in one.messages)
    home, accents = revision.config.analyser, ranked.query.match.accents
    passages = {
        one.id: found
        for one in every
        if (found := best_passage(one.text, text, home_of(one.props, home), accents=accents))
    }
    return _selection(best, ranked, scores, passages, scope.outside)


def has_words(text: object) -> TypeGuard[str]:
    """Returns whether a text ranks: not if it is blank or None; raises `InvalidInputError` for
    anything but a text or None."""
    if text is not None and not isinstance(text, str):
        raise InvalidInputError(f"text: got {checks.show(text)}, expected a text or None")
    return text is not None and bool(text.strip())


def _selection(
    units: Sequence[Unit],
    result: Answer[Item],
    scores: Mapping[NodeId, float],
    passages: Mapping[NodeId, Passage],
    outside: tuple[AnswerWarning, ...],
) -> Selection:
    messages = tuple(message for unit in units for message in unit.messages)
    shown = {id_: passage.text for id_, passage in passages.items()}
    text = "\n".join(f"{one.role}: {shown.get(one.id, one.text)}" for one in messages)
    tokens = HEURISTIC.estimate(text)
    return Selection(messages, text, tokens, result, tuple(units), scores, passages, outside)


def _beside(
    scope: Scope, ranked: Answer[Item], limit: int | None
) -> tuple[list[Stored], dict[NodeId, float]]:
    """Returns the ranked messages and those next to them, by score, and their scores.

    A message scores what it was ranked with, 0 if it was not, and a share of the better one of the
    two messages beside it in its thread: what was said just before and after is about the same.
    """
    own = {item.id: item.score for item in ranked.items}
    found = list(stored_of((item.node for item in ranked.items), scope.reader))
    by_key = {(one.thread, one.ord): own[one.id] for one in found}

    def beside(key: tuple[str, int]) -> list[tuple[str, int]]:
        thread, position = key
        return [(thread, position + step) for step in (-1, 1) if position + step >= 0]

    totals = with_beside(by_key, beside)
    best = sorted(map(totals.__getitem__, by_key), reverse=True)
    least = best[limit - 1] if limit is not None and len(best) >= limit else 0.0
    found += scope.at(sorted(key for key in totals.keys() - by_key if totals[key] >= least))
    scores = {one.id: totals[one.thread, one.ord] for one in found}
    found.sort(key=lambda one: -scores[one.id])
    return found, scores


def _first(messages: Iterable[Stored], scope: Scope, limit: int | None, kind: str) -> list[Unit]:
    """Returns the units of the first messages, in the order of the messages."""
    found: dict[NodeId, Unit] = {}
    seen: set[NodeId] = set()
    for message in messages:
        if message.id not in seen:
            unit = scope.unit(message, kind)
            seen.update(one.id for one in unit.messages)
            found.setdefault(unit.key, unit)
        if len(found) == limit:
            break
    return list(found.values())


class Scope:
    """The candidates."""

    def __init__(
        self,
        revision: Revision,
        thread: str | None,
        window: int | None,
        ttl: int | None,
        as_of: int | datetime | None,
    ) -> None:
        self.reader = reader_of(revision)
        self._revision = revision
        self._as_of = now_of(revision, as_of)
        self._where: dict[str, Any] = {}
        if thread is not None:
            self._where["thread"] = checked_name(thread)
        since = _TIME_MIN if ttl is None else self._as_of - checks.count("ttl", ttl)
        self._where["created_at"] = {"gt": since, "lte": self._as_of}
        self._thread = thread
        self.outside: tuple[AnswerWarning, ...] = ()
        """The threads with messages that the configuration excludes."""
        if window is not None:
            checks.count("window", window, low=1)
            if thread is None:
                raise InvalidInputError(
                    "window: got one without a thread, expected both or neither"
                )
        most = of_conversations(revision.config).get("thread_window")
        if thread is None:
            if most is not None:
                self._limit_threads(most)
        elif window is not None and (most is None or window <= most):
            self._where["ord"] = {"gte": self._begin(thread, window)[0]}
        elif most is not None:
            first, count = self._begin(thread, most)
            self._where["ord"] = {"gte": first}
            self.outside = _outside(thread, count)

    def newest(self) -> Iterator[Stored]:
        """Yields the candidates, newest first: by ord in one thread, else by time."""
        if self._thread is not None:
            yield from self._away(self._thread, None, forward=False)
            return
        size, past = _PAGE, 0
        while True:
            page = self._page("created_at", limit=size)
            # Messages with the time of the last one may continue on the next page.
            nodes = list(stored_of(page.nodes, self.reader))
            if nodes and page.count > len(page.nodes):
                cut = nodes[-1].created_at
                nodes = [one for one in nodes if one.created_at > cut]
            nodes.sort(key=_time_key, reverse=True)
            yield from nodes[past:]
            past = len(nodes)
            if page.count <= size:
                return
            size *= 4

    def unit(self, message: Stored, kind: str) -> Unit:
        """Returns the unit of a message, restricted to candidates."""
        if kind == "exchange":
            return Unit(tuple(self._exchange(message)))
        if not calls_of(message):
            return Unit((message,))
        found = {message.id: message}
        visited: set[str] = set()
        while fresh := {call for one in found.values() for call in calls_of(one)} - visited:
            visited |= fresh
            for name in ("tool_calls", "tool_call_id", "tool_results"):
                page = self._page(
                    "ord", where={"thread": message.thread, name: {"in": sorted(fresh)}}
                )
                found.update((one.id, one) for one in stored_of(page.nodes, self.reader))
        return Unit(tuple(sorted(found.values(), key=lambda one: one.sort_key)))

    def ask(self, query: str | None, **options: Any) -> Answer[Item]:
        """Returns the answer over the candidates."""
        return self._revision.retrieve(
            query,
            label=MESSAGE,
            where=self._where,
            as_of=self._as_of,
            limit=None,
            token_budget=None,
            **options,
        )

    def at(self, keys: Iterable[tuple[str, int]]) -> list[Stored]:
        """Returns the candidates with these threads and ords, by thread, then ord."""
        by_thread: dict[str, list[int]] = {}
        for thread, position in keys:
            by_thread.setdefault(thread, []).append(position)
        found: list[Stored] = []
        for thread, ords in by_thread.items():
            for start in range(0, len(ords), VALUES_MAX):
                page = self._page(
                    "ord", where={"thread": thread}, near={"in": ords[start : start + VALUES_MAX]}
                )
                found += stored_of(page.nodes, self.reader)
        return found

    def of(self, units: list[Unit]) -> Answer[Item]:
        """Returns the answer that contains the messages of these units, by id."""
        parts = [
            {"thread": one.messages[0].thread, "ord": {"in": [each.ord for each in one.messages]}}
            for one in units
        ]
        return self._revision.retrieve(
            None,
            label=MESSAGE,
            where={**self._where, "or": parts},
            as_of=self._as_of,
            limit=None,
            token_budget=None,
        )

    def _exchange(self, message: Stored) -> list[Stored]:
        before = [message]
        if not is_question(message):
            for one in self._away(message.thread, message.ord, forward=False):
                before.append(one)
                if is_question(one):
                    break
        after: list[Stored] = []
        for one in self._away(message.thread, message.ord, forward=True):
            if is_question(one):
                break
            after.append(one)
        return [*reversed(before), *after]

    def _away(self, thread: str, position: int | None, *, forward: bool) -> Iterator[Stored]:
        """Yields the candidates of a thread, going away from an ord or from its end."""
        size, past = 8, 0
        near = None if position is None else {"gt" if forward else "lt": position}
        order = "ord" if forward else "-ord"
        while True:
            page = self._page(order, limit=size, offset=past, where={"thread": thread}, near=near)
            yield from stored_of(page.nodes, self.reader)
            past += len(page.nodes)
            if past >= page.count:
                return
            size *= 2

    def _page(
        self,
        order: str,
        *,
        limit: int | None = None,
        offset: int = 0,
        where: Mapping[str, Any] = EMPTY,
        near: Mapping[str, Any] | None = None,
    ) -> Page:
        """Returns the candidates that meet further conditions; by time, newest first."""
        conditions = {**self._where, **where}
        if near is not None:
            conditions["ord"] = {**conditions.get("ord", {}), **near}
        return self._revision.page(
            label=MESSAGE,
            where=conditions,
            as_of=self._as_of,
            order_by=f"-{order}" if order == "created_at" else order,
            limit=limit,
            offset=offset,
        )

    def _begin(self, thread: str, window: int) -> tuple[int, int]:
        """Returns the ord at which the window of newest messages of a thread starts, and the number
        of messages before it."""
        of_thread = {"thread": thread}
        page = self._page("-ord", where=of_thread, limit=1, offset=window - 1)
        if not page.nodes:
            return 0, 0
        first = int(str(page.nodes[0].props["ord"]))
        return first, self._page("ord", where=of_thread, near={"lt": first}, limit=1).count

    def _limit_threads(self, window: int) -> None:
        """Leaves out the messages outside the windows of all threads."""
        beyond: list[dict[str, Any]] = []
        for name in self._long_threads(window):
            first, count = self._begin(name, window)
            if count:
                beyond.append({"thread": name, "ord": {"lt": first}})
                self.outside += _outside(name, count)
        if beyond:
            self._where["not"] = {"or": beyond}

    def _long_threads(self, window: int) -> Iterator[str]:
        """Yields the threads that may have more messages than a window, by name."""
        if policy_of(self._revision.config) is None:
            infos = []
            for node in self._revision.query(label=THREAD):
                with suppress(InvalidInputError):
                    infos.append(thread_info(node))
            yield from sorted(one.name for one in infos if one.next_ord > window)
            return
        # Viewers write messages whose thread they do not see: the names are those of the messages.
        last = ""
        while True:
            page = self._page("thread", where={"thread": {"gt": last}}, limit=1)
            given = page.nodes[0].props["thread"] if page.nodes else ()
            # A node of another form may have a list there.
            values = given if isinstance(given, list | tuple) else [given]
            last = min((one for one in values if isinstance(one, str) and one > last), default="")
            if not last:
                return
            yield last


def now_of(revision: Revision, as_of: int | datetime | None) -> int:
    """Returns a time in microseconds: the one given, else that of the commit; for a restricted
    caller, that of the newest message that he sees."""
    moment = checked_time(as_of, "as_of")
    return (revision.newest("created_at") or 0) if moment is None else moment


def _outside(thread: str, count: int) -> tuple[AnswerWarning, ...]:
    if not count:
        return ()
    return (AnswerWarning(WarningCode.OUTSIDE_WINDOW, "thread_window", thread, count),)


def _time_key(message: Stored) -> tuple[int, str, tuple[int, int, NodeId]]:
    return message.created_at, message.thread, message.sort_key

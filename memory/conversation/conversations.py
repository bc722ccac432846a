"""Conversations: the threads of one repository: storing, selecting and summarising messages."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from ibidem.memory.conversation import changes, extracted_facts, viewer_changes
from ibidem.memory.conversation.changes import Written, staged_reader
from ibidem.memory.conversation.compaction import Compaction
from ibidem.memory.conversation.context import TOOL_CHARS, Context, Source, compose, required
from ibidem.memory.conversation.message import (
    MESSAGE,
    SUMMARY,
    THREAD,
    Stored,
    ThreadInfo,
    checked_name,
    message_id,
    messages_of,
    not_there,
    reader_of,
    stored_of,
    thread_id,
    thread_info,
)
from ibidem.memory.conversation.rules import USER, facts_by_rules
from ibidem.memory.conversation.selection import LIMIT_DEFAULT, Selection, has_words, now_of, select
from ibidem.memory.conversation.units import newest_units
from ibidem.memory.graph.memory import GraphMemory
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo.argument_checks import check_names
from ibidem.repo.questions import Questions, changed_options
from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.repo.transaction.writing import OPEN
from ibidem.repo.viewer.exposure import Proxy, check_exposed, guarded_methods
from ibidem.repo.viewer.transaction import ViewerTransaction
from ibidem.retrieve.access.derived import labels_of
from ibidem.retrieve.access.policy import policy_of
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.configured import CONFIGURED
from ibidem.retrieve.query.options import CUT, SKIP, STOP
from ibidem.retrieve.tokens import HEURISTIC, TokenEstimator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ibidem.embed.language_model import LanguageModel
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.ids import NodeId
    from ibidem.objects.node import Node
    from ibidem.repo.repository import Repository
    from ibidem.repo.revision import Revision
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.repo.viewer.repository import ViewerRepository
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.rerank import Reranker

RECENT_DEFAULT = 4
RECENT_WEIGHT, SIMILAR_WEIGHT = 4, 6
_OF_SELECTION = frozenset(
    ("limit", "as_of", "depth", "estimator", "viewer", "token_budget", "overflow")
)
"""Options of `retrieve` that mean something else here."""


@guarded_methods
class Conversations:
    """Threads of messages in a repository, or in an open transaction: then writers stage in it, and
    reads see what is staged; `select` and `context` rank, so they need a commit.
    """

    def __init__(
        self,
        repository: Repository | ViewerRepository | Transaction,
        *,
        embedder: Embedder | None = None,
        author: str = "",
        viewer: Viewer | None = None,
        compaction: Compaction | None = None,
    ) -> None:
        """Works on the current branch.

        Args:
            embedder: computes vectors of stored messages and of queries; equal texts are embedded
                once, even across processes.
            author: of the commits.
            viewer: the caller, if the root has a trust policy.
            compaction: compacts a thread that has grown, after `append` and `save`, in a commit of
                its own. If its function fails, the messages are stored, and the error is raised.

        Raises:
            InvalidInputError: kind `not-permitted`: `compaction` for a restricted viewer.
        """
        # A viewer refuses by itself what he may not.
        self.repository = cast("Repository", repository)
        self._embedder = embedder
        self._author = author
        self._viewer = viewer
        self._compaction = compaction
        if compaction is not None and isinstance(repository, Proxy):
            check_exposed("Conversations.compact")
        if embedder is not None and not isinstance(repository, OPEN):
            repository.use_embedder(embedder)

    # -- writing ---------------------------------------------------------------------------------

    def append(
        self, thread: str, messages: Iterable[object], *, time: int | datetime | None = None
    ) -> Written:
        """Appends messages to a thread; creates the thread if necessary. No message is no change.

        Args:
            messages: maps with `role` and `content` as models take them (`wire`), (role, text) or
                `Message`. One whose `id` the thread already has is skipped.
            time: of the commit, and of messages without a time.
        """
        given = messages_of(messages)
        name, now = checked_name(thread), self.repository.now(time)

        def change(tx: Transaction | ViewerTransaction) -> tuple[int, ...]:
            if isinstance(tx, ViewerTransaction):
                return viewer_changes.append(tx, name, given, now)
            known = changes.known_ids(tx, name, given)
            ords = changes.append(tx, name, given, now, known)
            changes.set_vectors(tx, self._embedder, name, ords, given)
            return ords

        return self._grown(name, self._written(change, f"messages of {name}", now), time)

    def save(
        self, thread: str, messages: Iterable[object], *, time: int | datetime | None = None
    ) -> Written:
        """Stores the new messages of a whole conversation; storing it again changes nothing.

        Raises:
            InvalidInputError: kind `id-collision`: it does not start with the stored messages.
        """
        given = messages_of(messages)
        name, now = checked_name(thread), self.repository.now(time)

        def change(tx: Transaction | ViewerTransaction) -> tuple[int, ...]:
            if isinstance(tx, ViewerTransaction):
                fresh = viewer_changes.unsaved(tx, name, given)
                return viewer_changes.append(tx, name, fresh, now) if fresh else ()
            fresh = changes.unsaved(tx, name, given)
            if not fresh:
                return ()
            ords = changes.append(tx, name, fresh, now, {})
            changes.set_vectors(tx, self._embedder, name, ords, fresh)
            return ords

        return self._grown(name, self._written(change, f"messages of {name}", now), time)

    def compact(
        self,
        thread: str,
        first: int,
        last: int,
        text: str,
        *,
        model: str | None = None,
        level: int | str | None = None,
        scope: str | None = None,
        time: int | datetime | None = None,
    ) -> Written:
        """Stores a summary of the messages first..last, both included; the messages stay. It has
        the highest level of the messages, and their scope, so a caller who may not see one of them
        does not see the summary. Summaries within the range are its sources in place of their
        messages, and are hidden.

        Args:
            model: the author or model of the text, stored with it.
            level: of the summary, in place of the highest one. If it is lower, the commit says so.
            scope: of the summary, in place of the messages' one; the empty text is no scope.

        Raises:
            InvalidInputError: not a range of messages, or sources of several scopes of a trust
                policy; kind `id-collision`: it has the range of another, or overlaps it in part.
        """
        name, now = checked_name(thread), self.repository.now(time)
        checks.count("first", first)
        checks.count("last", last)
        said = checks.name("text", text)
        labels = labels_of(level, scope)

        def change(tx: Transaction) -> tuple[int, ...]:
            changes.summarize(tx, name, first, last, said, now=now, model=model, labels=labels)
            return tuple(range(first, last + 1))

        return self._written(change, f"summary of {name}", now)

    def outgrown(self, compaction: Compaction, thread: str) -> tuple[Stored, ...]:
        """Returns what `compact_by` would summarise now, messages and summaries in order; nothing
        if the thread is within the threshold."""
        revision = self.at()
        nodes = revision.query(label=SUMMARY, where={"thread": thread})
        summaries = sorted(stored_of(nodes, reader_of(revision)), key=lambda one: one.ord)
        first = self.thread(thread).cleared
        for one in summaries:  # the beginning of a long thread is not read again
            first = max(first, one.last + 1) if one.ord <= first else first
        covered = {position for one in summaries for position in range(one.ord, one.last + 1)}
        raw = [one for one in self.messages(thread, first=first) if one.ord not in covered]
        return compaction.range_of(sorted([*summaries, *raw], key=lambda one: one.ord))

    def compact_by(
        self, compaction: Compaction, thread: str, *, time: int | datetime | None = None
    ) -> Written:
        """Stores a summary of all but the end of a thread that has more tokens than `compaction`
        allows; otherwise, or if another writer was first, nothing."""
        found = self.outgrown(compaction, thread)
        if not found:
            return Written((), None)
        text = compaction.summarise(found)
        first, last = found[0].ord, found[-1].last
        try:
            return self.compact(thread, first, last, text, model=compaction.model, time=time)
        except InvalidInputError as error:
            if error.kind is not ErrorKind.ID_COLLISION:
                raise
            return Written((), None)

    def add_facts(
        self,
        thread: str,
        first: int,
        last: int,
        facts: Iterable[str],
        *,
        model: str,
        time: int | datetime | None = None,
    ) -> tuple[NodeId, ...]:
        """Adds facts from the messages first..last, both included, and returns their ids; in a
        transaction of the stage they wait there for a commit, which accepts them. They have the
        highest level of the messages, and their scope.

        Args:
            facts: such as `facts_from_messages` returns; of those that are there already nothing is
                added.
            model: what extracted them, stored with them.

        Raises:
            InvalidInputError: there are no such messages, or they are of several scopes of a trust
                policy.
        """
        name, now = checked_name(thread), self.repository.now(time)
        checks.count("first", first)
        checks.count("last", last)
        given, by = check_names("facts", facts), checks.name("model", model)
        made, _ = changes.changed(
            self.repository,
            lambda tx: extracted_facts.stage(tx, name, first, last, given, by),
            author=self._author,
            message=f"facts of {name}",
            time=now,
        )
        return made

    def propose_by_rules(
        self,
        thread: str,
        first: int,
        last: int,
        *,
        user: str = USER,
        time: int | datetime | None = None,
    ) -> tuple[NodeId, ...]:
        """Adds what rules find in the messages first..last, both included, as proposals with their
        messages, in one commit; returns the ids of those that are new or have new sources. No
        question finds them before `GraphMemory.accept`, or a rule of maintenance, accepts them.

        Args:
            user: whose messages they are: the subject of the facts and, if it is not `user`, the
                `user` of the records.

        Raises:
            InvalidInputError: there are no such messages.
        """
        name, now = checked_name(thread), self.repository.now(time)
        checks.count("first", first)
        checks.count("last", last)
        checks.name("user", user)

        def change(tx: Transaction) -> tuple[NodeId, ...]:
            nodes = changes.in_range(tx, name, first, last)
            there = [node for node in nodes if not tx.is_tombstoned(node.id)]
            memory = GraphMemory(tx)
            made: dict[NodeId, None] = {}
            for one in facts_by_rules(list(stored_of(there, staged_reader(tx))), user=user):
                source = {"kind": "observation", "ref": str(one.message.id), "rule": one.rule}
                made |= dict.fromkeys(
                    memory.propose(
                        [one.triple],
                        provenance=[source],
                        user="" if user == USER else user,
                        time=one.message.created_at,
                    )
                )
            return tuple(made)

        made, _ = changes.changed(
            self.repository,
            change,
            author=self._author,
            message=f"proposals of {name}",
            time=now,
        )
        return made

    def clear(self, thread: str, *, time: int | datetime | None = None) -> Written:
        """Hides all messages and summaries of a thread; ords continue after them."""
        return self._hide(thread, None, time)

    def purge(self, thread: str, before: int, *, time: int | datetime | None = None) -> Written:
        """Hides the messages of a thread below an ord; summaries of them stay."""
        return self._hide(thread, checks.count("before", before), time)

    # -- reading ---------------------------------------------------------------------------------

    def at(self, rev: object = "HEAD") -> Revision:
        """Returns the graph that is read."""
        return self.repository.at(rev, viewer=self._viewer)

    def threads(self, at: object = "HEAD") -> list[ThreadInfo]:
        """Returns the threads, by name."""
        revision = self.at(at)
        found: dict[str, list[ThreadInfo]] = {}
        for node in revision.query(label=THREAD):
            with suppress(InvalidInputError):  # one that is none does not hide the others
                info = thread_info(node)
                # The owner's node of a thread, of which viewers may have written others.
                named = found.setdefault(info.name, [])
                named.insert(len(named) if node.key is None else 0, info)
        return [_info(revision, found[name][0]) for name in sorted(found)]

    def thread(self, thread: str, at: object = "HEAD") -> ThreadInfo:
        """Returns a thread; raises `NotFoundError` if there is none.

        Raises:
            InvalidInputError: the node with its id is no thread.
        """
        name = checked_name(thread)
        revision = self.at(at)
        try:
            return _info(revision, thread_info(revision.node(thread_id(name))))
        except NotFoundError as error:
            if error.kind is not ErrorKind.NOT_FOUND:
                raise
            for node in revision.query(label=THREAD, where={"name": name}):
                with suppress(InvalidInputError):
                    return _info(revision, thread_info(node))
            raise not_there(name) from error

    def messages(
        self,
        thread: str,
        *,
        first: int = 0,
        limit: int | None = None,
        as_of: int | datetime | None = None,
        at: object = "HEAD",
    ) -> list[Stored]:
        """Returns the messages of a thread in order, without summaries.

        Args:
            first: the first ord to return.
            limit: maximal number of messages, None for all.
            as_of: leaves out messages after this time or expired by then; None for all.
        """
        revision = self.at(at)
        self.thread(thread, at)
        where: dict[str, Any] = {"thread": thread, "ord": {"gte": checks.count("first", first)}}
        conditions: dict[str, Any] = {}
        if as_of is not None:
            conditions["as_of"] = now_of(revision, as_of)
            where["created_at"] = {"lte": conditions["as_of"]}
        nodes = revision.query(
            label=MESSAGE, where=where, order_by="ord", limit=limit, **conditions
        )
        return sorted(stored_of(nodes, reader_of(revision)), key=lambda one: one.sort_key)

    def to_messages(
        self, thread: str, *, first: int = 0, limit: int | None = None, at: object = "HEAD"
    ) -> list[dict[str, Any]]:
        """Returns the messages of a thread in order, as they were given, for a model."""
        found = self.messages(thread, first=first, limit=limit, at=at)
        return [message.to_message() for message in found]

    def view(
        self, thread: str, *, as_of: int | datetime | None = None, at: object = "HEAD"
    ) -> list[Stored]:
        """Returns a thread in order, with summaries instead of the messages they cover."""
        revision = self.at(at)
        nodes = revision.query(label=SUMMARY, where={"thread": checked_name(thread)})
        summaries = list(stored_of(nodes, reader_of(revision)))
        covered = {place for one in summaries for place in range(one.ord, one.last + 1)}
        sources = {cid for node in nodes for cid in _sources(node)}

        def is_covered(one: Stored) -> bool:
            if one.ord not in covered:
                return False
            # One that a viewer wrote may be newer than the summary of its ord.
            return one.id == message_id(thread, one.ord) or revision.node(one.id).cid in sources

        raw = self.messages(thread, as_of=as_of, at=at)
        rest = [one for one in raw if not is_covered(one)]
        return sorted([*summaries, *rest], key=lambda one: one.sort_key)

    def select(
        self,
        text: str | None = None,
        *,
        thread: str | None = None,
        limit: int | None = LIMIT_DEFAULT,
        at: object = "HEAD",
        order: str = "similarity",
        unit: str = "message",
        window: int | None = None,
        ttl: int | None = None,
        as_of: int | datetime | None = None,
        depth: int | None = None,
        # options: select
        queries: Sequence[str | Mapping[str, Any]] | None = None,
        imagine: LanguageModel | None = None,
        reword: LanguageModel | None = None,
        include_tombstoned: bool = False,
        model: str | Configured | None = CONFIGURED,
        embedder: Embedder | None = None,
        degrade: bool = False,
        vector: tuple[str, Any] | None = None,
        sparse: tuple[str, Any, Any] | SparseEncoder | None = None,
        operator: str | Configured = CONFIGURED,
        phrases: bool | Configured = CONFIGURED,
        fuzzy: bool | Mapping[str, float] | None = None,
        related: bool | Configured = CONFIGURED,
        k1: float | Configured | None = CONFIGURED,
        b: float | Configured | None = CONFIGURED,
        graph: Mapping[str, object] | None = None,
        community: Mapping[str, object] | None = None,
        mentions: bool | Mapping[str, object] | None = None,
        valid_missing: str | None = "pass",
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        fusion: str | Configured | None = CONFIGURED,
        rrf_k: float | Configured | None = CONFIGURED,
        weights: Mapping[str, float] | Configured | None = CONFIGURED,
        rerank: Reranker | None = None,
        rerank_text: str | None = None,
        rerank_depth: int | None = 25,
        rerank_timeout: float | None = 8.0,
        mmr: Mapping[str, float] | None = None,
        recency: bool | Mapping[str, Any] | None = None,
        importance: bool | str | None = None,
        feedback: bool | Mapping[str, Any] | None = None,
        worth: bool | Mapping[str, Any] | None = None,
        direct: bool | Mapping[str, Any] | None = None,
        notes: CommitCid | str | None = None,
        adjacency: int | Configured = CONFIGURED,
        metadata: bool | Configured = CONFIGURED,
        frame: Mapping[str, int] | None = None,
        dedupe: str | None = None,
        dedupe_percent: int = 80,
        dedupe_property: str | None = None,
        headings: str = "keep",
        coverage_min: int | None = None,
        strict: bool = False,
        # end of options
    ) -> Selection:
        """Returns the messages most relevant to a text, or without one the last.

        Args:
            text: ranks by its words, and with a model by vector similarity; blank or None for the
                last ones.
            thread: selects from one thread; None from all visible ones.
            limit: number of units.
            order: `similarity`, best first; or `chronological`. Without a text always the latter.
            unit: `message`, where a tool call and its answers are one; or `exchange`, a user's
                message and what follows it.
            window: selects from the newest `window` messages of the thread.
            ttl: selects from messages of the last `ttl` microseconds before `as_of`.
            as_of: later and expired messages are left out; by default the time of the commit.
            depth: number of messages that each lane ranks; by default 4 * limit, at least 100.
        """
        options = changed_options(locals(), Questions.retrieve, but=_OF_SELECTION)
        if self._embedder is not None and has_words(text):
            options.setdefault("embedder", self._embedder)
            if self._embedder.name not in self.at(at).config.models:
                del options["embedder"]  # no message has a vector yet
        return select(
            self.at(at),
            text,
            thread=thread,
            limit=limit,
            order=order,
            unit=unit,
            window=window,
            ttl=ttl,
            as_of=as_of,
            depth=depth,
            **options,
        )

    def context(
        self,
        text: str | None,
        *,
        thread: str,
        token_budget: int | None,
        recent: int = RECENT_DEFAULT,
        similar: int | None = None,
        shares: tuple[int, int] = (RECENT_WEIGHT, SIMILAR_WEIGHT),
        require_last: int = 0,
        unit: str = "message",
        overflow: str = CUT,
        tool_chars: int = TOOL_CHARS,
        estimator: str | TokenEstimator = HEURISTIC.name,
        at: object = "HEAD",
        order: str = "similarity",
        window: int | None = None,
        ttl: int | None = None,
        as_of: int | datetime | None = None,
        depth: int | None = None,
        # options: select
        queries: Sequence[str | Mapping[str, Any]] | None = None,
        imagine: LanguageModel | None = None,
        reword: LanguageModel | None = None,
        include_tombstoned: bool = False,
        model: str | Configured | None = CONFIGURED,
        embedder: Embedder | None = None,
        degrade: bool = False,
        vector: tuple[str, Any] | None = None,
        sparse: tuple[str, Any, Any] | SparseEncoder | None = None,
        operator: str | Configured = CONFIGURED,
        phrases: bool | Configured = CONFIGURED,
        fuzzy: bool | Mapping[str, float] | None = None,
        related: bool | Configured = CONFIGURED,
        k1: float | Configured | None = CONFIGURED,
        b: float | Configured | None = CONFIGURED,
        graph: Mapping[str, object] | None = None,
        community: Mapping[str, object] | None = None,
        mentions: bool | Mapping[str, object] | None = None,
        valid_missing: str | None = "pass",
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        fusion: str | Configured | None = CONFIGURED,
        rrf_k: float | Configured | None = CONFIGURED,
        weights: Mapping[str, float] | Configured | None = CONFIGURED,
        rerank: Reranker | None = None,
        rerank_text: str | None = None,
        rerank_depth: int | None = 25,
        rerank_timeout: float | None = 8.0,
        mmr: Mapping[str, float] | None = None,
        recency: bool | Mapping[str, Any] | None = None,
        importance: bool | str | None = None,
        feedback: bool | Mapping[str, Any] | None = None,
        worth: bool | Mapping[str, Any] | None = None,
        direct: bool | Mapping[str, Any] | None = None,
        notes: CommitCid | str | None = None,
        adjacency: int | Configured = CONFIGURED,
        metadata: bool | Configured = CONFIGURED,
        frame: Mapping[str, int] | None = None,
        dedupe: str | None = None,
        dedupe_percent: int = 80,
        dedupe_property: str | None = None,
        headings: str = "keep",
        coverage_min: int | None = None,
        strict: bool = False,
        # end of options
    ) -> Context:
        """Returns the context of a thread for a model: its last messages and those relevant to a
        query. `Repository.context` adds documents and facts under the same budget.

        Args:
            text: the current question.
            token_budget: tokens of the whole text, None for no limit.
            recent: units from the end of the thread's view, summaries among them, newest first.
            similar: number of units relevant to the query, None for as many as fit.
            shares: shares of the budget of the two; what one does not use, the other has.
            require_last: units from the end that must fit; otherwise it is an error.
            overflow: `cut` shows the beginning of a message that does not fit, `skip` leaves it
                out, `stop` ends the context there.
            unit: as for `select`, as are the other options.
        """
        options = changed_options(locals(), Questions.retrieve, but=_OF_SELECTION)
        options |= {"order": order, "window": window, "ttl": ttl, "as_of": as_of, "depth": depth}
        checks.count("require_last", require_last)
        checks.choice("overflow", overflow, (CUT, SKIP, STOP))
        if token_budget is not None:
            token_budget = checks.count("token_budget", token_budget)
        tool_chars = checks.count("tool_chars", tool_chars)
        recent_share, similar_share = _checked_shares(shares)
        revision = self.at(at)
        if not isinstance(cast("object", self.repository), OPEN):
            # What other writers commit from now on has no part in it.
            at = revision.commit_cid or revision.root_cid
        newest = newest_units(self.view(thread, as_of=as_of, at=at), unit)
        newest = newest[: checks.count("recent", recent)]
        must = {id(one) for one in newest[:require_last]}
        sources = [
            Source("recent", tuple(required(newest, lambda one: id(one) in must)), recent_share)
        ]
        chosen = None
        if has_words(text) and similar != 0:
            chosen = self.select(text, thread=thread, limit=similar, unit=unit, at=at, **options)
            sources.append(Source("similar", chosen.units, similar_share, chosen.passages))
        return compose(
            revision,
            sources,
            selection=chosen,
            token_budget=token_budget,
            estimator=estimator_of(estimator),
            overflow=overflow,
            tool_chars=tool_chars,
        )

    # -- private ---------------------------------------------------------------------------------

    def _written(self, change: Any, message: str, now: int) -> Written:
        ords, commit = changes.in_turn(
            lambda: changes.changed(
                self.repository, change, author=self._author, message=message, time=now
            )
        )
        return Written(ords, commit)

    def _grown(self, thread: str, written: Written, time: int | datetime | None) -> Written:
        """Compacts a thread that is over the threshold; returns what was written before."""
        if self._compaction is not None and written.ords:
            self.compact_by(self._compaction, thread, time=time)
        return written

    def _hide(self, thread: str, before: int | None, time: int | datetime | None) -> Written:
        name, now = checked_name(thread), self.repository.now(time)
        what = "cleared" if before is None else f"purged before {before}"

        def change(tx: Transaction | ViewerTransaction) -> tuple[int, ...]:
            if isinstance(tx, ViewerTransaction):
                return viewer_changes.hide(tx, name, before, reason=what)
            return changes.hide(tx, name, before, reason=what)

        return self._written(change, f"{what}: {name}", now)


def _checked_shares(shares: object) -> tuple[int, int]:
    """Returns the weights of the recent and the similar messages."""
    if not isinstance(shares, (tuple, list)) or len(shares) != 2:
        raise InvalidInputError(f"shares: got {checks.show(shares)}, expected two weights")
    return checks.count("shares[0]", shares[0]), checks.count("shares[1]", shares[1])


def _sources(node: Node) -> list[object]:
    found = node.props.get("sources")
    return found if isinstance(found, list) else []


def _info(revision: Revision, info: ThreadInfo) -> ThreadInfo:
    """Returns the metadata of a thread; for a restricted caller, only what follows from visible
    messages and summaries.
    """
    if policy_of(revision.config) is None:
        return info
    of_thread: Any = {"thread": info.name}
    last = revision.page(label=MESSAGE, where=of_thread, order_by="-ord", limit=1).nodes
    summaries = stored_of(revision.query(label=SUMMARY, where=of_thread), reader_of(revision))
    next_ord = 1 + max((one.ord for one in stored_of(last, reader_of(revision))), default=-1)
    if not revision.is_restricted:
        return replace(info, next_ord=max(info.next_ord, next_ord))
    return ThreadInfo(
        info.name, next_ord, 0, tuple(sorted((one.ord, one.last) for one in summaries))
    )

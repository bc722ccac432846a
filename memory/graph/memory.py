"""Graph memory over a repository: writes, searches, revises, consolidates and prunes records.

Spec: memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ibidem.memory.graph import propose, revise
from ibidem.memory.graph.propose import Proposal, Triple
from ibidem.memory.graph.read import Records, read_records
from ibidem.memory.graph.same import Chain, append_to_chain, same_as_staged, same_in_base
from ibidem.objects.cid import CommitCid
from ibidem.objects.config import Config
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.api.notes import NoteSpaces
from ibidem.repo.argument_checks import check_id, check_ids
from ibidem.repo.event_log import SPACE_DEFAULT
from ibidem.repo.questions import changed_options
from ibidem.repo.retrieval.records import TIME, checked_statuses, checked_types
from ibidem.repo.revision import Revision
from ibidem.repo.revspec import HEAD
from ibidem.repo.transaction.transaction import UNCHANGED, Transaction
from ibidem.repo.transaction.writing import OPEN, writing
from ibidem.repo.viewer.exposure import guarded_methods
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.configured import CONFIGURED
from ibidem.retrieve.records.record import (
    LAYERS,
    STANDING,
    Record,
    RecordType,
    Status,
    record_policy,
)
from ibidem.retrieve.records.salience import salience

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ibidem.embed.language_model import LanguageModel
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.memory.graph.consolidate import Consolidated
    from ibidem.memory.graph.maintain import Maintained
    from ibidem.memory.graph.metrics import Metrics
    from ibidem.objects.commit import Commit
    from ibidem.repo.events import Log
    from ibidem.repo.notes import Notes
    from ibidem.repo.repository import Repository
    from ibidem.repo.viewer.repository import ViewerRepository
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.query.predicate import Predicate
    from ibidem.retrieve.records.item import RecordItem
    from ibidem.retrieve.records.record import RecordType, Status
    from ibidem.retrieve.rerank import Reranker


Time = int | datetime | None
Ids = list[NodeId]
Found = list[Record]
Waiting = list[Proposal]


@guarded_methods
class GraphMemory:
    """The memory records of one repository, and one space of notes about them."""

    def __init__(
        self,
        repository: Repository | ViewerRepository | Transaction,
        *,
        space: str = SPACE_DEFAULT,
        author: str = "",
    ) -> None:
        """Opens the memory; `author` signs what is written here. Over an open transaction, writers
        stage in it and reads see what is staged; questions and saliences need a commit.
        """
        # A viewer refuses by itself what he may not.
        self.repository = cast("Repository", repository)
        self.space = space
        self.author = author
        self._chain: Chain | None = None

    @cached_property
    def notes(self) -> Notes:
        """The events about the records, to add to and to read; not in an open transaction.

        Raises:
            InvalidInputError: in an open transaction, whose `feedback` stages events.
        """
        if isinstance(cast("object", self.repository), OPEN):
            raise InvalidInputError(
                "notes: got them in a transaction, expected its feedback",
                hint="tx.feedback.reinforce(…) is published with the commit",
            )
        return self.repository.notes.space(self.space)

    # -- writing -------------------------------------------------------------------------------

    def add(
        self,
        records: Iterable[Record] | Record,
        *,
        relations: Iterable[tuple[Any, str, Any]] = (),
        message: str = "",
        time: Time = None,
    ) -> Ids:
        """Adds records in one commit and returns their ids, which reveal nothing about them. One
        that states the same as an active record is that record, which gets its further sources.

        Args:
            relations: (source, type, target) each; an end is the id of a record, or the index of a
                new one in `records`.
            time: of the commit, and of records without their own.
        """
        if isinstance(records, (str, bytes, Mapping)) or not isinstance(
            records, (Record, Iterable)
        ):
            raise InvalidInputError(
                f"records: got {records!r:.80}, expected Records", hint="repo.add takes a text"
            )
        given = [records] if isinstance(records, Record) else list(records)
        for index, one in enumerate(given):
            _check_record(f"records[{index}]", one)
        now = self.repository.now(time)
        with self._writing(
            message or f"add {len(given)} record{'s' * (len(given) != 1)}", now
        ) as tx:
            policy = self.policy(tx)
            base = same_in_base(tx, given, policy, self._chain)
            ids = [_added(tx, record, base, policy, now) for record in given]
            for source, etype, target in relations:
                tx.add_edge(_end(ids, source), etype, _end(ids, target))
        self._chain = append_to_chain(self._chain, tx, given, ids)
        return ids

    def relate(
        self, source: NodeId | str, etype: str, target: NodeId | str, *, time: Time = None
    ) -> None:
        """Adds a relation between two records, in one commit."""
        with self._writing(f"relate by {etype}", self.repository.now(time)) as tx:
            tx.add_edge(source, etype, target)

    def supersede(
        self, old: NodeId | str, new: Record, *, relations: bool = True, time: Time = None
    ) -> NodeId:
        """Replaces a record by a new one and marks it as superseded, in one commit. The old one is
        valid until the new one is: from its `valid_from`, or from its creation.

        Args:
            relations: whether the relations of the old record are also those of the new one.

        Raises:
            InvalidInputError: the old one is an episode, or is superseded or retracted; or the new
                one is semantic and has no provenance.
        """
        old = check_id("old", old, NodeId)
        _check_record("new", new)
        now = self.repository.now(time)
        with self._writing("supersede a record", now) as tx:
            return revise.supersede(tx, old, new, self.policy(tx), now, relations=relations)

    def fork(
        self, source: NodeId | str, new: Record, *, relations: bool = True, time: Time = None
    ) -> NodeId:
        """Adds a record derived from an existing one, which stays active, in one commit. It has
        the relations of the source, unless `relations` is False.
        """
        source = check_id("source", source, NodeId)
        _check_record("new", new)
        now = self.repository.now(time)
        with self._writing("fork a record", now) as tx:
            return revise.fork(tx, source, new, self.policy(tx), now, relations=relations)

    def retract(self, record: NodeId | str, *, time: Time = None) -> None:
        """Retracts a record and marks those derived from it, in one commit."""
        record = check_id("record", record, NodeId)
        with self._writing("retract a record", self.repository.now(time)) as tx:
            revise.retract(tx, record, self.policy(tx))

    def merge(
        self,
        sources: Sequence[NodeId | str],
        new: Record,
        *,
        relations: bool = True,
        time: Time = None,
    ) -> NodeId:
        """Replaces several records by one and retracts them, in one commit; as `supersede`."""
        _check_record("new", new)
        now = self.repository.now(time)
        with self._writing("merge records", now) as tx:
            return revise.merge(
                tx, check_ids("sources", sources), new, self.policy(tx), now, relations=relations
            )

    def contest(
        self,
        record: NodeId | str,
        by: NodeId | str | Record | None = None,
        *,
        relations: bool = True,
        time: Time = None,
    ) -> NodeId | None:
        """Marks a record as contested, optionally by another one, in one commit; returns that one.

        Args:
            by: the id of a record; or a new record, which is added.
            relations: whether the relations of the contested record are also those of a new one.
        """
        record = check_id("record", record, NodeId)
        other = by if by is None or isinstance(by, Record) else check_id("by", by, NodeId)
        now = self.repository.now(time)
        with self._writing("contest a record", now) as tx:
            return revise.contest(tx, record, other, self.policy(tx), now, relations=relations)

    def propose(
        self,
        triples: Iterable[Triple | tuple[str, str, str]],
        *,
        scope: str = "",
        level: int | str | None = None,
        provenance: Sequence[Mapping[str, Any]] = (),
        user: str = "",
        agent: str = "",
        session: str = "",
        time: Time = None,
    ) -> Ids:
        """Adds facts that are not retrieved before they are accepted, in one commit; returns the
        ids of those that are new or have new sources. `retract` rejects one for good.

        Args:
            scope: of the facts; empty for the scope of the nodes in the provenance.
            level: of the facts, in place of the highest one of the nodes in the provenance. If it
                is lower, the commit says so.
            provenance: `{kind, ref}` each; a `ref` may be the id of a node.
        """
        given = [propose.triple_of(one) for one in triples]
        now = self.repository.now(time)
        common = Record(
            RecordType.SEMANTIC,
            "proposed",
            scope,
            provenance=provenance,
            user=user,
            agent=agent,
            session=session,
            status=Status.PROPOSED,
            time=now,
        )
        with self._writing(f"propose {len(given)} facts", now) as tx:
            return propose.propose(tx, given, common, level, self.policy(tx))

    def proposals(
        self,
        *,
        sources_min: int = 0,
        confidence_min: float = 0.0,
        conflicting: bool | None = None,
        at: object = HEAD,
    ) -> Waiting:
        """Returns the proposals that wait for a decision, by id, with the facts that contradict
        them. A rule accepts what it finds here: `accept(one.id for one in proposals(…))`.

        Args:
            sources_min: only those with at least this number of sources.
            confidence_min: only those that are at least this sure.
            conflicting: True for those that an active fact contradicts, False for the others.
        """
        return propose.proposals(
            self.repository.at(at),
            sources_min=sources_min,
            confidence_min=confidence_min,
            conflicting=conflicting,
        )

    def accept(
        self, proposals: Iterable[NodeId | str], *, supersede: bool = False, time: Time = None
    ) -> Ids:
        """Makes proposals facts, in one commit, and relates them to the entities that they name; a
        subject without an entity gets one. Returns their ids.

        Args:
            supersede: whether each supersedes the facts that contradict it.

        Raises:
            InvalidInputError: one is no proposal.
        """
        ids = check_ids("proposals", proposals)
        now = self.repository.now(time)
        with self._writing(f"accept {len(ids)} facts", now) as tx:
            propose.accept(tx, ids, self.policy(tx), now, supersede=supersede)
        return ids

    def update(
        self,
        record: NodeId | str,
        *,
        text: str = UNCHANGED,
        payload: Mapping[str, Any] = UNCHANGED,
        confidence: float = UNCHANGED,
        tags: Sequence[str] = UNCHANGED,
        provenance: Sequence[Mapping[str, Any]] = UNCHANGED,
        valid_from: int | None = UNCHANGED,
        valid_to: int | None = UNCHANGED,
        user: str = UNCHANGED,
        agent: str = UNCHANGED,
        session: str = UNCHANGED,
        pinned: bool = UNCHANGED,
        time: Time = None,
    ) -> None:
        """Corrects fields of a record in one commit; id and relations stay. If the record was not
        wrong, but the world has changed, `supersede` it.
        """
        given = {
            "text": text,
            "payload": payload,
            "confidence": confidence,
            "tags": tags,
            "provenance": provenance,
            "valid_from": valid_from,
            "valid_to": valid_to,
            "user": user,
            "agent": agent,
            "session": session,
            "pinned": pinned,
        }
        changes = {name: value for name, value in given.items() if value is not UNCHANGED}
        record = check_id("record", record, NodeId)
        with self._writing("update a record", self.repository.now(time)) as tx:
            revise.update(tx, record, changes, self.policy(tx))

    def delete(
        self,
        records: NodeId | Record | Iterable[NodeId | Record],
        *,
        reason: str = "deleted",
        time: Time = None,
    ) -> Ids:
        """Hides records in one commit and returns their ids; older revisions still have them, and
        `maintenance.erase` destroys them.

        Raises:
            InvalidInputError: one has deletion `never`.
        """
        given = [records] if isinstance(records, (NodeId, Record)) else [*records]
        ids = [one for each in given if (one := each.id if isinstance(each, Record) else each)]
        with self._writing(f"delete {len(ids)} records", self.repository.now(time)) as tx:
            policy = self.policy(tx)
            for one in ids:
                revise.delete(tx, one, policy, reason)
        return ids

    def consolidate(
        self, *, level: int | str | None = None, dry_run: bool = False, time: Time = None
    ) -> Consolidated:
        """Derives records from episodes; running it again on the same evidence changes nothing.

        Args:
            level: of the records that are written, in place of the highest one of their sources. If
                it is lower, the commit says so.
        """
        from ibidem.memory.graph import consolidate

        return consolidate.consolidate(
            self.repository, author=self.author, level=level, dry_run=dry_run, time=time
        )

    def prune(
        self, *, below: float = 0.001, as_of: Time = None, dry_run: bool = False, time: Time = None
    ) -> Ids:
        """Hides records of low salience in one commit, and returns them by id. Only records that
        allow it (`auto_prune`), are not pinned, and whose salience is below the threshold, which
        their floor must not exceed.
        """
        from ibidem.memory.graph.prune import prune

        return prune(
            self.repository,
            self._log(),
            author=self.author,
            below=below,
            as_of=as_of,
            dry_run=dry_run,
            time=time,
        )

    def maintain(
        self,
        *,
        sources_min: int | None = None,
        confidence_min: float | None = None,
        below: float = 0.001,
        dry_run: bool = False,
        time: Time = None,
    ) -> Maintained:
        """Accepts proposals by a rule, consolidates and prunes, in one commit; returns a report.

        Args:
            sources_min: accepts proposals that no fact contradicts and that have at least this
                number of sources; without this and `confidence_min`, none.
            confidence_min: accepts those that are at least this sure.
            below: prunes records whose salience is below this.
            dry_run: whether nothing is written, and the report says what would be.
        """
        from ibidem.memory.graph.maintain import Maintained

        opened: object = self.repository
        if dry_run and isinstance(opened, OPEN):
            raise InvalidInputError(
                "dry_run: got True in a transaction, expected a repository",
                hint="roll the transaction back",
            )
        now, accepted = self.repository.now(time), []
        with self._writing("maintain the memory", now) as tx:
            inner = GraphMemory(tx, space=self.space, author=self.author)
            if sources_min is not None or confidence_min is not None:
                waiting = inner.proposals(
                    sources_min=sources_min or 0,
                    confidence_min=confidence_min or 0.0,
                    conflicting=False,
                )
                accepted = inner.accept([one.id for one in waiting], time=now)
            derived = inner.consolidate(time=now)
            pruned = inner.prune(below=below, as_of=now, time=now)
            if dry_run:
                tx.rollback()
        return Maintained(
            accepted=tuple(accepted),
            added=derived.added,
            updated=derived.updated,
            pruned=tuple(pruned),
            unreadable=derived.unreadable,
            commit=None if tx.commit is None else tx.commit.cid,
        )

    # -- searching --------------------------------------------------------------------------------

    def retrieve_graph(
        self,
        text: str | None = None,
        *,
        viewer: Viewer | None = None,
        at: object = HEAD,
        notes: CommitCid | str | None = None,
        # options: memory
        types: Iterable[RecordType | str] | None = None,
        include_status: Iterable[Status | str] = (),
        queries: Sequence[str | Mapping[str, Any]] | None = None,
        imagine: LanguageModel | None = None,
        reword: LanguageModel | None = None,
        where: Mapping[str, object] | Predicate | None = None,
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
        as_of: int | datetime | None = None,
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
        token_budget: int | Configured | None = CONFIGURED,
        frame: Mapping[str, int] | None = None,
        depth: int = 200,
        limit: int = 25,
        coverage_min: int | None = None,
        min_salience: float = 0.0,
        root_limit: int = 10,
        edge_limit: int = 100,
        hops: int = 1,
        direction: str = "both",
        top_min: float = 0.6,
        gap_min: float = 0.0,
        layered: bool = False,
        # end of options
    ) -> Answer[RecordItem]:
        """Returns the records relevant to a question, with their relations and a receipt.

        Args:
            text: the question; without one, and without a vector, all records by salience.
            viewer: the caller; required if there is a trust policy.
            at: the revision to read.
            notes: the notes head whose events are used, by default the newest of this memory's.
        """
        options = changed_options(locals(), Revision.records, but=("viewer", "notes"))
        counted = self.space if notes is None else notes
        return self.repository.at(at).records(text, viewer=viewer, notes=counted, **options)

    def get(
        self, record: NodeId | str, *, viewer: Viewer | None = None, at: object = HEAD
    ) -> Record:
        """Returns a record; raises `NotFoundError` if it is missing or not visible."""
        revision = self.repository.at(at).seen_by(viewer)
        return Record.of(revision.node(record), record_policy(revision.config))

    def salience(
        self,
        record: NodeId | str,
        *,
        viewer: Viewer | None = None,
        at: object = HEAD,
        as_of: Time = None,
        notes: CommitCid | None = None,
    ) -> float:
        """Returns the salience of a record at a time, from the events at a notes head."""
        record = check_id("record", record, NodeId)
        revision = self.repository.at(at).seen_by(viewer)
        found = self.get(record, viewer=viewer, at=at)
        head = self.notes.head if notes is None else notes
        log = self.notes.at(head)
        moment = revision.moment(as_of, notes=head)
        return salience(found, log.about(record), moment, undated=revision.newest(TIME))

    def metrics(self, *, at: object = HEAD, as_of: Time = None) -> Metrics:
        """Returns statistics of all records, visible or not."""
        from ibidem.memory.graph import metrics

        revision, log = self.repository.at(at).seen_by(ALL), self.notes.log()
        moment = revision.moment(as_of, notes=log.head)
        return metrics.metrics(revision, log, moment)

    def list(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        types: Iterable[RecordType | str] = LAYERS,
        include_status: Iterable[Status | str] = (),
        added_by: str | None = None,
        task: str | None = None,
        limit: int | None = None,
        viewer: Viewer | None = None,
        at: object = HEAD,
    ) -> Found:
        """Returns the records of a user, an agent and a session, None for any, by id.

        Args:
            agent: the one that a record is for; `added_by` is the one that wrote it.
            types: their types; by default all six.
            added_by: the agent of the commit that added a record; of one that came by a merge, that
                of the merge. Commits are not shown to restricted viewers.
            task: the task of that commit.
            include_status: statuses in addition to `active` and `contested`.
            limit: maximal number of records, None for all.
            viewer: the caller; required if there is a trust policy.
        """
        names = {"user": user, "agent": agent, "session": session}
        where = {name: value for name, value in names.items() if value is not None}
        wanted = {*STANDING, *checked_statuses(include_status)}
        revision = self.repository.at(at, viewer=viewer)
        labels = checked_types(types)
        nodes = revision.query(label=labels, where=where)
        if added_by is not None or task is not None:
            commits = self.commits(types=labels, viewer=viewer, at=at)
            nodes = [
                node
                for node in nodes
                if added_by in (None, commits[node.id].agent)
                and task in (None, commits[node.id].task)
            ]
        found: Found = []
        for node in nodes:
            with suppress(InvalidInputError):  # `read` lists what is no record
                record = Record.of(node, record_policy(revision.config))
                if record.status in wanted:
                    found.append(record)
        return found if limit is None else found[: checks.count("limit", limit)]

    def commits(
        self,
        *,
        types: Iterable[RecordType | str] = LAYERS,
        viewer: Viewer | None = None,
        at: object = HEAD,
    ) -> dict[NodeId, Commit]:
        """Returns the commit that added each record, which names its author, agent and task."""
        labels = checked_types(types)
        written = self.repository.history.newest_nodes(
            at, by="created", label=labels, limit=None, viewer=viewer
        )
        return {one.node.id: one.commit for one in written}

    def versions(self, record: NodeId, *, viewer: Viewer | None = None, at: object = HEAD) -> Found:
        """Returns all versions of a fact, oldest first: what a record has superseded or merged, and
        what has superseded it, with the time in which each was valid.
        """
        record = check_id("record", record, NodeId)
        revision = self.repository.at(at, viewer=viewer)
        policy = record_policy(revision.config)
        found = {record: Record.of(revision.node(record), policy)}
        waiting = [record]
        while waiting:
            for edge in revision.edges_of(waiting.pop()):
                for end in (edge.src, edge.dst):
                    if edge.etype == revise.SUPERSEDES and end not in found:
                        found[end] = Record.of(revision.node(end), policy)
                        waiting.append(end)
        return sorted(found.values(), key=lambda one: (one.valid_to is None, one.valid_to, one.id))

    def read(self, at: object = HEAD) -> Records:
        """Returns all records of a revision, and the invalid nodes of their types."""
        return read_records(self.repository.at(at))

    def policy(self, tx: Transaction) -> TrustPolicy:
        """Returns the policy that names the properties of records."""
        return record_policy(Config.from_map(tx.base.config))

    # -- private -------------------------------------------------------------------------------

    def _writing(self, message: str, time: int) -> AbstractContextManager[Transaction]:
        return writing(self.repository, author=self.author, message=message, time=time)

    def _log(self) -> Log:
        """Returns the events about the records; in a transaction, without those it has staged."""
        opened: object = self.repository
        if isinstance(opened, Transaction):
            return NoteSpaces(opened.before().core).space(self.space).log()
        return self.notes.log()


def _check_record(field: str, value: object) -> None:
    if not isinstance(value, Record):
        raise InvalidInputError(
            f"{field}: got {value!r:.80}, expected a Record", hint="repo.add takes a text"
        )


def _added(
    tx: Transaction, record: Record, base: Mapping[bytes, NodeId], policy: TrustPolicy, now: int
) -> NodeId:
    """Stages a record, unless there is one that states the same, and returns its id."""
    same = same_as_staged(tx, record, base, policy)
    if same is None:
        return revise.added(tx, record, policy, now)
    known = [dict(source) for source in Record.of(tx.node(same), policy).provenance]
    fresh = [dict(source) for source in record.provenance if dict(source) not in known]
    if fresh:
        tx.update_node(same, set_props={"provenance": [*known, *fresh]})
    return same


def _end(ids: Sequence[NodeId], end: object) -> NodeId:
    if isinstance(end, str):
        return check_id("relations", end, NodeId)
    if type(end) is int and 0 <= end < len(ids):
        return ids[end]
    raise InvalidInputError(
        f"relations: got {end!r:.40}, expected the id of a record or the place of a new one"
    )

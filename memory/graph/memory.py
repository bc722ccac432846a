"""Graph memory over a repository: writes, searches, revises, consolidates and prunes records.

Spec: memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ibidem.memory.graph import revise
from ibidem.memory.graph.read import Records, read_records
from ibidem.objects.cid import CommitCid
from ibidem.objects.config import Config
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.argument_checks import check_id, check_ids
from ibidem.repo.notes import SPACE_DEFAULT
from ibidem.repo.questions import changed_options
from ibidem.repo.retrieval.records import TIME
from ibidem.repo.revision import Revision
from ibidem.repo.revspec import HEAD
from ibidem.repo.viewer.exposure import guarded_methods
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.retrieve.query.configured import CONFIGURED
from ibidem.retrieve.records.record import Record, record_policy
from ibidem.retrieve.records.salience import salience

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ibidem.embed.protocol import Embedder
    from ibidem.memory.graph.consolidate import Consolidated
    from ibidem.memory.graph.metrics import Metrics
    from ibidem.repo.notes import Notes
    from ibidem.repo.repository import Repository
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.repo.viewer.repository import ViewerRepository
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.query.predicate import Predicate
    from ibidem.retrieve.records.item import RecordItem
    from ibidem.retrieve.records.record import RecordType, Status
    from ibidem.retrieve.rerank import Reranker


Time = int | datetime | None


@guarded_methods
class GraphMemory:
    """The memory records of one repository, and one space of notes about them."""

    def __init__(
        self,
        repository: Repository | ViewerRepository,
        *,
        space: str = SPACE_DEFAULT,
        author: str = "",
    ) -> None:
        """Opens the memory; `author` signs what is written here."""
        # A viewer refuses by itself what he may not.
        self.repository = cast("Repository", repository)
        self.space = space
        self.author = author

    @cached_property
    def notes(self) -> Notes:
        """The events about the records."""
        return self.repository.notes.space(self.space)

    # -- writing -------------------------------------------------------------------------------

    def add(
        self,
        records: Iterable[Record] | Record,
        *,
        relations: Iterable[tuple[Any, str, Any]] = (),
        message: str = "",
        time: Time = None,
    ) -> list[NodeId]:
        """Adds records in one commit and returns their ids, which reveal nothing about them.

        Args:
            relations: (source, type, target) each; an end is the id of a record, or the index of a
                new one in `records`.
            time: of the commit, and of records without their own.
        """
        given = [records] if isinstance(records, Record) else list(records)
        now = self.repository.now(time)
        with self._transaction(message or f"add {len(given)} records", now) as tx:
            policy = self.policy(tx)
            ids = [revise.added(tx, record, policy, now) for record in given]
            for source, etype, target in relations:
                tx.add_edge(_end(ids, source), etype, _end(ids, target))
        return ids

    def relate(
        self, source: NodeId | str, etype: str, target: NodeId | str, *, time: Time = None
    ) -> None:
        """Adds a relation between two records, in one commit."""
        with self._transaction(f"relate by {etype}", self.repository.now(time)) as tx:
            tx.add_edge(source, etype, target)

    def supersede(self, old: NodeId | str, new: Record, *, time: Time = None) -> NodeId:
        """Replaces a record by a new one and marks it as superseded, in one commit.

        Raises:
            InvalidInputError: the old one is an episode, or is superseded or retracted; or the new
                one is semantic and has no provenance.
        """
        old = check_id("old", old, NodeId)
        now = self.repository.now(time)
        with self._transaction("supersede a record", now) as tx:
            return revise.supersede(tx, old, new, self.policy(tx), now)

    def fork(self, source: NodeId | str, new: Record, *, time: Time = None) -> NodeId:
        """Adds a record derived from an existing one, which stays active, in one commit."""
        source = check_id("source", source, NodeId)
        now = self.repository.now(time)
        with self._transaction("fork a record", now) as tx:
            return revise.fork(tx, source, new, self.policy(tx), now)

    def retract(self, record: NodeId | str, *, time: Time = None) -> None:
        """Retracts a record and marks those derived from it, in one commit."""
        record = check_id("record", record, NodeId)
        with self._transaction("retract a record", self.repository.now(time)) as tx:
            revise.retract(tx, record, self.policy(tx))

    def merge(self, sources: Sequence[NodeId | str], new: Record, *, time: Time = None) -> NodeId:
        """Replaces several records by one and retracts them, in one commit."""
        now = self.repository.now(time)
        with self._transaction("merge records", now) as tx:
            return revise.merge(tx, check_ids("sources", sources), new, self.policy(tx), now)

    def contest(
        self, record: NodeId | str, by: NodeId | str | None = None, *, time: Time = None
    ) -> None:
        """Marks a record as contested, optionally by another one, in one commit."""
        record = check_id("record", record, NodeId)
        by = None if by is None else check_id("by", by, NodeId)
        with self._transaction("contest a record", self.repository.now(time)) as tx:
            revise.contest(tx, record, by, self.policy(tx))

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
    ) -> list[NodeId]:
        """Hides records of low salience in one commit, and returns them by id. Only records that
        allow it (`auto_prune`), are not pinned, and whose salience is below the threshold, which
        their floor must not exceed.
        """
        from ibidem.memory.graph.prune import prune

        return prune(
            self.repository,
            self.notes.log(),
            author=self.author,
            below=below,
            as_of=as_of,
            dry_run=dry_run,
            time=time,
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
        where: Mapping[str, object] | Predicate | None = None,
        include_tombstoned: bool = False,
        model: str | Configured | None = CONFIGURED,
        embedder: Embedder | None = None,
        vector: tuple[str, Any] | None = None,
        sparse: tuple[str, Any, Any] | None = None,
        operator: str | Configured = CONFIGURED,
        phrases: bool | Configured = CONFIGURED,
        fuzzy: bool | Mapping[str, float] | None = None,
        k1: float | None = 1.2,
        b: float | None = 0.7,
        graph: Mapping[str, object] | None = None,
        community: Mapping[str, object] | None = None,
        valid_missing: str | None = "pass",
        fusion: str | Configured | None = CONFIGURED,
        rrf_k: float | Configured | None = CONFIGURED,
        weights: Mapping[str, float] | Configured | None = CONFIGURED,
        rerank: Reranker | None = None,
        rerank_text: str | None = None,
        rerank_depth: int | None = 25,
        rerank_timeout: float | None = 8.0,
        mmr: Mapping[str, float] | None = None,
        expansion: bool | Mapping[str, Any] | None = None,
        recency: bool | Mapping[str, Any] | None = None,
        importance: bool | str | None = None,
        feedback: bool | None = None,
        worth: bool | Mapping[str, Any] | None = None,
        as_of: int | datetime | None = None,
        depth: int = 200,
        limit: int = 25,
        min_salience: float = 0.0,
        root_limit: int = 10,
        edge_limit: int = 100,
        hops: int = 1,
        direction: str = "both",
        top_min: float = 0.6,
        gap_min: float = 0.0,
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

    def record(
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
        found = self.record(record, viewer=viewer, at=at)
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

    def records(self, at: object = HEAD) -> list[Record]:
        """Returns all records of a revision, visible or not, by id. Invalid nodes of a record type
        are left out; `read` lists them.
        """
        return list(self.read(at).found)

    def read(self, at: object = HEAD) -> Records:
        """Returns all records of a revision, and the invalid nodes of their types."""
        return read_records(self.repository.at(at))

    def policy(self, tx: Transaction) -> TrustPolicy:
        """Returns the policy that names the properties of records."""
        return record_policy(Config.from_map(tx.base.config))

    # -- private -------------------------------------------------------------------------------

    def _transaction(self, message: str, time: int) -> Transaction:
        return self.repository.transaction(author=self.author, message=message, time=time)


def _end(ids: Sequence[NodeId], end: object) -> NodeId:
    if isinstance(end, str):
        return check_id("relations", end, NodeId)
    if type(end) is int and 0 <= end < len(ids):
        return ids[end]
    raise InvalidInputError(
        f"relations: got {end!r:.40}, expected the id of a record or the place of a new one"
    )

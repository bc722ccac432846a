"""Graph memory over a repository: records written, asked for, revised, consolidated and pruned.

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
from ibidem.repo.notes import SPACE_DEFAULT
from ibidem.repo.retrieval.records import TIME
from ibidem.repo.revspec import HEAD
from ibidem.repo.viewer.exposure import guarded_methods
from ibidem.retrieve.access.policy import ALL, TrustContext, TrustPolicy
from ibidem.retrieve.records.record import Record, record_policy
from ibidem.retrieve.records.salience import salience

if TYPE_CHECKING:
    from ibidem.memory.graph.consolidate import Consolidated
    from ibidem.memory.graph.metrics import Metrics
    from ibidem.repo.notes import Notes
    from ibidem.repo.repository import Repository
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.repo.viewer.viewer import Viewer
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.records.item import RecordItem


Time = int | datetime | None


@guarded_methods
class GraphMemory:
    """The records of one repository, and one space of notes about them."""

    def __init__(
        self, repository: Repository | Viewer, *, space: str = SPACE_DEFAULT, author: str = ""
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
        """Adds records in one commit and returns their ids, which tell nothing of them.

        Args:
            relations: (source, type, target) each; an end is the id of a record, or the place of a
                new one among `records`.
            time: of the commit, and of every record that does not say its own.
        """
        given = [records] if isinstance(records, Record) else list(records)
        now = self.repository.now(time)
        with self._transaction(message or f"add {len(given)} records", now) as tx:
            policy = self.policy(tx)
            ids = [revise.added(tx, record, policy, now) for record in given]
            for source, etype, target in relations:
                tx.add_edge(_end(ids, source), etype, _end(ids, target))
        return ids

    def relate(self, source: NodeId, etype: str, target: NodeId, *, time: Time = None) -> None:
        """Adds a relation between two records, in one commit."""
        with self._transaction(f"relate by {etype}", self.repository.now(time)) as tx:
            tx.add_edge(source, etype, target)

    def supersede(self, old: NodeId, new: Record, *, time: Time = None) -> NodeId:
        """Puts a new record in the place of one, which stays, superseded; one commit.

        Raises:
            InvalidInputError: the old one is an episode, or is superseded or retracted; or the new
                one is semantic and says nothing of where it is from.
        """
        now = self.repository.now(time)
        with self._transaction("supersede a record", now) as tx:
            return revise.supersede(tx, old, new, self.policy(tx), now)

    def fork(self, source: NodeId, new: Record, *, time: Time = None) -> NodeId:
        """Adds a record that is derived from one; both stand. One commit."""
        now = self.repository.now(time)
        with self._transaction("fork a record", now) as tx:
            return revise.fork(tx, source, new, self.policy(tx), now)

    def retract(self, record: NodeId, *, time: Time = None) -> None:
        """Takes a record back; what was derived from it is marked. One commit."""
        with self._transaction("retract a record", self.repository.now(time)) as tx:
            revise.retract(tx, record, self.policy(tx))

    def merge(self, sources: Sequence[NodeId], new: Record, *, time: Time = None) -> NodeId:
        """Puts one record in the place of several, which are retracted; one commit."""
        now = self.repository.now(time)
        with self._transaction("merge records", now) as tx:
            return revise.merge(tx, sources, new, self.policy(tx), now)

    def contest(self, record: NodeId, by: NodeId | None = None, *, time: Time = None) -> None:
        """Marks a record as contested, by another one where that is given; one commit."""
        with self._transaction("contest a record", self.repository.now(time)) as tx:
            revise.contest(tx, record, by, self.policy(tx))

    def consolidate(self, *, dry_run: bool = False, time: Time = None) -> Consolidated:
        """Derives what episodes say together; the same evidence again changes nothing."""
        from ibidem.memory.graph import consolidate

        return consolidate.consolidate(
            self.repository, author=self.author, dry_run=dry_run, time=time
        )

    def prune(
        self, *, below: float = 0.001, as_of: Time = None, dry_run: bool = False, time: Time = None
    ) -> list[NodeId]:
        """Hides the records that have faded away, in one commit, and returns them by id.

        Only records that may be pruned (`auto_prune`), are not pinned, and whose salience is below
        a number, and not held up by a floor above it.
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

    # -- asking --------------------------------------------------------------------------------

    def retrieve_graph(
        self,
        text: str | None = None,
        *,
        trust: TrustContext | None = None,
        rev: object = HEAD,
        notes: CommitCid | None = None,
        **options: Any,
    ) -> Answer[RecordItem]:
        """Returns the records that a question is about, and what they are tied to, with a receipt.

        Args:
            text: the question; without one, and without a vector, every record by its salience.
            trust: who asks; required where there is a trust policy.
            rev: the revision that is asked.
            notes: the notes head whose events count, the newest of this memory's unless given.
            options: see `repo.retrieval.records.ask_records`.
        """
        counted = self.space if notes is None else notes
        return self.repository.at(rev).records(text, trust=trust, notes=counted, **options)

    def record(
        self, record: NodeId, *, trust: TrustContext | None = None, rev: object = HEAD
    ) -> Record:
        """Returns a record; `NotFoundError` for one that is missing and one that may not be
        seen."""
        revision = self.repository.at(rev).seen_by(trust)
        return Record.of(revision.node(record), record_policy(revision.config))

    def salience(
        self,
        record: NodeId,
        *,
        trust: TrustContext | None = None,
        rev: object = HEAD,
        as_of: Time = None,
        notes: CommitCid | None = None,
    ) -> float:
        """Returns the salience of a record at a time, by the events at a notes head."""
        revision = self.repository.at(rev).seen_by(trust)
        found = self.record(record, trust=trust, rev=rev)
        head = self.notes.head if notes is None else notes
        log = self.notes.at(head)
        moment = revision.moment(as_of, notes=head)
        return salience(found, log.about(record), moment, undated=revision.newest(TIME))

    def metrics(self, *, rev: object = HEAD, as_of: Time = None) -> Metrics:
        """Returns how the memory fares, in numbers: of all records, whoever may see them."""
        from ibidem.memory.graph import metrics

        revision, log = self.repository.at(rev).seen_by(ALL), self.notes.log()
        moment = revision.moment(as_of, notes=log.head)
        return metrics.metrics(revision, log, moment)

    def records(self, rev: object = HEAD) -> list[Record]:
        """Returns every record of a revision, whoever may see it, by id.

        Nodes that have the type of a record and are none are left out; `read` names them.
        """
        return list(self.read(rev).found)

    def read(self, rev: object = HEAD) -> Records:
        """Returns every record of a revision, and which nodes of their types are no records."""
        return read_records(self.repository.at(rev))

    def policy(self, tx: Transaction) -> TrustPolicy:
        """Returns the policy that names the properties of records."""
        return record_policy(Config.from_map(tx.base.config))

    # -- private -------------------------------------------------------------------------------

    def _transaction(self, message: str, time: int) -> Transaction:
        return self.repository.transaction(author=self.author, message=message, time=time)


def _end(ids: Sequence[NodeId], end: object) -> NodeId:
    if isinstance(end, NodeId):
        return end
    if type(end) is int and 0 <= end < len(ids):
        return ids[end]
    raise InvalidInputError(
        f"relations: got {end!r:.40}, expected the id of a record or the place of a new one"
    )

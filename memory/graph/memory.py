"""Graph memory over a repository: records written, asked for, revised, consolidated and pruned.

Pruning hides records whose salience has faded, in one commit; history keeps them.

Spec: memory 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ibidem.memory.graph import revise
from ibidem.memory.graph.answer import GraphAnswer, GraphReceipt
from ibidem.memory.graph.record import LAYERS, STANDING, Deletion, Record, RecordType, Status
from ibidem.memory.graph.request import DEPTH_DEFAULT, Request
from ibidem.memory.graph.retrieve import NEUTRAL_POLICY, ask, ranked_query
from ibidem.memory.graph.salience import salience
from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.errors import InvalidInputError, ReplayError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.repo.notes import SPACE_DEFAULT, read_log
from ibidem.repo.retrieval.feedback import opinions
from ibidem.repo.retrieval.retrieve import ask as ask_repository
from ibidem.repo.revspec import HEAD
from ibidem.retrieve.access.policy import ALL, TrustContext, TrustPolicy, policy_of
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.memory.graph.consolidate import Consolidated
    from ibidem.memory.graph.metrics import Metrics
    from ibidem.repo.repository import Repository
    from ibidem.repo.revision import Revision
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.retrieve.rerank import Reranker, RerankRecord


REASON = "pruned: its salience faded"


def prune(
    memory: GraphMemory,
    *,
    below: float,
    as_of: int | datetime | None,
    dry_run: bool,
    time: int | datetime | None,
) -> list[NodeId]:
    """Hides faded records; see `GraphMemory.prune`."""
    checks.number("below", below, high=1.0)
    now = memory.repository.now(time)
    moment = now if as_of is None else memory.repository.now(as_of)
    log, records = memory.notes.log(), memory.read()
    found = [
        record.id
        for record in records.found
        if record.id is not None and record.deletion is Deletion.AUTO_PRUNE and not record.pinned
        if salience(record, log.about(record.id), moment, undated=records.time) < below
    ]
    if found and not dry_run:
        message = f"prune {len(found)} records"
        with memory.repository.transaction(author=memory.author, message=message, time=now) as tx:
            for one in found:
                tx.tombstone(one, reason=REASON)
    return found


Time = int | datetime | None
_OWN: Mapping[str, str] = MappingProxyType(
    {"label": "types", "limit": "root_limit or node_limit", "valid_at": "as_of"}
)
"""Options of `retrieve` that go by another name here."""
_WITHOUT_EFFECT = (
    "adjacency",
    "content_chars",
    "direct",
    "estimator",
    "packs",
    "strict",
    "token_budget",
)
"""Options that shape an answer of nodes, which a graph is not."""


@record
class Records:
    """The records of one revision."""

    found: tuple[Record, ...]
    """By id."""
    unreadable: Mapping[NodeId, str]
    """Nodes that have the type of a record and are none, by id, each with the reason."""
    time: int | None
    """Of the commit, which is that of records without a time; None where there is no commit."""


class GraphMemory:
    """The records of one repository, and one space of notes about them."""

    def __init__(
        self, repository: Repository, *, space: str = SPACE_DEFAULT, author: str = ""
    ) -> None:
        """Opens the memory; `author` signs what is written here."""
        self.repository = repository
        self.notes = repository.notes.space(space)
        self.author = author

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

        return consolidate.consolidate(self, dry_run=dry_run, time=time)

    def prune(
        self, *, below: float = 0.001, as_of: Time = None, dry_run: bool = False, time: Time = None
    ) -> list[NodeId]:
        """Hides the records that have faded away, in one commit, and returns them by id.

        Only records that may be pruned (`auto_prune`), are not pinned, and whose salience is below
        a number, and not held up by a floor above it.
        """

        return prune(self, below=below, as_of=as_of, dry_run=dry_run, time=time)

    # -- asking --------------------------------------------------------------------------------

    def retrieve_graph(
        self,
        text: str | None = None,
        *,
        trust: TrustContext | None = None,
        rev: object = HEAD,
        types: Iterable[RecordType | str] | None = None,
        min_salience: float = 0.0,
        root_limit: int = 10,
        node_limit: int = 25,
        edge_limit: int = 100,
        hops: int = 1,
        direction: str = "both",
        as_of: Time = None,
        include_status: Iterable[Status | str] = (),
        notes: CommitCid | None = None,
        depth: int = DEPTH_DEFAULT,
        top_min: float | None = None,
        gap_min: float | None = None,
        **options: Any,
    ) -> GraphAnswer:
        """Returns the records that a question is about, and what they are tied to.

        Args:
            text: the question; without one, and without a vector, every record by its salience.
            trust: who asks; required where there is a trust policy.
            rev: the revision that is asked.
            types: of the records that are returned, all six unless given.
            min_salience: of the records that are returned.
            root_limit: records that are ranked. node_limit: records in all, roots included.
            edge_limit: edges. hops: steps from a root; 0 for roots alone.
            direction: in which relations are followed: `outgoing`, `incoming` or `both`.
            as_of: the time of salience and validity; that of the commit, or of the notes if that is
                later, unless given.
            include_status: statuses beside `active` and `contested`.
            notes: the notes head whose events count, the newest unless given.
            depth: records that each lane puts forward.
            top_min: a best selector score below this needs more. gap_min: or a gap below this.
            options: those of `Revision.retrieve` that rank or narrow, such as `vector`, `embedder`,
                `where`, `graph`, `feedback`, `recency` or `rerank`. Ages are those at `as_of`, and
                opinions those of `notes`. Options that shape an answer of nodes are refused.

        Raises:
            InvalidInputError: an option is wrong, or would have no effect; kind `trust-required`.
        """
        _check_options(options)
        revision = self.repository.at(rev).seen_by(trust)
        head = self.notes.head if notes is None else notes
        moment = self.moment(revision, as_of, head)
        if options.get("recency") or options.get("worth"):
            options["as_of"] = moment
        if options.get("feedback") or options.get("worth"):
            options["notes"] = head
        resolved = ask_repository(
            self.repository.core,
            revision.graph,
            text=text,
            label=[str(one) for one in self._types(types)],
            where=_standing(include_status, options.pop("where", None)),
            valid_at=moment,
            **options,
        )
        limits = {"top_min": top_min, "gap_min": gap_min}
        request = Request(
            query=ranked_query(resolved.query, depth),
            as_of=moment,
            undated=_undated(revision),
            notes_head=head,
            min_salience=min_salience,
            root_limit=root_limit,
            node_limit=node_limit,
            edge_limit=edge_limit,
            hops=hops,
            direction=direction,
            **{name: value for name, value in limits.items() if value is not None},
        )
        commit = None if revision.commit is None else revision.commit.cid
        return self._answer(revision, request, commit, resolved.reranker)

    def replay(self, receipt: GraphReceipt | bytes) -> GraphAnswer:
        """Asks again what a receipt says was asked; raises `ReplayError` unless it is the same."""
        asked = GraphReceipt.decode(receipt) if isinstance(receipt, bytes) else receipt
        revision = self.repository.at(RootCid(asked.root.raw)).seen_by(asked.request.query.trust)
        answer = self._answer(revision, asked.request, asked.commit, asked.rerank)
        if answer.cid != asked.result:
            raise ReplayError(
                f"receipt: the answer is {answer.cid}, expected {asked.result}",
                hint="a file of this repository was changed; run 'repo fsck'",
            )
        return answer

    def record(
        self, record: NodeId, *, trust: TrustContext | None = None, rev: object = HEAD
    ) -> Record:
        """Returns a record; `NotFoundError` for one that is missing and one that may not be
        seen."""
        revision = self.repository.at(rev).seen_by(trust)
        return Record.of(revision.node(record), policy_of(revision.config) or NEUTRAL_POLICY)

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
        moment = self.moment(revision, as_of, head)
        return salience(found, log.about(record), moment, undated=_commit_time(revision))

    def metrics(self, *, rev: object = HEAD, as_of: Time = None) -> Metrics:
        """Returns how the memory fares, in numbers: of all records, whoever may see them."""
        from ibidem.memory.graph import metrics

        return metrics.metrics(self, rev=rev, as_of=as_of)

    def whole(self, rev: object = HEAD) -> Revision:
        """Returns a revision as its owner sees it."""
        return self.repository.at(rev).seen_by(ALL)

    def records(self, rev: object = HEAD) -> list[Record]:
        """Returns every record of a revision, whoever may see it, by id.

        Nodes that have the type of a record and are none are left out; `read` names them.
        """
        return list(self.read(rev).found)

    def read(self, rev: object = HEAD) -> Records:
        """Returns every record of a revision, and which nodes of their types are no records."""
        revision = self.whole(rev)
        policy = policy_of(revision.config) or NEUTRAL_POLICY
        found: list[Record] = []
        unreadable: dict[NodeId, str] = {}
        for node in revision.query(label=[str(one) for one in LAYERS]):
            try:
                found.append(Record.of(node, policy))
            except InvalidInputError as error:
                unreadable[node.id] = str(error)
        return Records(tuple(found), MappingProxyType(unreadable), _commit_time(revision))

    def policy(self, tx: Transaction) -> TrustPolicy:
        """Returns the policy that names the properties of records."""
        from ibidem.objects.config import Config

        return policy_of(Config.from_map(tx.base.config)) or NEUTRAL_POLICY

    def moment(self, revision: Revision, as_of: Time, notes: CommitCid | None) -> int:
        """Returns the time of a question: the one given, else that of the last thing that it can
        know of, be it the commit or the notes; never the clock's."""
        if as_of is not None:
            return self.repository.now(as_of)
        times = [_commit_time(revision) or 0]
        if notes is not None:
            times.append(self.repository.commit_at(notes).time)
        return max(times)

    # -- private -------------------------------------------------------------------------------

    def _answer(
        self,
        revision: Revision,
        request: Request,
        commit: CommitCid | None,
        reranker: Reranker | RerankRecord | None,
    ) -> GraphAnswer:
        repository, get = self.repository, self.repository.core.store.get
        log = read_log(
            repository.core, request.notes_head, repository.core.note_logs.setdefault("", {})
        )
        return revision.asked(
            lambda snapshot: ask(
                snapshot,
                request,
                log,
                lambda cid: Node.decode(get(cid)),
                repository.core.content_of,
                commit,
                reranker=reranker,
                opinions=opinions(repository.core, request.query),
            )
        )

    def _transaction(self, message: str, time: int) -> Transaction:
        return self.repository.transaction(author=self.author, message=message, time=time)

    def _types(self, types: Iterable[RecordType | str] | None) -> list[RecordType]:
        if types is None:
            return list(LAYERS)
        found = list(types)
        for one in found:
            if isinstance(types, str) or one not in LAYERS:
                raise InvalidInputError(
                    f"types: got {one!r:.40}, expected some of {', '.join(LAYERS)}"
                )
        if not found:
            raise InvalidInputError("types: got none, expected one or more")
        return [RecordType(one) for one in found]


def _check_options(options: Mapping[str, object]) -> None:
    """Raises `InvalidInputError` for an option of `retrieve` that would have no effect."""
    for name in sorted(options):
        if name in _OWN:
            raise InvalidInputError(f"{name}: got it for a graph, expected {_OWN[name]}")
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


def _undated(revision: Revision) -> int | None:
    """Returns the time of the records that have none, None where all that are seen have one.

    So an answer about dated records alone does not say when the commit was made.
    """

    def lacks(snapshot: Snapshot) -> bool:
        dated = snapshot.exists("time")
        return any((snapshot.label(one) & snapshot.live) - dated for one in LAYERS)

    return _commit_time(revision) if revision.asked(lacks) else None


def _commit_time(revision: Revision) -> int | None:
    """Returns the time of the commit that is asked; None where a root is asked."""
    return None if revision.commit is None else revision.commit.time


def _end(ids: Sequence[NodeId], end: object) -> NodeId:
    if isinstance(end, NodeId):
        return end
    if type(end) is int and 0 <= end < len(ids):
        return ids[end]
    raise InvalidInputError(
        f"relations: got {end!r:.40}, expected the id of a record or the place of a new one"
    )

"""Records a run: the live repository, with every step recorded in order.

A step with an effect outside the run (a commit, an event) is durable before the agent continues. A
retrieval can be repeated, so it is published later, and the last ones are lost if the process is
killed. If the agent fails, the run is complete and ends with the error, which a replay repeats.

Spec: replay 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, ReceiptCid, RootCid
from ibidem.objects.errors import IbidemError, InvalidInputError
from ibidem.repo.arguments import UniqueIds, commit_info
from ibidem.repo.graph import Graph
from ibidem.repo.retrieval.resolver import resolver
from ibidem.repo.retrieval.retrieve import answered
from ibidem.repo.runs import payload
from ibidem.repo.runs.chain import Chain, Watch
from ibidem.repo.runs.payload import settled
from ibidem.repo.runs.recording import Recording
from ibidem.repo.runs.session import (
    FILL,
    RECORDED,
    OpenEvent,
    RunRevision,
    Session,
    is_nested,
    noted_request,
    retrieve_request,
    rev_text,
)
from ibidem.repo.transaction.begin import begin, branch_publisher
from ibidem.repo.transaction.changeset import ChangeSet, Published, Publisher, with_edits
from ibidem.repo.transaction.publish import BranchPublisher
from ibidem.retrieve.answer.answer import AnswerKind

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.objects.ids import NodeId
    from ibidem.objects.root import Root
    from ibidem.repo.arguments import CommitInfo
    from ibidem.repo.core import Core
    from ibidem.repo.runs.replay import Replay
    from ibidem.repo.transaction.publish import Tip
    from ibidem.repo.transaction.transaction import NewId, Transaction
    from ibidem.retrieve.query.query import Query


class Run(Session):
    """A run that is being recorded; leaving the context manager ends the run."""

    def __init__(
        self,
        repository: Core,
        name: str,
        *,
        agent: str,
        task: str,
        author: str,
        watch: Watch | None = None,
    ) -> None:
        signed = commit_info(author, "", None, agent, task)
        request = {"agent": signed.agent, "task": signed.task, "author": signed.author, FILL: True}
        self._live = repository
        self._chain = Chain(repository.operation_log, name, request, author=author, watch=watch)
        self._is_open = True
        super().__init__(repository, self._chain.name)

    def _end(self, error: BaseException | None) -> None:
        said = {"value": "finished"} if error is None else payload.failed(error)
        self._chain.append("end", answer=said)
        self._chain.publish()
        self._is_open = False

    def replay(self) -> Replay:
        """Returns the run as a repository for agent code, once recording has ended."""
        if self._is_open:
            raise InvalidInputError(
                f"run {self.name!r}: it is being recorded", hint="leave its 'with' block first"
            )
        return Recording(self._live, self.name).replay()

    def publish(self) -> None:
        """Makes all steps so far durable."""
        self._chain.publish()

    def _append(self, action: str, **fields: Any) -> None:
        if not self._is_open:
            raise InvalidInputError(f"run {self.name!r}: it has ended, nothing more is recorded")
        if is_nested(self):
            return  # A replay takes the outcome of the event, and does nothing of what led to it.
        self._chain.append(action, **fields)

    # -- doors ---------------------------------------------------------------------------------

    @property
    def _first_request(self) -> Mapping[str, Any]:
        return self._chain.first_request

    def _read(self, rev: object) -> RunRevision:
        if isinstance(rev, RunRevision):
            return rev
        request = {"at": rev_text(rev)}
        with self._chain.lock:
            try:
                found = self._graph(rev)
            except IbidemError as error:
                self._append("read", request=request, answer=payload.failed(error))
                raise
            commit = None if found.commit is None else found.commit.encode()
            self._append("read", request=request, root=found.root_cid, commit=commit)
        return RunRevision(self, request["at"], found.root_cid, found.commit)

    def _retrieve(
        self,
        rev: str,
        graph: Graph | None,
        options: Mapping[str, Any],
        kind: AnswerKind = AnswerKind.NODES,
    ) -> Any:
        return self._record_retrieval(rev, graph, options, kind, None)

    def _record_retrieval(
        self,
        rev: str,
        graph: Graph | None,
        options: Mapping[str, Any],
        kind: AnswerKind,
        like: Query | None,
    ) -> Any:
        """Asks a question and records it, by the rules of another one if there is one."""
        request = retrieve_request(rev, options, kind)
        with self._chain.lock:
            graph = self._graph(rev) if graph is None else graph
            try:
                question = resolver(kind)(self._live, graph, **options)
                if like is not None:
                    question = replace(question, query=question.query.counting_like(like))
                result = answered(self._live, graph, question)
            except IbidemError as error:
                self._append("retrieve", request=request, answer=payload.failed(error))
                raise
            if result.receipt is None:
                raise InvalidInputError(
                    f"answer: got {len(result)} items, too many for a receipt, which a run needs",
                    hint="ask with a smaller limit",
                )
            block = result.receipt.encode()
            cid = ReceiptCid.of(block)
            self._append(
                "retrieve",
                request=request,
                receipt=cid,
                root=result.root,
                commit=None if graph.commit is None else graph.commit.encode(),
                blocks={cid: block},
            )
        return result

    def _graph(self, rev: object) -> Graph:
        """Returns the graph that the run reads at a revision."""
        return self._live.graph(rev)

    def _publisher(self, request: dict[str, Any], signed: CommitInfo) -> tuple[Publisher, Tip]:
        """Returns what publishes the commit of a transaction, and the tip that it begins on."""
        choice = request.get("on_conflict", "record")
        inner = branch_publisher(self._live, request["branch"], signed, on_conflict=choice)
        return inner, inner.begun

    def _transaction(self, request: dict[str, Any]) -> Transaction:
        author, message, time, agent, task = (request[name] for name in _SIGNED)
        key = self._live.key_for(request.get("sign"))
        signed = commit_info(author, message, time, agent, task, key)
        with self._chain.lock:
            inner, base = self._publisher(request, signed)
            self._append("transaction", request=request, root=base.root_cid)
        publisher = _Recording(self, inner, base)
        return begin(
            self._live,
            publisher,
            signed,
            recorded=self._recorded,
            now=lambda: self.now(signed.time),
        )

    def _recorded(self, ids: UniqueIds) -> NewId:
        """Returns a function that generates ids and records them: a replay has another clock."""

        def made(fields: Mapping[str, Any]) -> NodeId:
            found = ids(fields)
            self._append("random", answer=found.raw)
            return found

        return made

    def _open_event(self, name: str, request: Any) -> OpenEvent:
        start = self._chain.count

        def record(outcome: Mapping[str, Any] | None) -> None:
            self._append("event", name=name, request=request, answer=outcome, start=start)
            self._chain.publish()

        return OpenEvent(self, record, name=name)

    def _call(self, name: str, request: dict[str, Any]) -> Any:
        with self._chain.lock:
            try:
                found = RECORDED[name](self._live, **request)
            except IbidemError as error:
                self._append("call", name=name, request=request, answer=payload.failed(error))
                raise
            answer = settled(name, found)
            self._append("call", name=name, request=request, answer={payload.VALUE: answer})
            self._chain.publish()
        return answer


_SIGNED = ("author", "message", "time", "agent", "task")


class _Recording:
    """Publishes the edits of a transaction, and records the result."""

    def __init__(self, run: Run, inner: Publisher, base: Tip) -> None:
        self._run = run
        self._inner = inner
        self._base = base

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        return self._inner.base()

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Published:
        """Publishes the edits. A replay checks the root that they make from their base, and the
        events that they add to notes.
        """
        run = self._run
        request = noted_request(edits)
        try:
            published = self._inner.publish(edits, blocks)
        except IbidemError as error:
            run._append("commit", request=request, answer=payload.failed(error))
            raise
        commit, notes = published.commit, published.notes
        buffer = WriteBatch(run._live.store)
        root_cid = self._root(commit, edits, blocks, buffer)
        run._append(
            "commit",
            request=request,
            answer={payload.VALUE: dict(notes)} if notes else None,
            root=root_cid,
            commit=None if commit is None else commit.encode(),
            blocks=buffer.new,
        )
        run.publish()
        return published

    def _root(
        self,
        commit: Commit | None,
        edits: ChangeSet,
        blocks: Mapping[Cid, bytes],
        buffer: WriteBatch,
    ) -> RootCid:
        parents = () if self._base.commit is None else (self._base.commit,)
        is_published = isinstance(self._inner, BranchPublisher)
        if is_published and commit is not None and commit.parents == parents:
            return commit.root
        # Another writer was first: the parent of the commit is not the root the edits were made on.
        # Or nothing is published, and the run alone leads to the root.
        buffer.new.update(blocks)
        block = with_edits(self._base.root, edits, buffer).encode()
        root_cid = RootCid.of(block)
        buffer.put(root_cid, block)
        return root_cid

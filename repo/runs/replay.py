"""Replays a run: a repository for agent code that returns the recorded answers.

Nothing outside is called: no tools, no models for embedding or reranking, and nothing is published.
Retrievals run again on the recorded roots and are compared to the byte; a commit is created again
in memory, and its root is compared. At the first step whose request differs from the recorded one,
the replay fails and reports both.

Spec: replay 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.errors import CorruptError, RunMismatchError
from ibidem.objects.ids import NodeId
from ibidem.objects.root import Root
from ibidem.objects.step import Step
from ibidem.repo.graph import Graph
from ibidem.repo.history import log
from ibidem.repo.history.diff_format import change_line
from ibidem.repo.receipts import replay
from ibidem.repo.retrieval.resolver import resolver
from ibidem.repo.retrieval.retrieve import WRITTEN, is_encoder
from ibidem.repo.runs import payload, step_format
from ibidem.repo.runs.payload import difference_lines, same, settled
from ibidem.repo.runs.session import (
    OpenEvent,
    RunGraph,
    RunRevision,
    Session,
    commits_of,
    noted_request,
    retrieve_request,
    rev_text,
)
from ibidem.repo.runs.shape import ReadStep
from ibidem.repo.transaction.changeset import ChangeSet, Published, with_edits
from ibidem.repo.transaction.staged_graph import staged_graph
from ibidem.repo.transaction.transaction import Transaction
from ibidem.retrieve.answer.answer import AnswerKind
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.query.subquery import Subquery

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.retrieval.retrieve import PreparedQuery

_CHANGES_SHOWN = 5


class Replay(Session):
    """A recorded run as a repository; a context manager that checks at its end that every step was
    replayed.
    """

    def __init__(
        self,
        repository: Core,
        name: str,
        steps: Sequence[Step],
        read_step: Callable[[Step], ReadStep],
    ) -> None:
        """Begins a replay.

        Args:
            repository: contains the blocks that the steps name.
            name: the name of the run with its number.
            steps: all of them, the beginning of the run first.
            read_step: returns a step with its values.
        """
        super().__init__(repository, name)
        self._steps = steps
        self._read_step = read_step
        self._next = 1
        """The index of the first step that was not replayed; step 0 is the beginning of the run."""
        self._ahead: set[int] = set()
        """The later steps that were replayed already."""
        self._overlaps = _overlaps(steps)

    def _end(self, error: BaseException | None) -> None:
        if error is None:
            self.finish()

    @property
    def remaining_count(self) -> int:
        """The number of steps that were not replayed yet."""
        return len(self._steps) - self._next - len(self._ahead)

    def finish(self) -> None:
        """Raises `RunMismatchError` unless the agent has replayed every recorded step."""
        found = self._peek()
        if found is None:
            return
        if found.step.action != "end" or payload.is_failed(found.answer):
            self._refuse("the agent ended without an error")

    # -- doors ---------------------------------------------------------------------------------

    @property
    def _first_request(self) -> Mapping[str, Any]:
        found = self._read_step(self._steps[0])
        return found.request if found.step.action == "begin" else {}

    def _read(self, rev: object) -> RunRevision:
        if isinstance(rev, RunRevision):
            return rev
        text = rev_text(rev)
        found = self._take("read", f"read the graph at {text}", request={"at": text})
        self._raise_recorded(found)
        if found.step.root is None:
            raise self._incomplete(found.step, "a root")
        return RunRevision(self, text, found.step.root, found.commit)

    def _retrieve(
        self,
        rev: str,
        graph: Graph | None,
        options: Mapping[str, Any],
        kind: AnswerKind = AnswerKind.NODES,
    ) -> Any:
        request = retrieve_request(rev, options, kind)
        said = step_format.retrieval(request)
        found = self._expect("retrieve", said)
        step, recorded = found.step, found.request
        if step.receipt is None or any(recorded.get(one) != request.get(one) for one in AnswerKind):
            if not same(recorded, request):
                self._refuse(said, difference_lines(recorded, request), found)
            self._replayed(found)
            self._raise_recorded(found)
        if step.receipt is None:
            raise self._incomplete(step, "a receipt or an error")
        receipt = Receipt.decode(self._store.get(step.receipt))
        at = RunGraph(self._repository, receipt.root, found.commit)
        question = self._question(at, receipt, options, kind)
        question = replace(question, query=question.query.counting_like(receipt.query))
        details = difference_lines({**recorded, "text": request["text"]}, request)
        details += difference_lines(receipt.query.form(), question.query.form())
        if graph is not None and graph.root_cid != receipt.root:
            details.append(f"differs in root: {receipt.root} then, {graph.root_cid} now")
        if details:
            self._refuse(step_format.question(rev, question.query.form()), details, found)
        self._replayed(found)
        again = replace(question, reranker=receipt.rerank)
        result = replay.ask_again(self._repository, at, again)
        replay.check_same(self._repository, receipt, result, at.config)
        return replace(result, receipt=receipt)

    def _question(
        self, at: Graph, receipt: Receipt, options: Mapping[str, Any], kind: AnswerKind
    ) -> PreparedQuery:
        """Resolves a query with its vector from the recording, not from a model."""
        given = with_recorded_vector(receipt, options)
        counts = kind is AnswerKind.RECORDS or given.get("feedback") or given.get("worth")
        if counts and not isinstance(given.get("notes"), CommitCid):
            # The notes head is in the receipt; the head of the space may have moved since.
            given["notes"] = receipt.notes_head
        return resolver(kind)(self._repository, at, **given)

    def _transaction(self, request: dict[str, Any]) -> Transaction:
        step = self._take("transaction", step_format.transaction(request), request=request).step
        base = step.root
        if base is None:
            raise self._incomplete(step, "a root")
        return Transaction(
            self._store,
            _Comparing(self, base),
            incident=lambda root, id: self._repository.edge_lookup.incident(None, root, id),  # noqa: A006
            unique_id=self._recorded_id,
            now=lambda: self.now(request["time"]),
            staged=lambda root, blocks: self._staged(base, root, blocks),
            author=request["author"],
        )

    def _staged(self, base: RootCid, root: Root, blocks: WriteBatch) -> Graph:
        before = RunGraph(self._repository, base, None)
        return staged_graph(before, root, blocks)

    def _recorded_id(self, _: Mapping[str, Any]) -> NodeId:
        return NodeId(self._take("random", "named a new node").answer)

    def _open_event(self, name: str, request: Any) -> OpenEvent:
        line = step_format.event(name, request)
        events = [self._read_step(step) for step in self._open_steps() if step.action == "event"]
        fits = (one for one in events if one.step.name == name and same(request, one.request))
        found = next(fits, None)
        if found is None:
            found = self._expect("event", line, name)
            self._refuse(line, difference_lines(found.request, request), found)
        self._replayed(found)
        return OpenEvent(self, None, found.answer, name=name)

    def _call(self, name: str, request: dict[str, Any]) -> Any:
        found = self._take("call", step_format.call(name, request), name=name, request=request)
        self._raise_recorded(found)
        return found.answer[payload.VALUE]

    # -- the recording -------------------------------------------------------------------------

    @property
    def _store(self) -> Any:
        return self._repository.store

    def _peek(self) -> ReadStep | None:
        if self._next >= len(self._steps):
            return None
        return self._read_step(self._steps[self._next])

    def _open_steps(self) -> Iterator[Step]:
        """Yields the steps that may come now: the first that was not replayed, and those that were
        recorded while it, or one of them, went on.
        """
        for index in range(self._next, len(self._steps)):
            if index not in self._ahead:
                yield self._steps[index]
            if not self._overlaps[index]:
                return

    def _expect(self, action: str, said: str, name: str = "") -> ReadStep:
        """Returns the next step, which must have the given action, without consuming it.

        Events may come in another order than they ended in; all other steps keep theirs.
        """
        steps = list(self._open_steps())
        ordered = [step for step in steps if (step.action == "event") == (action == "event")]
        found = self._read_step(ordered[0]) if ordered else None
        if found is None or (found.step.action, found.step.name) != (action, name):
            self._refuse(said)
        return found

    def _take(self, action: str, said: str, *, name: str = "", request: Any = None) -> ReadStep:
        """Consumes the next step, which must have the given action and the same request."""
        found = self._expect(action, said, name)
        recorded, now = found.request, settled(action, request)
        if not same(now, recorded):
            self._refuse(said, difference_lines(recorded, now), found)
        self._replayed(found)
        return found

    def _replayed(self, found: ReadStep) -> None:
        """Consumes a step."""
        self._ahead.add(found.step.index)
        while self._next in self._ahead:
            self._ahead.remove(self._next)
            self._next += 1

    def _incomplete(self, step: Step, missing: str) -> CorruptError:
        return CorruptError(
            f"run {self.name!r}, step {step.index}: got {step.action!r:.40} without {missing}"
        )

    def _raise_recorded(self, found: ReadStep) -> None:
        if payload.is_failed(found.answer):
            raise payload.raised(found.answer)

    def _refuse(
        self, replayed: str, details: list[str] | None = None, at: ReadStep | None = None
    ) -> NoReturn:
        """Raises the mismatch at a step; without `at`, at the first that was not replayed."""
        found = self._peek() if at is None else at
        recorded = (
            "nothing more: the recording stops here, as if its process had been killed"
            if found is None
            else step_format.step_line(self._store, found)
        )
        index = self._next if found is None else found.step.index
        raise RunMismatchError(self.name, index, recorded, replayed, details or [])


def with_recorded_vector(receipt: Receipt, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a query with the vectors and further questions of its receipt in place
    of its models."""
    given = dict(options)
    model, embedder = given.pop("model", None), given.pop("embedder", None)
    name = model if model is not None or embedder is None else embedder.name
    vector = receipt.query.vector
    if name is not None and vector is not None and vector.model == name:
        given["vector"] = (name, np.frombuffer(vector.data, "<f4"))
    if has_encoder := is_encoder(given.get("sparse")):
        recorded = receipt.query.sparse
        given["sparse"] = recorded and (recorded.vocab, recorded.tokens, recorded.weights)
    if receipt.query.queries is not None:
        given["queries"] = _with_recorded_queries(
            receipt.query.queries, given, name, has_encoder=has_encoder
        )
        for option in WRITTEN:
            given.pop(option, None)
    return given


def _with_recorded_queries(
    recorded: Sequence[Subquery],
    options: Mapping[str, Any],
    model: str | None,
    *,
    has_encoder: bool,
) -> list[Any]:
    """Returns the subqueries that are given, with the recorded vectors of their texts, and those
    that a model wrote if one is to write some."""
    found = list(options.get("queries") or ())
    written = recorded[len(found) :] if any(options.get(name) for name in WRITTEN) else ()
    for position, (one, then) in enumerate(zip(found, recorded, strict=False)):
        own = {"text": one} if isinstance(one, str) else dict(one)
        vector = then.vector
        if vector is not None and vector.model == model and own.get("text") == then.text:
            own = {"vector": (model, vector.array()), **own}
        if has_encoder and then.sparse is not None and own.get("text") == then.text:
            own = {"sparse": (then.sparse.vocab, then.sparse.tokens, then.sparse.weights), **own}
        found[position] = own
    return [*found, *(one.given() for one in written)]


class _Comparing:
    """Receives the edits of a transaction and compares their root with the recorded one; publishes
    nothing.
    """

    def __init__(self, replay: Replay, root_cid: RootCid) -> None:
        self._replay = replay
        self._root = Root.decode(replay._store.get(root_cid))

    def base(self) -> Root:
        """Returns the root that the recorded transaction began on."""
        return self._root

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Published:
        """Returns what was recorded, after checking that the edits are the same."""
        replay = self._replay
        found = replay._expect("commit", "committed")
        step = found.step
        request = settled("notes", noted_request(edits))
        if not same(request, found.request):
            replay._refuse(
                "noted something else",
                difference_lines(found.request or {}, request or {}),
                found,
            )
        if step.root is None:
            replay._replayed(found)
            replay._raise_recorded(found)
            raise replay._incomplete(step, "a root or an error")
        buffer = WriteBatch(replay._store)
        buffer.new.update(blocks)
        root = with_edits(self._root, edits, buffer)
        if root.cid != step.root:
            recorded = Root.decode(replay._store.get(step.root))
            replay._refuse("committed something else", _changes(buffer, recorded, root), found)
        replay._replayed(found)
        notes = {} if found.answer is None else commits_of(found.answer[payload.VALUE])
        return Published(found.commit, notes)


def _overlaps(steps: Sequence[Step]) -> list[bool]:
    """Returns for each step whether a later one started before it was recorded."""
    overlaps, first = [False] * len(steps), len(steps)
    for index in reversed(range(len(steps))):
        overlaps[index] = first <= index
        first = min(first, steps[index].start or index)
    return overlaps


def _changes(source: WriteBatch, recorded: Root, now: Root) -> list[str]:
    """Returns the changes in which the graph differs from the recorded one."""
    changes = list(log.changes(source, recorded, now))
    lines = [
        f"now, against the recording: {change_line(source, change)}"
        for change in changes[:_CHANGES_SHOWN]
    ]
    more = len(changes) - len(lines)
    return [*lines, f"and {more} more"] if more else lines

"""Replaying a run: a repository for agent code that gives the recorded answers back.

Nothing outside is asked: tools are not called, models embed and rerank nothing, and nothing is
published. Retrievals are asked again of the recorded roots and compared to the byte; a commit is
made again in memory, and its root compared. At the first step that asks something else than the
recording, the replay fails and says both.

Spec: replay 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError, ReplayError
from ibidem.objects.ids import NodeId
from ibidem.objects.root import Root
from ibidem.objects.step import Step
from ibidem.repo.graph import Graph
from ibidem.repo.history import log
from ibidem.repo.history.diff_format import change_line
from ibidem.repo.receipts import replay
from ibidem.repo.retrieval import context, retrieve
from ibidem.repo.runs import payload, step_format
from ibidem.repo.runs.payload import difference_lines, same, settled
from ibidem.repo.runs.session import RunGraph, RunRevision, Session, retrieve_request, rev_text
from ibidem.repo.runs.shape import ReadStep
from ibidem.repo.transaction.changeset import ChangeSet, laid_on
from ibidem.repo.transaction.transaction import Transaction
from ibidem.retrieve.answer.receipt import Receipt

if TYPE_CHECKING:
    from ibidem.repo.retrieval.retrieve import PreparedQuery
    from ibidem.repo.runs.recording import Recording

_CHANGES_SHOWN = 5


class RunMismatchError(ReplayError):
    """A replayed agent did something else than it did when the run was recorded."""

    def __init__(
        self, recording: Recording, index: int, recorded: str, asked: str, details: list[str]
    ) -> None:
        self.step_index = index
        """Which step of the run it is; 0 is its beginning."""
        self.recorded = recorded
        """What the agent did when the run was recorded."""
        self.asked = asked
        """What it did now."""
        lines = [
            f"run {recording.name!r} no longer does what was recorded, from step {index} on",
            f"  recorded: {recorded}",
            f"  now:      {asked}",
            *(f"  {line}" for line in details),
        ]
        super().__init__(
            "\n".join(lines),
            hint="if the change is meant, record the run again; if not, the code or prompt that "
            f"leads to step {index} has changed",
        )


class Replay(Session):
    """A recorded run as a repository; a context manager that checks that all of it was asked."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording.repository, recording.name)
        self._recording = recording
        self._steps = recording.steps
        self._next = 1
        """The step that comes next; step 0 is the beginning of the run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.finish()

    @property
    def remaining_count(self) -> int:
        """How many steps have not been asked for yet."""
        return len(self._steps) - self._next

    def finish(self) -> None:
        """Raises `RunMismatchError` unless the agent has done all that was recorded."""
        found = self._peek()
        if found is None:
            return
        if found.step.action != "end" or payload.is_failed(found.answer):
            self._refuse("the agent ended without an error")

    # -- doors ---------------------------------------------------------------------------------

    def _read(self, rev: object) -> RunRevision:
        if isinstance(rev, RunRevision):
            return rev
        text = rev_text(rev)
        found = self._take("read", f"read the graph at {text}", request={"rev": text})
        self._raise_recorded(found)
        if found.step.root is None:
            raise self._incomplete(found.step, "a root")
        return RunRevision(self, text, found.step.root, found.commit)

    def _retrieve(
        self,
        rev: str,
        graph: Graph | None,
        options: Mapping[str, Any],
        *,
        is_packs: bool = False,
    ) -> Any:
        asked = retrieve_request(rev, options, is_packs=is_packs)
        said = step_format.retrieval(asked)
        found = self._expect("retrieve", said)
        step, recorded = found.step, found.request
        if step.receipt is None or recorded.get("packs") != asked.get("packs"):
            if not same(recorded, asked):
                self._refuse(said, difference_lines(recorded, asked))
            self._next += 1
            self._raise_recorded(found)
        if step.receipt is None:
            raise self._incomplete(step, "a receipt or an error")
        receipt = Receipt.decode(self._store.get(step.receipt))
        at = RunGraph(self._repository, receipt.root, found.commit)
        question = self._question(at, receipt, options, is_packs=is_packs)
        details = difference_lines({**recorded, "text": asked["text"]}, asked)
        details += difference_lines(receipt.query.form(), question.query.form())
        if graph is not None and graph.root_cid != receipt.root:
            details.append(f"differs in root: {receipt.root} then, {graph.root_cid} now")
        if details:
            self._refuse(step_format.question(rev, question.query.form()), details)
        self._next += 1
        again = replace(question, reranker=receipt.rerank)
        result = replay.ask_again(self._repository, at, again)
        replay.check_same(self._repository, receipt, result)
        return replace(result, receipt=receipt)

    def _question(
        self, at: Graph, receipt: Receipt, options: Mapping[str, Any], *, is_packs: bool
    ) -> PreparedQuery:
        """Returns the question resolved, its vector taken from the recording and not a model."""
        given = dict(options)
        model, embedder = given.pop("model", None), given.pop("embedder", None)
        name = model if model is not None or embedder is None else embedder.name
        vector = receipt.query.vector
        if name is not None and vector is not None and vector.model == name:
            given["vector"] = (name, np.frombuffer(vector.data, "<f4"))
        if (given.get("feedback") or given.get("worth")) and not isinstance(
            given.get("notes"), CommitCid
        ):
            # What the notes were is in the receipt; their space may have moved on.
            given["notes"] = receipt.notes_head
        resolve = context.ask_packs if is_packs else retrieve.ask
        return resolve(self._repository, at, **given)

    def _transaction(self, request: dict[str, Any]) -> Transaction:
        step = self._take("transaction", step_format.transaction(request), request=request).step
        if step.root is None:
            raise self._incomplete(step, "a root")
        return Transaction(
            self._store,
            _Comparing(self, step.root),
            incident=lambda root, id: self._repository.incident(None, root, id),  # noqa: A006
            unique_id=self._recorded_id,
        )

    def _recorded_id(self, _: Mapping[str, Any]) -> NodeId:
        return NodeId(self._take("random", "named a new node").answer)

    def _event(
        self,
        name: str,
        request: Any,
        call: Callable[[], Any] | None,
        errors: tuple[type[Exception], ...],
    ) -> Any:
        asked = settled(name, request)
        answer = self._take(
            "event", step_format.event(name, asked), name=name, request=asked
        ).answer
        if payload.is_failed(answer):
            raise payload.raised(answer, errors)
        return None if answer is None else answer[payload.VALUE]

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
        return self._recording.read_step(self._steps[self._next])

    def _expect(self, action: str, said: str, name: str = "") -> ReadStep:
        """Returns the next step, which must be of an action; it is not taken yet."""
        found = self._peek()
        if found is None or (found.step.action, found.step.name) != (action, name):
            self._refuse(said)
        return found

    def _take(self, action: str, said: str, *, name: str = "", request: Any = None) -> ReadStep:
        """Takes the next step, which must be of an action and ask the same."""
        found = self._expect(action, said, name)
        recorded, now = found.request, settled(action, request)
        if not same(now, recorded):
            self._refuse(said, difference_lines(recorded, now))
        self._next += 1
        return found

    def _incomplete(self, step: Step, missing: str) -> CorruptError:
        return CorruptError(
            f"run {self.name!r}, step {step.index}: got {step.action!r:.40} without {missing}"
        )

    def _raise_recorded(self, found: ReadStep) -> None:
        if payload.is_failed(found.answer):
            raise payload.raised(found.answer)

    def _refuse(self, asked: str, details: list[str] | None = None) -> NoReturn:
        found = self._peek()
        recorded = (
            "nothing more: the recording stops here, as if its process had been killed"
            if found is None
            else step_format.step_line(self._store, found)
        )
        raise RunMismatchError(self._recording, self._next, recorded, asked, details or [])


class _Comparing:
    """Takes the edits of a transaction, publishes nothing, and compares the root they make."""

    def __init__(self, replay: Replay, root_cid: RootCid) -> None:
        self._replay = replay
        self._root = Root.decode(replay._store.get(root_cid))

    def base(self) -> Root:
        """Returns the root that the recorded transaction began on."""
        return self._root

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Commit | None:
        """Returns the recorded commit, once the edits are known to be the same."""
        replay = self._replay
        found = replay._expect("commit", "committed")
        step = found.step
        if step.root is None:
            replay._next += 1
            replay._raise_recorded(found)
            raise replay._incomplete(step, "a root or an error")
        buffer = WriteBatch(replay._store)
        buffer.new.update(blocks)
        root = laid_on(self._root, edits, buffer)
        if root.cid != step.root:
            recorded = Root.decode(replay._store.get(step.root))
            replay._refuse("committed something else", _changes(buffer, recorded, root))
        replay._next += 1
        return found.commit


def _changes(source: WriteBatch, recorded: Root, now: Root) -> list[str]:
    """Returns what the graph has now where the recording has something else."""
    lines = [
        f"now, against the recording: {change_line(source, change)}"
        for change in log.changes(source, recorded, now)
    ]
    if len(lines) > _CHANGES_SHOWN:
        lines[_CHANGES_SHOWN:] = [f"and {len(lines) - _CHANGES_SHOWN} more"]
    return lines

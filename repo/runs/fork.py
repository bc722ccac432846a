"""A recorded run that is done again, and may take another way: other facts, prompts or tools.

A fork is a run of its own that has the steps of the recorded one as long as the agent does the
same: those steps have the same bytes, so both chains share them. Up to a given step the fork is a
replay. From there on models and tools are asked again; without a step, they are asked only what
they were not asked in the recording. The first difference ends the agent with an error, or is noted
and the agent goes on.

Nothing but the fork itself is written. A commit is laid on the root that the fork reads, and its
root is that of a step of the fork; no branch, tag or note changes. While the agent does what was
recorded, it reads the recorded roots, or that of another revision; afterwards, the newest of these
with its own commits.

Spec: replay 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.errors import InvalidInputError, RunMismatchError
from ibidem.objects.ids import NodeId
from ibidem.objects.root import Root
from ibidem.repo.arguments import CommitInfo, UniqueIds, commit_of
from ibidem.repo.graph import Graph
from ibidem.repo.revspec import HEAD
from ibidem.repo.runs import payload, step_format
from ibidem.repo.runs.chain import Chain, Watch
from ibidem.repo.runs.compare import StepDifference, answer_details, differences
from ibidem.repo.runs.payload import difference_lines, same, settled
from ibidem.repo.runs.recorder import Run
from ibidem.repo.runs.recording import Recording
from ibidem.repo.runs.replay import with_recorded_vector
from ibidem.repo.runs.session import (
    OpenEvent,
    RunGraph,
    RunRevision,
    Session,
    is_nested,
    noted_request,
    retrieve_request,
    rev_text,
)
from ibidem.repo.runs.shape import ReadStep
from ibidem.repo.transaction.changeset import ChangeSet, Published, Publisher, with_edits
from ibidem.repo.transaction.publish import Tip
from ibidem.retrieve.answer.answer import AnswerKind
from ibidem.retrieve.answer.receipt import Receipt

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.repo.core import Core
    from ibidem.repo.transaction.transaction import NewId

_Read = tuple[RootCid, "Commit | None"]
SUFFIX = "-fork"
"""What the name of a fork has after that of its run, unless another is given."""
_READING = ("now", "current_branch", "branches", "tags")
"""The recorded calls that change nothing."""


class Fork(Run):
    """A recorded run that is done again; leaving the context manager ends it."""

    def __init__(
        self,
        repository: Core,
        recording: Recording,
        *,
        step: int | None,
        at: object,
        go_on: bool,
        name: str,
        author: str,
        watch: Watch | None,
    ) -> None:
        """Begins a fork; the arguments are those of `Runs.fork`."""
        steps = recording.steps
        if steps[0].action != "begin":
            raise InvalidInputError(f"run {recording.name!r}: its beginning is missing")
        if step is not None and not 1 <= step < len(steps):
            raise InvalidInputError(
                f"step: got {step}, expected one of run {recording.name!r}, 1 to {len(steps) - 1}"
            )
        first, *self._old = recording.read()
        self._recording = recording
        self._step = step
        self._goes_on = go_on or step is not None
        self._is_same = True
        """Whether the agent did what was recorded until now."""
        self._matched: ReadStep | None = None
        """The recorded step that is being done again."""
        given_facts = None if at is None else repository.graph(at)
        self._has_facts = given_facts is not None
        """Whether it reads the facts of a given revision instead of the recorded ones."""
        self._head_tip = self._first_tip(repository) if given_facts is None else _tip(given_facts)
        """The root and the commit that it reads as HEAD."""
        self.difference: RunMismatchError | None = None
        """The first step that differs; None while there is none."""
        base, _, number = recording.name.rpartition("/")
        given = name or (base if number.isdecimal() else recording.name) + SUFFIX
        self._live = repository
        self._chain = Chain(
            repository.operation_log, given, author=author, first=first, watch=watch
        )
        self._is_open = True
        Session.__init__(self, repository, recording.name)

    def _end(self, error: BaseException | None) -> None:
        more = next((found for found in self._old if found.step.action != "end"), None)
        try:
            if error is None and more is not None:
                self._differ(more, "the agent ended without an error")
        except RunMismatchError as mismatch:
            error = mismatch
            raise
        finally:
            super()._end(error)
            self.name = self._chain.name

    def differences(self) -> list[StepDifference]:
        """Returns the steps in which the fork, once it has ended, differs from the recorded run."""
        return differences(self._recording, Recording(self._live, self.name))

    # -- doors ---------------------------------------------------------------------------------

    def _append(self, action: str, **fields: Any) -> None:
        found, self._matched = self._matched, None
        if found is not None and self._is_same:
            # The same bytes as recorded, if all else is the same.
            fields["time"] = found.step.time
        super()._append(action, **fields)

    def _read(self, rev: object) -> RunRevision:
        if isinstance(rev, RunRevision):
            return rev
        text = rev_text(rev)
        with self._chain.lock:
            self._match("read", f"read the graph at {text}", request={"at": text})
            return super()._read(rev)

    def _retrieve(
        self,
        rev: str,
        graph: Graph | None,
        options: Mapping[str, Any],
        kind: AnswerKind = AnswerKind.NODES,
    ) -> Any:
        request = retrieve_request(rev, options, kind)
        with self._chain.lock:
            line = step_format.retrieval(request)
            found = self._match("retrieve", line, request=request)
            recorded = None
            if found is not None and found.step.receipt is not None:
                recorded = Receipt.decode(self._live.store.get(found.step.receipt))
                options = with_recorded_vector(recorded, options)
            like = None if recorded is None else recorded.query
            answer = self._record_retrieval(rev, graph, options, kind, like)
            if recorded is not None and found is not None:
                now = answer.receipt
                details = difference_lines(recorded.query.form(), now.query.form())
                details += [
                    detail
                    for detail in answer_details(self._live.store, recorded, now)
                    if not detail.startswith("root: ")
                ]
                if details:
                    self._differ(found, step_format.question(rev, now.query.form()), details)
        return answer

    def _graph(self, rev: object) -> Graph:
        found = self._matched
        if not self._has_facts and found is not None and self._is_same:
            if payload.is_failed(found.answer):
                raise payload.raised(found.answer)
            if found.step.root is not None:
                root_cid, commit = found.step.root, found.commit
                if commit is None and root_cid == self._head_tip[0]:
                    commit = self._head_tip[1]  # The step of a transaction names no commit.
                if rev == HEAD:
                    self._head_tip = (root_cid, commit)
                return RunGraph(self._live, root_cid, commit)
        return RunGraph(self._live, *self._head_tip) if rev == HEAD else self._live.graph(rev)

    def _publisher(self, request: dict[str, Any], signed: CommitInfo) -> tuple[Publisher, Tip]:
        line = step_format.transaction(request)
        self._match("transaction", line, request=request)
        rev = HEAD if request["branch"] is None else request["branch"]
        graph = self._graph(rev)
        base = Tip(graph.commit_cid, graph.root_cid, graph.root)
        return _Unpublished(self, signed, base), base

    def _recorded(self, ids: UniqueIds) -> NewId:
        def made(fields: Mapping[str, Any]) -> NodeId:
            with self._chain.lock:
                found = self._peek()
                if found is not None and found.step.action == "random" and self._is_same:
                    self._take(found)
                    id_ = NodeId(found.answer)
                else:
                    id_ = ids(fields)
                self._append("random", answer=id_.raw)
                return id_

        return made

    def _open_event(self, name: str, request: Any) -> OpenEvent:
        if is_nested(self):
            return super()._open_event(name, request)
        with self._chain.lock:
            line = step_format.event(name, request)
            events = [found for found in self._old if found.step.action == "event"]
            fits = (one for one in events if one.step.name == name and same(one.request, request))
            found = next(fits, None)
            if found is None:
                old = next((one for one in events if one.step.name == name), self._peek())
                lines = () if old is None else difference_lines(old.request, request)
                self._differ(old, line, list(lines))
                return super()._open_event(name, request)
            self._take(found)
            if self._is_live():
                return self._compared(found, super()._open_event(name, request))
            # Events that overlap may come in another order than they were recorded in.
            start = min(found.step.start or self._chain.count, self._chain.count)
            self._append("event", name=name, request=request, answer=found.answer, start=start)
            return OpenEvent(self, None, found.answer, name=name)

    def _compared(self, found: ReadStep, event: OpenEvent) -> OpenEvent:
        """Returns an event whose outcome is compared with the recorded one when it ends."""

        def record(outcome: Mapping[str, Any] | None) -> None:
            event._end(outcome)
            if not same(outcome, found.answer):
                line = step_format.event(found.step.name, found.request)
                self._differ(found, line, difference_lines(found.answer, outcome))

        return OpenEvent(self, record, name=found.step.name)

    def _call(self, name: str, request: dict[str, Any]) -> Any:
        with self._chain.lock:
            found = self._match("call", step_format.call(name, request), name, request)
            if found is None or not self._is_same:
                if name not in _READING:
                    raise InvalidInputError(
                        f"{name}: a fork changes no branch or tag",
                        hint="do it on the repository, once the fork has shown what you need",
                    )
                return super()._call(name, request)
            self._append("call", name=name, request=request, answer=found.answer)
        if payload.is_failed(found.answer):
            raise payload.raised(found.answer)
        return found.answer[payload.VALUE]

    # -- the recorded run ----------------------------------------------------------------------

    def _is_live(self) -> bool:
        """Returns whether models and tools are asked again."""
        return self._step is not None and self._chain.count >= self._step

    def _peek(self) -> ReadStep | None:
        """Returns the next recorded step that is no event."""
        return next((one for one in self._old if one.step.action != "event"), None)

    def _take(self, found: ReadStep) -> None:
        self._old.remove(found)
        self._matched = found

    def _match(
        self, action: str, line: str, name: str = "", request: Any = None
    ) -> ReadStep | None:
        """Consumes the next recorded step if it has the action, the name and the request, and
        returns it; otherwise notes the difference. A difference ends the comparison.
        """
        if is_nested(self) or not self._is_same:
            return None
        found, now = self._peek(), settled(action, request)
        recorded = None if found is None else found.request
        if found is not None and (found.step.action, found.step.name) == (action, name):
            if same(recorded, now):
                self._take(found)
                return found
            self._differ(found, line, difference_lines(recorded, now))
        else:
            self._differ(found, line)
        return None

    def _differ(self, found: ReadStep | None, line: str, details: list[str] | None = None) -> None:
        """Notes that the agent does something else than recorded.

        Raises:
            RunMismatchError: it may not, before the step of the fork, or because it is to stop.
        """
        if not self._is_same:
            return
        recorded = (
            "nothing more" if found is None else step_format.step_line(self._live.store, found)
        )
        index = self._chain.count if found is None else found.step.index
        error = RunMismatchError(self._recording.name, index, recorded, line, details or [])
        self._is_same, self.difference = False, error
        if not self._goes_on or (self._step is not None and self._chain.count < self._step):
            raise error

    def _first_tip(self, repository: Core) -> _Read:
        """Returns what the recorded run read first."""
        for found in self._old:
            if found.step.root is not None and found.step.action != "commit":
                return found.step.root, found.commit
        return _tip(repository.graph(HEAD))


def _tip(graph: Graph) -> _Read:
    return graph.root_cid, graph.commit


class _Unpublished:
    """Lays the edits of a transaction on a root that a fork reads, and publishes nothing."""

    def __init__(self, fork: Fork, signed: CommitInfo, base: Tip) -> None:
        self._fork = fork
        self._signed = signed
        self._base = base

    def base(self) -> Root:
        """Returns the root that the transaction begins on."""
        return self._base.root

    def publish(self, edits: ChangeSet, blocks: Mapping[Cid, bytes]) -> Published:
        """Returns the commit that the edits would be, which the fork reads from now on."""
        fork, store = self._fork, self._fork._live.store
        if edits.events:
            raise InvalidInputError(
                "notes: a fork adds no events to notes",
                hint="call what does it inside session.tool, or end the fork before",
            )
        buffer = WriteBatch(store)
        buffer.new.update(blocks)
        root = with_edits(self._base.root, edits, buffer)
        root_cid = RootCid.of(root.encode())
        with fork._chain.lock:
            found = fork._match("commit", "committed", request=noted_request(edits))
            commit: Commit | None = None
            if root_cid != self._base.root_cid:
                signed = self._signed.with_trailers(edits.trailers)
                parents = () if self._base.commit is None else (self._base.commit,)
                commit = commit_of(signed, root_cid, parents, fork._live.now(signed.time))
            if found is not None and not fork._has_facts:
                if found.step.root == root_cid:
                    commit = found.commit
                else:
                    fork._differ(found, "committed something else")
            if commit is not None:
                fork._head_tip = (root_cid, commit)
        return Published(commit)

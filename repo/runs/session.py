"""The repository for agent code: the part of its interface that a run can record and replay.

Both the recorder and the replay are sessions, so agent code runs on either and cannot tell them
apart. All external input of an agent passes through a few methods: reading a revision, a retrieval,
a commit, the id of a new node, an event, a call. Nothing else is offered, so that nothing
unrecorded can get into a run.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from datetime import datetime
from functools import cached_property
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import InvalidInputError, UnrecordedError
from ibidem.repo import branches
from ibidem.repo.arguments import checked_time
from ibidem.repo.core import Core
from ibidem.repo.graph import Graph
from ibidem.repo.history import log
from ibidem.repo.layers import Layers, Recalling
from ibidem.repo.questions import Questions
from ibidem.repo.refs import HEADS, TAGS
from ibidem.repo.retrieval.pack_stream import PackStream
from ibidem.repo.retrieval.retriever import Retriever
from ibidem.repo.revision import Revision
from ibidem.repo.revspec import HEAD, no_revision
from ibidem.repo.runs import payload
from ibidem.repo.runs.payload import settled
from ibidem.retrieve.answer.answer import AnswerKind
from ibidem.store.closing import Ending

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.repo.retrieval.signature import (
        QuestionOptions,
    )
    from ibidem.repo.transaction.changeset import ChangeSet
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.context.pack import Pack


RECORDED: Mapping[str, Callable[..., Any]] = {
    "now": Core.now,
    "current_branch": lambda core: core.current_branch,
    "branches": lambda core: core.branches().whole(),
    "tags": lambda core: core.tags().whole(),
    "branch": lambda core, **request: branches.create(core, HEADS, **request),
    "tag": lambda core, **request: branches.create(core, TAGS, **request),
    "switch": branches.switch,
}
"""The calls that a run records, by name in `Repository` and in the step. `shape.py` defines the
form of an answer that is not an arbitrary value.
"""


FILL = "fill"
"""In the request of `begin`, true if contexts of threads fill their budget."""

Record = Callable[[Mapping[str, Any] | None], None]
_NESTED: ContextVar[tuple[Session, ...]] = ContextVar("nested", default=())
_KINDS = {
    "retrieve": AnswerKind.NODES,
    "packs": AnswerKind.PACKS,
    "records": AnswerKind.RECORDS,
}


class Session(Layers, Recalling, Questions, Ending):
    """A repository for agent code; subclasses record its calls or replay them."""

    def __init__(self, repository: Core, name: str) -> None:
        self.name = name
        """The name of the run with its number, such as "nightly/3"."""
        self._repository = repository

    # -- asking --------------------------------------------------------------------------------

    @property
    def head(self) -> CommitCid | None:
        """The commit of the current branch; None before the first."""
        commit = self.at().commit
        return None if commit is None else commit.cid

    @property
    def folder(self) -> None:
        """None: a run has no data but its steps."""
        return

    def now(self, time: int | datetime | None = None) -> int:
        """Returns a time in microseconds since 1970 UTC: the given one, else the clock's."""
        return int(self._call("now", {"time": checked_time(time)}))

    def at(self, rev: object = HEAD, *, viewer: Viewer | None = None) -> RunRevision:
        """Returns the graph at a revision; a replay reads the same values from it."""
        found = self._read(rev)
        return found if viewer is None else found.seen_by(viewer)

    def commit_at(self, rev: object = HEAD) -> Commit:
        """Returns the commit that a revision names."""
        commit = self.at(rev).commit
        if commit is None:
            raise InvalidInputError(f"revision {rev_text(rev)!r}: the branch has no commits yet")
        return commit

    def _answer(self, method: str, **options: Any) -> Any:
        if method == "query":
            return self.at().query(**options)
        return self._retrieve(HEAD, None, options, _KINDS[method])

    def retriever(self, at: object = HEAD) -> Retriever:
        """Returns a builder for a query."""
        return Retriever(self.retrieve if at == HEAD else self.at(at).retrieve)

    @cached_property
    def history(self) -> RunHistory:
        """The changes between revisions; no other part of the history is recorded."""
        return RunHistory(self)

    # -- writing -------------------------------------------------------------------------------

    def transaction(
        self,
        *,
        author: str = "",
        message: str = "",
        branch: str | None = None,
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
        sign: str | bool | None = None,
        on_conflict: str = "record",
    ) -> Transaction:
        """Begins a transaction, as `Repository.transaction` does; a replay publishes nothing."""
        request = {
            "author": author,
            "message": message,
            "branch": branch,
            "time": checked_time(time),
            "agent": agent,
            "task": task,
        }
        if sign is not None:
            request["sign"] = sign
        if on_conflict != "record":
            request["on_conflict"] = on_conflict
        return self._transaction(request)

    # -- the rest of the world -----------------------------------------------------------------

    def event(self, name: str, request: Any = None, call: Callable[[], Any] | None = None) -> Any:
        """Does something outside the repository, and returns the result.

        Args:
            name: the kind of event, such as "model".
            request: the request, made of text, bytes, numbers, lists and maps. A replay compares
                it.
            call: does it, and returns such a value. A replay does not call it, and returns what it
                returned when the run was recorded, or raises what it raised. Without it the event
                is a note in the run.
        """
        return self._event(name, request, call, ())

    def open_event(self, name: str, request: Any = None) -> OpenEvent:
        """Begins something outside the repository that ends later: a streamed answer, or one that
        is awaited. Others may begin and end meanwhile; it is recorded when it ends.

        Args:
            name: the kind of event, such as "model".
            request: as of `event`.
        """
        if type(name) is not str or not name:
            raise InvalidInputError(f"event: got name {name!r:.80}, expected text")
        # A request that cannot be recorded must fail before anything is done.
        return self._open_event(name, settled(name, request))

    def tool(
        self, name: str, function: Callable[..., Any], *, errors: Iterable[type[BaseException]] = ()
    ) -> Callable[..., Any]:
        """Returns a function whose calls are recorded; a replay returns the recorded results
        without calling it.

        Args:
            name: the name of the tool, such as "search".
            function: takes and returns text, bytes, numbers, lists and maps. If it is asynchronous,
                so is what is returned, and calls may overlap. What only returns an awaitable, such
                as a decorated function, is wrapped in an `async def` that awaits it.
            errors: error classes, in addition to Python's own, that it may raise.
        """
        known = tuple(errors)

        def request(given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
            return {"arguments": list(given), "options": named}

        def called(*given: Any, **named: Any) -> Any:
            form = request(given, named)
            return self._event(name, form, lambda: function(*given, **named), known)

        async def awaited(*given: Any, **named: Any) -> Any:
            event = self.open_event(name, request(given, named))
            if event.is_answered:
                return event.answer(known)
            with event.attempt():
                value = await function(*given, **named)
            return event.finish(value)

        # An object may have an asynchronous `__call__`.
        is_async = iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)
        return awaited if is_async else called

    # -- refs ----------------------------------------------------------------------------------

    @property
    def current_branch(self) -> str:
        """The current branch."""
        return str(self._call("current_branch", {}))

    def branches(self) -> dict[str, CommitCid]:
        """Returns the branches that have commits, by name."""
        return commits_of(self._call("branches", {}))

    def tags(self) -> dict[str, CommitCid]:
        """Returns the tags, by name."""
        return commits_of(self._call("tags", {}))

    def branch(self, name: str, *, at: object = HEAD, author: str = "") -> CommitCid:
        """Creates a branch at a revision and returns its commit."""
        request = {"name": name, "at": rev_text(at), "author": author}
        return CommitCid(self._call("branch", request).raw)

    def tag(self, name: str, *, at: object = HEAD, author: str = "") -> CommitCid:
        """Creates a tag at a revision and returns its commit."""
        request = {"name": name, "at": rev_text(at), "author": author}
        return CommitCid(self._call("tag", request).raw)

    def switch(self, name: str, *, author: str = "") -> None:
        """Makes another branch the current one."""
        self._call("switch", {"name": name, "author": author})

    def __getattr__(self, name: str) -> Any:
        raise unrecorded(name)

    def _event(
        self,
        name: str,
        request: Any,
        call: Callable[[], Any] | None,
        errors: tuple[type[BaseException], ...],
    ) -> Any:
        event = self.open_event(name, request)
        if event.is_answered:
            return event.answer(errors)
        if call is None:
            return event.note()
        with event.attempt():
            value = call()
        return event.finish(value)

    # -- doors ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _first_request(self) -> Mapping[str, Any]:
        """The request of the first step."""

    @abstractmethod
    def _read(self, rev: object) -> RunRevision: ...

    @abstractmethod
    def _retrieve(
        self,
        rev: str,
        graph: Graph | None,
        options: Mapping[str, Any],
        kind: AnswerKind = AnswerKind.NODES,
    ) -> Any: ...

    @abstractmethod
    def _transaction(self, request: dict[str, Any]) -> Transaction: ...

    @abstractmethod
    def _open_event(self, name: str, request: Any) -> OpenEvent: ...

    @abstractmethod
    def _call(self, name: str, request: dict[str, Any]) -> Any: ...


class OpenEvent:
    """Something outside the repository that has started.

    In a replay it is answered already: `answer` returns or raises what was recorded. Otherwise the
    caller does it, and ends it with `finish` or `fail`.
    """

    def __init__(
        self,
        session: Session,
        record: Record | None,
        outcome: Mapping[str, Any] | None = None,
        *,
        name: str = "event",
    ) -> None:
        """Takes a function that records how it ends; None if `outcome` is recorded already, which
        is None for a note.
        """
        self._name = name
        self._session = session
        self._outcome = outcome
        self._record = record
        self.is_answered = record is None
        """Whether a recording answers it."""

    def answer(self, errors: Iterable[type[BaseException]] = ()) -> Any:
        """Returns the recorded value, or raises the recorded error.

        Args:
            errors: error classes, in addition to Python's own, that may be raised.
        """
        if payload.is_failed(self._outcome):
            raise payload.raised(self._outcome, errors)
        return None if self._outcome is None else self._outcome[payload.VALUE]

    @contextmanager
    def nested(self) -> Iterator[None]:
        """What runs in `with` is part of the event: only the outcome of the event is recorded."""
        token = _NESTED.set((*_NESTED.get(), self._session))
        try:
            yield
        finally:
            _NESTED.reset(token)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What runs in `with` does the event; an error that ends it is recorded, also one that
        cancels it, such as `asyncio.CancelledError` and `KeyboardInterrupt`."""
        try:
            with self.nested():
                yield
        except GeneratorExit:  # a coroutine that nobody awaits any more: it was not ended
            raise
        except Exception as error:
            self.fail(error)
            raise
        except BaseException as error:
            with suppress(InvalidInputError):  # the run has ended before
                self.fail(error)
            raise

    def finish(self, value: Any) -> Any:
        """Records the value that it ended with, and returns it as a replay does.

        Raises:
            InvalidInputError: the value cannot be recorded.
        """
        try:
            if isawaitable(value):
                raise InvalidInputError(
                    f"{self._name}: answer: got an awaitable, {value!r:.80}, "
                    "expected what it returns",
                    hint="pass an 'async def' that awaits it to session.tool",
                )
            recorded = settled(f"{self._name}: answer", value)
        except InvalidInputError as error:
            self.fail(error)
            raise
        self._end({payload.VALUE: recorded})
        return recorded

    def fail(self, error: BaseException) -> None:
        """Records the error that it ended with."""
        self._end(payload.failed(error))

    def note(self) -> None:
        """Records that it was, without an outcome."""
        self._end(None)

    def _end(self, outcome: Mapping[str, Any] | None) -> None:
        if self._record is None:
            raise InvalidInputError("event: it has ended, nothing more is recorded of it")
        record, self._record = self._record, None
        record(outcome)


def is_nested(session: Session) -> bool:
    """Returns whether the caller runs inside an event of a session."""
    return any(one is session for one in _NESTED.get())


class RunHistory:
    """The part of `Repository.history` that a run offers."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def diff(self, before: object, after: object = HEAD) -> Iterator[log.Change]:
        """Yields the changes between two revisions."""
        roots = self._session.at(before).root, self._session.at(after).root
        return log.changes(self._session._repository.store, *roots)

    def __getattr__(self, name: str) -> Any:
        raise unrecorded(f"history.{name}")


class RunRevision(Revision):
    """The graph at one revision, whose retrievals are recorded."""

    def __init__(
        self, session: Session, rev: str, root_cid: RootCid, commit: Commit | None
    ) -> None:
        self._whole = RunGraph(session._repository, root_cid, commit)
        super().__init__(self._whole)
        self._session = session
        self._rev = rev

    @property
    def fills_contexts(self) -> bool:
        """Whether contexts of threads fill their budget, which runs say that began since they
        do."""
        return self._session._first_request.get(FILL) is True

    def seen_by(self, viewer: Viewer | None) -> RunRevision:
        """Returns the graph as a caller sees it, who is then an option of each retrieval."""
        found = copy(self)
        found.graph = self.graph.seen_by(viewer)
        return found

    def _answer(self, method: str, **options: Any) -> Any:
        if method not in _KINDS:
            return super()._answer(method, **options)
        return self._retrieve(options, _KINDS[method])

    def _retrieve(self, options: dict[str, Any], kind: AnswerKind = AnswerKind.NODES) -> Any:
        if self.viewer is not None:
            self.graph.seen_by(options.get("viewer"))
            options["viewer"] = self.viewer
        return self._session._retrieve(self._rev, self._whole, options, kind)

    def _stream_packs(self, text: str | None, options: Mapping[str, Any]) -> PackStream:
        def steps() -> Generator[Pack, None, Answer[Pack]]:
            answer: Answer[Pack] = self._answer("packs", text=text, **options)
            yield from answer
            return answer

        return PackStream(steps())

    def retrieve_many(self, questions: Iterable[QuestionOptions]) -> list[Answer[Item]]:
        """Returns the answers to several queries, each recorded as its own step."""
        return [self._retrieve({"text": None, **question}) for question in questions]


class RunGraph(Graph):
    """The graph of a root that a run has read."""

    def snapshot(self) -> Snapshot:
        """Returns the index snapshot of this root."""
        if self._snapshot is None:
            commit, has = self.commit, self._store.has
            # A run that was copied has no history, so there is no near snapshot to build on.
            is_whole = commit is not None and all(map(has, commit.parents))
            found = self.core.search_index.snapshot(self.root_cid, commit if is_whole else None)
            self._snapshot = found
        return self._snapshot

    def log(self) -> Iterator[Commit]:
        """Raises: a run contains what it read, and not the history behind it."""
        raise InvalidInputError(
            "log: a run does not record the history behind a commit",
            hint="read it in run.event, or from the repository, unrecorded",
        )


def unrecorded(name: str) -> UnrecordedError:
    """Returns the error for a method that a run does not offer."""
    from ibidem.repo.transaction.transaction import Transaction

    hint = "call anything else inside run.event or run.tool, or on the repository, unrecorded"
    if hasattr(Transaction, name):
        hint = f"a transaction of the run has it: with run.transaction() as tx: tx.{name}"
    elif name == "as_viewer":
        hint = "name the viewer in each question: run.retrieve(..., viewer=...)"
    return UnrecordedError(
        f"a run has no {name!r}: it offers what can be recorded and repeated "
        f"({', '.join(offered())})",
        hint=hint,
    )


def offered() -> list[str]:
    """Returns the names of the methods that a run offers, those of a repository and its own."""
    methods = [*vars(Questions), *vars(Layers), *vars(Recalling), *vars(Session)]
    own = [name for name in methods if not name.startswith("_") and name != "history"]
    behind = [f"history.{name}" for name in vars(RunHistory) if not name.startswith("_")]
    return [*own, *behind]


def rev_text(rev: object) -> str:
    """Returns a revision as recorded."""
    if isinstance(rev, datetime):
        return rev.isoformat()
    if isinstance(rev, (str, Cid)):
        return str(rev)
    raise no_revision(rev)


def retrieve_request(rev: str, options: Mapping[str, Any], kind: AnswerKind) -> dict[str, Any]:
    """Returns the recorded request of a retrieval, without its receipt."""
    request = {"at": rev, "text": options.get("text")}
    if kind is not AnswerKind.NODES:
        request[kind.value] = True
    if isinstance(options.get("notes"), str):
        request["notes"] = options["notes"]
    return request


def noted_request(edits: ChangeSet) -> dict[str, Any] | None:
    """Returns the recorded request of a commit: the events that it adds to notes, by space; None
    without events.
    """
    if not edits.events:
        return None
    return {space: [event.props() for event in events] for space, events in edits.events.items()}


def commits_of(found: Mapping[str, Cid]) -> dict[str, CommitCid]:
    """Returns recorded links as the commits that they name."""
    return {name: CommitCid(cid.raw) for name, cid in found.items()}

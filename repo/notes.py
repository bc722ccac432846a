"""Annotations: events about nodes, stored as commits on a separate ref, `notes/SPACE`.

An event is a node that is added and never changed, so two histories of events merge without a
conflict, and are copied and erased like everything else. No reader of events uses the newest ones
implicitly: it names one commit, the notes head, and its result depends on that commit alone.

The id of an event begins with its position in that history. So events of the same time are in the
order in which they were added, and two writers of equal events at the same microsecond both count:
the second writer's event is added after the first one's.

Spec: memory 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.constants import EVENT_PLACE_BYTES
from ibidem.objects.derive import event_node_id
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree, diff
from ibidem.objects.view import Ref
from ibidem.repo import refs
from ibidem.repo.argument_checks import check_id
from ibidem.repo.arguments import CommitInfo, checked_time, commit_info, commit_of
from ibidem.repo.events import EVENT, VOTE, Event, Log, checked_event
from ibidem.repo.transaction.changeset import NODES, ChangeSet, laid_on
from ibidem.repo.transaction.publish import move, tip
from ibidem.retrieve.records.noted import OUTCOME, PENALIZE, REINFORCE

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.view import View
    from ibidem.repo.core import Core
    from ibidem.repo.state import State

NOTES = "notes/"
_REMOTES = "remotes"
SPACE_DEFAULT = "memory"
_LOGS_KEPT = 4


class Notes:
    """The events of one space, for reading and adding."""

    def __init__(self, repository: Core, space: str, logs: dict[CommitCid, Log]) -> None:
        """Opens a space; `logs` caches the events that were read."""
        self.space = refs.check_name("space", space)
        self._repository = repository
        self._operations = repository.operation_log
        self._logs = logs

    @property
    def head(self) -> CommitCid | None:
        """The newest commit of the space; None before the first event."""
        ref = self._operations.ref(NOTES + self.space)
        return None if ref is None else CommitCid(ref.target.raw)

    def at(self, head: CommitCid | None) -> Log:
        """Returns the events at a notes head, none for None; cached events are not read again.

        Raises:
            NotFoundError: there is no such commit here.
            CorruptError: its blocks are damaged. Intact nodes that are no events are left out and
                listed in `Log.damaged`.
        """
        return read_log(self._repository, head, self._logs)

    def log(self) -> Log:
        """Returns the current events."""
        full_name = NOTES + self.space

        def read(state: State) -> Log:
            ref = refs.read(self._operations.store, state.view, full_name)
            return self.at(None if ref is None else CommitCid(ref.target.raw))

        return self._operations.retry_if_collected(read)

    def add(
        self,
        events: Iterable[Event],
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Adds events in one commit and returns the new notes head.

        Args:
            events: an event whose `time` is 0 gets that of the commit, one without an author the
                author.
            author: of the commit.
            message: of the commit.
            time: of the commit; by default the clock's.

        Raises:
            InvalidInputError: an event is malformed, or there is none; nothing was added.
        """
        now = self._operations.time(checked_time(time))
        found = [
            Event(
                one.kind,
                tuple(one.targets),
                one.author or author,
                one.time or now,
                one.value,
                one.about,
                one.detail,
            )
            for one in events
        ]
        if not found:
            raise InvalidInputError("events: got none, expected one or more")
        for one in found:
            checked_event(one)
        subject = message or f"{found[0].kind}, {len(found)} event{'s' * (len(found) != 1)}"
        signed = commit_info(author, subject, now, None, None)
        return self._operations.retry(lambda state: self._add_on_head(state, found, signed, now))

    def reinforce(
        self,
        target: NodeId | str,
        *,
        gain: float | None = None,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Records that a node was useful; without `gain`, the node's own or the default gain
        applies.
        """
        value = None if gain is None else _amount("gain", gain)
        return self._one(REINFORCE, target, value, author, time)

    def penalize(
        self,
        target: NodeId | str,
        amount: float,
        *,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Records that a node should have less weight, by an amount of at least 0."""
        return self._one(PENALIZE, target, _amount("amount", amount), author, time)

    def vote(
        self,
        target: NodeId | str,
        value: int,
        *,
        author: str,
        about: Cid | None = None,
        detail: Mapping[str, Any] | None = None,
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Records that a node was right, 1, or wrong, -1, in answer `about`."""
        target = check_id("target", target, NodeId)
        if type(value) is not int or value not in (-1, 1):
            raise InvalidInputError(f"value: got {value!r:.80}, expected 1 or -1")
        if not author:
            raise InvalidInputError("author: got nothing, expected who votes")
        event = Event(VOTE, (target,), author, 0, float(value), about, detail or {})
        return self.add([event], author=author, time=time)

    def outcome(
        self,
        target: NodeId | str,
        ok: bool,
        *,
        author: str = "",
        time: int | datetime | None = None,
    ) -> CommitCid:
        """Records that following a node's content succeeded or failed."""
        if type(ok) is not bool:
            raise InvalidInputError(f"ok: got {ok!r:.80}, expected True or False")
        return self._one(OUTCOME, target, 1.0 if ok else 0.0, author, time)

    def _add_on_head(
        self, state: State, events: Sequence[Event], signed: CommitInfo, time: int
    ) -> CommitCid:
        """Adds events after all existing ones; after a lost race, the other writer's events are
        read.
        """
        operations, full_name = self._operations, NOTES + self.space
        now = tip(operations.store, state, full_name)
        buffer, edits = WriteBatch(operations.store), ChangeSet()
        last = Tree(operations.store, now.root.nodes).last
        position = 0 if last is None else 1 + int.from_bytes(last[:EVENT_PLACE_BYTES], "big")
        for index, event in enumerate(events):
            unnamed = Node(NodeId(bytes(ID_BYTES)), EVENT, props=event.props())
            made = event_node_id(position + index, now.commit, index, unnamed.to_map())
            node = replace(unnamed, id=made)
            edits.of(NODES)[made.raw] = node.cid
            buffer.put(node.cid, node.encode())
        root = laid_on(now.root, edits, buffer)
        buffer.put(root.cid, root.encode())
        parents = () if now.commit is None else (now.commit,)
        commit = commit_of(signed, root.cid, parents, time)
        move(
            operations,
            state,
            full_name,
            commit,
            buffer,
            description=f"commit on {full_name}",
            author=signed.author,
            time=time,
        )
        return commit.cid

    def _one(
        self,
        kind: str,
        target: NodeId | str,
        value: float | None,
        author: str,
        time: int | datetime | None,
    ) -> CommitCid:
        target = check_id("target", target, NodeId)
        return self.add([Event(kind, (target,), author, value=value)], author=author, time=time)


def read_log(
    repository: Core, head: CommitCid | None, logs: dict[CommitCid, Log] | None = None
) -> Log:
    """Returns the events at a notes head, computed from the nearest log in `logs`, which caches the
    result.
    """
    if head is None:
        return Log(None, ())
    repository.guard.erased()  # clears `logs` after a new erasure
    kept = {} if logs is None else logs
    found = kept.get(head)
    if found is None:
        store = repository.store
        tree = _nodes(store, head)
        before = next(reversed(kept.values()), Log(None, ()))
        fresh = [(key, now) for key, _, now in diff(store, before._nodes, tree)]
        if any(now is None for _, now in fresh):  # another line of history: read it whole
            before, fresh = Log(None, ()), list(Tree(store, tree).items())
        events, damaged = list(before.events), list(before.damaged)
        for _, cid in fresh:
            node = Node.decode(store.get(cid))  # type: ignore[arg-type]  # none is None
            try:
                events.append(Event.of(node))
            except CorruptError as error:
                damaged.append((node.id, str(error)))
        for old in list(kept)[: max(0, len(kept) + 1 - _LOGS_KEPT)]:
            kept.pop(old, None)
        found = kept[head] = _joined(head, events, damaged, tree)
    return found


def is_notes(full_name: str) -> bool:
    """Returns whether a ref is one of notes, local or remote-tracking."""
    parts = full_name.split("/", 2)
    return (parts[-1] if parts[0] == _REMOTES else full_name).startswith(NOTES)


def damaged_events(
    source: Source, head: CommitCid, before: CommitCid | None = None
) -> Iterator[tuple[Cid, str]]:
    """Yields CID and fault of the nodes that were added at a notes head since `before` and are no
    events.
    """
    old = EMPTY_TREE if before is None else _nodes(source, before)
    for _, _, cid in diff(source, old, _nodes(source, head)):
        if cid is None:
            continue
        try:
            Event.of(Node.decode(source.get(cid)))
        except CorruptError as error:
            yield cid, str(error)
        except NotFoundError as error:
            if error.kind is not ErrorKind.ERASED:
                raise


def heads_of_notes(
    source: Source, views: Iterable[View]
) -> Iterator[tuple[str, CommitCid, CommitCid | None]]:
    """Yields the positions of refs of notes in some views, newest first: the full name, the head,
    and the head of that name that was yielded before.
    """
    last = EMPTY_TREE
    heads: dict[str, CommitCid] = {}
    for view in views:
        for _, _, cid in diff(source, last, view.refs):
            ref = None if cid is None else Ref.decode(source.get(cid))
            if ref is not None and is_notes(ref.name) and isinstance(ref.target, CommitCid):
                yield ref.name, ref.target, heads.get(ref.name)
                heads[ref.name] = ref.target
        last = view.refs


def _nodes(source: Source, head: CommitCid) -> TreeCid:
    return Root.decode(source.get(Commit.decode(source.get(head)).root)).nodes


def _joined(
    head: CommitCid, events: list[Event], damaged: list[tuple[NodeId, str]], tree: TreeCid
) -> Log:
    events.sort(key=_order)
    by_target: dict[NodeId, list[Event]] = {}
    for event in events:
        for target in event.targets:
            by_target.setdefault(target, []).append(event)
    about = {key: tuple(found) for key, found in by_target.items()}
    return Log(head, tuple(events), tuple(sorted(damaged)), about, tree)


def _order(event: Event) -> tuple[int, bytes]:
    assert event.id is not None, "BUG: an event that was read has an id"
    return event.time, event.id.raw


def _amount(field_name: str, value: object) -> float:
    """Returns a finite float of at least 0."""
    is_number = type(value) in (int, float)
    if not is_number or not 0.0 <= value < float("inf"):  # type: ignore[operator]
        raise InvalidInputError(
            f"{field_name}: got {value!r:.80}, expected a finite number from 0 on"
        )
    return float(value) + 0.0  # type: ignore[arg-type]

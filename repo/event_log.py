"""Reads the events at a notes head, and finds the notes among the refs.

Spec: memory 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, CommitCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError, ErrorKind, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, Tree, diff
from ibidem.repo.events import NOTES, Event, Log

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.view import Ref
    from ibidem.repo.core import Core

_REMOTES = "remotes"
SPACE_DEFAULT = "memory"
_LOGS_KEPT = 4


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


def heads_of_notes(refs: Iterable[Ref]) -> Iterator[tuple[str, CommitCid, CommitCid | None]]:
    """Yields those of some refs that are heads of notes: the full name, the head, and the head of
    that name that was yielded before.
    """
    heads: dict[str, CommitCid] = {}
    for ref in refs:
        if is_notes(ref.name) and isinstance(ref.target, CommitCid):
            yield ref.name, ref.target, heads.get(ref.name)
            heads[ref.name] = ref.target


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

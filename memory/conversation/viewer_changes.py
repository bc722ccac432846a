"""Changes of a thread by a viewer who may not see everything: they follow from what he sees.

A message that he appends is a new node with an id of its own, and its ord is one more than the
greatest that he sees in the thread. So nothing that is hidden from him has a part in what he
writes or is told, and a thread may have two messages of one ord, if the writer of one did not see
the other; their order is that of `Stored.sort_key`. He writes no node of the owner: where he sees
no thread of the name, he adds one with an id of its own.

Spec: trust 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ibidem.memory.conversation.changes import check_same
from ibidem.memory.conversation.message import (
    MESSAGE,
    ORD_MAX,
    SUMMARY,
    THREAD,
    Message,
    Stored,
    ThreadInfo,
    fields_of,
    stored_of,
    thread_id,
    thread_info,
)
from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.access.policy import policy_of

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.viewer.transaction import ViewerTransaction


def append(
    tx: ViewerTransaction, thread: str, messages: Sequence[Message], now: int
) -> tuple[int, ...]:
    """Stages messages after the last that the viewer sees; returns their ords, for messages whose
    id he sees in the thread the existing ones.
    """
    wanted = sorted({message.id for message in messages if message.id is not None})
    known = {
        one.message_id: one.ord
        for one in (_messages(tx, thread, {"message_id": {"in": wanted}}) if wanted else ())
        if one.message_id is not None
    }
    next_ord = _next_ord(tx, thread)
    ords: list[int] = []
    for message in messages:
        if message.id is not None and message.id in known:
            ords.append(known[message.id])
            continue
        fields = fields_of(message, thread, next_ord, now)
        tx.add_node(MESSAGE, **{name: fields[name] for name in ("summary", "content", "props")})
        ords.append(next_ord)
        if message.id is not None:
            known[message.id] = next_ord
        next_ord += 1
    if messages and not _threads(tx, thread):
        _add_thread(tx, thread, messages[0].props, cleared=0)
    return tuple(ords)


def unsaved(tx: ViewerTransaction, thread: str, messages: Sequence[Message]) -> Sequence[Message]:
    """Returns the messages of a whole conversation that the viewer does not see in the thread.

    Raises:
        InvalidInputError: kind `id-collision`: those that he sees are not a prefix of it.
    """
    first = max((info.cleared for _, info in _threads(tx, thread)), default=0)
    stored = _messages(tx, thread, {"ord": {"gte": first}})
    for position, (one, given) in enumerate(zip(stored, messages, strict=False)):
        check_same(thread, position, one, given)
    return messages[len(stored) :]


def hide(tx: ViewerTransaction, thread: str, before: int | None, *, reason: str) -> tuple[int, ...]:
    """Stages that the messages below an ord that the viewer sees are hidden, or all of them and
    the summaries; returns which were.
    """
    end = ORD_MAX if before is None else before
    gone = [
        one for one in _messages(tx, thread, {"ord": {"lt": end}}) if not tx.is_tombstoned(one.id)
    ]
    for one in gone:
        tx.tombstone(one.id, reason=reason)
    if before is None:
        for node in tx.at().query(label=SUMMARY, where={"thread": thread}):
            tx.tombstone(node.id, reason=reason)
        _clear(tx, thread)
    return tuple(one.ord for one in gone)


def _clear(tx: ViewerTransaction, thread: str) -> None:
    """Stages that what the viewer saves next begins the thread anew, in a node that no one but
    viewers writes."""
    cleared = _next_ord(tx, thread)
    own = [id_ for id_, _ in _threads(tx, thread) if id_ != thread_id(thread)]
    if not own:
        first = next(iter(_messages(tx, thread, {})), None)
        _add_thread(tx, thread, {} if first is None else first.props, cleared=cleared)
    for id_ in own:
        tx.update_node(id_, set_props={"next": cleared, "cleared": cleared})


def _add_thread(
    tx: ViewerTransaction, thread: str, props: Mapping[str, Any], *, cleared: int
) -> None:
    """Stages a thread that whoever sees a message with some properties sees."""
    policy = policy_of(tx.at().config)
    names = () if policy is None else policy.names
    labels = {name: props[name] for name in names if name in props}
    tx.add_node(THREAD, props={**labels, "name": thread, "next": cleared, "cleared": cleared})


def _next_ord(tx: ViewerTransaction, thread: str) -> int:
    last = _messages(tx, thread, {"ord": {"lt": ORD_MAX}}, order_by="-ord", limit=1)
    return 1 + max((one.ord for one in last), default=-1)


def _threads(tx: ViewerTransaction, thread: str) -> list[tuple[NodeId, ThreadInfo]]:
    """Returns the threads of the name that the viewer sees, by id."""
    found = []
    for node in tx.at().query(label=THREAD, where={"name": thread}):
        with suppress(InvalidInputError):
            found.append((node.id, thread_info(node)))
    return found


def _messages(
    tx: ViewerTransaction, thread: str, where: Mapping[str, Any], **options: Any
) -> list[Stored]:
    """Returns the messages of the thread that the viewer sees, tombstoned ones too, in order."""
    found = tx.at().query(
        label=MESSAGE, where={"thread": thread, **where}, include_tombstoned=True, **options
    )
    return sorted(stored_of(found, lambda node: tx.content(node.id)), key=lambda one: one.sort_key)

"""Changes of a thread: each a function on one transaction, retried if another writer was first.

Everything that determines an ord is read from the transaction's base root, and every change that
assigns an ord or a range writes the thread's node, so two such writers never both succeed on one
root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.memory.conversation.message import (
    MESSAGE,
    ORD_MAX,
    PART,
    PART_MESSAGES,
    SOURCES_MAX,
    SUMMARY,
    THREAD,
    Message,
    Reader,
    Stored,
    ThreadInfo,
    fields_of,
    message_id,
    not_there,
    part_id,
    stored,
    stored_of,
    thread_id,
    thread_info,
)
from ibidem.objects.child import Child
from ibidem.objects.config import Config, Model
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ConflictError, ErrorKind, InvalidInputError
from ibidem.objects.forking import ForkLock
from ibidem.objects.location import size_of
from ibidem.objects.record import record
from ibidem.objects.text import text_digest
from ibidem.repo.retry import pause
from ibidem.repo.revision import Revision
from ibidem.repo.transaction.writing import writing
from ibidem.retrieve.access.derived import Labels, derived, listing_labels
from ibidem.retrieve.access.policy import policy_of, with_labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ibidem.embed.protocol import Embedder
    from ibidem.objects.commit import Commit
    from ibidem.objects.ids import NodeId
    from ibidem.objects.node import Node
    from ibidem.repo.repository import Repository
    from ibidem.repo.transaction.transaction import Transaction

T = TypeVar("T")
RACES_MAX = 200
_LOCK = ForkLock()
"""Held while this process writes a thread, so that its own threads do not race."""

Vectors = dict[str, Any]
"""Vectors by text."""


@record
class Written:
    """The result of a change."""

    ords: tuple[int, ...]
    """Ords of the stored messages."""
    commit: Commit | None
    """None where nothing changed."""


def changed(
    target: Repository | Transaction,
    change: Callable[[Transaction], T],
    *,
    author: str,
    message: str,
    time: int,
) -> tuple[T, Commit | None]:
    """Returns the result of a change and its commit, after retries if necessary; an open
    transaction, as `target`, is committed by its owner.

    Raises:
        ConflictError: another writer was first at every attempt.
    """
    for race in range(1, RACES_MAX + 1):
        try:
            with writing(target, author=author, message=message, time=time) as tx:
                made = change(tx)
        except ConflictError:
            if race == RACES_MAX:
                raise
            pause(race)
            continue
        return made, tx.commit
    raise AssertionError("BUG: the last race returns or raises")


def append(
    tx: Transaction, thread: str, messages: Sequence[Message], now: int, known: Mapping[str, int]
) -> tuple[int, ...]:
    """Stages messages after the last one; returns their ords, for known messages the existing ones.
    The thread must not change until the transaction is published, because ords are used once.

    Args:
        known: by the caller's id, the ord of a message that the thread has.
    """
    tx.require_unchanged(thread_id(thread))
    state, next_ord = _state(tx, thread)
    ords: list[int] = []
    known = dict(known)
    fresh: list[tuple[NodeId, Message]] = []
    for message in messages:
        if message.id is not None and message.id in known:
            ords.append(known[message.id])
            continue
        position = next_ord + len(fresh)
        fresh.append((tx.add_node(MESSAGE, **fields_of(message, thread, position, now)), message))
        ords.append(position)
        if message.id is not None:
            known[message.id] = position
    if fresh:
        _extend(tx, thread, state, next_ord, fresh)
    return tuple(ords)


def _extend(
    tx: Transaction,
    thread: str,
    state: Node | None,
    first: int,
    fresh: Sequence[tuple[NodeId, Message]],
) -> None:
    """Stages the parts that list new messages, and the thread that lists the parts."""
    parts = dict.fromkeys(() if state is None else (child.id for child in state.children))
    for index in range(first // PART_MESSAGES, (first + len(fresh) - 1) // PART_MESSAGES + 1):
        start = max(first, index * PART_MESSAGES)
        stop = min(first + len(fresh), (index + 1) * PART_MESSAGES)
        part = tx.find_node(part_id(thread, index))
        added = fresh[start - first : stop - first]
        children = (() if part is None else part.children) + tuple(
            Child(id, "", *size_of(message.text))
            for id, message in added  # noqa: A001
        )
        tx.add_node(
            PART,
            namespace=PART,
            key=[thread, index],
            props=_labelled(tx, part, {}, [message.props for _, message in added]),
            children=children,
            replace=True,
        )
        parts[part_id(thread, index)] = None
    stop = first + len(fresh)
    listed = [Child(id, "", 0, 0) for id in parts if tx.find_node(id) is not None]  # noqa: A001
    own = {"name": thread, "cleared": 0}
    props = _labelled(tx, state, own, [message.props for _, message in fresh])
    tx.add_node(
        THREAD,
        namespace=THREAD,
        key=thread,
        props={**props, "next": stop},
        children=listed,
        replace=True,
    )


def _labelled(
    tx: Transaction,
    node: Node | None,
    new: Mapping[str, Any],
    listed: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Returns the properties of a thread or part, `new` where there is none yet, with labels of
    which none is stricter than before or than those of the messages that it lists from now on."""
    props = dict(new if node is None else node.props)
    policy = tx.trust_policy
    if policy is None:
        return props
    before = [] if node is None else [node.props]
    return with_labels(props, policy.names, listing_labels(policy, [*before, *listed]))


def unsaved(tx: Transaction, thread: str, messages: Sequence[Message]) -> Sequence[Message]:
    """Returns the messages of a whole conversation that are not stored yet.

    Raises:
        InvalidInputError: kind `id-collision`: the stored messages are not a prefix of the
            conversation.
    """
    state, stop = _state(tx, thread)
    first = 0 if state is None else thread_info(state).cleared
    for position in range(first, min(stop, first + len(messages))):
        node = tx.find_node(message_id(thread, position))
        if node is None:
            continue  # erased: what it said is not known any more
        check_same(
            thread, position - first, stored(node, staged_reader(tx)), messages[position - first]
        )
    return messages[stop - first :]


def check_same(thread: str, index: int, before: Stored, given: Message) -> None:
    """Raises `InvalidInputError`, kind `id-collision`, if a message of a conversation is not the
    stored one."""
    if (before.role, before.text, before.raw) != (given.role, given.text, given.raw):
        raise InvalidInputError(
            f"messages[{index}]: thread {thread!r} has another one at {before.ord}",
            kind=ErrorKind.ID_COLLISION,
            hint="append only new messages, or clear the thread first",
        )


def hide(tx: Transaction, thread: str, before: int | None, *, reason: str) -> tuple[int, ...]:
    """Stages that messages below an ord, or all, are hidden; returns which were."""
    info = _existing(tx, thread)
    stop = info.next_ord
    end = stop if before is None else min(before, stop)
    found = _found(tx, thread, {"ord": {"lt": end}})
    gone = [one for one in found if one.ord < end and not tx.is_tombstoned(one.id)]
    for one in gone:
        tx.tombstone(one.id, reason=reason)
    if before is None:
        for first, last in info.summaries:
            summary = node_id(SUMMARY, [thread, first, last])
            if tx.find_node(summary) is not None and not tx.is_tombstoned(summary):
                tx.tombstone(summary, reason=reason)
        tx.require_unchanged(thread_id(thread))
        _set(tx, thread, {"next": stop, "cleared": stop, "summaries": []})
    return tuple(one.ord for one in gone)


def summarize(
    tx: Transaction,
    thread: str,
    first: int,
    last: int,
    text: str,
    *,
    now: int,
    model: str | None,
    labels: Labels,
) -> NodeId:
    """Stages a summary of messages first..last, both included. It is visible to callers who may see
    all of the messages, unless `labels` are lower; then the commit records it. A summary within the
    range is a source in place of its messages, and is hidden.

    Raises:
        InvalidInputError: not a range of messages of the thread, another summary shares a part of
            it or all, or the sources are of several scopes of a trust policy.
    """
    info = _existing(tx, thread)
    tx.require_unchanged(thread_id(thread))
    ranges = info.summaries
    _check_range(info, first, last)
    inner = [one for one in ranges if first <= one[0] and one[1] <= last and one != (first, last)]
    for other in [one for one in ranges if one not in inner]:
        if first <= other[1] and other[0] <= last:
            raise InvalidInputError(
                f"range: got {first} to {last}, which overlaps the summary of "
                f"{other[0]} to {other[1]}",
                kind=ErrorKind.ID_COLLISION,
            )
    earlier = [node_id(SUMMARY, [thread, *one]) for one in inner]
    found = [node for one in earlier if (node := tx.find_node(one))]
    for start, end in _between(inner, first, last):
        found += _in_range(tx, thread, start, end)
    policy = policy_of(Config.from_map(tx.base.config))
    own = derived(policy, (node.props for node in found), labels)
    props: dict[str, Any] = {
        **own.props,
        "thread": thread,
        "first": first,
        "last": last,
        "created_at": now,
        "sources": [node.cid for node in found],
    }
    if model is not None:
        props["model"] = model
    made = tx.add_node(
        SUMMARY, summary=text, props=props, namespace=SUMMARY, key=[thread, first, last]
    )
    tx.add_trailers(own.trailers(made))
    for one in earlier:
        if tx.find_node(one) is not None and not tx.is_tombstoned(one):
            tx.tombstone(one, reason=f"summarised in {first} to {last}")
    kept = sorted([*(list(one) for one in ranges if one not in inner), [first, last]])
    _set(tx, thread, {"summaries": kept})
    tx.add_edge(made, "summarizes", thread_id(thread), props={"first": first, "last": last})
    return made


def _between(ranges: Sequence[tuple[int, int]], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yields the ranges that are left of first..last without some ranges in it, all inclusive."""
    start = first
    for one in sorted(ranges):
        if start < one[0]:
            yield start, one[0] - 1
        start = one[1] + 1
    if start <= last:
        yield start, last


def in_range(tx: Transaction, thread: str, first: int, last: int) -> list[Node]:
    """Returns the messages with the ords first..last, by ord, those of viewers too.

    Raises:
        NotFoundError: there is no such thread.
        InvalidInputError: not a range of its messages, or too long a one.
    """
    _check_range(_existing(tx, thread), first, last)
    return _in_range(tx, thread, first, last)


def _check_range(info: ThreadInfo, first: int, last: int) -> None:
    if not 0 <= first <= last < info.next_ord:
        raise InvalidInputError(
            f"range: got {first} to {last}, expected messages of the {info.next_ord} in thread "
            f"{info.name!r}"
        )
    if last - first >= SOURCES_MAX:
        raise InvalidInputError(
            f"range: got {last - first + 1} messages, expected at most {SOURCES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
            hint="do it in several parts",
        )


def _in_range(tx: Transaction, thread: str, first: int, last: int) -> list[Node]:
    """Returns the messages with the ords first..last, by ord, those of viewers too."""
    found = [
        (position, node)
        for position in range(first, last + 1)
        if (node := tx.find_node(message_id(thread, position)))
    ]
    reader, within = staged_reader(tx), {"ord": {"gte": first, "lte": last}}
    found += [
        (stored(node, reader).ord, node) for node in _listed(tx, thread, within) if node.key is None
    ]
    return [node for _, node in sorted(found, key=lambda one: one[0])]


def _listed(tx: Transaction, thread: str, where: Mapping[str, Any], **options: Any) -> list[Node]:
    """Returns the messages of a thread in the base, under a policy: then viewers may have written
    some, whose ids have no key. Without one there is nothing to look for.
    """
    if policy_of(Config.from_map(tx.base.config)) is None:
        return []
    nodes = Revision(tx.before()).query(
        label=MESSAGE, where={"thread": thread, **where}, include_tombstoned=True, **options
    )
    known = {one.id: one for one in nodes}
    return [known[one.id] for one in stored_of(nodes, staged_reader(tx))]


def known_ids(tx: Transaction, thread: str, messages: Iterable[Message]) -> dict[str, int]:
    """Returns by the caller's id the ord of each message that the thread has already."""
    wanted = {message.id for message in messages if message.id is not None}
    if not wanted or not _state(tx, thread)[1]:
        return {}
    found = _found(tx, thread, {"message_id": {"in": sorted(wanted)}})
    return {one.message_id: one.ord for one in found if one.message_id is not None}


def _found(tx: Transaction, thread: str, where: Mapping[str, Any]) -> list[Stored]:
    """Returns the messages of a thread that meet conditions in the base, and all that the
    transaction has added; hidden ones too, by ord.
    """
    base = Revision(tx.before())
    was = base.find_nodes([thread_id(thread)]).get(thread_id(thread))
    nodes = base.query(
        label=MESSAGE, where={"thread": thread, **where}, order_by="ord", include_tombstoned=True
    )
    first = 0 if was is None else thread_info(was).next_ord
    added = (
        tx.find_node(message_id(thread, position))
        for position in range(first, _existing(tx, thread).next_ord)
    )
    return list(stored_of([*nodes, *filter(None, added)], staged_reader(tx)))


def staged_reader(tx: Transaction) -> Reader:
    """Returns a function that reads the content of nodes as staged."""
    return lambda node: tx.content(node.id)


def in_turn(work: Callable[[], T]) -> T:
    """Returns what `work` returns, while no other thread of this process writes one."""
    with _LOCK:
        return work()


def _existing(tx: Transaction, thread: str) -> ThreadInfo:
    state, next_ord = _state(tx, thread)
    if not next_ord and state is None:
        raise not_there(thread)
    found = ThreadInfo(thread, 0, 0, ()) if state is None else thread_info(state)
    return replace(found, next_ord=next_ord)


def _state(tx: Transaction, thread: str) -> tuple[Node | None, int]:
    """Returns the owner's node of a thread, and the next ord: after all messages, those of viewers
    too."""
    state = tx.find_node(thread_id(thread))
    stop = 0 if state is None else thread_info(state).next_ord
    last = _listed(tx, thread, {"ord": {"gte": stop, "lt": ORD_MAX}}, order_by="-ord", limit=1)
    return state, max([stop, *(one.ord + 1 for one in stored_of(last, staged_reader(tx)))])


def _set(tx: Transaction, thread: str, props: Mapping[str, Any]) -> None:
    """Stages properties of the owner's node of a thread, which is added where there is none."""
    if tx.find_node(thread_id(thread)) is None:
        own = {"name": thread, "next": 0, "cleared": 0, **props}
        said = [node.props for node in _listed(tx, thread, {})]
        tx.add_node(THREAD, namespace=THREAD, key=thread, props=_labelled(tx, None, own, said))
    else:
        tx.update_node(thread_id(thread), set_props=props)


def set_vectors(
    tx: Transaction,
    embedder: Embedder | None,
    thread: str,
    ords: tuple[int, ...],
    messages: Iterable[Message],
) -> None:
    """Stages the vectors of messages with a text; each text is embedded once, without an embedder
    none."""
    if embedder is None:
        return
    pairs = {
        message_id(thread, position): one.text
        for position, one in zip(ords, messages, strict=True)
        if one.text.strip()
    }
    if not pairs:
        return
    from ibidem.embed.cache import CachedEmbedder

    texts = list(dict.fromkeys(pairs.values()))
    source = CachedEmbedder(embedder, tx.before().core.vector_cache)
    vectors = dict(zip(texts, source.embed(texts), strict=True))
    tx.register_model(embedder.name, Model(embedder.dim, digest=embedder.digest))
    for id, text in pairs.items():  # noqa: A001
        tx.set_vector(id, model=embedder.name, vector=vectors[text], of=text_digest(text))

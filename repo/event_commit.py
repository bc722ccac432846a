"""The commit that adds events to the notes of a space.

The id of an event begins with its position in the history of the space, so it is computed for the
newest notes head, and again after a lost race.

Spec: memory 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.constants import EVENT_PLACE_BYTES
from ibidem.objects.derive import event_node_id
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.node import Node
from ibidem.objects.tree import Tree
from ibidem.repo.arguments import commit_of
from ibidem.repo.events import EVENT, Event
from ibidem.repo.transaction.changeset import NODES, ChangeSet, with_edits

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.commit import Commit
    from ibidem.objects.root import Root
    from ibidem.repo.arguments import CommitInfo


def with_events(
    head: CommitCid | None,
    root: Root,
    events: Sequence[Event],
    signed: CommitInfo,
    time: int,
    buffer: WriteBatch,
) -> Commit:
    """Returns the commit that adds events after all that are at a notes head.

    Args:
        head: the notes head, None before the first event.
        root: its root.
        events: one or more, checked; one whose `time` is 0 gets that of the commit, one without an
            author the author.
        signed: of the commit; without a message it gets one that counts the events.
        time: of the commit.
        buffer: reads the root's blocks, and gets the new ones.
    """
    edits = ChangeSet()
    last = Tree(buffer, root.nodes).last
    position = 0 if last is None else 1 + int.from_bytes(last[:EVENT_PLACE_BYTES], "big")
    for index, given in enumerate(events):
        event = replace(
            given, author=given.author or signed.author, time=given.time or time, id=None
        )
        unnamed = Node(NodeId(bytes(ID_BYTES)), EVENT, props=event.props())
        made = event_node_id(position + index, head, index, unnamed.to_map())
        node = replace(unnamed, id=made)
        edits.of(NODES)[made.raw] = node.cid
        buffer.put(node.cid, node.encode())
    block = with_edits(root, edits, buffer)
    buffer.put(block.cid, block.encode())
    subject = signed.message or f"{events[0].kind}, {len(events)} event{'s' * (len(events) != 1)}"
    parents = () if head is None else (head,)
    return commit_of(replace(signed, message=subject), block.cid, parents, time)

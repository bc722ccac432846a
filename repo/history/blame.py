"""Blame: for each field and property of a node, the commit that last set its value. The search goes
back from a revision: while a parent has the same value, it continues at the first such parent; a
commit none of whose parents has the value set it. A part of a document that was renamed is followed
to the id that it had under the earlier path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.progress import STEP, Progress, silent
from ibidem.objects.record import record
from ibidem.repo.history.touching import SEARCHING, NodeStates, ids_before

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

_NOT_SHOWN = frozenset(("kind", "v", "id", "key", "props"))


@record
class Blame:
    """A field or property of a node, and the commit that last set it."""

    field: str
    """Such as `summary`, or `props.NAME`."""
    value: Any
    commit: Commit


def blame(
    source: Source,
    start: CommitCid,
    id: NodeId,  # noqa: A002
    progress: Progress = silent,
) -> list[Blame]:
    """Returns the blame of all fields of a node, by name, then of all properties, by name.

    Args:
        start: a commit whose root contains the node.
    """
    states = NodeStates(source)
    fields = _Fields(states, (id, *ids_before(source, states.ends(start).root, id)))
    values = fields.at(start)
    unattributed: dict[CommitCid, set[str]] = {start: set(values)}
    waiting = [(-states.ends(start).time, start.raw)]
    found: dict[str, CommitCid] = {}
    done = 0
    while waiting:
        if done % STEP == 0:
            progress(SEARCHING, done, None)
        done += 1
        cid = CommitCid(heappop(waiting)[1])
        names = unattributed.pop(cid)
        for parent in states.ends(cid).parents:
            before = fields.at(parent)
            same = names if before is values else _same(names, before, values)
            if not same:
                continue
            if parent not in unattributed:
                unattributed[parent] = set()
                heappush(waiting, (-states.ends(parent).time, parent.raw))
            unattributed[parent] |= same
            names = names - same
        found.update(dict.fromkeys(names, cid))
    progress(SEARCHING, done, done)
    commits = {cid: Commit.decode(source.get(cid)) for cid in set(found.values())}
    order = sorted(found, key=lambda name: (name.startswith("props."), name))
    return [Blame(name, codec.decode(values[name]), commits[found[name]]) for name in order]


def _same(names: set[str], before: Mapping[str, bytes], now: Mapping[str, bytes]) -> set[str]:
    return {name for name in names if name in before and before[name] == now[name]}


class _Fields:
    """The fields of one node at many commits, by name, as canonical bytes."""

    def __init__(self, states: NodeStates, ids: Sequence[NodeId]) -> None:
        self._states = states
        self._keys = [id_.raw for id_ in ids]
        self._read: dict[Cid | None, Mapping[str, bytes]] = {None: {}}

    def at(self, commit: CommitCid) -> Mapping[str, bytes]:
        """Returns the fields at a commit; none if the node does not exist there."""
        states = self._states
        cid = states.first(states.tree(states.ends(commit).root), self._keys)
        if cid not in self._read:
            fields = Node.decode(states.source.get(cid)).to_map() if cid is not None else {}
            values = {name: fields[name] for name in fields if name not in _NOT_SHOWN}
            properties = fields.get("props", {})
            values |= {f"props.{name}": properties[name] for name in properties}
            self._read[cid] = {name: codec.encode(value) for name, value in values.items()}
        return self._read[cid]

"""What differs between two states, as JSON and as lines: for `diff`, `status` and `show`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ibidem.cli.render import output

if TYPE_CHECKING:
    from ibidem.repo.history.log import Change
    from ibidem.store.protocol import Store

_MARKS = {"added": "+", "removed": "-", "changed": "~"}


def change_json(change: Change) -> dict[str, Any]:
    """Returns one change as JSON."""
    return {
        "action": change.action,
        "family": change.family,
        "id": str(change.id),
        "name": change.name or None,
        "before": None if change.before is None else str(change.before),
        "after": None if change.after is None else str(change.after),
        "fields": list(change.fields),
        "properties": list(change.properties),
    }


def counts_json(changes: Iterable[Change]) -> dict[str, dict[str, int]]:
    """Returns how many things of each family were added, changed and removed."""
    from ibidem.objects.root import FAMILIES

    counts = Counter((change.family, change.action) for change in changes)
    families = (family.name for family in FAMILIES if family.name != "conflicts")
    return {family: {action: counts[family, action] for action in _MARKS} for family in families}


def change_lines(store: Store, changes: Sequence[Change], *, limit: int | None = None) -> list[str]:
    """Returns one line a change, and how many more there are than `limit`."""
    lines = [_line(store, change) for change in changes[:limit]]
    more = len(changes) - len(lines)
    return [*lines, f"and {more:,} more"] if more else lines


def summary(changes: Sequence[Change]) -> str:
    """Returns what changed in one clause."""
    from ibidem.objects.root import NOUNS

    counts = Counter((change.family, change.action) for change in changes)
    if not counts:
        return "no difference"
    parts = [
        f"{output.plural(count, NOUNS[family])} {action}"
        for (family, action), count in sorted(counts.items())
    ]
    return ", ".join(parts)


def _line(store: Store, change: Change) -> str:
    from ibidem.objects.root import NOUNS

    noun = NOUNS[change.family]
    name = f" {output.one_line(change.name)}" if change.name else ""
    touched = [*change.fields, *(f"props.{key}" for key in change.properties)]
    what = f"  ({output.one_line(', '.join(touched), width=100)})" if touched else ""
    line = f"{_MARKS[change.action]} {noun} {change.id}{name}"
    if change.action != "changed":
        line = output.good(line) if change.action == "added" else output.bad(line)
    return line + _described(store, change) + output.faint(what)


def _described(store: Store, change: Change) -> str:
    """Returns the type and the beginning of the text of a node, the type and ends of an edge."""
    from ibidem.objects.edge import Edge
    from ibidem.objects.node import Node

    cid = change.after or change.before
    assert cid is not None, "BUG: a change with neither side"
    if change.family == "nodes":
        node = Node.decode(store.get(cid))
        return f"  {output.one_line(node.ntype)}  {output.one_line(node.summary or '', width=50)}"
    if change.family == "edges":
        edge = Edge.decode(store.get(cid))
        return f"  {edge.src} {output.one_line(edge.etype)} {edge.dst}"
    return ""

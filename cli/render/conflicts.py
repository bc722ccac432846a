"""Conflicts as JSON and as lines: for `merge`, `rebase` and the like, `status` and `resolve`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ibidem.cli.render import changes, output, shapes

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.repo.history.log import Change
    from ibidem.repo.merge.branch import Outcome
    from ibidem.repo.merge.conflicts import OpenConflict
    from ibidem.store.protocol import Store

_SHOWN = 20
_WIDTH = 40
NEXT = "next: repo resolve ID --ours, --theirs, --base, --keep or --value NAME=VALUE"


def conflict_json(found: OpenConflict) -> dict[str, Any]:
    """Returns one conflict as JSON."""
    return {
        "id": str(found.id),
        "reason": found.reason,
        "value": None if found.value is None else str(found.value),
        **found.conflict.TABLE.json(found.conflict),
    }


def conflict_lines(store: Store, found: Sequence[OpenConflict]) -> list[str]:
    """Returns the lines of each conflict with its conflicting values."""
    lines = []
    for each in found[:_SHOWN]:
        lines.append(output.bad(f"! {each.what} {each.id}") + f"  {each.reason}")
        lines += [f"    {line}" for line in _values(store, each)]
    more = len(found) - len(found[:_SHOWN])
    return [*lines, f"and {more:,} more"] if more else lines


def merge_lines(
    store: Store, outcome: Outcome, changed: Sequence[Change], found: Sequence[OpenConflict]
) -> list[str]:
    """Returns the lines on what a merge changed, and on its conflicts."""
    lines = [f"{outcome}: {changes.summary(changed)}"]
    if found:
        lines += ["", f"{output.plural(len(found), 'conflict')} to resolve"]
        lines += [f"  {line}" for line in conflict_lines(store, found)]
    return lines


def merge_json(
    outcome: Outcome, changed: Iterable[Change], found: Iterable[OpenConflict]
) -> dict[str, Any]:
    """Returns what a merge changed, and its conflicts, as JSON."""
    return {
        "outcome": str(outcome),
        "counts": changes.counts_json(changed),
        "conflicts": [conflict_json(each) for each in found],
    }


def commits_json(commits: Iterable[Commit]) -> list[dict[str, Any]]:
    """Returns commits as JSON."""
    return [shapes.block_json(commit) for commit in commits]


def _values(store: Store, found: OpenConflict) -> list[str]:
    """Returns the values of each conflicting field on both sides, except erased ones."""
    from ibidem.objects.errors import NotFoundError
    from ibidem.repo.merge.fields import fields_of

    sides = []
    for side in found.conflict.sides:
        try:
            sides.append(fields_of(store.get(side)))
        except NotFoundError:  # an erased block is a missing one
            continue
    rows = []
    for name in found.fields:
        said = {side.get(name): None for side in sides}
        cut = [output.one_line(_text(name, value), width=_WIDTH) for value in said]
        rows.append((output.one_line(name), " | ".join(cut)))
    return output.pairs(rows)


def _text(name: str, value: bytes | None) -> str:
    """Returns one side's value of a field as text; of a layout, its parts."""
    from ibidem.objects import codec
    from ibidem.repo.merge.fields import LAYOUT

    if value is None:
        return "absent"
    said = codec.decode(value)
    if name != LAYOUT:
        return shapes.value_text(said)
    parts = said[0] or ()
    beginnings = (part[0].hex()[:8] for part in parts)
    return f"{output.plural(len(parts), 'part')}: {', '.join(beginnings)}"

"""Changes between two states, as JSON and as lines: for `diff`, `status` and `show`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ibidem.cli.render import output
from ibidem.objects.errors import NotFoundError

if TYPE_CHECKING:
    from ibidem.repo.history.log import Change
    from ibidem.store.protocol import Store

_MARKS = {"added": "+", "removed": "-", "changed": "~"}
_TEXT_CHARACTERS = 50


def counts_json(changes: Iterable[Change]) -> dict[str, dict[str, int]]:
    """Returns how many records of each family were added, changed and removed."""
    from ibidem.objects.root import FAMILIES

    counts = Counter((change.family, change.action) for change in changes)
    families = (family.name for family in FAMILIES if family.name != "conflicts")
    return {family: {action: counts[family, action] for action in _MARKS} for family in families}


def change_lines(store: Store, changes: Sequence[Change], *, limit: int | None = None) -> list[str]:
    """Returns one line per change up to `limit`, and a line with the number of further ones."""
    lines = [_line(store, change) for change in changes[:limit]]
    more = len(changes) - len(lines)
    return [*lines, f"and {more:,} more"] if more else lines


def without_parts(store: Store, changes: Iterable[Change]) -> list[Change]:
    """Returns the changes but those of documents and their parts, and of nodes that were erased."""
    return [change for change in changes if not _is_part(store, change)]


def _is_part(store: Store, change: Change) -> bool:
    cid = change.after or change.before
    if change.family != "nodes" or cid is None:
        return False
    from ibidem.objects.location import document_of
    from ibidem.objects.node import Node

    try:
        block = store.get(cid)
    except NotFoundError:
        return True
    return document_of(Node.decode(block)) is not None


def document_lines(documents: Mapping[str, str], former: Mapping[str, str]) -> list[str]:
    """Returns one line per document, by path, given what happened to each, and the former paths of
    those that were renamed."""
    lines = {
        path: _styled(f"{_MARKS[action]} {output.one_line(path)}", action)
        for path, action in documents.items()
    }
    for path, before in former.items():
        lines[path] = f"renamed {output.one_line(before)} -> {output.one_line(path)}"
    return [lines[path] for path in sorted(lines)]


def summary(changes: Sequence[Change]) -> str:
    """Returns a one-line summary of the changes."""
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
    from ibidem.repo.history.diff_format import describe

    found = describe(store, change, width=_TEXT_CHARACTERS)
    line = _styled(f"{_MARKS[change.action]} {found.name}", change.action)
    if found.label:
        line += f"  {found.label}  {found.text or ''}"
    elif found.text is not None:
        line += f"  {found.text}"
    return line + output.faint(f"  ({found.touched})" if found.touched else "")


def _styled(line: str, action: str) -> str:
    if action == "changed":
        return line
    return output.good(line) if action == "added" else output.bad(line)

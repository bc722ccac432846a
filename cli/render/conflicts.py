"""Conflicts as JSON and as lines: for `merge`, `rebase` and the like, `status` and `resolve`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ibidem.cli.render import changes, output, shapes
from ibidem.cli.render.text_diff import tombstone_lines

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.repo.history.log import Change
    from ibidem.repo.merge.branch import Outcome
    from ibidem.repo.merge.conflicts import OpenConflict
    from ibidem.repo.merge.document_conflicts import DocumentConflict
    from ibidem.repo.repository import Repository
    from ibidem.store.protocol import Store

_SHOWN = 20
_ALTERNATIVES_SHOWN = 5
"""Values of one field, of as many writers, that are shown."""
_LINES = 60
_WIDTH = 40
_CONTEXT_LINES = 2
_SECTIONS_SHOWN = 3
NEXT = "next: repo resolve ID --ours, --theirs, --base, --keep or --value NAME=VALUE"
NEXT_DOCUMENT = "next: repo resolve PATH --ours, --theirs, --edit or --file FILE"


def document_conflicts(repository: Repository) -> list[DocumentConflict]:
    """Returns the documents in conflict at the head, by path."""
    from ibidem.repo.merge.document_conflicts import document_conflicts as found_in

    head, found = repository.head, repository.conflicts()
    return [] if head is None or not found else found_in(repository.core.store, head, found)


def document_json(found: DocumentConflict) -> dict[str, Any]:
    """Returns the conflict of a document as JSON, without the texts if one has a hidden part."""
    merged = found.merged()
    is_shown = found.hidden is None
    return {
        "path": found.path,
        "ids": [str(each.id) for each in found.conflicts],
        "ours": found.ours if is_shown else None,
        "theirs": found.theirs if is_shown else None,
        "merged": merged.text if is_shown else None,
        "marker_count": merged.conflict_count,
        "hidden": None if found.hidden is None else str(found.hidden),
    }


def all_lines(
    repository: Repository, found: Sequence[OpenConflict], documents: Sequence[DocumentConflict]
) -> list[str]:
    """Returns the lines of each conflict: of a document, its text, else the conflicting values."""
    lines = [line for each in documents[:_SHOWN] for line in _document_lines(each)]
    shown = {each.id for document in documents for each in document.conflicts}
    return lines + conflict_lines(repository, [each for each in found if each.id not in shown])


def conflict_json(found: OpenConflict) -> dict[str, Any]:
    """Returns one conflict as JSON."""
    return {
        "id": str(found.id),
        "reason": found.reason,
        "value": None if found.value is None else str(found.value),
        **found.conflict.TABLE.json(found.conflict),
    }


def help_lines(found: Sequence[OpenConflict], documents: Sequence[DocumentConflict]) -> list[str]:
    """Returns what to do next about some conflicts."""
    count = sum(len(each.conflicts) for each in documents)
    lines = [NEXT_DOCUMENT] * bool(documents) + [NEXT] * (len(found) > count)
    return [output.faint(line) for line in lines]


def conflict_lines(repository: Repository, found: Sequence[OpenConflict]) -> list[str]:
    """Returns the lines of each conflict with its conflicting values, of a part of a document also
    where it stands."""
    lines = []
    for each in found[:_SHOWN]:
        where = "" if each.is_hidden else _in_document(repository, each)
        lines.append(output.bad(f"! {each.what} {each.id}") + f"  {each.reason}{where}")
        hidden, store = tombstone_lines(each.id, is_part=False), repository.core.store
        lines += [f"    {line}" for line in (hidden if each.is_hidden else _values(store, each))]
    more = len(found) - len(found[:_SHOWN])
    return [*lines, f"and {more:,} more"] if more else lines


def merge_lines(
    repository: Repository,
    outcome: Outcome,
    changed: Sequence[Change],
    found: Sequence[OpenConflict],
    documents: Sequence[DocumentConflict] = (),
) -> list[str]:
    """Returns the lines on what a merge changed, and on its conflicts."""
    lines = [f"{outcome}: {changes.summary(changed)}"]
    if found:
        lines += ["", f"{output.plural(len(found), 'conflict')} to resolve"]
        lines += [f"  {line}" for line in all_lines(repository, found, documents)]
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


def _document_lines(found: DocumentConflict) -> list[str]:
    """Returns the lines that both sides changed, with markers and a little context."""
    merged = found.merged()
    title = output.bad(f"! {output.one_line(found.path)}")
    if None in (found.ours, found.theirs):
        gone = "ours" if found.ours is None else "theirs"
        return [f"{title}  changed, and deleted by {gone}"]
    if not merged.conflict_count:
        done = f"changed by both sides, in different lines: repo resolve {found.path} takes both"
        return [f"{title}  {done}"]
    if found.hidden is not None:
        return [
            f"{title}  changed differently",
            *(f"    {line}" for line in tombstone_lines(found.hidden, is_part=True)),
        ]
    text = merged.text.split("\n")
    shown: list[str] = []
    begins = [at for at, line in enumerate(text) if line == "<<<<<<< ours"]
    ends = [at for at, line in enumerate(text) if line == ">>>>>>> theirs"]
    for begin, end in zip(begins, ends, strict=False):
        first, last = max(0, begin - _CONTEXT_LINES), end + _CONTEXT_LINES + 1
        shown += [f"    {line}" for line in text[first:last]]
    more = len(shown) - _LINES
    shown = shown[:_LINES] + ([f"    and {more:,} more lines"] if more > 0 else [])
    return [f"{title}  changed differently{_in_sections(found)}", *shown]


def _in_sections(found: DocumentConflict) -> str:
    """Returns the sections that both sides changed, as the end of a line."""
    sections = [" > ".join(map(_heading, headings)) for headings in found.sections]
    more = len(sections) - _SECTIONS_SHOWN
    shown = sections[:_SECTIONS_SHOWN] + ([f"{more:,} more"] if more > 0 else [])
    return f", in {'; '.join(shown)}" if shown else ""


def _in_document(repository: Repository, found: OpenConflict) -> str:
    """Returns the document of a part and the headings above it, as the end of a line; empty for
    another node, and if a part of the document is hidden."""
    from ibidem.repo.merge.document_conflicts import names_of

    head = repository.head
    names = () if head is None else names_of(repository.core.store, head, found)
    return f", in {' > '.join(map(_heading, names))}" if names else ""


def _heading(text: str) -> str:
    return output.one_line(text, width=_WIDTH)


def _values(store: Store, found: OpenConflict) -> list[str]:
    """Returns the values of each conflicting field on both sides, except erased ones."""
    from ibidem.repo.merge.conflicts import sides_of

    sides, rows = sides_of(store, found), []
    for name in found.fields:
        values = {side.get(name): None for side in sides}
        cut = [
            output.one_line(_text(name, value), width=_WIDTH)
            for value in list(values)[:_ALTERNATIVES_SHOWN]
        ]
        if len(values) > len(cut):
            cut.append(f"and {len(values) - len(cut)} more")
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

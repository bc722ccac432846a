"""Differences of documents as text: unified, with the changed words of a line highlighted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from ibidem.cli.render import output
from ibidem.repo.history.word_diff import changed_words

if TYPE_CHECKING:
    from ibidem.objects.ids import EdgeId, NodeId
    from ibidem.repo.history.documents import DocumentChange

_NO_NEWLINE = "\\ No newline at end of file"


def unified(change: DocumentChange) -> list[str]:
    """Returns a unified diff, in the form that `patch` reads, without line ends."""
    old = "/dev/null" if change.before is None else f"a/{change.former or change.path}"
    new = "/dev/null" if change.after is None else f"b/{change.path}"
    before, after = (_lines(text or "") for text in (change.before, change.after))
    lines: list[str] = []
    for line in unified_diff(before, after, old, new):
        is_whole = line.endswith("\n")
        lines.append(line[:-1] if is_whole else line)
        if not is_whole and line[0] in "+- " and len(lines) > 2:
            lines.append(_NO_NEWLINE)
    return lines or [f"--- {old}", f"+++ {new}"]


def document_json(change: DocumentChange) -> dict[str, Any]:
    """Returns the change of a document as JSON."""
    if change.former is not None:
        action = "renamed"
    elif change.is_readable and None in (change.before, change.after):
        action = "added" if change.before is None else "removed"
    else:
        action = "changed"
    has_lines = change.is_readable and (change.former is None or change.before != change.after)
    return {
        "path": change.path,
        "former": change.former,
        "action": action,
        "lines": unified(change) if has_lines else [],
    }


def diff_lines(change: DocumentChange) -> Iterator[str]:
    """Yields the lines of a diff for `output.page`."""
    if change.former is not None:
        yield output.strong(f"renamed {output.one_line(change.name)}")
    if change.hidden is not None:
        reason, way_out = tombstone_lines(change.hidden, is_part=True)
        yield f"{change.path}: {reason}"
        yield way_out
        return
    if not change.is_readable:
        yield f"{change.path}: a part was erased, so its text is not shown"
        return
    if change.former is not None and change.before == change.after:
        return
    lines = unified(change)
    head, body = lines[:2], lines[2:]
    yield from map(output.strong, head)
    at = 0
    while at < len(body):
        removed = _run(body, at, "-")
        added = _run(body, at + len(removed), "+")
        if not removed and not added:
            line = body[at]
            yield output.faint(line) if line.startswith(("@@", "\\")) else line
            at += 1
            continue
        at += len(removed) + len(added)
        yield from _changed(removed, added)


def tombstone_lines(id_: NodeId | EdgeId, *, is_part: bool) -> tuple[str, str]:
    """Returns why a text is not shown, and how to show it.

    Args:
        id_: has a tombstone.
        is_part: whether it is a part of what is named before it.
    """
    what = f"node {id_} of it" if is_part else "it"
    return (
        f"{what} was forgotten, so its text is not shown",
        f"'repo node untombstone {id_}' and 'repo commit' show it again",
    )


def _changed(removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
    """Yields removed lines, then those that replace them."""
    if len(removed) != len(added):
        yield from map(output.bad, removed)
        yield from map(output.good, added)
        return
    pairs = [_words(old[1:], new[1:]) for old, new in zip(removed, added, strict=True)]
    for old, _ in pairs:
        yield output.bad("-") + old
    for _, new in pairs:
        yield output.good("+") + new


def _words(old: str, new: str) -> tuple[str, str]:
    """Returns both lines with the words that differ highlighted."""
    parts = changed_words(old, new)
    if parts is None:
        return output.bad(old), output.good(new)
    before, after = [], []
    for ours, theirs in parts:
        is_same = ours == theirs
        before.append(_styled(ours, output.bad if is_same else output.bad_word))
        after.append(_styled(theirs, output.good if is_same else output.good_word))
    return "".join(before), "".join(after)


def _styled(text: str, style: Callable[[str], str]) -> str:
    return style(text) if text else ""


def _run(lines: Sequence[str], start: int, sign: str) -> list[str]:
    stop = start
    while stop < len(lines) and lines[stop].startswith(sign):
        stop += 1
    return list(lines[start:stop])


def _lines(text: str) -> list[str]:
    """Returns the lines of a text with their line feeds; other line breaks are characters."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]

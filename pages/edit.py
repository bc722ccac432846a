"""A change of the graph as HTML: the element, its fields and properties before and after, its text
with the words marked that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.edge import Edge
from ibidem.objects.node import Node
from ibidem.objects.printable import one_line
from ibidem.objects.record import record
from ibidem.pages.change import words
from ibidem.pages.html import NOWHERE, Links, clipped, code, linked, tag
from ibidem.pages.value import value_text

if TYPE_CHECKING:
    from ibidem.repo.history.documents import DocumentChange
    from ibidem.repo.history.log import Change

LINES_MAX = 500
"""Lines of a document that are compared. The comparison takes 0.4 s where every second line is the
same, and four to eight times as long for twice as many."""
LINES_AROUND = 2
"""Lines that are shown before and after a difference."""
_TEXTS = ("summary", "context_sentence", "tail")


@record
class Edit:
    """A change with both versions, None where there is none or it is not shown."""

    change: Change
    before: Node | Edge | None
    after: Node | Edge | None


def edits(found: Iterable[Edit], *, before: Links = NOWHERE, after: Links = NOWHERE) -> h.Element:
    """Returns changes one below the other.

    Args:
        before: links at the older revision, for what was removed.
        after: links at the newer one.
    """
    return h.ul(".items")[
        (h.li[_edit(one, before if one.change.after is None else after)] for one in found)
    ]


def documents(found: Iterable[DocumentChange]) -> h.Node:
    """Returns documents that differ, each with the lines around what differs."""
    return [
        h.section[
            h.h3[one_line(one.name)],
            _document(one),
        ]
        for one in found
    ]


def _document(found: DocumentChange) -> h.Element:
    if found.is_long:
        return h.p[f"It has more than {LINES_MAX:,} parts; those that differ are below."]
    if found.hidden is not None:
        return h.p[f"Node {found.hidden} of it was forgotten, so its text is not shown."]
    if not found.is_readable:
        return h.p["A part of it was erased."]
    if found.before == found.after:
        return h.p["It was renamed; its text is the same."]
    return h.pre(tabindex="0")[_lines(found.before or "", found.after or "")]


def _lines(before: str, after: str) -> list[h.Node]:
    """Returns two texts as one, without the lines that are far from any difference."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if max(len(old), len(new)) > LINES_MAX:
        return [f"Both have more than {LINES_MAX:,} lines."]
    found: list[h.Node] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(LINES_AROUND):
        found += ["…\n"] if found or group[0][1] else []
        for kind, a, b, c, d in group:
            was, now = "".join(old[a:b]), "".join(new[c:d])
            found.append(was if kind == "equal" else words(was or None, now or None))
    return found


def _edit(found: Edit, links: Links) -> h.Node:
    change = found.change
    element = found.after or found.before
    path = f"node/{change.id}" if change.family != "edges" else None
    label = "" if element is None else element.ntype if isinstance(element, Node) else element.etype
    return [
        h.h3[
            tag(change.action),
            f" {change.family.rstrip('s')} {one_line(label)} {one_line(change.name)} ",
            linked(None if path is None else links.to(path), code(str(change.id))),
        ],
        tuple(_fields(found)),
    ]


def _fields(found: Edit) -> Iterator[h.Node]:
    before, after = found.before, found.after
    if isinstance(before or after, Edge):
        edge = after or before
        assert isinstance(edge, Edge), "BUG: an edge became a node"
        yield h.p[code(str(edge.src)), " → ", code(str(edge.dst))]
    for name in _TEXTS:
        old, new = (clipped(getattr(one, name, None) or "") for one in (before, after))
        if old != new:
            yield h.p(".text")[words(old or None, new or None)]
    for name in found.change.fields:
        if name not in (*_TEXTS, "props"):
            yield h.p[f"{name} changed"]
    props = [{} if one is None else one.props for one in (before, after)]
    for name in sorted({*props[0], *props[1]}):
        old, new = (clipped(value_text(one[name])) if name in one else "" for one in props)
        if old != new:
            yield h.p[one_line(name), ": ", words(old or None, new or None)]

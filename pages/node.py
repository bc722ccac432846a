"""A node as HTML: its text, where it comes from, its properties, its edges, its versions, and the
commit that set each value; a document with the commit of each line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import moment, one_line
from ibidem.objects.record import record
from ibidem.pages.comparison import commit
from ibidem.pages.html import NOWHERE, Links, clipped, code, facts, linked, number, plural, table
from ibidem.pages.value import value_text

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.objects.edge import Edge
    from ibidem.objects.ids import NodeId
    from ibidem.objects.location import Location
    from ibidem.objects.node import Node
    from ibidem.repo.history.blame import Blame

TITLE_CHARACTERS = 80
_TIMES = ("valid_from", "valid_to")


@record
class Lines:
    """Some lines of a document, and the commit that last set them."""

    start: int
    text: str
    part: NodeId
    commit: Commit | None


def title_of(found: Node) -> str:
    """Returns the label of a node and the start of its text."""
    text = one_line((found.summary or "").strip().partition("\n")[0], width=TITLE_CHARACTERS)
    return f"{one_line(found.ntype)}: {text}" if text else one_line(found.ntype)


def node(
    found: Node,
    location: Location | None,
    *,
    level: str | None = None,
    tombstone: str | None = None,
    links: Links = NOWHERE,
) -> h.Node:
    """Returns the text and the properties of a node.

    Args:
        level: who may see it, where there is a trust policy.
        tombstone: the reason why it is hidden.
    """
    document = None if location is None else links.to(f"document/{location.document_id}")
    rows = [
        (one_line(name), clipped(value_text(found.props[name]))) for name in sorted(found.props)
    ]
    return [
        h.p(".text")[clipped(found.summary)] if found.summary else h.p(".muted")["It has no text."],
        facts(
            (
                ("label", one_line(found.ntype)),
                ("source", linked(document, str(location)) if location else None),
                ("context", found.context_sentence and clipped(found.context_sentence)),
                ("valid", _validity(found.props)),
                ("level", level),
                ("hidden", tombstone),
                ("id", code(str(found.id))),
                ("version", code(str(found.cid))),
                ("key", None if found.key is None else code(clipped(value_text(list(found.key))))),
            )
        ),
        table(
            plural(len(rows), "property").replace("propertys", "properties"),
            ("Name", "Value"),
            rows,
        )
        if rows
        else None,
    ]


def edges(
    found: Sequence[Edge], titles: Mapping[NodeId, str], of: NodeId, *, links: Links = NOWHERE
) -> h.Node:
    """Returns edges of a node with the nodes at their other ends."""
    rows = []
    for edge in found:
        other = edge.dst if edge.src == of else edge.src
        rows.append(
            (
                one_line(edge.etype),
                "to" if edge.src == of else "from",
                linked(links.to(f"node/{other}"), titles.get(other, str(other))),
                number(edge.weight),
                ", ".join(
                    f"{one_line(name)}: {one_line(value_text(edge.props[name]), width=200)}"
                    for name in sorted(edge.props)
                ),
            )
        )
    return table(
        plural(len(rows), "edge"), ("Type", "Direction", "Node", "Weight", "Properties"), rows
    )


def blame(found: Sequence[Blame], *, links: Links = NOWHERE) -> h.Element:
    """Returns the commit that last set each field and property."""
    rows = [
        (
            one_line(one.field),
            one_line(value_text(one.value), width=80),
            commit(one.commit, links=links),
        )
        for one in found
    ]
    return table("Who said so", ("Field", "Value", "Commit"), rows)


def versions(found: Sequence[Commit], node_id: NodeId, *, links: Links = NOWHERE) -> h.Element:
    """Returns the commits that touched a node, each with a link to the node at that commit."""
    return h.ol[
        (
            h.li[
                commit(one, links=links),
                " ",
                linked(links.to(f"node/{node_id}", at=str(one.cid)), "as it was then"),
            ]
            for one in found
        )
    ]


def document(found: Sequence[Lines], *, links: Links = NOWHERE) -> h.Element:
    """Returns the lines of a document, each part with the commit that last set it."""
    rows = [
        (
            str(one.start),
            h.span(".text")[clipped(one.text)],
            linked(links.to(f"node/{one.part}"), "part"),
            None if one.commit is None else commit(one.commit, links=links),
        )
        for one in found
    ]
    return table("Lines", ("Line", "Text", "Part", "Commit"), rows)


def _validity(props: Mapping[str, object]) -> str | None:
    times = [props.get(name) for name in _TIMES]
    if times == [None, None]:
        return None
    start, stop = (moment(time) if isinstance(time, int) else "ever" for time in times)
    return f"from {start} to {stop}"

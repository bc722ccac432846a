"""Objects as text and as JSON, in the shapes of `docs/json.md`. Links and bytes inside properties
are written as in DAG-JSON; see `output.canonical_json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.cli.render import output
from ibidem.objects.block_json import block_json as block_json
from ibidem.objects.block_json import location_json as location_json

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid
    from ibidem.objects.commit import Commit
    from ibidem.objects.edge import Edge
    from ibidem.objects.location import Location
    from ibidem.objects.node import Node

SHORT = 21
"""Characters of a CID in tables. The first nine are the same in all our CIDs."""


def short(cid: Cid) -> str:
    """Returns the abbreviated CID of a commit for tables; it can be used as a revision."""
    return str(cid)[:SHORT]


def head_line(head: Cid | None) -> str:
    """Returns a line with the head of a branch, None for one without a commit."""
    return f"head is {'unset: no commit yet' if head is None else head}"


def fields_json(value: object, *names: str) -> dict[str, Any]:
    """Returns some fields of a value as JSON: identifiers and words of a closed list as text."""
    from ibidem.objects.plain import fields_of

    return fields_of(value, *names)


def node_lines(node: Node, location: Location | None = None) -> list[str]:
    """Returns a node as lines for people."""
    rows = [("id", str(node.id)), ("cid", str(node.cid))]
    if location is not None:
        rows.append(("source", str(location)))
    if node.key is not None:
        rows.append(("key", value_text([node.key[0], node.key[1]])))
    if node.context_sentence:
        rows.append(("context", output.one_line(node.context_sentence)))
    shown = dict(node.props)
    if location is not None and shown.get("source") == location.source:
        shown.pop("source", None)  # the location begins with it
    rows += [(output.one_line(name), value_text(shown[name])) for name in sorted(shown)]
    if node.children:
        rows.append(("parts", str(len(node.children))))
    lines = [output.strong(output.one_line(node.ntype)), *output.pairs(rows)]
    if node.summary:
        lines += ["", *(f"  {line}" for line in node.summary.splitlines())]
    return lines


def edge_lines(edge: Edge) -> list[str]:
    """Returns an edge as lines for people."""
    rows = [
        ("id", str(edge.id)),
        ("cid", str(edge.cid)),
        ("source", str(edge.src)),
        ("target", str(edge.dst)),
        ("weight", repr(edge.weight)),
    ]
    if edge.key is not None:
        rows.append(("key", value_text(edge.key)))
    rows += [(output.one_line(name), value_text(edge.props[name])) for name in sorted(edge.props)]
    return [output.strong(output.one_line(edge.etype)), *output.pairs(rows)]


def commit_lines(commit: Commit, *, is_whole: bool = True) -> list[str]:
    """Returns a commit as lines for people; unless it is whole, of its links only what a merge
    merged."""
    rows = []
    if is_whole:
        rows.append(("root", str(commit.root)))
        rows += [("parent", str(parent)) for parent in commit.parents]
    elif len(commit.parents) > 1:
        rows.append(("merge", " ".join(short(parent) for parent in commit.parents)))
    rows += [
        ("author", output.one_line(commit.author)),
        ("time", output.moment(commit.time, seconds_only=True)),
    ]
    if commit.agent:
        rows.append(("agent", output.one_line(commit.agent)))
    if commit.task:
        rows.append(("task", output.one_line(commit.task)))
    message = (commit.message or "(no message)").splitlines()
    return [
        output.strong(f"commit {commit.cid}"),
        *output.pairs(rows),
        "",
        *(f"  {line}" for line in message),
    ]


def value_text(value: object) -> str:
    """Returns a property's value on one line: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return output.one_line(value)
    return output.one_line(output.canonical_json(value).decode("utf-8"))

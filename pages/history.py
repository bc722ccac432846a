"""The history as HTML: commits beside the lines between them, and operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.pages import svg
from ibidem.pages.html import NOWHERE, Links, code, date, facts, linked, short, table, tag

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid, OperationCid
    from ibidem.objects.commit import Commit
    from ibidem.objects.operation import Operation


def log(
    commits: Sequence[Commit],
    *,
    names: Mapping[CommitCid, Sequence[str]] | None = None,
    links: Links = NOWHERE,
) -> h.Element:
    """Returns commits with their graph.

    Args:
        commits: in the order of the log.
        names: the branches and tags of commits.
    """
    ordered = children_first(commits)
    drawn = svg.branch_graph([(str(one.cid), [str(up) for up in one.parents]) for one in ordered])
    known = names or {}
    return h.div(".drawn")[
        drawn, h.ol[(_line(one, known.get(one.cid, ()), links) for one in ordered)]
    ]


def children_first(commits: Sequence[Commit]) -> list[Commit]:
    """Returns commits so that none comes before one of its children; otherwise in their order."""
    waiting = {one.cid: one for one in commits}
    children = dict.fromkeys(waiting, 0)
    for one in commits:
        for parent in one.parents:
            if parent in children:
                children[parent] += 1
    found: list[Commit] = []
    while waiting:
        cid = next(cid for cid in waiting if not children[cid])
        one = waiting.pop(cid)
        found.append(one)
        for parent in one.parents:
            if parent in children:
                children[parent] -= 1
    return found


def commit_facts(found: Commit, *, links: Links = NOWHERE) -> h.Element:
    """Returns who made a commit, when, and from what."""
    return facts(
        (
            ("author", one_line(found.author) or "nobody"),
            ("time", date(found.time)),
            ("agent", found.agent and one_line(found.agent)),
            ("task", found.task and one_line(found.task)),
            ("commit", code(str(found.cid))),
            ("root", code(str(found.root))),
            *(
                ("parent", linked(links.to(f"commit/{parent}", at=None), code(str(parent))))
                for parent in found.parents
            ),
        )
    )


def operations(
    found: Sequence[Operation], undos: Mapping[OperationCid, int] | None = None
) -> h.Element:
    """Returns the operations of this copy, newest first.

    Args:
        found: the operations.
        undos: how many calls of undo revert an operation and what came after it.
    """
    known = undos or {}
    rows = [
        (
            date(one.time),
            one_line(one.description, width=120),
            one_line(one.author, width=40),
            code(short(one.cid)),
            _undo(known.get(one.cid)),
        )
        for one in found
    ]
    caption = (
        "Operations of this copy, newest first, with the command that reverts one and the later"
    )
    return table(caption, ("Time", "What", "Author", "Operation", "To revert it"), rows)


def _undo(count: int | None) -> h.Node:
    if count is None:
        return None
    return [h.code["repo undo"], "" if count == 1 else f", {count:,} times"]


def _line(found: Commit, names: Sequence[str], links: Links) -> h.Element:
    message = one_line(found.message.partition("\n")[0], width=100) or "(no message)"
    return h.li[
        linked(links.to(f"commit/{found.cid}", at=None), message),
        [[" ", tag("same", one_line(name, width=40))] for name in names],
        h.br,
        h.small[
            f"{one_line(found.author, width=40) or 'nobody'}, ",
            date(found.time),
            f", {short(found.cid)}",
        ],
    ]

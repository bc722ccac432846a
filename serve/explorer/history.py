"""History: the log with its graph, the operations, and what one commit changed."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

import htpy as h

from ibidem import Change, CommitCid, EdgeId, NodeId
from ibidem.pages import edit as edit_page
from ibidem.pages import history as history_page
from ibidem.pages.html import linked, plural
from ibidem.serve.explorer.edits import with_versions
from ibidem.serve.explorer.form import field, form
from ibidem.serve.explorer.visit import Page, Visit

if TYPE_CHECKING:
    from ibidem.repo.history.documents import DocumentChange
    from ibidem.repo.history.log import Position

COMMITS, COMMITS_MAX = 50, 10_000
"""Commits of a page, and of all pages: a page reads those before it too."""
CHANGES = 50
COMPARED = 300
"""Changes of a commit up to which the texts of its documents are compared."""
OPERATIONS, OPERATIONS_MAX = 50, 10_000
"""Operations of a page, and of all pages: a page reads those before it too."""
UNDOS_MAX = 100


def history(visit: Visit) -> Page:
    """Returns the newest commits of a revision, with the lines between them."""
    start = visit.count("start", default=1, high=COMMITS_MAX) - 1
    repository = visit.owned
    found = list(islice(repository.history.log(visit.at), start, start + COMMITS + 1))
    names: defaultdict[CommitCid, list[str]] = defaultdict(list)
    for name, cid in (*repository.branches().items(), *repository.tags().items()):
        names[cid].append(name)
    more = None
    if len(found) > COMMITS:
        is_far = start + COMMITS >= COMMITS_MAX  # from there on, pages begin at a commit
        more = (
            visit.links.to("history", at=str(found[COMMITS].cid))
            if is_far
            else visit.links.to("history", start=str(start + COMMITS + 1))
        )
    return Page(
        "History",
        [
            form("/history", "Revision", field("Revision", "at", visit.at), submit="Show"),
            history_page.log(found[:COMMITS], names=names, links=visit.links)
            if found
            else h.p["There is no commit yet."],
            h.p[linked(more, "Older commits")] if more else None,
            h.p[linked("/operations", "Operations of this copy")],
        ],
    )


def operations(visit: Visit) -> Page:
    """Returns the newest operations, with what reverts them."""
    start = visit.count("start", default=1, high=OPERATIONS_MAX) - 1
    log = visit.owned.history
    stop = start + OPERATIONS
    found = list(islice(log.operations(), start, stop + 1))
    undos = {
        one.cid: count for count, one in enumerate(islice(log.undoable(depth=stop), UNDOS_MAX), 1)
    }
    more = visit.links.to("operations", start=str(stop + 1))
    return Page(
        "Operations",
        [
            history_page.operations(found[:OPERATIONS], undos),
            h.p[linked(more, "Earlier operations")]
            if len(found) > OPERATIONS and stop < OPERATIONS_MAX
            else None,
        ],
    )


def commit(visit: Visit) -> Page:
    """Returns a commit and what it changed, against its first parent."""
    repository = visit.owned
    revision = visit.revision(visit.path["cid"])
    found = repository.commit_at(visit.path["cid"])
    before = found.parents[0] if found.parents else None
    beyond = _position(visit.text("beyond"))
    links = visit.links

    def changed() -> h.Node:
        if before is None:
            return h.p["It is the first commit: ", plural(revision.count(), "node"), "."]
        differing = repository.history.diff(before, found.cid, beyond=beyond)
        changes = list(islice(differing, CHANGES + 1 if beyond else COMPARED))
        texts: list[DocumentChange] = []
        if beyond is None and len(changes) < COMPARED:
            documents = repository.history.diff_documents(
                before, found.cid, parts_max=edit_page.LINES_MAX
            )
            texts = list(documents)
        edits = with_versions(visit, before, found.cid, changes[:CHANGES])
        more = len(changes) > CHANGES
        return [
            [h.h2["Texts"], edit_page.documents(texts)] if texts else None,
            h.h2["Nodes and edges"],
            edit_page.edits(edits, before=links.at(before), after=links.at(found.cid)),
            h.p[
                linked(
                    links.to(f"commit/{found.cid}", beyond=_position_text(changes[CHANGES - 1])),
                    "Further changes",
                )
            ]
            if more
            else None,
        ]

    message = found.message.strip() or "(no message)"
    return Page(
        f"Commit: {message.partition(chr(10))[0]}",
        [
            h.p(".text")[message],
            history_page.commit_facts(found, links=links),
            h.p[linked(f"/history?at={found.cid}", "History up to here")],
        ],
        (changed,),
    )


def _position(text: str) -> Position | None:
    """Returns the position of a change in the order of changes; None for no text."""
    if not text:
        return None
    family, _, rest = text.partition(":")
    id_, _, name = rest.partition(":")
    return family, name, EdgeId.parse(id_) if family == "edges" else NodeId.parse(id_)


def _position_text(change: Change) -> str:
    family, name, id_ = change.position
    return f"{family}:{id_}:{name}"

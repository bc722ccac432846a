"""One HTML file that stands alone: the answer to a question with its sources, and the history.

It has what the viewer may see and nothing else, says so at its top, has no script, and requests
nothing. `EXPORT_BYTES_MAX` bounds it: what would make it larger is left out, and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import htpy as h
from markupsafe import Markup

from ibidem import Level, Repository, Revision, Viewer, ViewerRepository, ViewerRevision
from ibidem.objects.printable import one_line
from ibidem.pages import history as history_page
from ibidem.pages import node as node_page
from ibidem.pages.html import NOWHERE, code, document, facts, render, table
from ibidem.pages.neighbourhood import neighbourhood
from ibidem.pages.prompt import prompt
from ibidem.retrieve.query.options import FOR_READERS
from ibidem.serve.explorer.ask import CONTEXT_TOKENS, answered
from ibidem.serve.explorer.graph import neighbours
from ibidem.serve.explorer.history import COMMITS
from ibidem.serve.explorer.visit import AT, Visit

EXPORT_BYTES_MAX = 4 << 20
NODES = 100
"""Nodes that are listed where there is no question."""
Part = tuple[str, Callable[[], h.Node]]


def export(repository: Repository | ViewerRepository, question: str = "", *, at: str = AT) -> str:
    """Returns a document with the answer to a question, or with the first nodes of a revision.

    Args:
        repository: as the viewer of the document sees it.
        question: without one, nodes are listed.
    """
    visit = Visit(repository, {}, {"at": at, "text": question})
    size, included, missing = 0, [], []
    for name, make in _parts(visit, question):
        text = render(h.section[h.h2[name], make()])
        if size + len(text.encode()) > EXPORT_BYTES_MAX:
            missing.append(name)
            continue
        size += len(text.encode())
        included.append((name, text))
    title = f"Answer: {question}" if question else "Repository"
    bodies = [Markup(text) for _, text in included]  # noqa: S704  # of `render`, which escapes
    return document(title, _contents(visit, [name for name, _ in included], missing), bodies)


def _parts(visit: Visit, question: str) -> Iterator[Part]:
    revision = visit.revision()
    if not question:
        yield "Nodes", lambda: _nodes(visit)
    else:
        found = revision.retrieve(question, **FOR_READERS)
        yield "Answer", lambda: answered(revision, found, NOWHERE)
        yield (
            "Context",
            lambda: prompt(revision.prompt(question, token_budget=CONTEXT_TOKENS, **FOR_READERS)),
        )
        for item, location in zip(found.items, found.locations, strict=True):
            yield (
                node_page.title_of(item.node),
                partial(node_page.node, item.node, location),
            )
        if found.items:
            nodes, connections, _ = neighbours(revision, found.items[0].id, 2)
            yield "Neighbourhood of the first item", lambda: neighbourhood(nodes, connections)
    if visit.is_whole:
        commits = list(islice(visit.owned.history.log(visit.at), COMMITS))
        if commits:
            yield "History", lambda: history_page.log(commits)


def _nodes(visit: Visit) -> h.Node:
    page = visit.revision().page(limit=NODES)
    rows = [(node_page.title_of(one), code(str(one.id))) for one in page.nodes]
    return table(f"{len(rows):,} of {page.count:,} nodes", ("Node", "Id"), rows)


def _contents(visit: Visit, included: list[str], missing: list[str]) -> h.Element:
    """Returns what a reader who got the file from somebody has to know."""
    revision = visit.revision()
    viewer = None if visit.is_whole else revision.viewer
    return h.section[
        h.h2["What this file contains"],
        facts(
            (
                ("for", "everything" if viewer is None else _visible(viewer, revision)),
                ("scopes", None if viewer is None else _scopes(viewer)),
                ("revision", visit.at),
                ("commit", None if revision.commit_cid is None else code(str(revision.commit_cid))),
                ("root", code(str(revision.root_cid))),
                ("parts", h.ul[(h.li[name] for name in included)]),
                (
                    "left out",
                    h.ul[(h.li[f"{name}: the file would be too large"] for name in missing)]
                    if missing
                    else None,
                ),
            )
        ),
    ]


def _visible(viewer: Viewer, revision: Revision | ViewerRevision) -> str:
    policy = revision.trust_policy
    level = viewer.level if policy is None else viewer.cap(policy)
    who = "a viewer" if viewer.authenticated else "an anonymous viewer"
    return f"what {who} may see up to level {level}, {Level(level).name.lower()}"


def _scopes(viewer: Viewer) -> str:
    """Returns the scopes of a viewer, who also sees what is in none."""
    if isinstance(viewer.scopes, str):
        return "all"
    return ", ".join(map(one_line, viewer.scopes)) or "none: only what is in no scope"

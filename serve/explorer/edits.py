"""Changes with what they changed: both versions of the elements, read in two batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ibidem import Change, Edge, EdgeId, Node, NodeId, NotFoundError, Revision
from ibidem.objects.printable import one_line
from ibidem.pages.edit import Edit
from ibidem.pages.node import title_of
from ibidem.serve.explorer.visit import Visit

if TYPE_CHECKING:
    from ibidem.repo.history.compare import Cause


def with_versions(
    visit: Visit, before: object, after: object, changes: Sequence[Change]
) -> list[Edit]:
    """Returns changes between two revisions with both versions of their nodes and edges."""
    sides = [
        None if rev is None else _versions(visit.owned.at(rev), changes) for rev in (before, after)
    ]
    return [
        Edit(change, *(None if side is None else side.get(change.id) for side in sides))
        for change in changes
    ]


def changed_texts(visit: Visit, cause: Cause) -> dict[Change, str]:
    """Returns the changes of a commit that changed an answer, each with the start of its text."""
    found = with_versions(visit, cause.before.cid, cause.commit.cid, cause.changes)
    return {
        one.change: title_of(element) if isinstance(element, Node) else one_line(element.etype)
        for one in found
        if (element := one.after or one.before) is not None
    }


def _versions(revision: Revision, changes: Sequence[Change]) -> dict[NodeId | EdgeId, Node | Edge]:
    ids = {change.id for change in changes if isinstance(change.id, NodeId)}
    found: dict[NodeId | EdgeId, Node | Edge] = {}
    found.update(revision.find_nodes(ids).items())
    for change in changes:
        if isinstance(change.id, EdgeId):
            try:
                found[change.id] = revision.edge(change.id)
            except NotFoundError:
                continue
    return found

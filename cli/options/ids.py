"""Resolves an id, a unique prefix or the path of a document, as typed by a person, to a node. All
are matched only against what the caller may see, so that no error reveals anything else. A
command without `--viewer` acts for a caller who may see everything, unless the environment names
another caller. `repo/id_prefix.py` defines prefixes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ibidem.cli.options.documents import document_name
from ibidem.cli.options.viewer import viewer_of
from ibidem.cli.session import Session
from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.repo.id_prefix import resolve_prefix, sorted_from

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.repository import Repository
    from ibidem.repo.revision import Revision


def node_at(session: Session, repository: Repository, text: str, at: str = "HEAD") -> NodeId:
    """Returns the node of a revision that is meant."""
    from ibidem.retrieve.access.policy import ALL

    revision = repository.at(at, viewer=viewer_of(session) or ALL)
    found = document_at(session, revision, text)
    if found is None and is_path(text):
        raise NotFoundError(
            f"node: got {text!r}, expected a document at {at}, or the id of a node",
            hint="'repo query --label Document' lists the documents",
        )
    return found or revision.node_id(text)


def is_path(text: str) -> bool:
    """Returns whether a text can be the path of a document only, and no id."""
    return "." in text or "/" in text


def document_at(session: Session, revision: Revision, path: str) -> NodeId | None:
    """Returns the document of that path at a revision, None if the caller sees none there."""
    from ibidem.objects.derive import node_id
    from ibidem.objects.location import DOCUMENT

    found = node_id(DOCUMENT, document_name(session, path))
    return found if revision.is_visible(found) else None


def node_among(ids: Iterable[NodeId], text: str, *, where: str) -> NodeId:
    """Returns the node that is meant, of some."""

    return resolve_prefix(text, NodeId.parse, sorted_from(ids), where=where)

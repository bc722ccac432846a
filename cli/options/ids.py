"""Which node or edge a person means, who wrote its id or the beginning of that.

Beginnings are looked for among what the caller may see, so that no error tells of anything else. A
command that takes no `--trust` speaks for who may see everything, unless the environment says who
asks. What a beginning is, `repo/id_prefix.py` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ibidem.cli.options.trust import trust_of
from ibidem.cli.session import Session

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.repository import Repository


def node_at(session: Session, repository: Repository, text: str, at: str = "HEAD") -> NodeId:
    """Returns the node of a revision that is meant."""
    from ibidem.retrieve.access.policy import ALL

    return repository.at(at, trust=trust_of(session) or ALL).node_id(text)


def node_among(ids: Iterable[NodeId], text: str, *, where: str) -> NodeId:
    """Returns the node that is meant, of some."""
    from ibidem.objects.ids import NodeId
    from ibidem.repo.id_prefix import resolve_prefix, sorted_from

    return resolve_prefix(text, NodeId.parse, sorted_from(ids), where=where)

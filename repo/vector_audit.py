"""Which nodes have a vector of each model, and whether it is that of their present text.

Every node that is not hidden is read once, whatever the number of models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.config import Model
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.objects.text import text_digest
from ibidem.repo.embed_nodes import texts_of, vector_digests

if TYPE_CHECKING:
    from ibidem.repo.graph import Graph


@record
class VectorAudit:
    """The vectors of one model."""

    name: str
    model: Model
    current: tuple[NodeId, ...]
    """Nodes with the vector of their present text, by id, as are the others."""
    stale: tuple[NodeId, ...]
    """Nodes with the vector of another text."""
    missing: tuple[NodeId, ...]
    """Nodes with a text and without a vector."""
    unused_count: int
    """The number of vectors of nodes that are hidden or have no text."""

    @property
    def vector_count(self) -> int:
        """The number of all vectors of the model."""
        return len(self.current) + len(self.stale) + self.unused_count


def audit_vectors(revision: Graph, model: str | None = None) -> tuple[VectorAudit, ...]:
    """Returns the audit of every model of a graph, or of one, by name.

    Raises:
        InvalidInputError: kind `unknown-model`.
    """
    models = revision.config.models
    if model is not None and model not in models:
        known = ", ".join(sorted(models)) or "none: no vector was stored yet"
        raise InvalidInputError(
            f"model: got {model!r:.80}, expected one of {known}", kind=ErrorKind.UNKNOWN_MODEL
        )
    names = sorted(models) if model is None else [model]
    digests = {name: vector_digests(revision, name) for name in names}
    states: dict[str, tuple[list[NodeId], list[NodeId], list[NodeId]]] = {
        name: ([], [], []) for name in names
    }
    for node, text in texts_of(revision):
        if not text:
            continue
        wanted = text_digest(text)
        for name, (current, stale, missing) in states.items():
            of = digests[name].get(node.id.raw)
            (missing if of is None else current if of == wanted else stale).append(node.id)
    found = []
    for name, (current, stale, missing) in states.items():
        unused_count = len(digests[name]) - len(current) - len(stale)
        nodes = tuple(current), tuple(stale), tuple(missing)
        found.append(VectorAudit(name, models[name], *nodes, unused_count))
    return tuple(found)

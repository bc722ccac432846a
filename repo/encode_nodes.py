"""Sparse vectors of the nodes of a repository: finds those missing or stale, and computes them.

They are computed before anything is written, and committed at once; a run that is interrupted
changes nothing. There is no cache: unlike a dense vector, what a vocabulary has for a text is known
by its name alone, and names may be used again for other models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.embed.protocol import checked_encoder
from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.objects.text import text_digest
from ibidem.repo.argument_checks import check_text
from ibidem.repo.embed_nodes import embedded_text, missing_nodes, node_batches
from ibidem.repo.retrieval.embedding import encoded
from ibidem.repo.transaction.writing import writing

if TYPE_CHECKING:
    from ibidem.embed.protocol import SparseEncoder, SparseRow
    from ibidem.repo.graph import Graph
    from ibidem.repo.transaction.writing import Writable

_WORK = "encoding nodes"


@record
class SparseReport:
    """The result of `embed_sparse`."""

    vocab: str
    node_count: int
    """Nodes considered: of the label, not hidden."""
    textless_count: int
    """Number of these without a text, which get no vector."""
    wanting_count: int
    """Number of these whose sparse vector was missing or of another text."""
    encoded_count: int
    """Number of sparse vectors that were committed."""
    commit: CommitCid | None
    """None if there was nothing to commit."""


def embed_sparse(
    revision: Graph,
    target: Writable,
    encoder: SparseEncoder,
    *,
    label: str | None,
    batch_nodes: int,
    dry_run: bool,
    author: str,
    message: str,
) -> SparseReport:
    """Computes missing and stale sparse vectors of a graph; see `Repository.embed_sparse`.

    Args:
        revision: the graph, for its owner.
        target: the repository to write to.
    """
    vocab = check_text("vocab", checked_encoder(encoder).name)
    if type(batch_nodes) is not int or batch_nodes < 1:
        raise InvalidInputError(f"batch_nodes: got {batch_nodes!r}, expected 1 or more")
    repository, config = revision.core, revision.config
    wanting, node_count, textless_count = missing_nodes(revision, "sparse", vocab, label)
    commit: CommitCid | None = None
    encoded_count = 0
    if not dry_run and wanting:
        made: dict[NodeId, tuple[bytes, SparseRow]] = {}
        for nodes, texts in node_batches(
            map(revision.node, wanting), repository, config, batch_nodes
        ):
            repository.progress(_WORK, len(made), len(wanting))
            rows = encoded(encoder, texts)
            made.update(
                (node.id, (text_digest(text), row))
                for node, text, row in zip(nodes, texts, rows, strict=True)
            )
        repository.progress(_WORK, len(made), len(made))
        summary = message or f"sparse vectors of {vocab} for {len(wanting)} nodes"
        with writing(target, author=author, message=summary) as tx:
            for id_, (digest, (indices, weights)) in made.items():
                node = tx.find_node(id_)
                # Another writer may have removed or changed one: the next run handles it.
                if (
                    node is not None
                    and text_digest(embedded_text(repository, config, node)) == digest
                ):
                    tx.set_sparse(id_, vocab=vocab, indices=indices, weights=weights, of=digest)
                    encoded_count += 1
        commit = None if tx.commit is None else tx.commit.cid
        if commit is None:
            encoded_count = 0
    return SparseReport(vocab, node_count, textless_count, len(wanting), encoded_count, commit)

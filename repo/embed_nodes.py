"""Vectors of the nodes of a repository: finds those missing or stale, and computes them.

A node needs a vector if it has a text and has no vector under the model, or that of another text.
All are embedded, batch by batch, into the cache, and then committed at once out of it. So a run
that is interrupted changes nothing, loses at most one batch, and the next one computes the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ibidem.embed.cache import CachedEmbedder
from ibidem.embed.protocol import checked_embedder
from ibidem.objects.cid import CommitCid
from ibidem.objects.config import Config, Model
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.progress import STEP
from ibidem.objects.record import record
from ibidem.objects.text import node_text, text_digest
from ibidem.objects.tree import Tree
from ibidem.repo.argument_checks import check_text
from ibidem.repo.retrieval.embedding import check_model
from ibidem.repo.transaction.writing import writing
from ibidem.retrieve.access.policy import ALL

if TYPE_CHECKING:
    from ibidem.embed.protocol import Embedder
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.node import Node
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.repo.transaction.writing import Writable

BATCH_NODES = 256
"""Nodes of a batch in a transaction."""
BATCH_CHARS = 8 << 20
"""Maximal characters of a batch; the text that reaches this ends it."""

_WORK, _READING = "embedding nodes", "reading texts"


@record
class EmbedReport:
    """The result of `embed`."""

    model: str
    digest: bytes
    dim: int
    node_count: int
    """Nodes considered: of the label, not hidden."""
    textless_count: int
    """Number of these without a text, which get no vector."""
    wanting_count: int
    """Number of these whose vector was missing or of another text."""
    embedded_count: int
    """Number of vectors that were committed, or staged in an open transaction."""
    commit: CommitCid | None
    """None if there was nothing to commit, and in an open transaction."""


def embed(
    revision: Graph,
    target: Writable | Transaction,
    embedder: Embedder,
    *,
    model: str | None,
    label: str | None,
    batch_nodes: int,
    dry_run: bool,
    author: str,
    message: str,
) -> EmbedReport:
    """Computes missing and stale vectors of a graph; see `Repository.embed`.

    Args:
        revision: the graph, for its owner.
        target: the repository or the open transaction to write to.
    """
    checked_embedder(embedder)
    name = check_text("model", model if model is not None else embedder.name)
    if type(batch_nodes) is not int or batch_nodes < 1:
        raise InvalidInputError(f"batch_nodes: got {batch_nodes!r}, expected 1 or more")
    repository = revision.core
    check_model(revision.config, name, embedder, must_be_known=False)
    wanting, node_count, textless_count = missing_nodes(revision, "vectors", name, label)
    commit: CommitCid | None = None
    embedded_count = 0
    if not dry_run and wanting:
        source = CachedEmbedder(embedder, repository.vector_cache)
        digests: dict[NodeId, bytes] = {}
        config = revision.config
        for nodes, texts in node_batches(
            map(revision.node, wanting), repository, config, batch_nodes
        ):
            repository.progress(_WORK, len(digests), len(wanting))
            _embedded(repository, source, nodes, texts)
            digests.update(
                (node.id, text_digest(text)) for node, text in zip(nodes, texts, strict=True)
            )
        repository.progress(_WORK, len(digests), len(digests))
        said = message or f"vectors of {name} for {len(wanting)} nodes"
        with writing(target, author=author, message=said) as tx:
            if name not in config.models:
                tx.register_model(name, Model(embedder.dim, digest=embedder.digest))
            # Another writer may have removed or changed one: the next run handles it.
            now = (node for node in map(tx.find_node, wanting) if node is not None)
            for nodes, texts in node_batches(now, repository, config, batch_nodes):
                same = [
                    (node, text)
                    for node, text in zip(nodes, texts, strict=True)
                    if text_digest(text) == digests[node.id]
                ]
                nodes, texts = [node for node, _ in same], [text for _, text in same]
                vectors = _embedded(repository, source, nodes, texts)  # out of the cache
                for node, text, vector in zip(nodes, texts, vectors, strict=True):
                    tx.set_vector(node.id, model=name, vector=vector, of=text_digest(text))
                    embedded_count += 1
        commit = None if tx.commit is None else tx.commit.cid
        if commit is None and tx is not target:
            embedded_count = 0
    return EmbedReport(
        name,
        embedder.digest,
        embedder.dim,
        node_count,
        textless_count,
        len(wanting),
        embedded_count,
        commit,
    )


def embed_staged(
    tx: Transaction, embedder: Embedder, *, model: str | None = None, label: str | None = None
) -> EmbedReport:
    """Stages the vectors of all nodes, staged or stored, that have none or that of another text.
    Vectors staged before are not counted.

    Args:
        model: the name of the vectors, as is `label`, as in `Repository.embed`.
    """
    return embed(
        tx.at(viewer=ALL).graph,
        tx,
        embedder,
        model=model,
        label=label,
        batch_nodes=BATCH_NODES,
        dry_run=False,
        author="",
        message="",
    )


def missing_count(revision: Graph, model: str) -> int:
    """Returns how many nodes have a text and no vector of a model, or that of another text."""
    return len(missing_nodes(revision, "vectors", model, None)[0])


def missing_nodes(
    revision: Graph, family: str, name: str, label: str | None
) -> tuple[list[NodeId], int, int]:
    """Returns the nodes of a label whose vector is missing or stale, and how many nodes there are,
    and how many of these without a text.

    Args:
        family: `vectors` or `sparse`.
        name: of the model or vocabulary.
    """
    has = vector_digests(revision, name, family)
    wanting: list[NodeId] = []
    node_count = textless_count = 0
    for node, text in texts_of(revision, label):
        node_count += 1
        if not text:
            textless_count += 1
        elif has.get(node.id.raw) != text_digest(text):
            wanting.append(node.id)
    return wanting, node_count, textless_count


def _embedded(repository: Core, source: CachedEmbedder, nodes: list[Node], texts: list[str]) -> Any:
    """Returns the vectors of the texts of some nodes, (n, d) float32; the cache has them then."""
    try:
        return source.embed(texts)
    finally:
        _forget_erased(repository, nodes, texts)


def _forget_erased(repository: Core, nodes: list[Node], texts: list[str]) -> None:
    """Removes from the cache the vectors of nodes erased since they were read: the erasure may have
    searched the cache before they were added.
    """
    erased = repository.guard.erased().nodes
    pairs = zip(nodes, texts, strict=True)
    gone = [text_digest(text) for node, text in pairs if node.id.raw in erased]
    if gone:
        repository.vector_cache.discard(gone)


def vector_digests(revision: Graph, name: str, family: str = "vectors") -> dict[bytes, bytes]:
    """Returns the digest of the text of each vector of a model or vocabulary, by node id."""
    if name not in getattr(revision.root, family):
        return {}
    return revision.with_snapshot(lambda snapshot: dict(_digests_of(snapshot, family, name)))


def _digests_of(snapshot: Snapshot, family: str, name: str) -> Iterator[tuple[bytes, bytes]]:
    for segment in snapshot.segments(family, name):
        digests, live, ids = segment.digests[:], segment.live, snapshot.node_ids(segment.ordinals)
        for row, (key, digest) in enumerate(zip(ids, digests, strict=True)):
            if live is None or live[row]:
                yield key.tobytes(), digest.tobytes()


def texts_of(revision: Graph, label: str | None = None) -> Iterator[tuple[Node, str]]:
    """Yields the nodes of a revision that are not hidden, by id, with their texts, "" for none, and
    reports its advance.

    Args:
        revision: what is read.
        label: only nodes of this type; None for all.
    """
    progress = revision.core.progress
    total = len(Tree(revision.core.store, revision.root.nodes))
    for done, node in enumerate(revision.nodes()):
        if done % STEP == 0:
            progress(_READING, done, total)
        if label is None or node.ntype == label:
            yield node, embedded_text(revision.core, revision.config, node)
    progress(_READING, total, total)


def embedded_text(repository: Core, config: Config, node: Node) -> str:
    """Returns the text of a node that is embedded; empty if it has none."""
    content = repository.content_of(node) if "content" in config.fields else None
    return node_text(node, config.fields, content)


def node_batches(
    nodes: Iterable[Node], repository: Core, config: Config, batch_nodes: int
) -> Iterator[tuple[list[Node], list[str]]]:
    """Yields batches of nodes with their texts, limited by `batch_nodes` and by memory."""
    batch: list[Node] = []
    texts: list[str] = []
    for node in nodes:
        batch.append(node)
        texts.append(embedded_text(repository, config, node))
        if len(batch) == batch_nodes or sum(map(len, texts)) >= BATCH_CHARS:
            yield batch, texts
            batch, texts = [], []
    if batch:
        yield batch, texts

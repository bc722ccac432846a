"""Vectors for the nodes of a repository: which are missing or stale, and filling them in.

A node wants a vector when it has a text and its vector under the model is of another text, or is
not there. Batches are embedded and committed one by one, so that a process that ends in the middle
loses one batch at most, and not even that: what was embedded is in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ibidem.embed.cache import CachedEmbedder
from ibidem.objects.cid import CommitCid
from ibidem.objects.config import Config, Model
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.objects.text import node_text, text_digest
from ibidem.repo.argument_checks import check_text
from ibidem.retrieve.access.policy import ALL

if TYPE_CHECKING:
    from ibidem.embed.protocol import Embedder
    from ibidem.index.snapshot import Snapshot
    from ibidem.objects.node import Node
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.repo.transaction.transaction import Transaction

BATCH_CHARS = 8 << 20
"""A batch ends with the text that brings it to so many characters."""
_HINT_FILL = "run 'repo embed' to make its vectors"

Progress = Callable[[int, int], None]
"""Called with how many nodes are done, and of how many."""


@record
class EmbedReport:
    """What `embed` found and did."""

    model: str
    digest: bytes
    dim: int
    node_count: int
    """Nodes looked at: of the label, not hidden."""
    textless_count: int
    """Of those, nodes without a text, which get no vector."""
    wanting_count: int
    """Of those, nodes whose vector was missing or of another text."""
    embedded_count: int
    """Vectors that were committed."""
    commits: tuple[CommitCid, ...]


def embed(
    repository: Core,
    transaction: Callable[..., Transaction],
    embedder: Embedder,
    *,
    model: str | None,
    label: str | None,
    batch_nodes: int,
    is_dry_run: bool,
    author: str,
    message: str,
    progress: Progress | None,
) -> EmbedReport:
    """Fills and refreshes the vectors of the current branch; see `Repository.embed`."""
    name = check_text("model", model if model is not None else embedder.name)
    if type(batch_nodes) is not int or batch_nodes < 1:
        raise InvalidInputError(f"batch_nodes: got {batch_nodes!r}, expected 1 or more")
    revision = repository.graph(trust=ALL)
    check_model(revision.config, name, embedder, must_be_known=False)
    has = _digests(revision, name)
    wanting: list[NodeId] = []
    node_count = textless_count = 0
    for node in revision.nodes():
        if label is not None and node.ntype != label:
            continue
        node_count += 1
        text = _text(repository, revision.config, node)
        if not text:
            textless_count += 1
        elif has.get(node.id.raw) != text_digest(text):
            wanting.append(node.id)
    commits: list[CommitCid] = []
    embedded_count = done = 0
    if not is_dry_run:
        source = CachedEmbedder(embedder, repository.vector_cache)
        for nodes, texts in _batches(revision, wanting, batch_nodes):
            if progress is not None:
                progress(done, len(wanting))
            done += len(nodes)
            said = message or f"vectors of {name} for {len(nodes)} nodes"
            try:
                vectors = source.embed(texts)
            finally:
                _forget_erased(repository, nodes, texts)
            with transaction(author=author, message=said) as tx:
                if name not in revision.config.models:
                    tx.register_model(name, Model(embedder.dim, digest=embedder.digest))
                made = 0
                for node, text, vector in zip(nodes, texts, vectors, strict=True):
                    # Another writer may have changed it since the scan: the next run sees to it.
                    if tx.find_node(node.id) == node:
                        tx.set_vector(node.id, model=name, vector=vector, of=text_digest(text))
                        made += 1
            if tx.commit is not None:
                embedded_count += made
                commits.append(tx.commit.cid)
        if progress is not None and wanting:
            progress(len(wanting), len(wanting))
    return EmbedReport(
        name,
        embedder.digest,
        embedder.dim,
        node_count,
        textless_count,
        len(wanting),
        embedded_count,
        tuple(commits),
    )


def _forget_erased(repository: Core, nodes: list[Node], texts: list[str]) -> None:
    """Takes the vectors of nodes out of the cache that were erased since they were read: the
    erasure may have looked for them before they were put there."""
    erased = repository.guard.erased().nodes
    pairs = zip(nodes, texts, strict=True)
    gone = [text_digest(text) for node, text in pairs if node.id.raw in erased]
    if gone:
        repository.vector_cache.discard(gone)


def query_vector(
    repository: Core,
    config: Config,
    text: str | None,
    *,
    model: str | None,
    embedder: Embedder | None,
) -> tuple[str, Any]:
    """Returns (model, vector) of a question's text, for the dense lane.

    Args:
        model: the name that the vectors are kept under; by default the embedder's.
        embedder: by default the one that `Repository.use_embedder` was given for the model.

    Raises:
        InvalidInputError: there is no text; kind `unknown-model`: this revision has no vectors of
            the model, or there is no embedder for it; kind `model-mismatch`: the embedder is not
            the one that made them; kind `dimension-mismatch`.
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"text: got {text!r:.40}, expected a text for the model to embed")
    if embedder is None:
        name = check_text("model", model or "")
        embedder = repository.embedders.get(name)
        if embedder is None:
            known = repository.embedders
            others = f", only for {_named(known)}" if known else " or any other model"
            raise InvalidInputError(
                f"model: no embedder is in use for {name!r}{others}",
                kind=ErrorKind.UNKNOWN_MODEL,
                hint="pass embedder=, or call use_embedder before",
            )
    name = check_text("model", model if model is not None else embedder.name)
    check_model(config, name, embedder, must_be_known=True)
    (vector,) = CachedEmbedder(embedder, repository.vector_cache).embed([text])
    return name, vector


def check_model(config: Config, name: str, embedder: Embedder, *, must_be_known: bool) -> None:
    """Refuses an embedder that is not the one that made the vectors of a model.

    Vectors that were registered without a digest can be asked, as far as the dimension fits, but
    not be added to.
    """
    known = config.models.get(name)
    if known is None:
        if must_be_known:
            others = (
                f", only of {_named(config.models)}" if config.models else " or any other model"
            )
            raise InvalidInputError(
                f"model: this revision has no vectors of {name!r}{others}",
                kind=ErrorKind.UNKNOWN_MODEL,
                hint=_HINT_FILL,
            )
        return
    is_open = must_be_known and known.digest is None
    if known.digest != embedder.digest and not is_open:
        made_by = "nobody knows which" if known.digest is None else known.digest.hex()[:16]
        raise InvalidInputError(
            f"model {name!r}: its vectors were made by {made_by}, and {embedder.name!r} "
            f"is {embedder.digest.hex()[:16]}",
            kind=ErrorKind.MODEL_MISMATCH,
            hint="use the model that made them, or another model name",
        )
    if known.dim != embedder.dim:
        raise InvalidInputError(
            f"model {name!r}: its vectors have {known.dim} dimensions, those of "
            f"{embedder.name!r} have {embedder.dim}",
            kind=ErrorKind.DIMENSION_MISMATCH,
        )


def _digests(revision: Graph, model: str) -> dict[bytes, bytes]:
    """Returns the digest of the text of every vector, by node id."""
    if model not in revision.root.vectors:
        return {}
    return revision.asked(lambda snapshot: dict(_digests_of(snapshot, model)))


def _digests_of(snapshot: Snapshot, model: str) -> Iterator[tuple[bytes, bytes]]:
    for segment in snapshot.vectors(model):
        digests, live, ids = segment.digests[:], segment.live, snapshot.node_ids(segment.ordinals)
        for row, (key, digest) in enumerate(zip(ids, digests, strict=True)):
            if live is None or live[row]:
                yield key.tobytes(), digest.tobytes()


def _text(repository: Core, config: Config, node: Node) -> str:
    content = repository.content_of(node) if "content" in config.fields else None
    return node_text(node, config.fields, content)


def _batches(
    revision: Graph, ids: list[NodeId], batch_nodes: int
) -> Iterator[tuple[list[Node], list[str]]]:
    """Yields nodes with their texts, as many at once as asked for and as memory allows."""
    nodes: list[Node] = []
    texts: list[str] = []
    for id_ in ids:
        node = revision.node(id_)
        nodes.append(node)
        texts.append(_text(revision.core, revision.config, node))
        if len(nodes) == batch_nodes or sum(map(len, texts)) >= BATCH_CHARS:
            yield nodes, texts
            nodes, texts = [], []
    if nodes:
        yield nodes, texts


def _named(models: Any) -> str:
    return ", ".join(repr(name) for name in sorted(models))

"""The vectors of a question, from the embedder or encoder that made those of the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ibidem.embed.cache import CachedEmbedder
from ibidem.embed.protocol import checked_embedder, checked_encoder
from ibidem.objects.config import Config
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.repo.argument_checks import check_text
from ibidem.repo.local_settings import LogQuestions
from ibidem.retrieve.query.checks import show
from ibidem.retrieve.query.subquery import QUERIES, resolve_queries

if TYPE_CHECKING:
    from ibidem.embed.protocol import Embedder, SparseEncoder, SparseRow
    from ibidem.repo.core import Core

_HINT_EMBEDDER = (
    "pass embedder= or call use_embedder before, such as ibidem.embed.minilm.ExactMiniLM(FOLDER) "
    "with the folder that 'repo embed install minilm' prints; degrade=True or model=None ranks by "
    "words alone"
)
_HINT_FILL = "run 'repo embed --model MODEL' to make its vectors"


def query_vectors(
    repository: Core,
    config: Config,
    options: Mapping[str, Any],
    *,
    model: str | None,
    embedder: Embedder | None,
) -> dict[str, Any]:
    """Returns `vector`, (model, vector) of the text of a question for the dense lane, and `queries`
    if it has further questions: those with a text and without a vector get one.

    Args:
        options: of the question.
        model: the name under which the vectors are stored; by default the embedder's.
        embedder: by default the one registered with `Repository.use_embedder` for the model.

    Raises:
        InvalidInputError: there is no text; kind `unknown-model`: this revision has no vectors of
            the model, or there is no embedder for it; kind `model-mismatch`: the vectors were
            computed by another embedder; kind `dimension-mismatch`.
    """
    text = options.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"text: got {text!r:.40}, expected a text for the model to embed")
    if embedder is None:
        name = check_text("model", model or "")
        embedder = repository.embedders.get(name)
        if embedder is None and repository.embedder_for is not None:
            embedder = repository.embedder_for(name)
            model = embedder.name
        if embedder is None:
            known = repository.embedders
            others = f", only for {_named(known)}" if known else " or any other model"
            raise InvalidInputError(
                f"model: no embedder is in use for {name!r}{others}",
                kind=ErrorKind.UNKNOWN_MODEL,
                hint=_HINT_EMBEDDER,
            )
    checked_embedder(embedder)
    name = check_text("model", model if model is not None else embedder.name)
    check_model(config, name, embedder, must_be_known=True)
    further = _further(options)
    wanted = [one for one in further if one.get("text") and one.get("vector") is None]
    texts = [text, *(one["text"] for one in wanted)]
    # A vector nearly says what was asked, and the digest beside it confirms a guess.
    is_logged = repository.local.log_questions is not LogQuestions.NEVER
    cached = CachedEmbedder(embedder, repository.vector_cache, is_writing=is_logged)
    vectors = cached.embed(texts)
    for one, vector in zip(wanted, vectors[1:], strict=True):
        one["vector"] = (name, vector)
    return {"vector": (name, vectors[0]), **({QUERIES: further} if further else {})}


def query_weights(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `sparse`, (vocabulary, tokens, weights) of the text of a question for the sparse
    lane, and `queries` if it has further questions: those with a text and without a sparse vector
    get one.

    Args:
        options: of the question; its `sparse` is an encoder.

    Raises:
        InvalidInputError: there is no text.
    """
    encoder: SparseEncoder = checked_encoder(options["sparse"])
    text = options.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"text: got {text!r:.40}, expected a text for the encoder")
    name, further = check_text("vocab", encoder.name), _further(options)
    wanted = [one for one in further if one.get("text") and one.get("sparse") is None]
    rows = encoded(encoder, [text, *(one["text"] for one in wanted)])
    # A text may have no token of weight; it ranks without the lane then.
    first, *others = [(name, *row) if len(row[0]) else None for row in rows]
    for one, sparse in zip(wanted, others, strict=True):
        one["sparse"] = sparse
    return {"sparse": first, **({QUERIES: further} if further else {})}


def encoded(encoder: SparseEncoder, texts: Sequence[str]) -> Sequence[SparseRow]:
    """Returns the tokens and weights of texts, one row for each.

    Raises:
        InvalidInputError: the encoder returns more or fewer rows, or something else; also what it
            raises.
    """
    rows = encoder.encode(texts)
    if not isinstance(rows, Sequence) or not all(map(_is_row, rows)):
        raise InvalidInputError(
            f"encoder {encoder.name!r:.80}: got {show(rows)}, expected tokens and weights for each "
            "text"
        )
    if len(rows) != len(texts):
        raise InvalidInputError(
            f"encoder {encoder.name!r:.80}: got {len(rows)} rows, expected {len(texts)}"
        )
    return rows


def _is_row(row: object) -> bool:
    """Returns whether it is a list of tokens and one of weights, whatever is in them."""
    return isinstance(row, (tuple, list)) and len(row) == 2 and all(map(_is_list, row))


def _is_list(value: object) -> bool:
    return isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _further(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the further questions as mappings, checked."""
    resolve_queries(options.get(QUERIES))
    return [
        {"text": one} if isinstance(one, str) else dict(one) for one in options.get(QUERIES) or ()
    ]


def check_model(config: Config, name: str, embedder: Embedder, *, must_be_known: bool) -> None:
    """Raises `InvalidInputError` if the vectors of a model were computed by another embedder.

    Vectors registered without a digest can be queried if the dimension fits, but none can be added.
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


def _named(models: Any) -> str:
    return ", ".join(repr(name) for name in sorted(models))

"""The resolved query: everything an answer depends on beside the root, with every default filled
in.

A `Query` is what receipts store and what `execute` takes. `resolve` makes one from the options that
a person gives; after it nothing is implied any more.

Spec: retrieval 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ibidem.objects import codec
from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError, ErrorKind, FormatError, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import TrustContext, checked_trust, policy_of
from ibidem.retrieve.diversity import Mmr, resolve_mmr
from ibidem.retrieve.graph import option as graph_option
from ibidem.retrieve.query import checks, predicate, rare_options
from ibidem.retrieve.query.fusion import Fusion, checked_weights, resolve_fusion
from ibidem.retrieve.query.match import OR, Match, match_of_form, resolve_match
from ibidem.retrieve.query.predicate import Predicate
from ibidem.retrieve.query.validity import Valid, resolve_valid
from ibidem.retrieve.query.vector import (
    QuerySparse,
    QueryVector,
    checked_sparse,
    checked_vector,
)
from ibidem.retrieve.rerank import Rerank, resolve_rerank
from ibidem.retrieve.tokens import TokenEstimator, checked_digest, checked_estimator

if TYPE_CHECKING:
    from ibidem.retrieve.context.option import PackOptions
    from ibidem.retrieve.recall.option import Recall

SEMANTICS = 1
"""The version of every rule that decides an answer."""

DEPTH_DEFAULT, DEPTH_MAX = 100, 100_000
LIMIT_DEFAULT = 10
TEXT_BYTES_MAX = 65_536
LABELS_MAX = 1000
ADJACENCY_MAX = 1000
"""Edges that a rendering shows in each direction."""
K1_DEFAULT, B_DEFAULT = 1.2, 0.7
_FUSION = Fusion()
_MATCH = Match()


@record
class Query:
    """A query with nothing left to assume."""

    text: str | None = None
    labels: tuple[str, ...] = ()
    """A node must carry one of them; empty for any."""
    where: Predicate | None = None
    valid: Valid | None = None
    vector: QueryVector | None = None
    sparse: QuerySparse | None = None
    graph: graph_option.Graph | None = None
    community: graph_option.Community | None = None
    depth: int = DEPTH_DEFAULT
    """How many nodes each lane returns."""
    limit: int | None = LIMIT_DEFAULT
    token_budget: int | None = None
    content_chars: int = 0
    adjacency: int = 0
    """How many edges a rendering shows in each direction."""
    include_tombstoned: bool = False
    fusion: Fusion = _FUSION
    k1: float = K1_DEFAULT
    b: float = B_DEFAULT
    match: Match = _MATCH
    """What a document must have beside one of the text's terms."""
    rerank: Rerank | None = None
    mmr: Mmr | None = None
    estimator: str = "heuristic"
    estimator_digest: bytes | None = None
    """The identity of an estimator whose name does not say it all, 32 bytes."""
    packs: PackOptions | None = None
    """How hits become packs; None where nodes are asked for."""
    recall: Recall | None = None
    """Wider questions, factors and direct answers; None where none is asked for."""
    trust: TrustContext | None = None
    """What the caller may see; None where the root has no trust policy."""
    semantics: int = SEMANTICS
    _written: list[bytes] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def has_ranker(self) -> bool:
        """Whether a lane ranks; otherwise every match comes in id order."""
        return self.text is not None or self.vector is not None or self.sparse is not None

    @property
    def is_narrowed(self) -> bool:
        """Whether the universe may be smaller than the view."""
        return bool(self.labels) or self.where is not None or self.valid is not None

    def form(self) -> dict[str, Any]:
        """Returns the canonical form: every field, the last three only where they are asked for."""
        vector, sparse = self.vector, self.sparse
        asked = {"packs": self.packs, "recall": self.recall, "trust": self.trust}
        return {
            **{name: part.form() for name, part in asked.items() if part is not None},
            "kind": "query",
            "v": 1,
            "semantics": self.semantics,
            "text": self.text,
            "labels": list(self.labels),
            "where": None if self.where is None else self.where.form(),
            "valid": None if self.valid is None else self.valid.form(),
            "vector": None if vector is None else {"model": vector.model, "data": vector.data},
            "sparse": None
            if sparse is None
            else {
                "vocab": sparse.vocab,
                "tokens": list(sparse.tokens),
                "weights": list(sparse.weights),
            },
            "graph": graph_option.form(self.graph),
            "community": graph_option.form(self.community),
            "depth": self.depth,
            "limit": self.limit,
            "token_budget": self.token_budget,
            "content_chars": self.content_chars,
            "adjacency": self.adjacency,
            "include_tombstoned": self.include_tombstoned,
            "fusion": {
                "name": self.fusion.name,
                "k": self.fusion.k,
                "weights": dict(self.fusion.weights),
            },
            "k1": self.k1,
            "b": self.b,
            "match": self.match.form(),
            "rerank": None if self.rerank is None else self.rerank.form(),
            "mmr": None if self.mmr is None else self.mmr.form(),
            "estimator": self.estimator,
            "estimator_digest": self.estimator_digest,
        }

    def encode(self) -> bytes:
        """Returns the canonical bytes, made once: the answer and its receipt both hold them."""
        if not self._written:
            self._written.append(codec.encode(self.form()))
        return self._written[0]

    @classmethod
    def decode(cls, block: bytes) -> Self:
        """Returns the query that `encode` wrote.

        Raises:
            CorruptError: the bytes are not a query.
            FormatError: a semantics version that this program does not know.
        """
        return cls.from_form(codec.decode_foreign(block))

    @classmethod
    def from_form(cls, form: object) -> Self:
        """Returns the query of a canonical form; it must be exactly what `form` returns."""
        if not isinstance(form, dict) or form.get("kind") != "query":
            raise CorruptError(f"query: got {str(form)[:60]}, expected a map of kind 'query'")
        if form.get("v") != 1 or form.get("semantics") != SEMANTICS:
            raise FormatError(
                f"query: got v {form.get('v')}, semantics {form.get('semantics')}, "
                f"expected 1 and {SEMANTICS}",
                kind=ErrorKind.UNSUPPORTED_SEMANTICS,
                hint="replay it with the release that made it",
            )
        try:
            query = cls(**_fields(form))
            _check_seeds(query)
        except InvalidInputError as error:
            raise CorruptError(f"query.{error}") from error
        if query.encode() != codec.encode(form):
            raise CorruptError("query: got a form that does not write back to itself")
        return query


def resolve(
    config: Config,
    *,
    text: str | None = None,
    label: str | Iterable[str] | None = None,
    where: Mapping[str, object] | Predicate | None = None,
    valid_at: int | None = None,
    valid_missing: str | None = None,
    vector: tuple[str, Any] | None = None,
    sparse: tuple[str, Any, Any] | None = None,
    graph: Mapping[str, object] | None = None,
    community: Mapping[str, object] | None = None,
    depth: int = DEPTH_DEFAULT,
    limit: int | None = LIMIT_DEFAULT,
    token_budget: int | None = None,
    content_chars: int = 0,
    adjacency: int = 0,
    include_tombstoned: bool = False,
    fusion: str | None = None,
    rrf_k: float | None = None,
    weights: Mapping[str, float] | None = None,
    k1: float | None = None,
    b: float | None = None,
    operator: str = "or",
    phrases: bool = False,
    fuzzy: bool | Mapping[str, float] | None = None,
    rerank: object = None,
    rerank_text: str | None = None,
    rerank_depth: int | None = None,
    mmr: Mapping[str, float] | None = None,
    estimator: str | TokenEstimator = "heuristic",
    packs: Mapping[str, object] | None = None,
    trust: TrustContext | None = None,
    **more: Any,
) -> Query:
    """Returns the query that a person's options mean under a root's configuration.

    Args:
        config: gives the defaults of `fusion`, `rrf_k`, `weights`, `k1` and `b`.
        text: ranks by its terms; blank text counts as none.
        label: one label or several, any of which will do.
        where: conditions on properties, see `predicate`.
        valid_at: keeps nodes that hold at a time, microseconds since 1970 UTC, see `validity`.
        valid_missing: whether nodes that say nothing about time `pass` (the default) or `drop`.
        vector: (model, (d,) numbers).
        sparse: (vocabulary, tokens, weights), tokens in any order, none twice.
        graph: what edges lead to counts too: `{"mode": "ppr" | "decay", ...}`, see `graph.option`.
        community: what belongs together with the best nodes counts too; see `graph.option`.
        depth: how many nodes each lane returns.
        limit: how many items are returned at most, None for all.
        token_budget: how many tokens they may cost together, None for any.
        content_chars: how many characters of a node's content are shown.
        adjacency: how many edges of a node are shown in each direction.
        include_tombstoned: whether nodes that a tombstone hides count as well.
        fusion: `rrf`, `weighted_rrf`, `convex` or `score_normalised`.
        rrf_k: the damping constant of the first two.
        weights: by lane, for all but the first.
        k1: BM25's saturation. b: BM25's length normalisation.
        operator: whether a document needs one of the text's terms, `or`, or all of them, `and`.
        phrases: whether what the text has in double quotes must occur as it stands.
        fuzzy: whether terms at edit distance 1 count as well; see `match`.
        rerank: a reranker, or anything with its `name` and `digest`; see `rerank`.
        rerank_text: what it compares with, the query's text unless given.
        rerank_depth: how many of the fused order it scores, 25 unless given.
        mmr: `{"lambda": 0.7, "depth": 40}` or a part of it; see `mmr`.
        estimator: the token estimator, or the name of one without a digest.
        packs: asks for packs of nodes and not for nodes; see `packs.option`.
        trust: what the caller may see; required where the root has a trust policy, see `trust`.
        more: the options of `recall.option`; others are refused.

    Raises:
        InvalidInputError: an option is unknown, or of the wrong type or size; the message names it.
    """
    recall = rare_options.recall(more, resolve.__kwdefaults__ or {}) if more else None
    lane_text = _query_text(text)
    condition = None if where is None else predicate.parse(where)
    if condition == predicate.And(()):
        condition = None
    counter, counter_digest = checked_estimator(estimator)
    has_ranker = lane_text is not None or vector is not None or sparse is not None
    query = Query(
        text=lane_text,
        labels=_labels(label),
        where=condition,
        valid=resolve_valid(valid_at, valid_missing),
        vector=None if vector is None else checked_vector(vector),
        sparse=None if sparse is None else checked_sparse(sparse),
        graph=None if graph is None else graph_option.graph(graph),
        community=None if community is None else graph_option.community(community),
        depth=checks.count("depth", depth, low=1, high=DEPTH_MAX),
        limit=None if limit is None else checks.count("limit", limit),
        token_budget=None if token_budget is None else checks.count("token_budget", token_budget),
        content_chars=checks.count("content_chars", content_chars),
        adjacency=checks.count("adjacency", adjacency, high=ADJACENCY_MAX),
        include_tombstoned=checks.flag("include_tombstoned", include_tombstoned),
        fusion=resolve_fusion(config, fusion, rrf_k, weights),
        k1=checks.number("k1", K1_DEFAULT if k1 is None else k1, high=1000.0),
        b=checks.number("b", B_DEFAULT if b is None else b, high=1.0),
        match=resolve_match(operator, phrases, fuzzy),
        rerank=resolve_rerank(rerank, lane_text, rerank_text, rerank_depth),
        mmr=resolve_mmr(mmr, has_ranker=has_ranker),
        estimator=counter,
        estimator_digest=counter_digest,
        packs=None if packs is None else rare_options.packs(packs),
        recall=recall,
        trust=checked_trust(policy_of(config), trust),
    )
    is_blank = query.packs is not None and text is not None
    if not query.has_ranker and not query.is_narrowed and not is_blank:
        raise InvalidInputError(
            "text: got nothing to look for, "
            "expected a text, a vector, a sparse vector, a label or a condition"
        )
    _check_seeds(query)
    return query


def _check_seeds(query: Query) -> None:
    """Refuses lanes that walk edges where no other lane gives them seeds, and lexical options
    without a text."""
    if query.text is None and query.match != _MATCH:
        match = query.match
        name = "operator" if match.operator != OR else "phrases" if match.phrases else "fuzzy"
        raise InvalidInputError(f"{name}: got it without a text, expected a text that it is about")
    recall = query.recall
    if recall is not None and query.text is None and (recall.expansion or recall.direct):
        name = "expansion" if recall.expansion else "direct"
        raise InvalidInputError(f"{name}: got it without a text, expected a text that it is about")
    for name, value in (
        ("graph", query.graph),
        ("community", query.community),
        ("recall", recall),
    ):
        if value is not None and not query.has_ranker:
            raise InvalidInputError(
                f"{name}: got it without anything that ranks, "
                "expected a text, a vector or a sparse vector to begin from"
            )


def _fields(form: dict[str, Any]) -> dict[str, Any]:
    """Returns the constructor's arguments, checked as `resolve` checks a person's.

    Raises:
        InvalidInputError: a field is missing or not of its form; the message begins with its name.
    """
    found: dict[str, Any] = {}
    for name, read in (*_READERS.items(), *_SELDOM_READERS.items()):
        if name not in form:
            if name in _READERS:
                raise InvalidInputError(f"{name}: got nothing, expected the field")
            continue
        value = form[name]
        try:
            found[name] = read(value)
        except InvalidInputError as error:
            said = str(error)
            raise InvalidInputError(said if said.startswith(name) else f"{name}: {said}") from error
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InvalidInputError(
                f"{name}: got {value!r:.80}, expected the form that retrieval 3 gives it"
            ) from error
    return found


def _query_text(text: object) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidInputError(f"text: got {type(text).__name__}, expected a text")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInputError("text: got a lone surrogate, expected valid Unicode") from error
    if size > TEXT_BYTES_MAX:
        raise InvalidInputError(
            f"text: got {size} bytes, expected at most {TEXT_BYTES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return text if text.strip() else None


def _labels(label: str | Iterable[str] | None) -> tuple[str, ...]:
    if label is None:
        return ()
    if not isinstance(label, Iterable):
        raise InvalidInputError(f"label: got {checks.show(label)}, expected a text or several")
    labels = [label] if isinstance(label, str) else list(label)
    if len(labels) > LABELS_MAX:
        raise InvalidInputError(
            f"label: got {len(labels)}, expected at most {LABELS_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return tuple(sorted({checks.name("label", one) for one in labels}))


def _vector(form: dict[str, Any]) -> QueryVector:
    return checked_vector((form["model"], np.frombuffer(form["data"], "<f4")))


def _sparse(form: dict[str, Any]) -> QuerySparse:
    return checked_sparse((form["vocab"], form["tokens"], form["weights"]))


def _fusion(form: dict[str, Any]) -> Fusion:
    return Fusion(form["name"], form["k"], checked_weights(form["weights"]))


def _some(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns a reader that takes null for None."""
    return lambda value: None if value is None else read(value)


def _count(name: str, **bounds: int) -> Callable[[Any], int]:
    return lambda value: checks.count(name, value, **bounds)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "text": _query_text,
    "labels": _labels,
    "where": _some(predicate.from_form),
    "valid": _some(Valid.from_form),
    "vector": _some(_vector),
    "sparse": _some(_sparse),
    "graph": _some(graph_option.graph),
    "community": _some(graph_option.community),
    "depth": _count("depth", low=1, high=DEPTH_MAX),
    "limit": _some(_count("limit")),
    "token_budget": _some(_count("token_budget")),
    "content_chars": _count("content_chars"),
    "adjacency": _count("adjacency", high=ADJACENCY_MAX),
    "include_tombstoned": lambda value: checks.flag("include_tombstoned", value),
    "fusion": _fusion,
    "k1": lambda value: checks.number("k1", value, high=1000.0),
    "b": lambda value: checks.number("b", value, high=1.0),
    "match": match_of_form,
    "rerank": _some(Rerank.from_form),
    "mmr": _some(Mmr.from_form),
    "estimator": lambda value: checks.name("estimator", value),
    "estimator_digest": checked_digest,
}
"""By field of the canonical form, what reads it."""
_SELDOM_READERS: Mapping[str, Callable[[Any], Any]] = {
    "packs": rare_options.packs_of_form,
    "recall": rare_options.recall_of_form,
    "trust": TrustContext.from_form,
}
"""Of the fields that are there only where they are asked for."""

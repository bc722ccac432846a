"""Packs and prompts of a revision, and verification of citations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.repo.retrieval import retrieve
from ibidem.repo.retrieval.given_time import given_time
from ibidem.repo.retrieval.newest import newest_time
from ibidem.repo.retrieval.pack_stream import PackStream
from ibidem.repo.retrieval.retrieve import WRITTEN, answered, ask
from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.retrieve.answer.answer import Answer, AnswerKind
from ibidem.retrieve.context.assemble import shown_text
from ibidem.retrieve.context.option import SCORE
from ibidem.retrieve.context.pack import Pack, pack_cid
from ibidem.retrieve.context.prompt import (
    Citation,
    CitedSpan,
    Prompt,
    assemble,
    cited_digest,
    frame_of_prompt,
)
from ibidem.retrieve.query.options import LIMIT_OF_PACKS, OF_ITEMS, OF_PACKS
from ibidem.retrieve.query.settings import configured
from ibidem.retrieve.query.subquery import QUERIES
from ibidem.retrieve.tokens import HEURISTIC

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.repo.retrieval.retrieve import PreparedQuery
    from ibidem.repo.retrieval.signature import PacksOptions
    from ibidem.retrieve.access.policy import Viewer

HYBRID = "hybrid"
HYBRID_WEIGHTS = {"lexical": 0.7, "dense": 0.3}


def packs(
    repository: Core, revision: Graph, text: str | None = None, **options: Unpack[PacksOptions]
) -> Answer[Pack]:
    """Returns the packs that answer a query, with their receipt; options as in `ask_packs`."""
    result = answered(repository, revision, ask_packs(repository, revision, text, **options))
    assert result.kind is AnswerKind.PACKS, "BUG: a question for packs"
    return result


def stream_packs(
    repository: Core, revision: Graph, text: str | None = None, **options: Unpack[PacksOptions]
) -> PackStream:
    """Returns the packs that answer a query one by one; options as in `ask_packs`."""
    prepared = ask_packs(repository, revision, text, **options)
    return PackStream(retrieve.stream_packs(repository, revision, prepared), prepared.query)


def ask_packs(
    repository: Core,
    revision: Graph,
    text: str | None = None,
    *,
    rank: str = SCORE,
    sources: Mapping[str, object] | None = None,
    **options: Any,
) -> PreparedQuery:
    """Resolves a query for packs.

    Args:
        text: blank text finds nothing.
        rank: `score`; `none` for a score of 0 for all and document order; `hybrid` for 0.7 of the
            lexical and 0.3 of the dense lane, each scaled to between 0 and 1, or `weights` instead,
            with a sum of at most 1.
        sources: what shares the budget; without `as_of`, facts and messages are those that hold at
            `as_of`, else at the time of the commit, never the clock's.
        options: those of packs (`retrieve.context.option`) and of `retrieving.ask`. `limit` is the
            maximal number of packs, by default 5, or with a `token_budget` any number; `depth` sets
            the number of hits.

    Raises:
        InvalidInputError: an option is unknown, of the wrong form, or has no effect; the message
            names it.
    """
    _check_effects(options)
    given = {name: options.pop(name) for name in sorted(OF_PACKS) if name in options}
    if "limit" not in options:
        settings = configured(revision.config)
        has_budget = options.get("token_budget", settings.get("token_budget")) is not None
        options["limit"] = settings.get("limit", None if has_budget else LIMIT_OF_PACKS)
    if sources is not None:
        given["sources"] = _dated(revision, sources, options)
    if rank == HYBRID:
        options |= _hybrid(options)
    elif rank != SCORE:
        given["rank"] = rank
    prepared = ask(repository, revision, text=text, packs=given, **options)
    if rank == HYBRID and prepared.query.vector is None:
        raise InvalidInputError("rank: got 'hybrid' without a vector, expected a vector or a model")
    return prepared


def _check_effects(options: Mapping[str, Any]) -> None:
    """Rejects options of `retrieve` that change nothing in packs."""
    for name in OF_ITEMS:
        if options.get(name) and (name == "direct" or options.get("rerank") is None):
            reads = "" if name == "direct" else " or a reranker, which reads it"
            raise InvalidInputError(
                f"{name}: got it in a question for packs, expected one for items{reads}"
            )


class Packer(Protocol):
    """Retrieves packs: a revision, or a run."""

    def packs(self, text: str | None = None, **options: Unpack[PacksOptions]) -> Answer[Pack]:
        """Returns hits with the text around them."""
        ...


def prompt(
    packer: Packer,
    text: str,
    found: Answer[Pack] | None,
    *,
    style: str,
    **options: Unpack[PacksOptions],
) -> Prompt:
    """Returns the prompt for a question; if no packs are given, `packer` retrieves those that fit
    it."""
    counter = options.get("estimator", HEURISTIC.name)
    if found is None:
        given = options.get("token_budget")
        budget = given if isinstance(given, int) else None
        options["frame"] = frame_of_prompt(text, style, estimator_of(counter), budget)
        found = packer.packs(text, **options)
    elif set(options) - {"estimator"}:
        raise InvalidInputError(
            f"{min(options)}: got it beside packs, expected it where they are made"
        )
    receipt = found.receipt if isinstance(found, Answer) else None
    return assemble(
        text,
        found,
        style=style,
        commit=None if receipt is None else receipt.commit,
        budget=found.query.token_budget if isinstance(found, Answer) else None,
        estimator=estimator_of(counter),
    )


def verify(repository: Core, citation: Citation, *, viewer: Viewer | None = None) -> bool:
    """Returns whether a citation is true for the caller: the commit has the root, the root has the
    nodes, their texts have the hashes, and the pack consists of them.

    The nodes are read as the caller sees them, so a citation cannot be used to test guesses of a
    hidden text, and a citation given to a caller verifies for that caller. The marker, the path and
    the headings are informative and are not checked.

    Args:
        viewer: the caller; required if the root has a trust policy.

    Raises:
        InvalidInputError: kind `viewer-required`.
    """
    check_citation(citation)
    try:
        revision = repository.graph(citation.root, viewer=viewer)
        if citation.commit is not None and (
            repository.commit_at(citation.commit).root != citation.root
        ):
            return False
        is_same = all(_is_cited(repository, revision, span) for span in citation.spans)
    except NotFoundError:
        return False
    members = [span.cid for span in citation.spans]
    return is_same and pack_cid(citation.policy, citation.document, members) == citation.pack


def check_citation(citation: object) -> None:
    """Raises `InvalidInputError` for what is no citation."""
    if not isinstance(citation, Citation):
        raise InvalidInputError(f"citation: got {type(citation).__name__}, expected a Citation")


def _is_cited(repository: Core, revision: Graph, span: CitedSpan) -> bool:
    """Returns whether a node of the revision has the value and the text of the citation."""
    node = revision.node(span.id, include_tombstoned=True)
    if node.cid != span.cid:
        return False
    text = shown_text(node, revision.config.fields, repository.content_of)
    is_inside = 0 <= span.start <= span.stop <= len(text)
    return is_inside and cited_digest(text[span.start : span.stop]) == span.digest


def _dated(revision: Graph, sources: object, options: Mapping[str, Any]) -> Mapping[str, object]:
    """Returns sources with their time."""
    if not isinstance(sources, Mapping):
        raise InvalidInputError(f"sources: got {sources!r:.80}, expected a map of options")
    if sources.get("as_of") is not None:
        return {
            **sources,
            "as_of": given_time(sources["as_of"], "sources.as_of", revision),
        }
    moment = given_time(options.get("as_of"), "as_of", revision)
    if moment is None:
        graph = revision.seen_by(options.get("viewer")) if revision.viewer is None else revision
        moment = max(newest_time(graph, name) or 0 for name in ("time", "created_at"))
    return {**sources, "as_of": moment}


def _hybrid(options: dict[str, Any]) -> dict[str, Any]:
    for name in (QUERIES, *WRITTEN):
        if options.get(name):
            raise InvalidInputError(f"{name}: got some with rank 'hybrid', expected rank 'score'")
    if options.get("fusion") is not None:
        raise InvalidInputError("fusion: got one with rank 'hybrid', expected rank 'score'")
    weights = options.get("weights", HYBRID_WEIGHTS)
    try:
        total = sum(weights.values())
        is_part = all(0.0 <= weight <= 1.0 for weight in weights.values()) and total <= 1.0
    except (AttributeError, TypeError):
        is_part = False
    if not is_part:
        raise InvalidInputError(
            f"weights: got {weights!r:.80} with rank 'hybrid', "
            "expected numbers from 0 that add up to 1 at most"
        )
    return {"fusion": "score_normalised", "weights": weights}

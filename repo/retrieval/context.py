"""Packs and prompts of a revision, and whether a citation is true of what is kept here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Unpack

from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.repo.retrieval.retrieve import answered, ask
from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.retrieve.answer.answer import Answer, AnswerKind
from ibidem.retrieve.context.assemble import shown_text
from ibidem.retrieve.context.option import EDGES, SCORE, EdgeWalk, PackOptions
from ibidem.retrieve.context.pack import Pack, pack_cid
from ibidem.retrieve.context.prompt import Citation, CitedSpan, Prompt, assemble, cited_digest
from ibidem.retrieve.query.options import LIMIT_OF_PACKS
from ibidem.retrieve.tokens import HEURISTIC

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.repo.retrieval.retrieve import PreparedQuery
    from ibidem.repo.retrieval.signature import PacksOptions
    from ibidem.retrieve.access.policy import TrustContext

HYBRID = "hybrid"
HYBRID_WEIGHTS = {"lexical": 0.7, "dense": 0.3}
_NAMES = frozenset(PackOptions().form()) - {EDGES} | frozenset(EdgeWalk().form())


def packs(
    repository: Core, revision: Graph, text: str | None = None, **options: Unpack[PacksOptions]
) -> Answer[Pack]:
    """Returns the packs that answer a question, with their receipt; `ask_packs` has the options."""
    result = answered(repository, revision, ask_packs(repository, revision, text, **options))
    assert result.kind is AnswerKind.PACKS, "BUG: a question for packs"
    return result


def ask_packs(
    repository: Core,
    revision: Graph,
    text: str | None = None,
    *,
    limit: int | None = LIMIT_OF_PACKS,
    rank: str = SCORE,
    **options: Any,
) -> PreparedQuery:
    """Returns a question for packs resolved.

    Args:
        text: blank text finds nothing.
        limit: how many packs, None for any number; how many hits there are says `depth`.
        rank: `score`; `none` for every score 0 and document order; `hybrid` for 0.7 of the lexical
            and 0.3 of the dense lane, each scaled to between 0 and 1, or `weights` of them, which
            add up to 1 at most.
        options: those of packs (`retrieve.context.option`) and of `retrieving.ask`.

    Raises:
        InvalidInputError: an option is unknown, of the wrong form, or has no effect; it is named.
    """
    given = {name: options.pop(name) for name in sorted(_NAMES) if name in options}
    if rank == HYBRID:
        options |= _hybrid(options)
    elif rank != SCORE:
        given["rank"] = rank
    asked = ask(repository, revision, text=text, limit=limit, packs=given, **options)
    if rank == HYBRID and asked.query.vector is None:
        raise InvalidInputError("rank: got 'hybrid' without a vector, expected a vector or a model")
    return asked


class Packer(Protocol):
    """What finds packs: a revision, or a run."""

    def packs(self, text: str | None = None, **options: Unpack[PacksOptions]) -> Answer[Pack]:
        """Returns hits with what stands around them."""
        ...


def prompt(
    packer: Packer,
    question: str,
    found: Answer[Pack] | None,
    *,
    style: str,
    **options: Unpack[PacksOptions],
) -> Prompt:
    """Returns the prompt of a question; without packs, those that `packer` finds for it."""
    counter = options.get("estimator", HEURISTIC.name)
    if found is None:
        found = packer.packs(question, **options)
    elif set(options) - {"estimator"}:
        raise InvalidInputError(
            f"{min(options)}: got it beside packs, expected it where they are made"
        )
    receipt = found.receipt if isinstance(found, Answer) else None
    return assemble(
        question,
        found,
        style=style,
        commit=None if receipt is None else receipt.commit,
        estimator=estimator_of(counter),
    )


def verify(repository: Core, citation: Citation, *, trust: TrustContext | None = None) -> bool:
    """Returns whether what a citation says is true for whoever asks: the commit has the root, the
    root has the nodes, their texts have the hashes, and the pack is made of them.

    The nodes are read as the caller sees them, so a citation tells nobody whether a guess of a
    hidden text is right, and what was cited to a caller is true for the same caller. The marker,
    the path and the headings are for people and not checked.

    Args:
        trust: who asks; required where the root has a trust policy.

    Raises:
        InvalidInputError: kind `trust-required`.
    """
    if not isinstance(citation, Citation):
        raise InvalidInputError(f"citation: got {type(citation).__name__}, expected a Citation")
    try:
        revision = repository.graph(citation.root, trust=trust)
        if citation.commit is not None and (
            repository.commit_at(citation.commit).root != citation.root
        ):
            return False
        is_same = all(_is_cited(repository, revision, span) for span in citation.spans)
    except NotFoundError:
        return False
    members = [span.cid for span in citation.spans]
    return is_same and pack_cid(citation.policy, citation.document, members) == citation.pack


def _is_cited(repository: Core, revision: Graph, span: CitedSpan) -> bool:
    """Returns whether a node of a revision has the value and the text that a citation says."""
    node = revision.node(span.id, include_tombstoned=True)
    if node.cid != span.cid:
        return False
    text = shown_text(node, revision.config.fields, repository.content_of)
    is_inside = 0 <= span.start <= span.stop <= len(text)
    return is_inside and cited_digest(text[span.start : span.stop]) == span.digest


def _hybrid(options: dict[str, Any]) -> dict[str, Any]:
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

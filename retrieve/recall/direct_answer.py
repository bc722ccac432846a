"""Direct answers: whether one node alone answers the question, and if not, why not.

A sequence of checks, each of which can end it. It annotates an answer and never changes it: the
caller decides what to do with a direct answer.

Spec: recall 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from ibidem.index.analysis.fold import fold
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.plain import fields_of, plain
from ibidem.objects.record import record
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import default
from ibidem.retrieve.recall.words import words

PERMILLE = 1000
CANDIDATES_MAX = 100
_STOP = frozenset(("the", "and", "for", "with", "from", "into", "that", "this", "why", "did"))


class Reason(StrEnum):
    """How the sequence of checks ended; a closed list."""

    EMPTY_QUERY = "empty-query"
    NO_CANDIDATES = "no-candidates"
    NO_ELIGIBLE = "no-eligible-candidates"
    BELOW_OVERLAP = "below-token-overlap-floor"
    AMBIGUOUS = "ambiguous"
    ELIGIBLE = "eligible"


class Label(StrEnum):
    """Why candidates were excluded; a closed list."""

    STATUS = "non-active-status"
    ZONE = "not-trusted-zone"
    BUCKET = "ineligible-taxonomy-bucket"
    IMPORTANCE = "below-importance-floor"
    ENTITY = "entity-ref-mismatch"
    OVERLAP = "below-token-overlap-floor"


@record
class Direct:
    """The option of direct answers; shares are whole permille, so that margins are exact."""

    overlap: int = default("direct.overlap")
    """The share of the question's words that must be in the node."""
    importance: int = default("direct.importance")
    margin: int = default("direct.margin")
    """The lead that the best candidate must have."""
    buckets: tuple[str, ...] = default("direct.buckets")
    entities: tuple[str, ...] = default("direct.entities")
    """The entities that the question is about, if they are known."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {
            "overlap": self.overlap,
            "importance": self.importance,
            "margin": self.margin,
            "buckets": list(self.buckets),
            "entities": list(self.entities),
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the option of a canonical form."""
        return cls(**option_checks.parts("direct", form, buckets=_names, entities=_names))


@record
class DirectAnswer:
    """The result of the checks."""

    reason: Reason
    node: NodeId | None = None
    """The node that answers alone, if there is one."""
    labels: tuple[Label, ...] = ()
    overlap: int | None = None
    """The overlap of the best candidate that was scored, in permille."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain data."""
        return {"id": plain(self.node), **fields_of(self, "reason", "labels", "overlap")}

    def form(self) -> list[object]:
        """Returns the canonical form."""
        node = None if self.node is None else self.node.raw
        return [str(self.reason), node, [str(label) for label in self.labels], self.overlap]


def resolve_direct(given: object) -> Direct | None:
    """Returns the option that a caller gave: True, or a mapping of parts of it."""
    parts = option_checks.filled("direct", given)
    return None if parts is None else Direct.from_form(parts)


def direct_answer(
    text: str, candidates: Sequence[Node], option: Direct, text_of: Callable[[Node], str]
) -> DirectAnswer:
    """Returns whether one candidate answers a question alone.

    Args:
        text: the question.
        candidates: visible nodes, of all namespaces together, in any order.
        option: the thresholds.
        text_of: returns the text of a node.

    Spec: recall 4.
    """
    query_words = frozenset(words(text, _STOP))
    if not query_words:
        return DirectAnswer(Reason.EMPTY_QUERY)
    if not candidates:
        return DirectAnswer(Reason.NO_CANDIDATES)
    left, labels = _filtered(candidates, option)
    if not left:
        return DirectAnswer(Reason.NO_ELIGIBLE, None, labels)
    scored = sorted(
        (-(len(query_words & _words_of(node, text_of)) * PERMILLE // len(query_words)), node.id)
        for node in left
    )
    floor = max(1, option.overlap)
    kept = [(-negative, node) for negative, node in scored if -negative >= floor]
    if len(kept) < len(scored):
        labels = (*labels, Label.OVERLAP)
    if not kept:
        return DirectAnswer(Reason.BELOW_OVERLAP, None, labels, -scored[0][0])
    best = kept[0][0]
    if len(kept) > 1 and best - kept[1][0] < option.margin:
        return DirectAnswer(Reason.AMBIGUOUS, None, labels, best)
    return DirectAnswer(Reason.ELIGIBLE, kept[0][1], labels, best)


def _filtered(candidates: Iterable[Node], option: Direct) -> tuple[list[Node], tuple[Label, ...]]:
    entities = {fold(name) for name in option.entities}
    steps: list[tuple[Label, Callable[[Node], bool]]] = [
        (Label.STATUS, lambda node: node.props.get("status", "active") == "active"),
        (Label.ZONE, lambda node: node.props.get("zone") == "trusted"),
        (Label.BUCKET, lambda node: node.props.get("bucket") in option.buckets),
        (Label.IMPORTANCE, lambda node: _is_important(node, option.importance)),
    ]
    if entities:
        steps.append((Label.ENTITY, lambda node: _is_about(node, entities)))
    left, labels = list(candidates), []
    for label, keeps in steps:
        kept = [node for node in left if keeps(node)]
        if len(kept) < len(left):
            labels.append(label)
        left = kept
    return left, tuple(labels)


def _is_important(node: Node, floor: int) -> bool:
    if node.props.get("confirmed") is True:
        return True
    value = node.props.get("importance", 0)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return value * PERMILLE >= floor


def _is_about(node: Node, entities: set[str]) -> bool:
    entity = node.props.get("entity")
    return not isinstance(entity, str) or not entity or fold(entity) in entities


def _words_of(node: Node, text_of: Callable[[Node], str]) -> frozenset[str]:
    tags = node.props.get("tags", ())
    named = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, (list, tuple)) else []
    return frozenset(words(" ".join([*named, text_of(node)]), _STOP))


def _names(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name}: got {checks.show(value)}, expected a list of texts")
    return tuple(sorted({checks.name(name, one) for one in value}))

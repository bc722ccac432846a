"""Feedback of people and agents on answers, combined into one factor per node.

A vote counts once for each author, node and question; the last one wins. A node that was marked as
not useful is lowered only if the question is similar to the one it was not useful for. Counts are
bounded, so nobody can move a node far, and a factor is never 0: a node with many downvotes is still
found when nothing else is.

Spec: recall 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from blake3 import blake3

from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.retrieve.numbers import exp, ln
from ibidem.retrieve.query.options import default
from ibidem.retrieve.recall.words import shared, words

VOTES_MAX, HITS_MAX = 3, 5
"""Further votes and marks do not count."""
_DOMAIN = b"ibidem 2026 words of a question "
LIKENESS_MIN = 0.5
"""The least similarity of another question for its not-useful nodes to count."""


@record
class Penalties:
    """How far feedback moves a node, in percent of its score."""

    up: int = default("feedback.up")
    """Of each vote for it."""
    down: int = default("feedback.down")
    """Of each vote against it."""
    not_useful: int = default("feedback.not_useful")
    """Of each mark as not useful for a similar question."""
    lowest: int = default("feedback.lowest")
    highest: int = default("feedback.highest")

    def form(self) -> dict[str, int]:
        """Returns the canonical form."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def percent(self, up: int, down: int, hits: int) -> int:
        """Returns the percentage by which votes and marks change a score.

        Spec: recall 3.

        >>> counted = ((1, 0, 0), (9, 0, 0), (0, 9, 0), (9, 9, 0), (0, 9, 12), (0, 0, 9))
        >>> [Penalties().percent(*one) for one in counted]
        [5, 15, -30, -15, -30, -25]
        >>> Penalties(down=20, lowest=-50).percent(0, 2, 1)
        -45
        """
        votes = self.up * min(VOTES_MAX, up) - self.down * min(VOTES_MAX, down)
        moved = votes - self.not_useful * min(HITS_MAX, hits)
        return max(self.lowest, min(self.highest, moved))


@dataclass(frozen=True, slots=True, order=True)
class Vote:
    """One author's opinion on one node as the answer to one question."""

    time: int
    """Microseconds since 1970 UTC."""
    event: bytes
    """The id of the event, which orders votes of the same time."""
    author: str
    node: NodeId
    question: bytes
    """The question's digest."""
    value: int
    """1 or -1."""


@dataclass(frozen=True, slots=True, order=True)
class NotUseful:
    """A node that did not help with a question."""

    time: int
    event: bytes
    author: str
    node: NodeId
    words: frozenset[bytes]
    """Digests of the question's words, by `word_digests` for this node."""


@dataclass(frozen=True, slots=True, order=True)
class Outcome:
    """The outcome of one use of a node."""

    time: int
    event: bytes
    node: NodeId
    is_success: bool


def word_digests(text: str, node: NodeId) -> frozenset[bytes]:
    """Returns a digest of 16 bytes of each word of a question, keyed with a node.

    So an event identifies the words of a question without containing them, and a table of digests
    for one node is useless for another. An attacker with the events can still try single words.

    Spec: recall 3.
    """
    key = blake3(_DOMAIN + node.raw).digest()
    return frozenset(blake3(word.encode(), key=key).digest(16) for word in words(text, frozenset()))


def question_digest(text: str, node: NodeId) -> bytes:
    """Returns a digest of a question for a node: of the set of its words, 16 bytes.

    Spec: recall 3.
    """
    return blake3(b"".join(sorted(word_digests(text, node)))).digest(16)


def feedback_factors(
    votes: Iterable[Vote], not_useful: Iterable[NotUseful], text: str, penalties: Penalties
) -> Mapping[NodeId, float]:
    """Returns the factor of every node with feedback.

    Args:
        votes: in any order.
        not_useful: in any order.
        text: the current question.
        penalties: how far it moves a node.

    Spec: recall 3.
    """
    digests: dict[NodeId, frozenset[bytes]] = {}
    effective = {(vote.author, vote.node, vote.question): vote for vote in sorted(votes)}
    up: dict[NodeId, int] = {}
    down: dict[NodeId, int] = {}
    for vote in effective.values():
        counts = up if vote.value > 0 else down
        counts[vote.node] = counts.get(vote.node, 0) + 1
    hits: dict[NodeId, int] = {}
    for said in sorted(not_useful):
        if said.node not in digests:
            digests[said.node] = word_digests(text, said.node)
        if shared(digests[said.node], said.words) >= LIKENESS_MIN:
            hits[said.node] = hits.get(said.node, 0) + 1
    return {
        node: (100 + penalties.percent(up.get(node, 0), down.get(node, 0), hits.get(node, 0))) / 100
        for node in sorted(up.keys() | down.keys() | hits.keys())
    }


def worth(successes: float, failures: float) -> float:
    """Returns the factor of a node from the outcomes of its uses.

    >>> [worth(*one) for one in ((0, 0), (3, 0), (0, 3))]
    [1.0, 1.6, 0.4]
    """
    return (successes + 1.0) / (successes + failures + 2.0) / 0.5


def worth_factors(
    outcomes: Iterable[Outcome], *, as_of: int, half_life: int | None
) -> Mapping[NodeId, float]:
    """Returns the factor of every node that was used before a time.

    Args:
        outcomes: in any order.
        as_of: later outcomes do not count yet; microseconds since 1970 UTC.
        half_life: the microseconds after which an outcome counts half; None for no decay.
    """
    sums: dict[NodeId, list[float]] = {}
    for outcome in sorted(outcomes):
        if outcome.time <= as_of:
            weight = 1.0 if half_life is None else halved(as_of - outcome.time, half_life)
            sums.setdefault(outcome.node, [0.0, 0.0])[not outcome.is_success] += weight
    return {node: worth(*sums[node]) for node in sorted(sums)}


def halved(age: int, half_life: int) -> float:
    """Returns 2 to the power of -age / half_life; 1.0 for a negative age.

    Spec: recall 2.

    >>> halved(7, 7), halved(0, 7), halved(-3, 7)
    (0.5, 1.0, 1.0)
    """
    if age <= 0:
        return 1.0
    whole, rest = divmod(age, half_life)
    part = 1.0 if rest == 0 else exp(-(rest / half_life) * ln(2.0))
    return part * 0.5 ** min(whole, 1100)

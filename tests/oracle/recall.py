"""What the oracle does with recall options: factors, direct answers; obvious and slow.

Spec: recall.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from blake3 import blake3

from ibidem.index.analysis import analyse
from ibidem.index.analysis.fold import fold

Ranked = list[tuple[float, bytes]]
DIRECT_STOP = {"the", "and", "for", "with", "from", "into", "that", "this", "why", "did"}
FACTORS = ("recency", "importance", "feedback", "worth")


@dataclass
class Said:
    """An event of the notes: (time, id, kind, author, node, value, question, words)."""

    time: int
    id: bytes
    kind: str
    author: str
    node: bytes
    value: float
    question: bytes = b""
    words: tuple[bytes, ...] = ()


def words(text: str, stop: set[str], letters_min: int = 3) -> list[str]:
    found: list[str] = []
    for word in analyse(text, "unicode-1"):
        is_short = all(ord(char) < 128 for char in word) and len(word) < letters_min
        if word not in found and word not in stop and not is_short:
            found.append(word)
    return found


def jaccard(one: set[Any], other: set[Any]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def ordered(scores: dict[bytes, float]) -> Ranked:
    return sorted(((s, key) for key, s in scores.items()), key=lambda p: (-p[0], p[1]))


def halved(age: int, half_life: int) -> float:
    if age <= 0:
        return 1.0
    whole, rest = divmod(age, half_life)
    context = Context(prec=50, rounding=ROUND_HALF_EVEN)
    ln2 = float(context.ln(Decimal(2)))
    part = 1.0
    if rest:
        part = float(context.exp(Decimal(-(rest / half_life) * ln2)))
    for _ in range(min(whole, 1100)):
        part = part * 0.5 if part else 0.0
    return part


def digests(text: str, node: bytes) -> set[bytes]:
    key = blake3(b"ibidem 2026 words of a question " + node).digest()
    return {blake3(word.encode(), key=key).digest()[:16] for word in words(text, set())}


def question_of(text: str, node: bytes) -> bytes:
    return blake3(b"".join(sorted(digests(text, node)))).digest()[:16]


def factor(
    name: str, recall: dict[str, Any], text: str | None, key: bytes, props: Any, events: list[Said]
) -> float:
    """Returns one factor of one node."""
    mine = sorted((one for one in events if one.node == key), key=lambda one: (one.time, one.id))
    if name == "recency":
        asked = recall["recency"]
        time = props.get(asked["property"])
        if type(time) is not int:
            return 1.0
        weight: float = asked["weight"]
        return (1.0 - weight) + weight * halved(asked["as_of"] - time, asked["half_life"])
    if name == "importance":
        value = props.get(recall["importance"])
        if type(value) not in (int, float):
            return 1.0
        return 1.0 + (min(1.0, max(0.0, float(value))) - 0.4) * 0.25
    if name == "feedback":
        return feedback(mine, text or "", key, recall.get("penalties"))
    _, as_of, half_life = recall["worth"]
    sums = [0.0, 0.0]
    for one in mine:
        if one.kind == "outcome" and one.time <= as_of:
            aged = 1.0 if half_life is None else halved(as_of - one.time, half_life)
            sums[0 if one.value == 1.0 else 1] += aged
    return (sums[0] + 1.0) / (sums[0] + sums[1] + 2.0) / 0.5


def feedback(
    mine: list[Said], text: str, key: bytes, penalties: dict[str, int] | None = None
) -> float:
    p = penalties or {"up": 5, "down": 10, "not_useful": 5, "lowest": -30, "highest": 15}
    votes: dict[tuple[str, bytes], float] = {}
    hits = 0
    for one in mine:
        if one.kind == "vote":
            votes[one.author, one.question] = one.value
        if one.kind == "not_useful" and jaccard(digests(text, key), set(one.words)) >= 0.5:
            hits += 1
    up, down = sum(v > 0 for v in votes.values()), sum(v < 0 for v in votes.values())
    percent = p["up"] * min(3, up) - p["down"] * min(3, down) - p["not_useful"] * min(5, hits)
    return (100 + max(p["lowest"], min(p["highest"], percent))) / 100


def factored(
    ranking: Ranked, names: list[str], factor_of: Callable[[str, bytes], float]
) -> tuple[Ranked, dict[bytes, dict[str, list[Any]]]]:
    """Returns the ranking after the factors, and what each did to each node."""
    said: dict[bytes, dict[str, list[Any]]] = {key: {} for _, key in ranking}
    for name in names:
        scores = {}
        for rank, (score, key) in enumerate(ranking, 1):
            value = factor_of(name, key)
            share = abs(score) * (value - 1.0) + 0.0
            said[key][name] = [rank, value, share]
            scores[key] = score + share + 0.0
        ranking = ordered(scores)
    return ranking, said


def direct(text: str, candidates: list[tuple[bytes, Any, str]], asked: dict[str, Any]) -> list[Any]:
    """Returns the direct answer among (id, props, text) of the first of the ranking."""
    question = set(words(text, DIRECT_STOP))
    if not question:
        return ["empty-query", None, [], None]
    if not candidates:
        return ["no-candidates", None, [], None]
    entities = [fold(name) for name in asked["entities"]]
    filters: list[tuple[str, Callable[[Any], bool]]] = [
        ("non-active-status", lambda props: props.get("status", "active") == "active"),
        ("not-trusted-zone", lambda props: props.get("zone") == "trusted"),
        ("ineligible-taxonomy-bucket", lambda props: props.get("bucket") in asked["buckets"]),
        ("below-importance-floor", lambda props: is_important(props, asked["importance"])),
    ]
    if entities:
        filters.append(("entity-ref-mismatch", lambda props: is_about(props, entities)))
    labels = []
    for label, passes in filters:
        kept = [one for one in candidates if passes(one[1])]
        if len(kept) < len(candidates):
            labels.append(label)
        candidates = kept
    if not candidates:
        return ["no-eligible-candidates", None, labels, None]
    measured = sorted(
        (-(len(question & own_words(props, body)) * 1000 // len(question)), key)
        for key, props, body in candidates
    )
    floor = asked["overlap"] or 1
    over = [(-negative, key) for negative, key in measured if -negative >= floor]
    if len(over) < len(measured):
        labels.append("below-token-overlap-floor")
    if not over:
        return ["below-token-overlap-floor", None, labels, -measured[0][0]]
    if len(over) > 1 and over[0][0] - over[1][0] < asked["margin"]:
        return ["ambiguous", None, labels, over[0][0]]
    return ["eligible", over[0][1], labels, over[0][0]]


def is_important(props: Any, floor: int) -> bool:
    value = props.get("importance", 0)
    is_number = type(value) in (int, float)
    return props.get("confirmed") is True or (is_number and value * 1000 >= floor)


def is_about(props: Any, entities: list[str]) -> bool:
    entity = props.get("entity")
    return not isinstance(entity, str) or entity == "" or fold(entity) in entities


def own_words(props: Any, body: str) -> set[str]:
    tags = props.get("tags", ())
    named = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, (list, tuple)) else []
    return set(words(" ".join([*named, body]), DIRECT_STOP))


def event_id(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()[:16]

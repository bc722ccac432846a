"""What the oracle does after fusion: reranking from given scores, diversity, validity; obvious and
slow.

Spec: retrieval 3.2.1, 6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

Ranked = list[tuple[float, bytes]]


def is_valid(valid: dict[str, Any] | None, props: Any) -> bool:
    """Whether a node holds at the time asked for."""
    if valid is None:
        return True
    begins, ends = numbers(props, "valid_from"), numbers(props, "valid_to")
    has_begun = any(value <= valid["at"] for value in begins)
    has_not_ended = any(valid["at"] < value for value in ends)
    if not (is_open(props, "valid_from") or has_begun):
        return False
    if not (is_open(props, "valid_to") or has_not_ended):
        return False
    return valid["missing"] == "pass" or has_begun or has_not_ended


def is_open(props: Any, name: str) -> bool:
    return name not in props or None in members(props[name])


def numbers(props: Any, name: str) -> list[Any]:
    found = members(props[name]) if name in props else []
    return [one for one in found if isinstance(one, (int, float)) and not isinstance(one, bool)]


def members(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def rerank(
    ranking: Ranked, asked: dict[str, Any], said: list[Any]
) -> tuple[Ranked, dict[str, Any]]:
    """Returns the new order and the record of what a reranker that says `said` made of it."""
    head = ranking[: asked["depth"]]
    if len(head) <= 1:
        return ranking, {"status": "too_few", "scores": []}
    said = said[: len(head)]
    if len(said) != len(head):
        return ranking, {"status": "wrong_count", "scores": []}
    if any(score is not None and not math.isfinite(score) for score in said):
        return ranking, {"status": "not_numbers", "scores": []}
    scores = [None if score is None else float(score) + 0.0 for score in said]
    pairs = list(zip(scores, head, strict=True))
    scored = sorted((p for p in pairs if p[0] is not None), key=lambda pair: -pair[0])
    moved = [one for _, one in scored] + [one for score, one in pairs if score is None]
    record = [[key, score] for score, (_, key) in pairs]
    return moved + ranking[len(head) :], {"status": "ok", "scores": record}


def diversified(ranking: Ranked, mmr: dict[str, Any], scores: list[float], like: Any) -> Ranked:
    """Returns the ranking after MMR over its first nodes, which have `scores`."""
    count = min(mmr["depth"], len(scores))
    scores = scores[:count]
    low = min([0.0, *scores])
    relevance = [1.0 if scores[0] == low else (score - low) / (scores[0] - low) for score in scores]
    left, taken = list(range(count)), []
    while left:
        values = {}
        for place in left:
            same = max([0.0, *(like(ranking[place][1], ranking[one][1]) for one in taken)])
            values[place] = mmr["lambda"] * relevance[place] - (1.0 - mmr["lambda"]) * same
        best = next(place for place in left if values[place] == max(values.values()))
        taken.append(best)
        left.remove(best)
    return [ranking[place] for place in taken] + ranking[count:]


def jaccard(one: set[str], other: set[str]) -> float:
    return float(Fraction(len(one & other), len(one | other))) if one | other else 0.0

"""Writes the vectors of packs from a second, slower reading of spec/packs.md.

    python tests/conformance/make_pack_vectors.py

Nothing of the library is used: groups are sets of places, merged as the page says it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "spec" / "vectors" / "packs"


def absorb(asked: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = []
    for rank, (place, first, last) in enumerate(asked):
        home = next((g for g in groups if place in g["places"]), None)
        if home is not None:
            home["hits"].append(rank)
            continue
        taken = set().union(*(g["places"] for g in groups)) if groups else set()
        down = place
        while down > first and down - 1 not in taken:
            down -= 1
        up = place
        while up < last and up + 1 not in taken:
            up += 1
        groups.append({"places": set(range(down, up + 1)), "hits": [rank]})
    return [form(group) for group in groups]


def coalesce(asked: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    groups = [{"places": set(range(a, b + 1)), "hits": [r]} for r, (_, a, b) in enumerate(asked)]
    changed = True
    while changed:
        changed = False
        for one in groups:
            other = next((g for g in groups if g is not one and g["places"] & one["places"]), None)
            if other is not None:
                one["places"] |= other["places"]
                one["hits"] = sorted(one["hits"] + other["hits"])
                groups.remove(other)
                changed = True
                break
    return sorted((form(group) for group in groups), key=lambda group: group["hits"][0])


def form(group: dict[str, Any]) -> dict[str, Any]:
    places = sorted(group["places"])
    assert places == list(range(places[0], places[-1] + 1))
    return {"first": places[0], "last": places[-1], "hits": group["hits"]}


def windows() -> list[dict[str, Any]]:
    rng = random.Random(20260101)
    cases = [("of the seed", 8, 1, [2, 6, 3, 5])]
    for number in range(40):
        last = rng.randrange(1, 25)
        hits = rng.sample(range(last + 1), rng.randrange(1, last + 2))
        cases.append((f"random {number}", last, rng.randrange(0, 5), hits))
    made = []
    for name, last, around, hits in cases:
        asked = [(p, max(0, p - around), min(last, p + around)) for p in hits]
        made += [
            {
                "name": f"{name}, {merge.__name__}",
                "spec": anchor,
                "input": {"merge": merge.__name__, "last": last, "around": around, "hits": hits},
                "output": merge(asked),
            }
            for merge, anchor in ((absorb, "4-b"), (coalesce, "4-c"))
        ]
    return made


def fits() -> list[dict[str, Any]]:
    cases = [([5, 50, 4], 10, None), ([5, 50, 4], None, 1), ([11], 10, 5), ([], 3, 3)]
    cases += [([9, 9, 9], 15, None), ([1, 9, 3, 2, 2], 10, None), ([2, 2, 2], 5, 2), ([7], 0, None)]
    made = []
    for costs, budget, limit in cases:
        for policy in ("cut", "skip", "stop"):
            taken: list[int] = []
            left: list[list[Any]] = []
            used, stopped = 0, False
            for place, cost in enumerate(costs):
                rest = None if budget is None else budget - used
                if limit is not None and len(taken) == limit:
                    left.append([place, "limit", None])
                elif stopped:
                    left.append([place, "budget", None])
                elif rest is None or budget is None:
                    taken.append(place)
                elif policy == "cut":
                    stopped = cost > rest
                    shown = min(cost, rest, (budget + 1) // 2)
                    if shown:
                        taken.append(place)
                        used += shown
                    else:
                        left.append([place, "budget", cost])
                elif cost > rest:
                    left.append([place, "budget", cost])
                    stopped = policy == "stop"
                else:
                    taken.append(place)
                    used += cost
            options = {"costs": costs, "budget": budget, "limit": limit, "policy": policy}
            made.append(
                {
                    "name": f"{costs} of {budget}, {limit}, {policy}",
                    "spec": "7-c" if policy == "cut" else "7-a",
                    "input": options,
                    "output": {"taken": taken, "left": left},
                }
            )
    return made


def sources() -> list[dict[str, Any]]:
    rng = random.Random(20260102)
    cases = [([4, 2, 2], [[10, 10, 10], [10], [5, 5]]), ([1], [[3, 9]]), ([1, 1], [[], [2, 2]])]
    for _ in range(20):
        count = rng.randrange(1, 4)
        costs = [[rng.randrange(1, 40) for _ in range(rng.randrange(5))] for _ in range(count)]
        cases.append(([rng.randrange(1, 6) for _ in range(count)], costs))
    made = []
    for shares, costs in cases:
        order: list[list[int]] = []
        counts = [0] * len(shares)
        while sum(counts) < sum(map(len, costs)):
            best = None
            for source, share in enumerate(shares):
                if counts[source] == len(costs[source]):
                    continue
                had = sum(costs[source][: counts[source]])
                # a/b < c/d without fractions
                if best is None or had * best[1] < best[0] * share:
                    best = (had, share, source)
            assert best is not None
            order.append([best[2], counts[best[2]]])
            counts[best[2]] += 1
        given = {"shares": shares, "costs": costs}
        made.append({"name": f"{shares} {costs}", "spec": "10-d", "input": given, "output": order})
    return made


def markers() -> list[dict[str, Any]]:
    return [
        {"name": str(number), "spec": "8-a", "input": number, "output": f"[{number}]"}
        for number in (1, 2, 10, 123, 4567890)
    ]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, cases in (
        ("windows", windows()),
        ("fits", fits()),
        ("markers", markers()),
        ("sources", sources()),
    ):
        text = json.dumps(cases, ensure_ascii=False, indent=1) + "\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

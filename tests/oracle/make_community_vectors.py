"""Writes spec/vectors/retrieval/communities.json from the oracle:
`python -m tests.oracle.make_community_vectors` at the root.
"""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path
from typing import Any

from .communities import communities

FILE = Path(__file__).parents[2] / "spec" / "vectors" / "retrieval" / "communities.json"
CLUB = (
    "0-1 0-2 0-3 0-4 0-5 0-6 0-7 0-8 0-10 0-11 0-12 0-13 0-17 0-19 0-21 0-31 1-2 1-3 1-7 1-13 1-17 "
    "1-19 1-21 1-30 2-3 2-7 2-8 2-9 2-13 2-27 2-28 2-32 3-7 3-12 3-13 4-6 4-10 5-6 5-10 5-16 6-16 "
    "8-30 8-32 8-33 9-33 13-33 14-32 14-33 15-32 15-33 18-32 18-33 19-33 20-32 20-33 22-32 22-33 "
    "23-25 23-27 23-29 23-32 23-33 24-25 24-27 24-31 25-31 26-29 26-33 27-33 28-31 28-33 29-32 "
    "29-33 30-32 30-33 31-32 31-33 32-33"
)
"""Zachary's karate club, 1977: 34 people, 78 friendships."""


def main() -> None:
    """Writes the file."""
    rng = random.Random(14)
    club = [(*map(int, pair.split("-")), 1) for pair in CLUB.split()]
    pairs = list(combinations(range(5), 2))
    joined = [*((a, b, 64) for a, b in pairs), *((a + 5, b + 5, 64) for a, b in pairs), (0, 5, 3)]
    cases = [
        case("nothing", 0, [], 1, 1),
        case("alone", 3, [(1, 1, 64)], 1, 1),
        case("two cliques", 10, joined, 1, 1),
        case("karate club", 34, club, 1, 1),
        case("karate club, smaller", 34, club, 3, 1),
        case("karate club, larger", 34, club, 1, 4),
    ]
    for number in range(6):
        count = rng.randint(6, 24)
        edges = [
            (rng.randrange(count), rng.randrange(count), rng.choice((1, 2, 32, 64)))
            for _ in range(2 * count)
        ]
        cases.append(case(f"random {number}", count, edges, rng.randint(1, 3), rng.randint(1, 3)))
    FILE.write_text(json.dumps(cases, indent=1) + "\n", encoding="ascii")


def case(name: str, count: int, edges: list[Any], p: int, q: int) -> dict[str, Any]:
    return {
        "name": name,
        "count": count,
        "edges": edges,
        "resolution": [p, q],
        "labels": communities(count, edges, p, q),
    }


if __name__ == "__main__":
    main()

"""Writes spec/vectors/memory/answer.json from the oracle: `python -m
tests.oracle.make_record_vectors` at the root.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from .oracle import World
from .record_world import asked, layered, random_events, random_records
from .records import answer_records

FILE = Path(__file__).parents[2] / "spec" / "vectors" / "memory" / "answer.json"
STATES, QUERIES_EACH = 4, 4


def main() -> None:
    """Writes the file."""
    text = json.dumps([case(seed) for seed in range(STATES)], indent=1, ensure_ascii=True)
    FILE.write_text(text + "\n", encoding="ascii")


def case(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    facts = random_records(rng, count=6)
    world, events = World(facts.buffer, facts.root), random_events(rng, facts)
    queries = [asked(rng, facts) for _ in range(QUERIES_EACH)]
    queries.append(layered(queries[0]))
    blocks = {str(cid): block.hex() for cid, block in sorted(facts.buffer.new.items())}
    return {
        "name": f"records {seed}",
        "spec": "memory 4",
        "input": {
            "root": str(facts.root),
            "blocks": blocks,
            "events": [[one.kind, one.node.hex(), one.time, one.value] for one in events],
        },
        "output": [
            {
                "query": query.encode().hex(),
                "result": answer_records(world, query.form(), events).hex(),
            }
            for query in queries
        ],
    }


if __name__ == "__main__":
    main()

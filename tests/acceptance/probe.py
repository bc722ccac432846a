"""Builds a repository from fixed facts, in a shuffled order, and prints what it answers.

Run as a program, in another process and environment, by `test_determinism.py`.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
import sys
from pathlib import Path

import numpy as np

import ibidem
from ibidem.ingest.ingest import ingest
from ibidem.repo.repository import Repository

NODES = 240
DIM = 48
TEXTS = (
    "retries back off exponentially and never hide the first error",
    "Cafés open early; naïve résumés travel by Zürich tram",
    "机器学习 と 日本語 のテキスト",
    "a commit writes what it changes and reads what it needs",
    "postings hold rows and term frequencies, in ascending order",
    "ความจำของเครื่อง и русский текст",
)


def component(node: int, axis: int) -> float:
    """Returns a float32 in [-1, 1) that depends on its arguments only."""
    digest = hashlib.sha256(struct.pack("<II", node, axis)).digest()
    return int.from_bytes(digest[:3], "little") / 2**23 - 1.0


def vector(node: int) -> np.ndarray:
    """Returns the vector of one node."""
    return np.array([component(node, axis) for axis in range(DIM)], np.float32)


def fill(repo: Repository, order: list[int]) -> None:
    """Commits the facts in the given order."""
    with repo.transaction(author="ada", message="facts", time=1_700_000_000_000_000) as tx:
        ids = {}
        for number in order:
            ids[number] = tx.add_node(
                ("Note", "Person", "Place")[number % 3],
                summary=f"{TEXTS[number % len(TEXTS)]} number {number // 7}",
                props={"rank": number % 11, "share": number / 7, "tags": [f"t{number % 4}", "all"]},
                key=("fact", number),
            )
        for number in order:
            tx.add_edge(ids[number], "next", ids[(number + 1) % NODES], weight=0.5 + number % 3)
            tx.set_vector(ids[number], model="m", vector=vector(number))
            tx.set_sparse(
                ids[number], vocab="v", indices=[number % 5, 5 + number % 9], weights=[0.5, 1.5]
            )


def answers(repo: Repository) -> dict[str, str]:
    """Returns the head's root and the digests of some answers' bytes."""
    revision = repo.at("main")
    queries: list[dict[str, object]] = [
        {"text": "retries and commits in ascending order"},
        {"text": "机器 naive cafe\u0301s"},
        {"vector": ("m", vector(1001))},
        {"text": "tram text", "vector": ("m", vector(1002)), "label": "Note"},
        {
            "text": "error rows",
            "vector": ("m", vector(1003)),
            "sparse": ("v", [1, 7], [1.0, 0.25]),
            "where": {"rank": {"gte": 3}, "tags": "t1"},
            "token_budget": 150,
        },
        {"label": "Place", "limit": None},
    ]
    found = {"root": str(repo.commit_at("main").root)}
    for number, query in enumerate(queries):
        result = revision.retrieve(**query)
        found[f"query {number}"] = hashlib.sha256(result.to_bytes()).hexdigest()
    return found


def main(seed: int, folder: Path | None) -> None:
    """Prints the answers as JSON."""
    order = list(range(NODES))
    random.Random(seed).shuffle(order)
    with ibidem.init() as repo:
        fill(repo, order)
        if folder is not None:
            with repo.transaction(author="ada", message="docs", time=1_700_000_001_000_000) as tx:
                ingest(tx, [folder])
        print(json.dumps(answers(repo), sort_keys=True))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)

"""Replays what is kept in a repository, and prints what came of it.

Run as a program, in another process and environment, by `test_replay.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import ibidem
from ibidem.repo.repository import Repository

RUN = "desk"


class Length:
    """A reranker that likes long texts."""

    name = "length"
    digest = bytes(32)

    def rerank(self, text: str, rendered: list[str]) -> list[float]:
        """Returns the length of each text."""
        return [float(len(one)) for one in rendered]


def questions(vector: np.ndarray) -> list[dict[str, Any]]:
    """Returns questions that use every lane."""
    return [
        {"text": "retries back off", "limit": 5},
        {"text": 'commit reads "what it"', "phrases": True, "label": "Note"},
        {"text": "retreis", "fuzzy": True},
        {"vector": ("m", vector), "limit": 20},
        {"text": "postings", "vector": ("m", vector), "graph": {"mode": "ppr"}},
        {"text": "memory", "sparse": ("v", [1, 6], [1.0, 0.5]), "community": {}},
        {"text": "first error", "where": {"rank": {"gt": 3}}, "token_budget": 300},
        {"text": "retries", "rerank": Length(), "mmr": {"lambda": 0.5}},
        {"label": "Place", "limit": 7},
    ]


def agent(session: Any, vector: np.ndarray, model: Any) -> list[str]:
    """Asks everything, asks a model, and writes down what it said."""
    ask = session.tool("model", model)
    said = []
    for number, question in enumerate(questions(vector)):
        found = session.retrieve(**question)
        answer = ask([item.rendered for item in found.items])
        with session.transaction(author="agent", message=f"turn {number}") as tx:
            note = tx.add_node("Answer", summary=answer, key=("answer", number))
            for item in found.items[:2]:
                tx.add_edge(note, "from", item.id)
        said.append(f"{found.cid} {tx.commit.cid}")
    return said


def replayed(repo: Repository, vector: np.ndarray) -> dict[str, Any]:
    """Returns what every kept receipt and the run give now; no model can be called."""
    kept = {str(one.cid): str(repo.receipts.replay(one.cid).cid) for one in repo.receipts.list()}
    with repo.runs.open(RUN).replay() as session:
        said = agent(session, vector, None)
    return {"kept": kept, "run": said}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    with ibidem.open(place) as opened:
        print(json.dumps(replayed(opened, np.load(place / "vector.npy")), sort_keys=True))

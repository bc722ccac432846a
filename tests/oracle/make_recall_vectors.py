"""Writes spec/vectors/recall/*.json from the oracle: `python -m tests.oracle.make_recall_vectors`
at the root.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from .recall import Said, digests, direct, event_id, feedback, halved, question_of

FOLDER = Path(__file__).parents[2] / "spec" / "vectors" / "recall"
PROPS = {"zone": "trusted", "bucket": "decisions", "importance": 0.9}
QUESTION = "package manager for the project"


def main() -> None:
    """Writes every file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    write("decay", decays())
    write("opinions", opinions())
    write("direct", directs())


def write(name: str, cases: list[dict[str, Any]]) -> None:
    text = json.dumps(cases, indent=1, ensure_ascii=True)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="ascii")


def decays() -> list[dict[str, Any]]:
    pairs = [(-5, 7), (0, 7), (7, 7), (1, 7), (3, 14), (604_800_000_001, 604_800_000_000)]
    pairs += [(10**6, 3), (10**15, 1)]
    return [
        {"spec": "2-c", "input": [age, half_life], "output": halved(age, half_life).hex()}
        for age, half_life in pairs
    ]


def opinions() -> list[dict[str, Any]]:
    chance, node = random.Random(2), bytes(range(16))
    cases: list[dict[str, Any]] = []
    with_penalties: list[dict[str, Any]] = []
    for number in range(16):
        said = []
        for place in range(number):
            kind = chance.choice(("vote", "not_useful"))
            asked = chance.choice(("alpha beta", "beta alpha", "gamma", "alpha"))
            one = Said(chance.randint(0, 5), event_id(place), kind, chance.choice("ab"), node, 1.0)
            one.value = chance.choice((1.0, -1.0))
            one.question = question_of(asked, node) if kind == "vote" else b""
            one.words = tuple(sorted(digests(asked, node))) if kind == "not_useful" else ()
            said.append(one)
        rows = [
            [
                one.time,
                one.id.hex(),
                one.kind,
                one.author,
                one.value,
                one.question.hex(),
                [word.hex() for word in one.words],
            ]
            for one in said
        ]
        mine = sorted(said, key=lambda one: (one.time, one.id))
        cases.append(
            {
                "spec": "3-a 3-b 3-c",
                "input": {"node": node.hex(), "text": "alpha beta", "events": rows},
                "output": feedback(mine, "alpha beta", node),
            }
        )
        penalties = {"up": 30, "down": 1, "not_useful": 2, "lowest": -60, "highest": 90}
        with_penalties.append(
            {
                "spec": "3-c",
                "input": {**cases[-1]["input"], "penalties": penalties},
                "output": feedback(mine, "alpha beta", node, penalties),
            }
        )
    return [*cases, *with_penalties[-3:]]


def directs() -> list[dict[str, Any]]:
    asked = {
        "overlap": 550,
        "importance": 700,
        "margin": 150,
        "buckets": ["decisions"],
        "entities": ["proj:a"],
    }
    right = "the project package manager is pnpm"
    lists: list[list[tuple[dict[str, Any], str]]] = [
        [],
        [(PROPS, right)],
        [(PROPS, right), (PROPS, "manager of the project package")],
        [(PROPS, "unrelated")],
        [(PROPS, "unrelated"), (PROPS, right)],
        *([({**PROPS, name: value}, right)] for name, value in CHANGES),
    ]
    return [
        {
            "spec": "4-a 4-b 4-c",
            "input": {"text": text, "candidates": [list(one) for one in found], "option": asked},
            "output": _written(
                direct(text, [(bytes([i]) * 16, *one) for i, one in enumerate(found)], asked)
            ),
        }
        for found in lists
        for text in (QUESTION, "the and")
    ]


CHANGES: tuple[tuple[str, Any], ...] = (
    ("status", "archived"),
    ("zone", "working"),
    ("bucket", "chat"),
    ("importance", 0.699),
    ("importance", True),
    ("confirmed", True),
    ("entity", "proj:b"),
    ("entity", "PROJ:A"),
    ("tags", ["package", "manager"]),
)


def _written(found: list[Any]) -> list[Any]:
    return [found[0], None if found[1] is None else found[1].hex(), *found[2:]]


if __name__ == "__main__":
    main()

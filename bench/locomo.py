"""LoCoMo sessions by the published rule, lexical lane only, through the library as a user calls it.

    python bench/locomo.py DATA/locomo [--k1 K1] [--b B] [--json OUT]

One repository in memory a conversation, one node a turn (`summary` is "speaker: text"), every
question is asked for the 50 best turns. A session scores the best of its turns, ties by session
number; any@k counts the questions for which a gold session is among the first k. A question whose
evidence matches no turn is left out (9 of 1,986). No model, no vectors, no graph. The Rust original
published .7269 and .8569 with MiniLM.
"""

import argparse
import json
import math
import time
from collections import defaultdict
from pathlib import Path

from quality import Collection, session_order

import ibidem

TURNS = 50
COMMITTED = 1_700_000_000_000_000  # a fixed time in microseconds: the bench has no clock of its own
PUBLISHED = {"any@5": 0.7269, "any@10": 0.8569}


def interval(hits: int, count: int) -> tuple[float, float]:
    """Returns Wilson's 95 % interval of a proportion."""
    z = 1.959964
    share = hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = (
        z
        / (1 + z * z / count)
        * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    )
    return middle - half, middle + half


def build(turns: list[dict]) -> tuple[ibidem.Repository, dict]:
    """Returns a repository of one conversation, and the session of each node id."""
    repo = ibidem.init("memory:")
    sessions = {}
    with repo.transaction(author="bench", message="turns", time=COMMITTED) as tx:
        for turn in turns:
            node = tx.add_node("Turn", summary=turn["text"], key=turn["id"])
            sessions[node] = f"{turn['meta']['conv']}/{turn['meta']['session']}"
    return repo, sessions


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the locomo folder")
    parser.add_argument(
        "--k1", type=float, help="BM25 saturation, the library's default if left out"
    )
    parser.add_argument("--b", type=float, help="BM25 length normalisation, likewise")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    options = {
        name: getattr(arguments, name)
        for name in ("k1", "b")
        if getattr(arguments, name) is not None
    }

    data = Collection.read(arguments.data)
    turns: dict[str, list[dict]] = defaultdict(list)
    for turn in data.corpus:
        if not turn["meta"]["empty"]:
            turns[turn["meta"]["conv"]].append(turn)
    hits = {"any@5": 0, "any@10": 0}
    count = 0
    building = asking = 0.0
    for conversation, found in turns.items():
        started = time.perf_counter()
        repo, sessions = build(found)
        with repo:
            repo.retrieve("warm")
            building += time.perf_counter() - started
            for query in data.queries:
                gold = data.sessions.get(query["id"])
                if query["meta"]["conv"] != conversation or not gold:
                    continue
                started = time.perf_counter()
                result = repo.retrieve(query["text"], limit=TURNS, depth=TURNS, **options)
                asking += time.perf_counter() - started
                ranked = session_order(
                    (sessions[item.node.id], item.score) for item in result.items
                )
                count += 1
                hits["any@5"] += any(session in gold for session in ranked[:5])
                hits["any@10"] += any(session in gold for session in ranked[:10])
    figures: dict[str, object] = {"questions": count}
    for name, hit in hits.items():
        low, high = interval(hit, count)
        figures[name] = round(hit / count, 4)
        figures[f"{name} 95 %"] = [round(low, 4), round(high, 4)]
        print(
            f"{name:7s} {hit / count:.4f}  [{low:.4f}, {high:.4f}]  ({PUBLISHED[name]} published)"
        )
    print(f"{count} questions, {1000 * asking / count:.2f} ms each; build {building:.1f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""LoCoMo sessions by the published rule, lexical lane only, through the library as a user calls it.

    python bench/locomo.py DATA/locomo [--k1 K1] [--b B] [--way WAY ...] [--evidence] [--json OUT]

One repository in memory a conversation, one node a turn (`summary` is "speaker: text"), every
question is asked for the 50 best turns. Three ways to ask: `nodes`, plain retrieval; `packs`, hits
with a neighbour on each side, turns being parts of their session; `conversation`, each session a
thread of conversation memory, chosen from over all threads.

`--evidence` measures something else: each conversation is one thread, and the columns are how often
one of the first 5 and 10 selected turns is evidence, and the share of the evidence that is shown in
1,000 and in 2,000 tokens by `Conversations.context` ("in") and `Repository.context` ("prompt").

A session scores the best of its turns, ties by session number; any@k counts the questions for which
a gold session is among the first k. A question whose evidence matches no turn is left out (9 of
1,986). No model, no vectors, no graph. The Rust original published .7269 and .8569 with MiniLM.
"""

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from bm25 import Collection, session_order

import ibidem
from ibidem.memory.conversation.conversations import Conversations
from ibidem.objects.child import Child

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


Ask = Callable[[str], Iterable[tuple[str, float]]]
"""Returns (session, score) of what is found for a question."""


def nodes_way(repo: ibidem.Repository, turns: list[dict], options: dict) -> Ask:
    """Plain retrieval."""
    sessions = {}
    with repo.transaction(author="bench", message="turns", time=COMMITTED) as tx:
        for turn in turns:
            sessions[tx.add_node("Turn", summary=turn["text"], key=turn["id"])] = session_of(turn)

    def ask(text: str) -> Iterable[tuple[str, float]]:
        result = repo.retrieve(text, limit=TURNS, depth=TURNS, **options)
        return [(sessions[item.id], item.score) for item in result.items]

    return ask


def packs_way(repo: ibidem.Repository, turns: list[dict], options: dict) -> Ask:
    """Hits with their neighbours: a session is a document whose parts are its turns."""
    sessions = {}
    with repo.transaction(author="bench", message="turns", time=COMMITTED) as tx:
        for name, group in by_session(turns).items():
            parts = [
                Child(tx.add_node("Turn", summary=turn["text"], key=turn["id"]), "", 0, 0)
                for turn in group
            ]
            sessions[tx.add_node("Document", key=name, children=parts)] = name

    def ask(text: str) -> Iterable[tuple[str, float]]:
        found = repo.packs(text, per_hit_neighbors=1, limit=None, depth=TURNS, **options)
        return [(sessions[pack.document], pack.score) for pack in found]

    return ask


def conversation_way(repo: ibidem.Repository, turns: list[dict], options: dict) -> Ask:
    """Conversation memory: a session is a thread."""
    memory = Conversations(repo, author="bench")
    for name, group in by_session(turns).items():
        memory.append(name, [("user", turn["text"]) for turn in group], time=COMMITTED)

    def ask(text: str) -> Iterable[tuple[str, float]]:
        chosen = memory.select(text, thread=None, limit=TURNS, depth=TURNS, **options)
        return [(one.thread, chosen.scores[one.id]) for one in chosen.messages]

    return ask


WAYS = {"nodes": nodes_way, "packs": packs_way, "conversation": conversation_way}


def session_of(turn: dict) -> str:
    """Returns the name of a turn's session."""
    return f"{turn['meta']['conv']}/{turn['meta']['session']}"


def by_session(turns: list[dict]) -> dict[str, list[dict]]:
    """Returns the turns of each session, in their order."""
    groups: dict[str, list[dict]] = defaultdict(list)
    for turn in turns:
        groups[session_of(turn)].append(turn)
    return groups


def measured(data: Collection, way: str, options: dict) -> dict[str, object]:
    """Returns the figures of one way of asking, and prints them."""
    turns: dict[str, list[dict]] = defaultdict(list)
    for turn in data.corpus:
        if not turn["meta"]["empty"]:
            turns[turn["meta"]["conv"]].append(turn)
    hits = {"any@5": 0, "any@10": 0}
    count = 0
    building = asking = 0.0
    for conversation, found in turns.items():
        started = time.perf_counter()
        with ibidem.init("memory:") as repo:
            ask = WAYS[way](repo, found, options)
            ask("warm")
            building += time.perf_counter() - started
            for query in data.queries:
                gold = data.sessions.get(query["id"])
                if query["meta"]["conv"] != conversation or not gold:
                    continue
                started = time.perf_counter()
                answer = list(ask(query["text"]))
                asking += time.perf_counter() - started
                ranked = session_order(answer)
                count += 1
                hits["any@5"] += any(session in gold for session in ranked[:5])
                hits["any@10"] += any(session in gold for session in ranked[:10])
    figures: dict[str, object] = {"questions": count}
    for name, hit in hits.items():
        low, high = interval(hit, count)
        figures[name] = round(hit / count, 4)
        figures[f"{name} 95 %"] = [round(low, 4), round(high, 4)]
        published = f"({PUBLISHED[name]} published)"
        print(f"{way:12s} {name:7s} {hit / count:.4f}  [{low:.4f}, {high:.4f}]  {published}")
    print(
        f"{way:12s} {count} questions, {1000 * asking / count:.2f} ms each; build {building:.1f} s"
    )
    return figures


def evidence(data: Collection) -> dict[str, float]:
    """Returns how much of the evidence a context shows, and prints it."""
    found: dict[str, list[float]] = defaultdict(list)
    turns: dict[str, list[dict]] = defaultdict(list)
    for turn in data.corpus:
        if not turn["meta"]["empty"]:
            turns[turn["meta"]["conv"]].append(turn)
    for conversation, said in turns.items():
        ords = {turn["id"]: index for index, turn in enumerate(said)}
        with ibidem.init("memory:") as repo:
            memory = Conversations(repo, author="bench")
            memory.append(conversation, [("user", turn["text"]) for turn in said], time=COMMITTED)
            ords_by_id = {one.id: one.ord for one in memory.messages(conversation)}
            for query in data.queries:
                grades = data.qrels.get(query["id"], {})
                gold = {ords[turn] for turn, grade in grades.items() if grade and turn in ords}
                if query["meta"]["conv"] != conversation or not gold:
                    continue
                chosen = memory.select(query["text"], thread=conversation, limit=10).messages
                for k in (5, 10):
                    found[f"hit@{k}"].append(bool(gold & {one.ord for one in chosen[:k]}))
                for budget in (1000, 2000):
                    context = memory.context(
                        query["text"], thread=conversation, token_budget=budget
                    )
                    shown = {one.ord for one in context.messages}
                    found[f"in {budget}"].append(len(gold & shown) / len(gold))
                    prompt = repo.context(query["text"], thread=conversation, token_budget=budget)
                    cited = {citation.pack for citation in prompt.citations}
                    packs = [pack for pack in prompt.packs if pack.id in cited]
                    shown = {ords_by_id[hit.id] for pack in packs for hit in pack.hits}
                    found[f"prompt {budget}"].append(len(gold & shown) / len(gold))
    figures = {name: round(sum(values) / len(values), 4) for name, values in found.items()}
    print(" ".join(f"{name} {value:.4f}" for name, value in figures.items()))
    return figures


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
    parser.add_argument("--way", action="append", choices=tuple(WAYS), help="all if left out")
    parser.add_argument("--evidence", action="store_true", help="measure contexts instead")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    options = {
        name: getattr(arguments, name)
        for name in ("k1", "b")
        if getattr(arguments, name) is not None
    }

    data = Collection.read(arguments.data)
    figures: dict[str, object] = (
        {**evidence(data)}
        if arguments.evidence
        else {way: measured(data, way, options) for way in arguments.way or WAYS}
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

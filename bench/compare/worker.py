"""One step of one peer in a process of its own; prints one line of JSON.

    worker.py load|cold|warm|filtered|updated|served|insert PEER FOLDER DATA SIZE LIMIT [LANE]

`cold` prints nothing but the answer: the caller takes the time of the whole process.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from corpus import Corpus, Question, changes, extra_questions, extras, questions
from peer import Peer, find

WARM_UP = 4
WARM_SHARE_S = 8.0
"""A lane is asked until all questions are answered or so many seconds are gone."""
INSERTS = 5
PASSING = (1, 10, 50)
"""Percent of the nodes that pass a filter."""
UPDATE_NODES = 100
"""Nodes replaced in one durable batch."""


def main() -> None:
    step, name, folder, data, size, limit, *rest = sys.argv[1:]
    steps = {one.__name__: one for one in (load, cold, warm, filtered, updated, served, insert)}
    found = steps[step](find(name), folder, data, int(size), int(limit), *rest)
    import json

    sys.stdout.flush()
    print("\n" + json.dumps(found), flush=True)
    # What a library does when the interpreter ends is not what is measured, except when cold.
    if step == "cold":
        return
    os._exit(0)


def load(cls: type[Peer], folder: str, data: str, size: int, limit: int) -> dict[str, object]:
    os.makedirs(folder)
    corpus = Corpus(data, size)
    started = time.perf_counter()
    cls(folder).load(corpus)
    seconds = time.perf_counter() - started - corpus.reading_s
    return {
        "load_s": seconds,
        "peak_mb": _memory("VmHWM", "status"),
        "lanes": cls.lanes,
        "extra": cls.extra,
        "note": cls.note,
        "versions": {name: _version(name) for name in cls.packages},
    }


def _version(package: str) -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "checkout"


def cold(
    cls: type[Peer], folder: str, data: str, size: int, limit: int, lane: str
) -> dict[str, object]:
    peer = cls(folder)
    peer.open()
    return {"answer": list(peer.ask(lane, questions(data)[0], limit))}


def warm(cls: type[Peer], folder: str, data: str, size: int, limit: int) -> dict[str, object]:
    peer, asked = cls(folder), questions(data)
    peer.open()
    found: dict[str, object] = {}
    for lane in cls.lanes:
        found[lane] = _timed(peer, lane, asked, limit)
    return found | {"rss_mb": _memory("Rss"), "anonymous_mb": _memory("Anonymous")}


def filtered(cls: type[Peer], folder: str, data: str, size: int, limit: int) -> dict[str, object]:
    peer = cls(folder)
    peer.open()
    return {
        f"{lane}_filtered_{below}": _timed(peer, lane, questions(data), limit, below)["ms"]
        for lane in _single(cls)
        for below in PASSING
    }


def updated(cls: type[Peer], folder: str, data: str, size: int, limit: int) -> dict[str, object]:
    peer, nodes = cls(folder), changes(data, size)
    peer.open()
    spent = []
    for start in range(0, len(nodes), UPDATE_NODES):
        started = time.perf_counter()
        peer.update(nodes[start : start + UPDATE_NODES])
        spent.append(1e3 * (time.perf_counter() - started))
    peer.open()
    lanes = {
        f"{lane}_updated": _timed(peer, lane, questions(data), limit)["ms"] for lane in _single(cls)
    }
    return lanes | {"updated": spent}


def served(cls: type[Any], folder: str, data: str, size: int, limit: int) -> dict[str, object]:
    return cls(folder).served(questions(data), limit)


def _single(cls: type[Peer]) -> list[str]:
    return [lane for lane in cls.lanes if lane != "hybrid"]


def _timed(
    peer: Peer, lane: str, asked: list[Question], limit: int, below: int | None = None
) -> dict[str, object]:
    chosen = {} if below is None else {"below": below}
    began = time.perf_counter()
    for question in asked[:WARM_UP]:
        peer.ask(lane, question, limit, **chosen)
        if time.perf_counter() - began > WARM_SHARE_S:
            break
    spent, answers, began = [], [], time.perf_counter()
    for question in asked:
        started = time.perf_counter()
        answers.append(list(peer.ask(lane, question, limit, **chosen)))
        ended = time.perf_counter()
        spent.append(1e3 * (ended - started))
        if ended - began > WARM_SHARE_S:
            break
    return {"ms": spent, "answers": answers}


def insert(cls: type[Peer], folder: str, data: str, size: int, limit: int) -> dict[str, object]:
    peer, lane = cls(folder), cls.lanes[-1]
    peer.open()
    peer.ask(lane, questions(data)[0], limit)
    inserted, first, began = [], [], time.perf_counter()
    nodes = list(zip(extras(data), extra_questions(data), strict=True))[:INSERTS]
    for place, (node, question) in enumerate(nodes):
        started = time.perf_counter()
        peer.insert(size + place, node)
        between = time.perf_counter()
        answer = peer.ask(lane, question, limit)
        ended = time.perf_counter()
        if size + place not in list(answer):
            raise SystemExit(f"the {lane} answer after an insert does not have the new node")
        inserted.append(1e3 * (between - started))
        first.append(1e3 * (ended - between))
        if ended - began > WARM_SHARE_S:
            break
    return {"insert": inserted, "insert_first": first}


def _memory(name: str, source: str = "smaps_rollup") -> float:
    """Returns a figure of the kernel in MB; `ru_maxrss` would begin with that of the caller."""
    with open(f"/proc/self/{source}") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key == name:
                return int(value.split()[0]) / 1024
    return 0.0


if __name__ == "__main__":
    main()

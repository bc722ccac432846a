"""How long an answer of a server takes for many clients at once, beside the library's.

One repository in a folder is asked the same questions first by the library in one thread, then by
clients over HTTP, each in a process-wide pool of threads with a connection of its own.
Run: PYTHONPATH=src python bench/serve.py [clients] [seconds] [nodes]
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from pathlib import Path

import ibidem
from ibidem.serve.server import Server

TOKEN = "bench-token-0123456789"
WORDS = (
    *("retry", "queue", "cache", "lock", "index", "graph", "merge", "commit"),
    *("branch", "vector", "token", "budget"),
)
PROCESSES = 2


def fill(path: Path, count: int) -> None:
    with ibidem.init(path) as repo, repo.transaction(author="bench") as tx:
        for number in range(count):
            one, two = WORDS[number % 12], WORDS[number // 12 % 12]
            tx.add_node("Doc", summary=f"note {number} about {one} and {two}", key=number)


def question(number: int) -> str:
    return f"{WORDS[number % 12]} and {WORDS[number // 5 % 12]}"


def client(port: int, until: float, taken: list[float], number: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    while time.monotonic() < until:
        number += 7
        body = json.dumps({"text": question(number), "limit": 10})
        start = time.perf_counter()
        connection.request("POST", "/v1/retrieve", body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        taken.append(time.perf_counter() - start)
    connection.close()


def clients(port: int, count: int, seconds: float, sent: multiprocessing.Queue) -> None:
    taken: list[float] = []
    until = time.monotonic() + seconds
    threads = [
        threading.Thread(target=client, args=(port, until, taken, number))
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent.put(taken)


def report(name: str, taken: list[float], seconds: float) -> None:
    taken.sort()
    half, high = taken[len(taken) // 2], taken[len(taken) * 99 // 100]
    print(
        f"{name:<24} {len(taken):>7} answers {len(taken) / seconds:>7.0f}/s  "
        f"p50 {half * 1000:>7.1f} ms  p99 {high * 1000:>7.1f} ms"
    )


def main(count: int, seconds: float, nodes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder) / "repo", nodes)
        with ibidem.open(Path(folder) / "repo") as repo:
            repo.retrieve("retry")
            taken: list[float] = []
            begun, number = time.monotonic(), 0
            while time.monotonic() - begun < seconds / 4:
                number += 7
                start = time.perf_counter()
                repo.retrieve(question(number), limit=10).to_json()
                taken.append(time.perf_counter() - start)
            report("library, 1 thread", taken, seconds / 4)
            with Server(repo, token=TOKEN, port=0) as server:
                server.start()
                for each in (1, count):
                    context = multiprocessing.get_context("spawn")
                    sent = context.Queue()
                    share = -(-each // PROCESSES) if each > 1 else 1
                    senders = [
                        context.Process(target=clients, args=(server.port, share, seconds, sent))
                        for _ in range(PROCESSES if each > 1 else 1)
                    ]
                    for sender in senders:
                        sender.start()
                    together = [one for _ in senders for one in sent.get()]
                    for sender in senders:
                        sender.join()
                    report(f"server, {each} clients", together, seconds)


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    main(*(given + [50, 60, 20_000][len(given) :]))

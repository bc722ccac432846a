"""What a push of one new commit moves, by the size of the repository it goes to.

Each repository is served over HTTP on this machine, cloned, changed in one node and pushed back.
Bytes are those of the bodies, both ways. Run: PYTHONPATH=src python bench/sync.py [sizes...]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import ibidem
from ibidem.repo.sync.fetch_push import push
from ibidem.repo.sync.http_client import HttpRemote
from ibidem.serve.server import Server

TOKEN = "bench-token-0123456789"
DIM = 64
BATCH = 10_000


def fill(path: Path, count: int) -> list[object]:
    rng = np.random.default_rng(7)
    ids: list[object] = []
    with ibidem.init(path) as repo:
        for start in range(0, count, BATCH):
            with repo.transaction(author="bench") as tx:
                for number in range(start, min(count, start + BATCH)):
                    ids.append(
                        tx.add_node("Doc", summary=f"note {number} about retries", key=number)
                    )
                    vector = rng.standard_normal(DIM).astype(np.float32)
                    tx.set_vector(ids[-1], model="m", vector=vector)
    return ids


def measure(count: int) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as folder:
        there, here = Path(folder) / "there", Path(folder) / "here"
        ids = fill(there, count)
        with (
            ibidem.open(there) as served,
            Server(served, token=TOKEN, port=0, is_remote=True) as server,
        ):
            server.start()
            begun = time.perf_counter()
            ibidem.clone(server.url, here, token=TOKEN).close()
            cloned = time.perf_counter() - begun
            with ibidem.open(here) as repo:
                with repo.transaction(author="bench") as tx:
                    tx.update_node(ids[count // 2], summary="changed")
                remote = HttpRemote(server.url, token=TOKEN)
                begun = time.perf_counter()
                report = push(repo.core, remote, "origin", {"heads/main": repo.head})
                pushed = time.perf_counter() - begun
                assert served.head == repo.head
            whole = sum(len(served.core.store.get(cid)) for cid in served.core.store.cids())
    moved = remote.sent_bytes + remote.received_bytes
    return (
        f"{count:,}",
        f"{whole:,}",
        f"{cloned:.2f}",
        str(report.block_count),
        f"{moved:,}",
        f"{pushed * 1e3:.0f}",
    )


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]] or [1_000, 10_000, 100_000]
    print("| nodes | bytes of all blocks | clone s | blocks pushed | bytes moved | push ms |")
    print("|---:|---:|---:|---:|---:|---:|")
    for count in sizes:
        print("| " + " | ".join(measure(count)) + " |", flush=True)


if __name__ == "__main__":
    main()

"""Uses every feature in a process, forks, and has each child use one of them itself.

Run by test_forking.py: `forks.py FOLDER`. Prints the features whose child did not end well.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

import ibidem
from ibidem.embed.protocol import identity
from ibidem.index.tuning import Tuning
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.graph.memory import GraphMemory
from ibidem.repo.repository import Repository
from ibidem.repo.sync.remotes import RemoteAddress
from ibidem.retrieve.records.record import Record
from ibidem.serve.server import Server

TOKEN = "a-token-of-forty-characters-0123456789ab"
ROWS, DIM = 700, 1024
"""2.8 MB of vectors: a file of the index that counts as large."""
PATIENCE_SECONDS = 60
"""What a child may take; each is done in a second."""


class Letters:
    """Counts letters."""

    name, dim, digest = "letters", 26, identity({"letters": 1})

    def embed(self, texts):
        rows = [[text.lower().count(chr(97 + letter)) for letter in range(26)] for text in texts]
        return np.array(rows, np.float32)


class Lengths:
    """Likes long texts."""

    name, digest = "lengths", identity({"lengths": 1})

    def rerank(self, text, rendered):
        return [float(len(one)) for one in rendered]


def rows(seed: int, count: int = ROWS) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)


def load(repo: Repository, folder: Path, word: str) -> None:
    with repo.transaction() as tx:
        for number, row in enumerate(rows(len(word))):
            node = tx.add_node("N", key=f"{word} {number}", summary=f"{word} note {number}")
            tx.set_vector(node, model="m", vector=row)
    assert repo.retrieve(word, vector=("m", rows(1, 1)[0]), limit=3).items


def ask(repo: Repository, folder: Path, word: str) -> None:
    found = repo.retrieve("note 7", vector=("m", rows(2, 1)[0]), limit=5, rerank=Lengths())
    assert len(found.items) == 5
    assert repo.packs("note 7").packs
    assert repo.prompt("note 7")


def ask_many(repo: Repository, folder: Path, word: str) -> None:
    asked = [{"vector": ("m", row), "limit": 5} for row in rows(3, 8)]
    assert len(repo.at("HEAD").retrieve_many(asked)) == 8


def index_again(repo: Repository, folder: Path, word: str) -> None:
    repo.maintenance.reindex()
    repo.maintenance.reindex(compact=True)


def look_whole(repo: Repository, folder: Path, word: str) -> None:
    assert repo.maintenance.fsck().faults == ()


def collect(repo: Repository, folder: Path, word: str) -> None:
    repo.maintenance.gc()


def erase(repo: Repository, folder: Path, word: str) -> None:
    # In one of its own: copies of an erased node's past are refused by others.
    with ibidem.init(folder / word) as own:
        load(own, folder, word)
        own.maintenance.erase(next(iter(own.at("HEAD").nodes())).id)


def embed(repo: Repository, folder: Path, word: str) -> None:
    with repo.transaction() as tx:
        tx.add_node("Letter", key=f"{word} letter", summary=f"{word} letter")
    assert repo.embed(Letters(), label="Letter").embedded_count
    assert repo.retrieve("note 7", model="letters", limit=3).items


def merge_index(repo: Repository, folder: Path, word: str) -> None:
    for number in range(8):
        with repo.transaction() as tx:
            tx.add_node("N", key=f"{word} step {number}", summary=f"{word} step {number}")
        repo.retrieve("step", limit=1)


def merge(repo: Repository, folder: Path, word: str) -> None:
    home, side = repo.current_branch, f"side-{word}"
    repo.branch(side)
    with repo.transaction() as tx:
        tx.add_node("N", key=f"{word} here", summary="here")
    repo.switch(side)
    with repo.transaction() as tx:
        tx.add_node("N", key=f"{word} there", summary="there")
    repo.switch(home)
    repo.merge(side)
    repo.history.undo()


def copy(repo: Repository, folder: Path, word: str) -> None:
    repo.sync.export(folder / f"{word}.car")
    with ibidem.init(folder / word) as other:
        other.sync.load(folder / f"{word}.car")
        assert other.retrieve("note", vector=("m", rows(4, 1)[0])).items


def serve(repo: Repository, folder: Path, word: str) -> None:
    with Server(repo, token=TOKEN, port=0, is_remote=True) as server, ibidem.init() as other:
        server.start()
        other.sync.remotes.add("origin", RemoteAddress(server.url))
        other.sync.fetch(token=TOKEN)


def record(repo: Repository, folder: Path, word: str) -> None:
    with repo.runs.start(word) as run:
        run.retrieve("note 7")
    assert repo.runs.open(word).replay().retrieve("note 7").items


def remember(repo: Repository, folder: Path, word: str) -> None:
    talk = Conversations(repo, embedder=Letters())
    talk.append(word, [("user", "what comes first?"), ("agent", "the index")])
    memory = GraphMemory(repo)
    memory.add(Record("Episodic", f"{word} asked what comes first", ""))


def sign(repo: Repository, folder: Path, word: str) -> None:
    repo.keys.ring.generate(word)
    with repo.transaction(sign=word) as tx:
        tx.add_node("N", key=f"{word} signed", summary="signed")
    assert next(iter(repo.keys.verify())).standing == "good"


FEATURES: tuple[Callable[[Repository, Path, str], None], ...] = (
    *(load, ask, ask_many, merge_index, index_again, look_whole, collect, erase),
    *(embed, merge, copy, serve, record, remember, sign),
)


def child_is_done(work: Callable[[], None]) -> bool:
    """Tells whether a forked child does some work in time."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return False


def threads() -> int:
    """Counts the threads of this process, native ones too; none where the system does not say."""
    return len(list(Path("/proc/self/task").glob("*")))


def main(folder: Path) -> None:
    np.ones((64, 64), np.float32) @ np.ones((64, 64), np.float32)  # has a BLAS begin its threads
    before = threads()
    with ibidem.init(folder / "repo") as repo:
        # So that a few small commits have an index merge beside them.
        repo.core.search_index.tuning = Tuning(
            fresh_rows=1, tail_rows=3, step_rows_max=1, tier_parts=2, patience=1_000, steps_before=0
        )
        for feature in FEATURES:
            feature(repo, folder, f"parent-{feature.__name__.replace('_', '-')}")
        for thread in set(threading.enumerate()) - {threading.current_thread()}:
            thread.join()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while threads() > before and time.monotonic() < deadline:
            time.sleep(0.001)  # one that was joined may not have left yet
        if threads() > before:
            print("threads are left:", threads() - before)
        for feature in FEATURES:
            name = feature.__name__.replace("_", "-")

            def work() -> None:
                feature(repo, folder, f"child-{name}")  # noqa: B023
                with ibidem.open(folder / "repo") as own:
                    feature(own, folder, f"own-{name}")  # noqa: B023
                assert gc.isenabled()

            if not child_is_done(work):
                print(name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""What the usual calls cost, counted: none may get 5 % dearer without a reason beside its figures.

`costs.json` holds for each call its counts and, once one of them has been raised, the reason.
Blocks, bytes and reads are those of the store; calls are those of our own functions, of which every
machine and every version of Python makes the same number within one in a thousand.

`python tests/acceptance/test_costs.py [REASON]` lowers counts that have fallen. It raises one only
with a reason, which it writes beside it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from ibidem.ingest.ingest import ingest
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import Message
from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.config import Config
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.store.memory import MemoryStore
from ibidem.store.testing import RecordingStore

COSTS = Path(__file__).with_name("costs.json")
HOUSE = str(Path(__file__).resolve().parents[2])
OUTSIDE = (f"{HOUSE}/tests/", f"{HOUSE}/.venv")
RISE_PERCENT = 5
NODES, DOCUMENTS, DIM = 2_000, 40, 16
MODEL = "costs"
Counts = dict[str, int]


class CountingStore(RecordingStore):
    """Counts the blocks and bytes that are read, too."""

    read_blocks = read_bytes = 0

    def get(self, cid: Cid) -> bytes:
        return self._count([super().get(cid)])[0]

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        return self._count(super().get_many(cids))

    def _count(self, blocks: list[bytes]) -> list[bytes]:
        self.read_blocks += len(blocks)
        self.read_bytes += sum(map(len, blocks))
        return blocks


class Ledger:
    """A repository of nodes, edges, vectors, documents and messages, and what calls to it cost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        store = bootstrapped(MemoryStore(), Config.default(), "", lambda: 0)
        self.store = CountingStore(store)
        self.repo = Repository(Core(self.store, None, lambda: 0))  # type: ignore[arg-type]
        self.costs: dict[str, Counts] = {}
        self.random = np.random.default_rng(7)
        with self.repo.transaction() as tx:
            ids = [
                tx.add_node(
                    f"Label{number % 3}", summary=self.text(), props={"number": number}, key=number
                )
                for number in range(NODES)
            ]
            for number, node in enumerate(ids):
                tx.set_vector(node, model=MODEL, vector=self.vector())
                tx.add_edge(node, "next", ids[number * 7 % NODES])
        for number in range(DOCUMENTS):
            sections = "\n\n".join(f"## Part {part}\n\n{self.text()}" for part in range(4))
            (folder / f"{number}.md").write_text(f"# Page {number}\n\n{sections}\n")
        self.ids = ids
        self.ingest()
        self.talks = Conversations(self.repo)
        self.talks.append("talk", [self.message(number) for number in range(60)], time=1)
        self.repo.retrieve("alpha")

    def text(self) -> str:
        return " ".join(f"word{int(400 * pick**3)}" for pick in self.random.random(30)) + " alpha"

    def vector(self) -> np.ndarray:
        return self.random.standard_normal(DIM).astype(np.float32)

    def message(self, number: int) -> Message:
        return Message(("user", "assistant")[number % 2], f"{number} {self.text()}")

    def ingest(self) -> None:
        with self.repo.transaction() as tx:
            ingest(tx, [self.folder], root=self.folder)

    @contextmanager
    def cost(self, name: str) -> Iterator[None]:
        """Counts what is done inside."""
        calls = 0

        def note(frame: FrameType, event: str, _: Any) -> None:
            nonlocal calls
            code = frame.f_code
            if event == "call" and code.co_name[0] != "<":  # comprehensions are no calls in 3.12
                file = code.co_filename
                calls += file.startswith(HOUSE) and not file.startswith(OUTSIDE)

        before = self._counts()
        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(None)
        counts = {key: count - before[key] for key, count in self._counts().items()}
        self.costs[name] = {"calls": calls} | counts

    def _counts(self) -> Counts:
        store = self.store
        return {
            "cells read": store.cell_read_count,
            "reads": store.read_count,
            "blocks read": store.read_blocks,
            "bytes read": store.read_bytes,
            "commits": store.publish_count,
            "blocks written": store.block_count,
            "bytes written": store.size_bytes,
        }


def run(folder: Path) -> dict[str, Counts]:
    """Returns the counts of every call, each the second of its kind: the first fills caches."""
    codec.use_engine("cbor2")  # the one that is always there
    ledger = Ledger(folder)
    repo = ledger.repo

    def twice(name: str, call: Callable[[int], object]) -> None:
        call(0)
        with ledger.cost(name):
            call(1)

    def commit(turn: int) -> None:
        with repo.transaction() as tx:
            node = tx.add_node("Label0", summary=ledger.text(), key=["new", turn])
            tx.set_vector(node, model=MODEL, vector=ledger.vector())
            tx.add_edge(node, "next", ledger.ids[turn])

    def load(turn: int) -> None:
        with repo.transaction() as tx:
            for number in range(200):
                tx.add_node("Label1", summary=ledger.text(), key=["load", turn, number])

    def edit(turn: int) -> None:
        page = ledger.folder / f"{turn}.md"
        page.write_text(page.read_text() + f"\nOne more line, {turn}.\n")
        ledger.ingest()

    def merge(turn: int) -> None:
        repo.branch(f"side{turn}")
        for branch in (f"side{turn}", "main"):
            with repo.transaction(branch=branch) as tx:
                for number in range(20):
                    tx.add_node("Label2", summary=ledger.text(), key=[branch, turn, number])
        with ledger.cost(f"merge {turn}"):
            repo.merge(f"side{turn}")

    twice("commit of one node", commit)
    twice("commit of 200 nodes", load)
    twice("commit of one edited document of 40", edit)
    merge(0)
    merge(1)
    ledger.costs["merge of 20 nodes on each side"] = ledger.costs.pop("merge 1")
    del ledger.costs["merge 0"]
    repo.retrieve("alpha")
    twice("question by words", lambda turn: repo.retrieve(f"alpha word{turn} word{turn + 40}"))
    twice(
        "question by words and vector",
        lambda turn: repo.retrieve(f"alpha word{turn}", vector=(MODEL, ledger.vector())),
    )
    twice("packs", lambda turn: repo.packs(f"part word{turn}"))
    twice("prompt of 1,000 tokens", lambda turn: repo.prompt(f"word{turn}", token_budget=1000))
    twice(
        "context of a conversation",
        lambda turn: ledger.talks.context(f"word{turn}", thread="talk", token_budget=1000),
    )

    def ask_after_commit(turn: int) -> None:
        commit(turn + 2)
        repo.retrieve(f"alpha word{turn}")

    twice("commit of one node, then a question", ask_after_commit)
    twice(
        "messages appended",
        lambda turn: ledger.talks.append("talk", [ledger.message(turn)], time=2 + turn),
    )
    twice("log, all of it", lambda turn: list(repo.history.log()))
    twice("diff of the last three commits", lambda turn: list(repo.history.diff("HEAD~3")))
    twice("blame", lambda turn: repo.history.blame(ledger.ids[turn]))
    twice("erasure of one node", lambda turn: repo.maintenance.erase(ledger.ids[10 + turn]))
    twice("fsck", lambda turn: repo.maintenance.fsck())
    twice("gc", lambda turn: repo.maintenance.gc())
    unknown = [f"q{letter}{number}qqq" for letter in "abcdefgh" for number in range(100)]
    twice(
        "question of 400 unknown words",
        lambda turn: repo.retrieve(" ".join(unknown[400 * turn : 400 * turn + 400])),
    )
    return ledger.costs


def dearer(found: dict[str, Counts], kept: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Returns the counts that rose by more than is let pass, with both values."""
    return {
        f"{name}: {key}": f"{count:,}, was {kept[name][key]:,}"
        for name, counts in found.items()
        for key, count in counts.items()
        if count * 100 > kept.get(name, {}).get(key, -1) * (100 + RISE_PERCENT) and name in kept
    }


def main(reason: str) -> None:
    """Brings `costs.json` up to date."""
    kept: dict[str, dict[str, Any]] = json.loads(COSTS.read_text()) if COSTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder))
    if (rises := dearer(found, kept)) and not reason:
        raise SystemExit("\n".join(f"{name} {counts}" for name, counts in rises.items()))
    for name, counts in found.items():
        before = kept.get(name, {})
        is_dearer = bool(dearer({name: counts}, kept))
        lower = {key: min(count, before.get(key, count)) for key, count in counts.items()}
        reasons = {"reason": reason if is_dearer else before.get("reason")}
        kept[name] = (counts if is_dearer else lower) | {k: v for k, v in reasons.items() if v}
    kept = {name: kept[name] for name in found}
    COSTS.write_text(json.dumps(kept, indent=1) + "\n")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Counts]]:
    engine = codec.engine_name()
    yield run(tmp_path_factory.mktemp("costs"))
    codec.use_engine(engine)


@pytest.mark.slow
def test_no_call_costs_more_without_a_reason(found: dict[str, Counts]) -> None:
    kept = json.loads(COSTS.read_text())
    assert found.keys() == kept.keys()
    assert not dearer(found, kept), "python tests/acceptance/test_costs.py 'why it is worth it'"


def test_a_rise_is_found() -> None:
    kept = {"question": {"reads": 100, "calls": 0}}
    assert not dearer({"question": {"reads": 105, "calls": 0}}, kept)
    assert dearer({"question": {"reads": 106, "calls": 0}}, kept) == {
        "question: reads": "106, was 100"
    }
    assert dearer({"question": {"reads": 1, "calls": 1}}, kept) == {"question: calls": "1, was 0"}


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))

"""Power loss: every file that the recorded writes could leave opens to the old or the new state.

Needs strace; without it these tests are skipped, and the summary says so.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.errors import IbidemError

from .recording import Event, Sync, Write, lossy, prefixes, record, torn

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")

COMMITS = 6
PROGRAM = """
import sys, ibidem
with ibidem.open(sys.argv[1]) as repo:
    for number in range(int(sys.argv[2])):
        with repo.transaction(time=number) as tx:
            tx.add_node("Doc", content=bytes(3000 * (number % 4)), summary=str(number), key=number)
            if number:
                tx.remove_node(tx.add_node("Doc", summary="was here"))
        print(tx.commit.cid, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A repository before, what a process then did to its data file, and the heads it made."""

    folder: Path
    before: bytes
    events: list[Event]
    heads: list[str | None]

    @property
    def file(self) -> Path:
        return self.folder / ".ibidem" / "blocks" / "data.mdb"

    def heads_done(self, events: int) -> int:
        """How many commits had become durable after so many events: their last write is synced."""
        done = self.events[:events]
        return sum(isinstance(event, Write) and event.is_synced for event in done)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("power")
    ibidem.init(folder).close()
    file = folder / ".ibidem" / "blocks" / "data.mdb"
    before = file.read_bytes()
    try:
        events, said = record(PROGRAM, [str(folder), str(COMMITS)], file, folder / "calls")
    except FileNotFoundError:
        pytest.skip("this system does not let strace attach")
    recorded = Recorded(folder, before, events, [None, *said.split()])
    assert recorded.heads_done(len(events)) == COMMITS
    assert recorded.file.read_bytes().startswith(bytes(_after(recorded)))
    return recorded


def _after(recorded: Recorded) -> bytes:
    *_, (_, last) = prefixes(recorded.before, recorded.events)
    return last


def heads(recorded: Recorded, states: Iterable[tuple[int, bytes]]) -> list[tuple[int, int]]:
    """Opens each state; (commits durable by then, commits found) of each, all of it checked."""
    found = []
    for events, data in states:
        recorded.file.unlink()  # a file of another identity: nothing that is open is shared
        recorded.file.write_bytes(data)
        with ibidem.open(recorded.folder) as repo:
            for cid in repo.core.store.cids():
                repo.core.store.get(cid)
            log = [str(commit.cid) for commit in repo.history.log()] if repo.head else []
            nodes = len(list(repo.at("HEAD").nodes()))
        assert log == [head for head in recorded.heads[: len(log) + 1] if head][::-1]
        assert nodes == len(log)
        found.append((recorded.heads_done(events), len(log)))
    return found


def test_every_prefix_of_the_writes_opens_to_the_old_or_the_new_state(recorded: Recorded) -> None:
    found = heads(recorded, prefixes(recorded.before, recorded.events))
    assert all(done == seen for done, seen in found)
    assert {seen for _, seen in found} == set(range(COMMITS + 1))


def test_a_write_that_was_cut_opens_to_the_old_state(recorded: Recorded) -> None:
    found = heads(recorded, torn(recorded.before, recorded.events))
    assert len(found) > 50
    assert all(done == seen for done, seen in found)


@pytest.mark.parametrize(
    "count", [150, pytest.param(3000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_writes_lost_between_syncs_lose_nothing_that_was_durable(
    recorded: Recorded, count: int
) -> None:
    states = lossy(recorded.before, recorded.events, random.Random(1), count)
    assert all(done <= seen for done, seen in heads(recorded, states))


def test_the_harness_finds_a_store_that_does_not_sync(recorded: Recorded) -> None:
    careless: list[Event] = [
        replace(event, is_synced=False) if isinstance(event, Write) else event
        for event in recorded.events
        if not isinstance(event, Sync)
    ]
    states = lossy(recorded.before, careless, random.Random(1), 60)
    with pytest.raises((AssertionError, IbidemError)):
        heads(replace(recorded, events=recorded.events), states)

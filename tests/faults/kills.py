"""Kills a working process at random moments: `python -m tests.faults.kills SCENARIO --kills 1000`.

Each round forks a process that works, kills it after a random time (in every second round counted
from what it first acknowledges), and lets another process look:
everything that was acknowledged is there, every byte that can be reached is sound, and the next
commit works without a repair. Zero failures of n bound the rate at 3/n (95 %).
"""

from __future__ import annotations

import argparse
import io
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import ibidem
from ibidem.objects.derive import node_id
from ibidem.repo.state import ERASING_CELL

from .scenarios import SCENARIOS

ROUNDS_A_REPOSITORY = 40
SECONDS_MAX = 0.12


def kill_many(scenario: str, kills: int, seed: int, folder: Path) -> int:
    """Runs the rounds and returns how many nodes were acknowledged in all.

    Raises:
        AssertionError: a check failed; its traceback is on standard error.
    """
    _import_all()
    chance, acknowledged = random.Random(seed), 0
    for number in range(kills):
        repository = folder / str(number // ROUNDS_A_REPOSITORY)
        if number % ROUNDS_A_REPOSITORY == 0:
            ibidem.init(repository).close()
        said = repository / "said"
        worker = _forked(lambda: _work(scenario, repository, said, f"{seed} {number}"))  # noqa: B023
        if number % 2:  # a busy machine would kill every worker before it has said anything
            _wait_for_more(said, len(_names(said)))
        time.sleep(chance.random() * SECONDS_MAX)
        os.kill(worker, signal.SIGKILL)
        _, status = os.waitpid(worker, 0)
        assert os.WIFSIGNALED(status), f"round {number}: the worker ended by itself"
        checker = _forked(lambda: check(repository, _names(said)))  # noqa: B023
        _, status = os.waitpid(checker, 0)
        assert status == 0, f"round {number} of seed {seed}: {repository} is not as promised"
        if (number + 1) % ROUNDS_A_REPOSITORY == 0 or number + 1 == kills:
            acknowledged += len(_names(said))
    return acknowledged


def check(folder: Path, names: list[str]) -> None:
    """Raises unless all names are there, everything is sound and the next commit works."""
    with ibidem.open(folder) as repo:
        found = {node.id for node in repo.at("HEAD").nodes()} if repo.head else set()
        keys, remotes = repo.keys.ring.trust().keys, repo.sync.remotes.all()

        def is_there(name: str) -> bool:
            kind, _, rest = name.rpartition(":")
            if kind == "revoked":
                return rest in keys and keys[rest].is_revoked
            return rest in remotes if kind else node_id("", name) in found

        missing = [name for name in names if not is_there(name)]
        assert not missing, f"acknowledged and lost: {missing}"
        with repo.transaction(author="eve") as tx:
            tx.add_node("After", unique=True)
        assert repo.core.store.cell(ERASING_CELL) is None  # what was cut short was done on opening
        faults = repo.maintenance.fsck().faults
        assert not faults, faults


def _import_all() -> None:
    """Imports what the scenarios use, so that a round spends its time working."""
    with ibidem.init() as repo:
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="warm")
        repo.retrieve("warm")
        repo.maintenance.gc()
        stream = io.BytesIO()
        repo.sync.export(stream)
        stream.seek(0)
        repo.sync.load(stream)
        repo.branch("side")
        repo.merge("side")
        repo.maintenance.fsck()


def _work(scenario: str, folder: Path, said: Path, seed: str) -> None:
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    SCENARIOS[scenario](
        folder, random.Random(seed), lambda name: _write(descriptor, f"{name}\n".encode())
    )


def _write(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data)


def _wait_for_more(said: Path, already: int) -> None:
    """Waits until one more is acknowledged, or so long that another check will say why not."""
    for _ in range(24_000):
        if len(_names(said)) > already:
            return
        time.sleep(0.005)


def _names(said: Path) -> list[str]:
    return said.read_text().split() if said.exists() else []


def _forked(work: Callable[[], None]) -> int:
    """Starts `work` in a process of its own; its status is 0 when it returned."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    """Runs one scenario and prints what was seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.kills")
    parser.add_argument("scenario", choices=sorted(SCENARIOS))
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count = kill_many(arguments.scenario, arguments.kills, arguments.seed, Path(folder))
    print(f"{arguments.scenario}: {arguments.kills} kills, {count} acknowledged nodes, none lost")


if __name__ == "__main__":
    main()

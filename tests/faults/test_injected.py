"""Kills and failed calls at exact places in many kinds of work lose nothing that was acknowledged.

Needs strace; without it these tests are skipped, and the summary says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cases import by_suite

from .injected import Row, can_trace, disturb, injection_of, table
from .kinds import KINDS, Kind, LostError


@pytest.fixture(scope="module", autouse=True)
def tracing() -> None:
    if not can_trace():
        pytest.skip("needs strace, and a system that lets it attach")


@pytest.mark.parametrize("runs", by_suite([2, 8], slow=1))
@pytest.mark.parametrize("what", ["kills", "errors"])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_disturbed_worker_loses_nothing(name: str, what: str, runs: int, tmp_path: Path) -> None:
    row = disturb(KINDS[name], runs, seed=7, is_kill=what == "kills", folder=tmp_path)
    said = table({(name, what): row})
    assert row.tries == runs
    assert row.lost == 0, said
    assert not row.faults, said


def test_the_harness_kills_and_sees_what_is_lost(tmp_path: Path) -> None:
    kind = KINDS["remote"]

    def check(folder: Path, said: list[str], is_killed: bool) -> None:
        assert is_killed
        raise LostError("everything")

    def undisturbed(folder: Path, said: list[str], is_killed: bool) -> None:
        if is_killed:
            check(folder, said, is_killed)

    row = disturb(
        Kind("remote", kind.make, kind.steps, undisturbed),
        2,
        seed=1,
        is_kill=True,
        folder=tmp_path,
    )
    assert (row.tries, row.struck, row.lost) == (2, 2, 2)
    assert "LOST everything" in table({("remote", "kills"): row})


def test_a_row_is_added_to_another() -> None:
    row = Row(1, 1, 5, 0, 1, ["a"])
    row.add(Row(2, 1, 3, 1, 0, ["b"]))
    assert row == Row(3, 2, 8, 1, 1, ["a", "b"])


def test_what_is_injected_follows_from_the_seed() -> None:
    import random

    calls = {"write": 3, "fsync": 2}
    found = {injection_of(random.Random(seed), calls, is_kill=False) for seed in range(50)}
    assert found == {injection_of(random.Random(seed), calls, is_kill=False) for seed in range(50)}
    assert all(one.startswith(("write:error=E", "fsync:error=E")) for one in found)

"""Copies that an attacker changed are refused, or let in and then harmless."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import click
import pytest
from tests.cases import by_suite

from . import commands, limits, mutator
from .cases import Case, Taken, changed, written
from .commands import every_command
from .doors import BlobCid, fetch_push
from .graph import Copy, read_car

MINUTES = 2.0
"""How long copies are made and asked in CI."""
SEED = 10


@pytest.fixture(scope="module")
def found() -> dict[str, bytes]:
    return mutator.sources()


@pytest.mark.parametrize("cases_max", by_suite([6, 96], slow=1))
def test_changed_copies_are_refused_or_harmless(
    found: dict[str, bytes], cases_max: int, tmp_path: Path
) -> None:
    """A quicker machine asks no other questions: more cases are for the command line."""
    tally = mutator.search_in_jobs(
        SEED,
        jobs=2,
        seconds=MINUTES * 60,
        save=tmp_path / "found",
        found=found,
        cases_max=cases_max,
    )
    said = mutator.report(tally)
    assert not tally.found, said
    assert tally.accepted > 5, said


def test_a_copy_is_read_and_written_as_it_was(found: dict[str, bytes]) -> None:
    for name, data in found.items():
        assert Copy.read(data).write() == data, name


@pytest.mark.slow
def test_the_copies_are_the_same_each_time(found: dict[str, bytes]) -> None:
    assert mutator.sources() == found


def test_the_copies_have_a_block_of_every_kind(found: dict[str, bytes]) -> None:
    kinds = {block.kind for data in found.values() for block in Copy.read(data).blocks()}
    assert kinds >= {
        *("node", "edge", "vector", "sparse", "tombstone", "conflict", "root", "commit", "tree"),
        *("ref", "view", "operation", "receipt", "step", "erasure", "bundle", "raw"),
    }


def test_a_seed_gives_the_same_copy_with_other_hashes(found: dict[str, bytes]) -> None:
    case = Case("7", "library-bundle", "import", (0, 1, 2))
    first, done = changed(case, found)
    again, _ = changed(case, found)
    data = written(first)
    assert data == written(again) != found["library-bundle"]
    assert done
    root, blocks = read_car(data)
    assert root in blocks


def test_every_command_is_asked_with_arguments_that_click_takes(
    found: dict[str, bytes], tmp_path: Path
) -> None:
    """A parameter that is new gets a value by its name or type, so nothing is forgotten."""
    data = tmp_path / "copy.car"
    data.write_bytes(found["library-bundle"])
    (tmp_path / "files").mkdir()
    world = commands.World(Copy.read(found["library-bundle"]), Random(1), tmp_path / "files", data)
    every = every_command()
    assert len(every) == len({name for name, _ in every}) > 90
    assert {name for name, _ in every} >= commands.READS | commands.SKIPPED.keys()
    for name, command in every:
        given = commands.arguments(name, command, world)
        words = name.split()
        assert given[: len(words)] == words
        with click.Context(command, info_name=name) as context:
            command.make_parser(context).parse_args(given[len(words) :])


def test_a_refused_fetch_may_leave_its_erasures_and_nothing_else(
    found: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IBIDEM_AUTHOR", "eve")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    copy, _ = changed(Case("7", "erased-full", "pull", ()), found)
    copy.root.value["refs"]["receipts/abcd"] = copy.root.value["refs"]["heads/main"]
    data = written(copy)

    def take(folder: str) -> list[str]:
        return faults_of(lambda child: _refused(Taken(child, tmp_path / folder, data)))

    assert take("as it is") == []
    fetch = fetch_push.fetch

    def leaving_more(repository: Any, *given: Any, **named: Any) -> Any:
        try:
            return fetch(repository, *given, **named)
        except Exception:
            repository.store.put({BlobCid.of(b"more"): b"more"})
            raise

    with monkeypatch.context() as patch:
        patch.setattr(fetch_push, "fetch", leaving_more)
        assert take("with more") == ["changed"]
    monkeypatch.setattr(Taken, "_told", lambda self: [])
    assert take("without the exception") == ["changed"]


def _refused(taken: Taken) -> None:
    assert taken.take("pull") == "corrupt"


def faults_of(work: Callable[[limits.Child], None]) -> list[str]:
    return [event["kind"] for event in limits.run(work) if event["event"] == "fault"]


def test_a_limit_that_is_broken_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS_MAX", 0.3)

    def busy(child: limits.Child) -> None:
        with child.limited("busy"):
            while True:
                pass

    def large(child: limits.Child) -> None:
        with child.limited("large"):
            assert len(b"x" * (limits.MEGABYTES_MAX + 100 << 20))

    def dead(child: limits.Child) -> None:
        limits.os.abort()

    def fine(child: limits.Child) -> None:
        with child.limited("fine"):
            pass

    assert faults_of(busy) == ["time"]
    monkeypatch.undo()
    assert faults_of(large) == ["memory"]
    assert faults_of(dead) == ["hang"]
    assert faults_of(fine) == []


def test_two_faults_of_one_place_are_one_finding() -> None:
    trace = f'File "{limits.ROOT}/repo/x.py", line 7, in f\n(most recent call last)'
    one = {"kind": "untyped", "what": json.dumps(["-R", "a", "log"]), "error": "KeyError: 'a'"}
    other = {**one, "what": json.dumps(["-R", "b", "log"]), "error": "KeyError: 'b'"}
    assert mutator.signature({**one, "trace": trace}) == mutator.signature(
        {**other, "trace": trace}
    )
    assert limits.where(trace) == "repo/x.py:7 f"


def test_the_place_of_a_fault_is_the_innermost_one_of_the_product() -> None:
    frames = [f'File "{limits.ROOT}/{path}", line 7 in f' for path in ("repo/x.py", "cli/y.py")]
    outside = 'File "/usr/lib/python3/json.py", line 1 in g'
    stopped = "\n".join(("Current thread (most recent call first):", outside, *frames))
    raised = "\n".join(("Traceback (most recent call last):", *reversed(frames), outside))
    assert limits.where(stopped) == limits.where(raised) == "repo/x.py:7 f"
    assert limits.where(outside) == "nowhere"

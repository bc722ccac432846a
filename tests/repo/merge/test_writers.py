"""Many writers on one branch: all that they wrote is there, in one line of commits."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import ibidem
from ibidem.objects.cid import Cid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ConflictError, ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.node import Node
from ibidem.repo.events import reinforce_event
from ibidem.repo.repository import Repository
from ibidem.repo.state import State
from ibidem.store.testing import run_together

BENCH = Path(__file__).resolve().parents[3] / "bench" / "writers.py"


def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_writers", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["memory", "disk"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    repo = ibidem.init("memory:" if request.param == "memory" else tmp_path)
    with repo.transaction() as tx:
        tx.add_node("Hub", summary="hub", key="hub", props={"count": 0})
    return repo


HUB = node_id("", "hub")


def test_threads_on_one_node_lose_no_property(shared: Repository) -> None:
    def work(writer: int) -> None:
        for number in range(5):
            with shared.transaction(author=str(writer)) as tx:
                tx.update_node(HUB, set_props={f"of {writer}": number, f"{writer} {number}": True})

    run_together(*(lambda writer=writer: work(writer) for writer in range(4)))
    props = shared.at().node(HUB).props
    assert all(props[f"of {writer}"] == 4 for writer in range(4))
    assert sum(value is True for value in props.values()) == 20
    assert shared.conflicts() == []
    assert len(list(shared.history.log())) == 21
    shared.close()


def test_threads_that_write_one_property_are_all_recorded(shared: Repository) -> None:
    begun = [shared.transaction(message=str(number)) for number in range(6)]
    for number, tx in enumerate(begun):
        tx.update_node(HUB, summary=f"writer {number}")
    run_together(*(lambda tx=tx: tx.publish() for tx in begun))
    (found,) = shared.conflicts()
    said = {summary_of(shared, side) for side in found.conflict.sides}
    assert said == {f"writer {number}" for number in range(6)}
    shared.close()


def summary_of(repo: Repository, cid: Cid) -> str | None:
    return Node.decode(repo.core.store.get(cid)).summary


def test_counting_needs_refusal_and_gets_it(shared: Repository) -> None:
    def count_up() -> None:
        while True:
            try:
                with shared.transaction(on_conflict="raise") as tx:
                    count = tx.node(HUB).props["count"]
                    tx.update_node(HUB, set_props={"count": count + 1})
            except ConflictError:
                continue
            return

    run_together(*(count_up for _ in range(8)))
    assert shared.at().node(HUB).props["count"] == 8
    assert shared.conflicts() == []
    shared.close()


@pytest.mark.parametrize("is_changed", [True, False])
def test_events_that_depend_on_a_node_are_refused_if_it_has_changed(
    shared: Repository, is_changed: bool
) -> None:
    tx = shared.transaction()
    tx.require_unchanged(HUB)
    tx.note("memory", [reinforce_event(HUB, None, "ann")])
    with shared.transaction() as theirs:
        theirs.add_node("Hub", summary="theirs", key="hub" if is_changed else "other", replace=True)
    if is_changed:
        with pytest.raises(ConflictError, match=str(HUB)):
            tx.publish()
    else:
        tx.publish()
    assert (shared.notes.space().head is None) is is_changed
    shared.close()


def test_another_choice_is_refused(shared: Repository) -> None:
    with pytest.raises(InvalidInputError, match="on_conflict"):
        shared.transaction(on_conflict="retry")
    shared.close()


def test_a_reader_sees_whole_states_only(shared: Repository) -> None:
    done: list[bool] = []

    def write() -> None:
        for number in range(12):
            with shared.transaction() as tx:
                ids = [tx.add_node("Pair", key=[number, side]) for side in range(2)]
                tx.add_edge(ids[0], "with", ids[1])
        done.append(True)

    def read() -> None:
        while not done:
            at = shared.at()
            pairs: dict[object, int] = {}
            for node in at.query(label="Pair"):
                assert node.key is not None
                number = node.key[1][0]
                pairs[number] = pairs.get(number, 0) + 1
            assert set(pairs.values()) <= {2}

    run_together(write, read, read)
    shared.close()


@pytest.mark.slow
def test_a_writer_that_sleeps_in_its_turn_holds_nobody_up_for_good(tmp_path: Path) -> None:
    from ibidem.store.lmdb.writer_queue import turn

    with ibidem.init(tmp_path) as repo, turn(tmp_path / ".ibidem" / "blocks") as is_free:
        assert is_free
        with repo.transaction() as tx:
            tx.add_node("Doc", key="a")
        assert tx.commit is not None


def test_a_state_that_was_collected_meanwhile_is_a_lost_race() -> None:
    calls = 0

    def attempt(_: State) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            with repo.transaction() as tx:
                tx.add_node("Doc", key="meanwhile")
        if calls < 3:
            raise NotFoundError("collected", kind=ErrorKind.BLOCK_NOT_FOUND)
        return "done"

    with ibidem.init("memory:") as repo, pytest.raises(NotFoundError):
        repo.core.operation_log.retry(attempt)
    assert calls == 2, "once more after the head moved, and no more while it stands"


def test_processes_on_one_branch_lose_nothing(tmp_path: Path) -> None:
    bench().run(2, 6, 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("readers", [0, 4])
def test_eight_processes_of_two_hundred_commits_lose_nothing(tmp_path: Path, readers: int) -> None:
    bench().run(8, 200, readers, tmp_path)

"""Which snapshots stay on disk, and the order in which they were used."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pyroaring import BitMap

from ibidem.index.manifest import Manifest
from ibidem.index.retention import SNAPSHOTS_MAX, USES, Retention, UseLog
from ibidem.index.snapshot_registry import SnapshotRegistry
from ibidem.objects.cid import RootCid

ROOTS = [RootCid.of(bytes([number])) for number in range(40)]
ALL = dict.fromkeys(map(str, ROOTS))


def manifest(number: int, *names: str) -> Manifest:
    return Manifest(ROOTS[number], number + 1, names, (), BitMap())


def gone(
    found: list[Manifest], used: list[int], *, heads: Collection[int] = (), budget: int | None
) -> list[int]:
    """Returns which roots go, the current one being the first; each segment has 10 bytes, each
    manifest one."""
    retention = Retention(frozenset([ROOTS[0]]), lambda: {ROOTS[one] for one in heads}, budget)
    ranks = {str(ROOTS[one]): place for place, one in enumerate(used)}
    surplus = retention.surplus(found, lambda: ranks, lambda _: 10, lambda _: 1)
    return [ROOTS.index(one.root) for one in surplus]


def test_the_least_recently_used_goes_first_and_the_current_one_never():
    found = [manifest(number, f"s{number}") for number in range(5)]
    heads = range(5)
    assert gone(found, [0, 3, 1, 4, 2], heads=heads, budget=44) == []
    assert gone(found, [0, 3, 1, 4, 2], heads=heads, budget=43) == [3]
    assert gone(found, [0, 3, 1, 4, 2], heads=heads, budget=22) == [1, 3]
    assert gone(found, [0, 3, 1, 4, 2], heads=heads, budget=0) == [2, 4, 1, 3]


def test_a_segment_of_several_is_counted_once_and_one_of_the_current_head_never():
    found = [manifest(number, "all", "some" if number else "first") for number in range(4)]
    assert gone(found, [0, 1, 2, 3], heads=range(4), budget=13) == []
    assert gone(found, [0, 1, 2, 3], heads=range(4), budget=12) == [1]


def test_heads_stay_before_others_however_long_ago_they_were_used():
    found = [manifest(number, f"s{number}") for number in range(4)]
    assert gone(found, [1, 0, 2, 3], heads=[0, 1], budget=22) == [2]
    assert gone(found, [1, 0, 2, 3], heads=[0, 1], budget=11) == [3, 2]


def test_of_others_only_the_last_few_stay_and_of_heads_all():
    found = [manifest(number, f"s{number}") for number in range(40)]
    heads = range(0, 40, 2)
    left = gone(found, list(range(40)), heads=heads, budget=None)
    assert len(left) == 20 - (SNAPSHOTS_MAX - 1)
    assert set(left) == {1, 3, 5, 7, 9}


def test_the_heads_are_not_read_if_nothing_may_have_to_go():
    def read() -> frozenset[RootCid]:
        raise AssertionError

    found = [manifest(number, "s") for number in range(SNAPSHOTS_MAX)]
    retention = Retention(heads=read, budget_bytes=100)
    assert retention.surplus(found, dict, lambda _: 10, lambda _: 1) == []


def test_the_order_of_use_outlives_the_process_and_another_one(tmp_path: Path):
    one, other = UseLog(tmp_path), UseLog(tmp_path)
    for log, name in ((one, "a"), (other, "b"), (one, "c"), (one, "c"), (other, "a")):
        log.note(name)
    assert sorted(one.ranks(), key=UseLog(tmp_path).ranks().__getitem__) == ["b", "c", "a"]
    assert (tmp_path / USES).read_bytes() == b"a\nb\nc\na\n"
    UseLog(tmp_path).note("a")
    assert (tmp_path / USES).read_bytes() == b"a\nb\nc\na\n"


def test_the_order_is_written_anew_before_it_is_long(tmp_path: Path):
    log = UseLog(tmp_path)
    for number in range(600):
        log.note("xyz"[number % 3])
        log.shorten({"x", "y"})
    assert len((tmp_path / USES).read_bytes()) < 600
    ranks = log.ranks()
    assert ranks["x"] < ranks["y"]


def test_a_line_cut_off_and_a_folder_that_is_gone_cost_the_order_only(tmp_path: Path):
    log = UseLog(tmp_path)
    (tmp_path / USES).write_bytes(b"a\n\xff\nb")
    log.note("c")
    assert set(log.ranks()) & {"a", "b", "c"} == {"a"}
    lost = UseLog(tmp_path / "gone")
    lost.note("a")
    assert lost.ranks() == {}


def test_a_file_that_goes_while_the_size_is_measured_is_not_counted(tmp_path: Path):
    registry = SnapshotRegistry(tmp_path)
    segments = tmp_path / "segments"
    segments.mkdir()
    (segments / "one").write_bytes(b"12345")
    (segments / "gone").symlink_to(tmp_path / "nowhere")  # listed, and then not found
    assert registry.size_bytes() == 5

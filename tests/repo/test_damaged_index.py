"""Whatever happens to the files of the index, the next question is answered, and alike."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.index import manifest
from ibidem.index.segments import store
from ibidem.repo.repository import Repository

WORDS = ("retry", "budget", "deadline", "token", "index", "root", "merge", "commit")


def answer(path: Path) -> bytes:
    """Asks everything that reads an index, in a repository opened anew."""
    with ibidem.open(path) as repo:
        found = repo.retrieve(
            "retry budget index",
            label="Note",
            where={"size": 3},
            vector=("m", np.arange(8, dtype=np.float32)),
            limit=5,
        )
        one = repo.query(label="Note", limit=1)[0]
        edges = b"".join(edge.id.raw for edge in repo.at().edges_of(one.id))
        return found.to_bytes() + edges


def make(path: Path) -> bytes:
    """Makes a repository whose index has every family, and returns its answer."""
    draw = random.Random(5)
    with ibidem.init(path) as repo:
        for commit in range(2):
            with repo.transaction(author="ada", message="more") as tx:
                ids = []
                for number in range(300):
                    text = " ".join(draw.choices(WORDS, k=12))
                    key = [commit, number]
                    node = tx.add_node("Note", summary=text, props={"size": number % 7}, key=key)
                    vector = np.array([draw.random() for _ in range(8)], np.float32)
                    tx.set_vector(node, model="m", vector=vector)
                    tx.set_sparse(node, vocab="s", indices=[number % 9], weights=[0.5])
                    ids.append(node)
                for number, source in enumerate(ids):
                    tx.add_edge(source, "next", ids[(number + 1) % len(ids)])
            repo.retrieve("retry")
    return answer(path)


def files(path: Path) -> list[Path]:
    return sorted(path for path in (path / ".ibidem" / "index").rglob("*") if path.is_file())


def flip(path: Path, share: float) -> None:
    data = bytearray(path.read_bytes())
    data[int((len(data) - 1) * share)] ^= 0x55
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-70])


@pytest.mark.parametrize("small_bytes", [store.SMALL_BYTES, 256])
@pytest.mark.parametrize(
    "harm",
    [
        *(Path.unlink, cut, lambda path: flip(path, 0.6)),
        *(
            pytest.param(lambda path, s=s: flip(path, s), marks=pytest.mark.slow)
            for s in (0, 0.3, 0.9, 1)
        ),
    ],
)
def test_each_damaged_file_in_turn_leaves_the_answer_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: Callable[[Path], None],
    small_bytes: int,
):
    monkeypatch.setattr(store, "SMALL_BYTES", small_bytes)
    expected = make(tmp_path)
    for file in files(tmp_path):
        if file.exists():
            harm(file)
            assert answer(tmp_path) == expected, file.name


def rot(path: Path, share: float) -> None:
    """Changes a file so that only reading it tells."""
    before = path.stat()
    data = bytearray(path.read_bytes())
    start = int(len(data) * share) // 8 * 8
    data[start : start + 64] = b"\xff" * len(data[start : start + 64])
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_silent_damage_leaves_the_answer_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
):
    monkeypatch.setattr(store, "SMALL_BYTES", 256)
    expected = make(tmp_path)
    for file in files(tmp_path):
        if file.exists() and file.parent.name == "segments":
            rot(file, share)
            assert answer(tmp_path) == expected, file.name


def test_a_bit_of_the_best_vector_of_a_large_segment_changes_no_answer(tmp_path: Path):
    draw = np.random.default_rng(1)
    rows = draw.standard_normal((1_600, 384)).astype(np.float32)
    with ibidem.init(tmp_path, clock=lambda: 0) as repo:
        with repo.transaction() as tx:
            for number, row in enumerate(rows):
                tx.set_vector(tx.add_node("N", key=number), model="m", vector=row)
        expected = repo.retrieve(vector=("m", rows[7]), limit=3).to_bytes()
    file = max(files(tmp_path), key=lambda path: path.stat().st_size)
    assert file.stat().st_size > store.SMALL_BYTES
    before, data = file.stat(), bytearray(file.read_bytes())
    data[data.index(rows[7].tobytes()) + 30] ^= 0x40
    file.write_bytes(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with ibidem.open(tmp_path, clock=lambda: 0) as repo:
        assert not repo.maintenance.fsck().is_clean
        assert repo.retrieve(vector=("m", rows[7]), limit=3).to_bytes() == expected
        assert repo.maintenance.fsck().is_clean


def asked_of_damage(repo: Repository) -> list[int]:
    calls = []

    def question(snapshot):
        calls.append(len(snapshot.live))
        if len(calls) == 1:
            raise IndexError("a column says nonsense")
        return calls

    return repo.at().with_snapshot(question)


def test_a_question_that_fails_without_damage_raises_as_it_did(tmp_path: Path):
    make(tmp_path)
    with ibidem.open(tmp_path) as repo, pytest.raises(IndexError, match="nonsense"):
        asked_of_damage(repo)


def test_a_question_that_fails_with_damage_is_asked_of_an_index_made_anew(tmp_path: Path):
    make(tmp_path)
    with ibidem.open(tmp_path) as repo:
        repo.retrieve("retry")
        damaged = max(files(tmp_path), key=lambda path: path.stat().st_size)
        flip(damaged, 0.7)
        assert asked_of_damage(repo) == [600, 600]
        assert repo.core.search_index.current.verify(repo.at().root_cid) == []


def test_an_index_of_another_version_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    expected = make(tmp_path)
    monkeypatch.setattr(manifest, "INDEX_VERSION", manifest.INDEX_VERSION + 1)
    with ibidem.open(tmp_path) as repo:
        assert repo.core.search_index.current.stats().snapshot_count == 0
    assert answer(tmp_path) == expected


def test_every_other_room_asks_through_what_rebuilds():
    """`snapshot` of a graph is for `asked`, which asks again where files are damaged; what asks
    the snapshot itself would end in an error."""
    calls = re.compile(r"\.snapshot\(\)")
    rooms = [room for room in Path(ibidem.__file__).parent.iterdir() if room.is_dir()]
    found = {
        f"{room.name}/{path.relative_to(room.resolve()).as_posix()}"
        for room in rooms
        for path in room.resolve().rglob("*.py")
        if calls.search(path.read_text("utf-8"))
    }
    assert found == {
        "cli/demo.py",  # makes it, and asks it nothing
        "repo/access.py",
        "repo/graph.py",
    }

"""The index follows the head of who asks between commits, and waits for who only commits."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.index.index import Index
from ibidem.index.manifest import read_manifest
from ibidem.objects.cid import RootCid
from ibidem.repo.repository import Repository
from ibidem.retrieve.filter import view_of
from ibidem.retrieve.lexical.statistics import statistics_of


def commit(repo: Repository, *texts: str) -> RootCid:
    with repo.transaction() as tx:
        for text in texts:
            tx.add_node("Doc", summary=text, key=text)
    return repo.at().root_cid


def written(folder: Path) -> set[str]:
    """Returns the names of the snapshots on disk, which are those of their roots."""
    return {file.name for file in (folder / ".ibidem/index/snapshots").iterdir()}


@pytest.fixture(params=["memory", "disk"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    return ibidem.init("memory:" if request.param == "memory" else tmp_path)


def test_who_asked_since_the_last_commit_finds_the_next_one_indexed(repo: Repository) -> None:
    assert not repo.core.search_index.current.is_remembered(commit(repo, "a first text"))
    for number in range(3):
        repo.retrieve("text")
        root = commit(repo, f"a text {number}")
        assert repo.core.search_index.current.is_remembered(root)
        assert len(repo.retrieve("text").items) == number + 2


def test_who_only_commits_does_not_wait_for_the_index(repo: Repository) -> None:
    commit(repo, "a first text")
    repo.retrieve("text")
    roots = [commit(repo, f"a text {number}") for number in range(3)]
    assert [repo.core.search_index.current.is_remembered(root) for root in roots] == [
        True,
        False,
        False,
    ]
    assert len(repo.retrieve("text").items) == 4


def test_a_large_commit_waits_for_who_asks(repo: Repository) -> None:
    repo.core.search_index.followed_blocks_max = 2
    commit(repo, "a first text")
    repo.retrieve("text")
    assert not repo.core.search_index.current.is_remembered(
        commit(repo, "one text", "two texts", "three texts")
    )
    assert (
        repo.core.search_index.current.is_remembered(commit(repo, "a last text")) is False
    )  # nobody asked in between
    assert len(repo.retrieve("text").items) == 5


def test_an_old_revision_that_is_asked_does_not_make_a_commit_build_an_index(
    repo: Repository,
) -> None:
    commit(repo, "a first text")
    first = repo.at()
    commit(repo, "a second text")
    first.retrieve("text")
    assert not repo.core.search_index.current.is_remembered(commit(repo, "a third text"))


def test_what_fails_in_the_index_is_told_to_who_asks_not_to_who_commits(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repo, "a first text")
    repo.retrieve("text")

    def broken(*arguments: object, **options: object) -> None:
        raise RuntimeError("broken")

    with monkeypatch.context() as patched:
        patched.setattr(Index, "snapshot", broken)
        commit(repo, "a second text")
        with pytest.raises(RuntimeError, match="broken"):
            repo.at().snapshot()
    assert len(repo.retrieve("text").items) == 2


def test_a_commit_does_not_wait_for_an_index_that_another_thread_makes(repo: Repository) -> None:
    commit(repo, "a first text")
    repo.retrieve("text")
    is_held, may_end = threading.Event(), threading.Event()

    def making() -> None:
        with repo.core.search_index.current._lock:
            is_held.set()
            may_end.wait()

    thread = threading.Thread(target=making)
    thread.start()
    is_held.wait()
    root = commit(repo, "a second text")
    may_end.set()
    thread.join()
    assert not repo.core.search_index.current.is_remembered(root)
    assert len(repo.retrieve("text").items) == 2


def test_commits_of_a_run_are_followed(repo: Repository) -> None:
    commit(repo, "a first text")
    with repo.runs.start("notes") as run:
        run.retrieve("text")
        with run.transaction() as tx:
            tx.add_node("Doc", summary="a second text")
        assert repo.core.search_index.current.is_remembered(repo.at().root_cid)
        assert len(run.retrieve("text").items) == 2


def test_few_of_the_snapshots_that_follow_commits_are_written(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        roots = []
        for number in range(20):
            roots.append(commit(repo, f"a text {number}"))
            expected = repo.retrieve("text", limit=20).to_json()
        assert written(tmp_path) == {str(root) for root in (roots[0], roots[8], roots[16])}
        assert repo.core.search_index.current.verify(roots[-1]) == []
    with ibidem.open(tmp_path) as repo:
        totals: list[int | None] = []
        repo.core.progress = lambda _, __, total: totals.append(total)
        assert repo.retrieve("text", limit=20).to_json() == expected
        assert totals[0] is None, "only what changed since the last one is read"
        assert written(tmp_path) >= {str(roots[16]), str(roots[19])}
        assert repo.maintenance.fsck().faults == ()
        assert repo.maintenance.verify_index() == ()


def test_a_snapshot_that_is_only_in_memory_is_written_for_what_is_derived_from_it(
    tmp_path: Path,
) -> None:
    with ibidem.init(tmp_path) as repo:
        for number in range(3):
            root = commit(repo, f"a text {number}")
            repo.retrieve("text")
        index = repo.core.search_index.current
        assert str(root) not in written(tmp_path)
        index.remember_derived(root, "name", b"data")
        assert str(root) in written(tmp_path)
        assert index.derived(root, "name") == b"data"


def test_the_head_of_a_branch_that_is_left_is_written(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        commit(repo, "a first text")
        repo.branch("side")
        for number in range(3):
            repo.retrieve("text")
            head = commit(repo, f"a text {number}")
        assert str(head) not in written(tmp_path)
        repo.switch("side")
        assert repo.retrieve("text").items
        assert str(head) in written(tmp_path)


def test_a_damaged_segment_does_not_condemn_those_that_are_only_in_memory(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        for number in range(3):
            root = commit(repo, f"a text {number}")
            repo.retrieve("text")
        index = repo.core.search_index.current
        assert not index.recover(index.snapshot(root))


def test_what_is_known_of_a_segment_holds_until_one_of_its_rows_dies(repo: Repository) -> None:
    commit(repo, *(f"a text {number}" for number in range(600)))
    with repo.transaction() as tx:
        for node in repo.query(limit=20):
            tx.remove_node(node.id)
    found = []
    for number in range(2):
        assert repo.retrieve("text").items
        view = view_of(repo.at().snapshot(), include_tombstoned=False)
        statistics = statistics_of(view, include_tombstoned=False)
        assert statistics.documents == 580 + number
        found.append(statistics.gone)
        commit(repo, f"a later text {number}")
    ((name, gone),) = found[0].items()
    assert len(gone) == 20
    assert found[1][name] is gone


def test_the_documents_of_each_analyser_are_counted_once_a_segment(repo: Repository) -> None:
    german = "Der Hund und die Katze sind nicht im Haus, aber sie schlafen gern auf dem Dach"
    plain = "", "a plain English text of some words"
    commit(repo, *(f"{plain[number % 2]} {number}" for number in range(100)))
    commit(repo, *(f"{german} {number}" for number in range(200)))
    ids = [node.id for node in repo.query(limit=300)]
    counted = []
    for number in range(3):
        assert repo.retrieve("Katze").items
        snapshot = repo.at().snapshot()
        statistics = statistics_of(
            view_of(snapshot, include_tombstoned=False), include_tombstoned=False
        )
        expected: Counter[int] = Counter()
        for segment in snapshot.lexical:
            live = np.ones(len(segment.lengths), bool) if segment.live is None else segment.live
            expected.update(segment.analysers[live & (segment.lengths > 0)].tolist())
        assert statistics.by_analyser == expected
        assert len(expected) == 2
        largest = max(snapshot.state.nodes, key=lambda part: part.segment.row_count)
        counted.append(largest.segment.cache["documents by analyser"])
        with repo.transaction() as tx:
            tx.remove_node(ids[number])
            tx.add_node("Doc", summary=f"the dog and the cat are not in the house {number}")
    assert counted[0] is counted[1] is counted[2]


def test_a_question_after_a_commit_marks_no_row_of_the_whole_graph(repo: Repository) -> None:
    commit(repo, *(f"Ada Lovelace wrote text {number}" for number in range(40)))
    assert repo.retrieve("Ada Lovelace", mentions=True).items
    view = view_of(repo.at().snapshot(), include_tombstoned=False)
    assert "flags" not in view._made


def test_large_segments_of_snapshots_that_were_not_written_do_not_stay(tmp_path: Path) -> None:
    def follow(repo: Repository, rounds: range) -> set[str]:
        """Commits and asks in turn; returns the files of segments that no snapshot names."""
        for number in rounds:
            with repo.transaction() as tx:
                for row in range(130):  # more than 2 MiB of vectors
                    node = tx.add_node("Doc", summary="text", key=[number, row])
                    tx.set_vector(node, model="m", vector=np.full(4_096, number, np.float32))
            repo.retrieve("text", limit=1)
        index = tmp_path / ".ibidem/index"
        found = map(read_manifest, (index / "snapshots").iterdir())
        named = {name for one in found if one is not None for name in one.names()}
        return {file.name for file in (index / "segments").iterdir()} - named

    with ibidem.init(tmp_path) as repo:
        before = follow(repo, range(8))
        after = follow(repo, range(8, 18))
        assert before
        assert after.isdisjoint(before)
    with ibidem.open(tmp_path) as repo:
        assert follow(repo, range(18, 19)) == set(), "nor does what another process left"

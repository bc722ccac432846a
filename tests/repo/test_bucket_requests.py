"""How many requests a repository in a bucket makes, and what writers in one process share."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'ibidem[s3]'")
from obstore.store import MemoryStore
from tests.counting_bucket import CountingBucket
from tests.delaying_proxy import delaying

import ibidem
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.repo.state import State
from ibidem.store.log import backend
from ibidem.store.log.store import LogStore
from ibidem.store.testing import run_together

ADDRESS = "s3://bucket/notes"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CountingBucket:
    """The bucket of every address, whose `staleness` is heeded."""
    counting = CountingBucket(MemoryStore())

    def bucket_at(address: str) -> tuple[CountingBucket, float]:
        return counting, float(address.partition("staleness=")[2] or 0)

    monkeypatch.setattr(backend, "bucket_at", bucket_at)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return counting


def add(repository: Repository, key: str) -> None:
    with repository.transaction(author="a", message=key) as tx:
        tx.add_node("Note", summary=f"a note about {key}", key=key)


def keys(repository: Repository) -> list[str]:
    return sorted(node.summary for node in repository.at().nodes())


@pytest.mark.skipif(not hasattr(os, "pread"), reason="all stays in memory here")
def test_a_large_transaction_waits_on_this_machine_until_it_is_committed(
    bucket: CountingBucket,
) -> None:
    with ibidem.init(ADDRESS) as repository:
        bucket.taken()
        with repository.transaction() as tx:
            tx._draft.staged_bytes_max = 4_000
            for number in range(500):
                tx.add_node("Note", key=number, summary=f"note {number}")
            assert tx._draft._file is not None
            assert "put" not in bucket.taken()
        assert len(keys(repository)) == 500
        assert repository.maintenance.fsck().is_clean


@pytest.fixture
def filled(bucket: CountingBucket) -> CountingBucket:
    with ibidem.init(ADDRESS) as repository:
        for key in ("mills", "pumps", "wheels"):
            add(repository, key)
        repository.retrieve("mills")
    bucket.taken()
    return bucket


def test_a_new_process_asks_three_times_for_an_answer(filled: CountingBucket) -> None:
    with ibidem.open(ADDRESS) as repository:
        assert filled.taken() == {"get": 2}  # the format and the next entry, at the same time
        assert "pumps" in repository.retrieve("pumps", limit=1).text
        assert filled.taken() == {"get": 1}
        repository.retrieve("wheels", limit=1)
        assert filled.taken() == {"get": 1}
    with ibidem.open(f"{ADDRESS}?staleness=60") as repository:
        repository.retrieve("mills", limit=1)
        filled.taken()
        repository.retrieve("pumps", limit=1)
        assert filled.taken() == {}


def test_a_commit_is_three_requests(filled: CountingBucket) -> None:
    with ibidem.open(ADDRESS) as repository:
        repository.retrieve("mills")
        filled.taken()
        for key in ("brakes", "gears"):
            add(repository, key)
            assert filled.taken() == {"create": 1, "get": 2}  # the index is kept up with the head
            repository.retrieve(key)
            assert filled.taken() == {"get": 1}


def test_what_others_wrote_is_read_from_where_this_machine_was(
    filled: CountingBucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = tmp_path / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    with ibidem.open(ADDRESS) as other:
        add(other, "brakes")
        expected = keys(other)
    monkeypatch.setenv("XDG_DATA_HOME", str(here))
    filled.taken()
    with ibidem.open(ADDRESS) as repository:
        assert filled.taken()["get"] <= 4
        assert keys(repository) == expected


def test_another_repository_at_the_address_is_not_mixed_up_with_the_old_one(
    filled: CountingBucket,
) -> None:
    filled.delete(filled.listed(""))
    with ibidem.init(ADDRESS) as repository:
        add(repository, "other")
        expected = keys(repository)
    with ibidem.open(ADDRESS) as repository:
        assert keys(repository) == expected


def test_a_damaged_or_missing_local_copy_is_read_again(
    filled: CountingBucket, tmp_path: Path
) -> None:
    with ibidem.open(ADDRESS) as repository:
        expected = keys(repository)
    (state,) = (tmp_path / "data").rglob("log/state")
    for damage in (lambda: state.write_bytes(state.read_bytes()[:-1]), state.unlink):
        damage()
        with ibidem.open(ADDRESS) as repository:
            assert keys(repository) == expected


def test_commits_of_threads_share_entries(filled: CountingBucket) -> None:
    with ibidem.open(ADDRESS) as repository:
        store = repository.core.store
        assert isinstance(store, LogStore)
        before = len(filled.listed("log/"))
        waiting = store._writer._waiting
        with store._writer._writing:
            threads = [threading.Thread(target=add, args=(repository, f"t{n}")) for n in range(8)]
            for thread in threads:
                thread.start()
            while len(waiting) < 8:
                assert any(thread.is_alive() for thread in threads)
                time.sleep(0.001)
        for thread in threads:
            thread.join()
        assert len(filled.listed("log/")) == before + 1
        assert len(keys(repository)) == 11
        assert len(list(repository.history.log())) == 11
    with ibidem.open(ADDRESS) as repository:
        assert len(keys(repository)) == 11


def test_threads_that_built_on_a_lost_change_lose_none_of_theirs(filled: CountingBucket) -> None:
    with ibidem.open(ADDRESS) as repository, ibidem.open(ADDRESS) as other:
        store = repository.core.store
        assert isinstance(store, LogStore)
        with store._writer._writing:
            threads = [threading.Thread(target=add, args=(repository, f"t{n}")) for n in range(4)]
            for thread in threads:
                thread.start()
            while len(store._writer._waiting) < 4:
                assert any(thread.is_alive() for thread in threads)
                time.sleep(0.001)
            add(other, "first")
        for thread in threads:
            thread.join()
        assert keys(repository) == keys(other)
        assert len(keys(repository)) == 8


def test_a_refusal_because_of_a_change_that_is_lost_is_made_again(filled: CountingBucket) -> None:
    with ibidem.open(ADDRESS) as repository, ibidem.open(ADDRESS) as other:
        store, head = repository.core.store, repository.head
        assert isinstance(store, LogStore)
        log = repository.core.operation_log
        seen = []

        def attempt(state: State) -> None:
            seen.append(state.cid)
            if len(seen) == 1:
                release.set()
                raise InvalidInputError("the name is taken")

        release = threading.Event()
        with store._writer._writing:
            first = threading.Thread(target=add, args=(repository, "lost"))
            first.start()
            while not store._writer._waiting:
                assert first.is_alive()
                time.sleep(0.001)
            add(other, "earlier")
            second = threading.Thread(target=log.retry, args=(attempt,))
            second.start()
            assert release.wait(10)
        first.join()
        second.join()
        assert len(seen) == 2
        assert seen[0] != seen[1]
        assert repository.head != head


def test_writers_of_several_processes_lose_nothing(filled: CountingBucket) -> None:
    def write(writer: int) -> None:
        with ibidem.open(ADDRESS) as repository:
            threads = [
                threading.Thread(target=add, args=(repository, f"{writer} {n}")) for n in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    run_together(*(lambda writer=writer: write(writer) for writer in range(3)))  # type: ignore[misc]
    with ibidem.open(ADDRESS) as repository:
        assert len(keys(repository)) == 15
        assert len(list(repository.history.log())) == 15


def test_a_server_is_asked_no_more_often_than_the_bucket(
    s3_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = urlsplit(os.environ["AWS_ENDPOINT_URL"]).port
    assert port is not None
    with ibidem.init(s3_prefix) as repository:
        add(repository, "mills")
        repository.retrieve("mills")
    with delaying(port, 0.0) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")

        def taken(work: Callable[[], object]) -> int:
            before = proxy.round_trips
            work()
            return proxy.round_trips - before

        with ibidem.open(s3_prefix) as repository:
            assert proxy.round_trips == 2
            assert taken(lambda: repository.retrieve("mills")) == 1
            assert taken(lambda: add(repository, "pumps")) == 3

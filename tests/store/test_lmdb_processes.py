"""Writers and readers of one LMDB store in several threads and processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ibidem.objects.cid import BlobCid
from ibidem.objects.errors import (
    ErrorKind,
    StorageError,
)
from ibidem.store.lmdb.environment import LOCK_FILE
from ibidem.store.lmdb.store import LmdbStore
from ibidem.store.lock import writer_lock
from ibidem.store.testing import blocks_of, environment, run_python, run_together


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    with LmdbStore.create(tmp_path / "blocks", timeout_seconds=20) as store:
        started = threading.Event()

        def hold() -> None:
            with writer_lock(tmp_path / "blocks" / LOCK_FILE, timeout_seconds=1):
                started.set()
                time.sleep(0.2)
                assert not store.has(BlobCid.of(b"late"))

        def write() -> None:
            started.wait()
            store.put(blocks_of(b"late"))

        run_together(hold, write)
        assert store.has(BlobCid.of(b"late"))


def test_a_writer_that_waits_too_long_learns_who_holds_the_lock(tmp_path: Path) -> None:
    with (
        LmdbStore.create(tmp_path / "blocks", timeout_seconds=0.05) as store,
        writer_lock(tmp_path / "blocks" / LOCK_FILE, timeout_seconds=1),
    ):
        with pytest.raises(StorageError, match=f"process {os.getpid()} ") as caught:
            store.put(blocks_of(b"a"))
        assert caught.value.kind is ErrorKind.LOCKED
        assert not store.has(BlobCid.of(b"a"))


def test_a_killed_writer_leaves_no_lock_behind(tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    with LmdbStore.create(path, timeout_seconds=5) as store:
        program = (
            "import sys, time; from pathlib import Path\n"
            "from ibidem.store.lock import writer_lock\n"
            "with writer_lock(Path(sys.argv[1]), timeout_seconds=1):\n"
            "    print('held', flush=True); time.sleep(60)"
        )
        with subprocess.Popen(
            [sys.executable, "-c", program, str(path / LOCK_FILE)],
            stdout=subprocess.PIPE,
            env=environment(),
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"held\n"
            child.send_signal(signal.SIGKILL)
        store.put(blocks_of(b"a"))


def test_a_killed_reader_is_no_reader(tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    with LmdbStore.create(path) as store:
        program = (
            "import sys, time; from ibidem.store.lmdb.store import LmdbStore\n"
            "environment = LmdbStore.open(sys.argv[1])._open_environment()\n"
            "environment.read(lambda _: (print('reads', flush=True), time.sleep(600)))"
        )
        with subprocess.Popen(
            [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, env=environment()
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"reads\n"
            for body in (b"a", b"b"):
                store.put(blocks_of(body))
            assert store._open_environment().has_older_readers()
            child.send_signal(signal.SIGKILL)
        assert not store._open_environment().has_older_readers()


def test_processes_that_race_for_a_cell_lose_nothing(tmp_path: Path) -> None:
    program = """
import sys
from ibidem.objects.errors import ConflictError
from ibidem.store.lmdb.store import LmdbStore
with LmdbStore.open(sys.argv[1]) as store:
    for _ in range(40):
        while True:
            value = store.cell("count")
            try:
                store.publish({}, {"count": (value, b"%d" % (int(value or b"0") + 1))})
            except ConflictError:
                continue
            break
"""
    path = tmp_path / "blocks"
    LmdbStore.create(path).close()
    run_together(*(lambda: run_python(program, str(path)) for _ in range(3)))
    with LmdbStore.open(path) as store:
        assert store.cell("count") == b"120"

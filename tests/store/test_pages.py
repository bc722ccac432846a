"""The pages of an LMDB file, read without LMDB; and what is left in them of deleted records."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ibidem.objects.cid import BlobCid
from ibidem.objects.errors import CorruptError
from ibidem.store.lmdb.environment import DATA_FILE
from ibidem.store.lmdb.file import TABLES, check_layout
from ibidem.store.lmdb.numbering import PAGE_BYTES
from ibidem.store.lmdb.pages import check_pages
from ibidem.store.lmdb.store import LmdbStore

WORD = b"remember me"


def put(store: LmdbStore, *bodies: bytes) -> list[BlobCid]:
    blocks = {BlobCid.of(body): body for body in bodies}
    store.put(blocks)
    return list(blocks)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blocks"


def test_every_state_of_a_store_that_lives_has_a_sound_layout(folder: Path) -> None:
    rng = random.Random(1)
    with LmdbStore.create(folder) as store:
        assert check_layout(folder).faults == []
        for round_ in range(30):
            put(store, *(rng.randbytes(rng.choice((1, 60, 900, 5000, 40_000))) for _ in range(20)))
            if round_ % 3 == 2:
                store.delete(rng.sample(list(store.cids()), 25))
            store.publish({}, {"head": (store.cell("head"), b"%d" % round_)})
            report = check_layout(folder)
            assert report.faults == []
    assert report.page_count > 100
    assert report.free_count
    assert report.slack == sorted(report.slack)


def test_an_older_meta_page_that_pretends_to_be_newer_is_found_out(folder: Path) -> None:
    with LmdbStore.create(folder) as store:
        for number in range(5):
            put(store, b"%d" % number)
    data = (folder / DATA_FILE).read_bytes()
    at = [16 + 128, PAGE_BYTES + 16 + 128]
    older = min(at, key=lambda place: data[place])
    newer = max(at, key=lambda place: data[place])
    for place, change in ((older, 2), (newer, -2), (older, 4), (newer, -1), (older, 1)):
        damaged = bytearray(data)
        damaged[place] += change
        (folder / DATA_FILE).write_bytes(damaged)
        assert check_pages(folder / DATA_FILE, TABLES).faults


def test_a_file_that_is_cut_short_is_no_store(folder: Path) -> None:
    with LmdbStore.create(folder) as store:
        put(store, *(os.urandom(2000) for _ in range(50)))
    path = folder / DATA_FILE
    data = path.read_bytes()
    for size in (0, 100, PAGE_BYTES, 2 * PAGE_BYTES, len(data) // 2, len(data) - PAGE_BYTES):
        path.write_bytes(data[:size])
        assert check_pages(path, TABLES).faults


def test_a_meta_page_that_claims_too_many_pages_does_not_fill_the_disk(folder: Path) -> None:
    with LmdbStore.create(folder) as store:
        put(store, b"a")
    path = folder / DATA_FILE
    data = bytearray(path.read_bytes())
    for page in (0, PAGE_BYTES):
        data[page + 16 + 120 + 3] ^= 0x01  # its last page
    path.write_bytes(data)
    with pytest.raises(CorruptError):
        LmdbStore.open(folder)
    assert path.stat().st_size == len(data)


def test_scrub_destroys_what_was_deleted_and_nothing_else(folder: Path) -> None:
    path = folder / DATA_FILE
    with LmdbStore.create(folder) as store:
        gone = put(store, WORD, WORD * 40, WORD * 900, *(WORD + bytes([n]) for n in range(60)))
        kept = put(store, *(bytes([n]) * 700 for n in range(60)))
        store.publish({}, {"head": (None, b"1")})
        store.delete(gone)
        assert WORD in path.read_bytes()
        assert store.scrub() > 0
        assert WORD not in path.read_bytes()
        assert len(store.get_many(kept)) == 60
        assert check_layout(folder).faults == []
        for number in range(20):
            put(store, b"after %d" % number)
            store.publish({}, {"head": (store.cell("head"), b"%d" % number)})
        assert WORD not in path.read_bytes()
        assert check_layout(folder).faults == []
    with LmdbStore.open(folder) as store:
        assert len(store.get_many(kept)) == 60


def test_a_process_that_had_the_store_open_writes_on_beside_a_scrub(folder: Path) -> None:
    """The file is still the same one: nobody has to look for another before each call."""
    code = """
import sys
from pathlib import Path
from ibidem.objects.cid import BlobCid
from ibidem.store.lmdb.store import LmdbStore
store = LmdbStore.open(Path(sys.argv[1]))
print(store.stats().block_count, flush=True)
sys.stdin.readline()
store.put({BlobCid.of(b"later"): b"later"})
"""
    with LmdbStore.create(folder) as store:
        put(store, WORD * 3)
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "1\n"
        store.delete(list(store.cids()))
        store.scrub()
        child.communicate("go\n", timeout=300)
        assert child.returncode == 0
        assert store.has(BlobCid.of(b"later"))


def test_a_process_that_wrote_the_deleted_renews_its_buffers(folder: Path) -> None:
    """LMDB writes used buffers again as they are: they must not bring anything back."""
    path = folder / DATA_FILE
    code = """
import sys
from pathlib import Path
from ibidem.objects.cid import BlobCid
from ibidem.store.lmdb.store import LmdbStore
store = LmdbStore.open(Path(sys.argv[1]))
bodies = [sys.argv[2].encode() * 3 + bytes([n]) for n in range(120)]
store.put({BlobCid.of(body): body for body in bodies})
print("put", flush=True)
sys.stdin.readline()
store.renew()
for n in range(120):
    store.put({BlobCid.of(bytes([n, 1])): bytes([n, 1])})
print("done", flush=True)
"""
    with LmdbStore.create(folder) as store:
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(folder), WORD.decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        )
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == "put\n"
        store.delete([cid for cid in store.cids() if WORD in store.get(cid)])
        store.scrub()
        assert WORD not in path.read_bytes()
        child.stdin.write("go\n")
        child.stdin.flush()
        assert child.stdout.readline() == "done\n"
        child.stdin.close()
        assert child.wait(300) == 0
        child.stdout.close()
        assert WORD not in path.read_bytes()

"""Files beside the history: an erasure goes through all of them, and so does who is told late."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ibidem
from ibidem.memory.recall.query_log import LastRecall, QueryLog
from ibidem.memory.recall.rerank_cache import remembered
from ibidem.objects.cid import BlobCid
from ibidem.objects.errors import ErasedError, NotFoundError, StorageError
from ibidem.repo.erasure import local_files, shared
from ibidem.repo.erasure.local_files import LOCAL_FILES, LocalFiles, Rule
from ibidem.repo.events import Event
from ibidem.repo.signing.keyring import TrustedKey
from ibidem.repo.sync.quarantine import Quarantine

from .conftest import SECRET
from .secret import NEEDLES, add_secret, places_of

SOURCE = str(Path(__file__).parents[3] / "src")
HARD = 'she said:\n"Größe" \\ two'
"""A text that JSON does not write as it is."""


def test_a_cache_that_is_added_to_the_table_is_purged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = LocalFiles("answers/*", "answers", Rule.DERIVED)
    monkeypatch.setattr(local_files, "LOCAL_FILES", (added, *LOCAL_FILES))
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        answers = tmp_path / ".ibidem" / "answers"
        answers.mkdir()
        (answers / "one").write_text("nothing that can be read")
        repo.maintenance.erase(secret)
        assert not list(answers.iterdir())
        assert repo.maintenance.fsck().notes == ()


def test_a_file_that_nobody_knows_is_named_and_keeps_no_secret(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        files = {name: tmp_path / ".ibidem" / name for name in ("mine", "more/notes", "keys/old")}
        for path in files.values():
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"about {SECRET}")
        (tmp_path / ".ibidem" / "other").write_text("harmless")
        repo.maintenance.erase(secret)
        assert places_of(tmp_path, *NEEDLES) == []
        assert repo.maintenance.fsck().notes == ("other: no file that this release knows",)


def test_a_text_is_found_as_json_writes_it(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            secret = tx.add_node("Doc", summary=HARD, key="k")
        log = QueryLog(tmp_path / ".ibidem")
        log.remember(LastRecall(HARD, 1, "0" * 32, 7, None, "r", ()))
        with repo.runs.start("desk") as run:
            for is_ascii in (True, False):
                said = json.dumps({"said": HARD}, ensure_ascii=is_ascii)
                run.event("model", f"what is it? {is_ascii}", lambda said=said: said)
        assert len(places_of(tmp_path, b"she said")) == 3
        assert repo.maintenance.erase(secret).elsewhere == ()
        assert places_of(tmp_path, b"she said") == []
        assert log.last() is None


def test_settings_that_quote_it_as_json_writes_it_are_named(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            secret = tx.add_node("Doc", summary="Über den Hügel nach Hause", key="k")
        key = repo.keys.ring.generate("ada")
        said = "Über den Hügel nach Hause"
        repo.keys.ring.add(TrustedKey("ada", key.public, is_revoked=True, reason=said))
        assert repo.maintenance.erase(secret).settings == ("keys/trusted",)


def test_what_rerankers_said_of_it_goes(tmp_path: Path) -> None:
    class Lengths:
        name = "lengths"
        digest = bytes(32)

        def rerank(self, text, rendered):
            return [float(len(one)) for one in rendered]

    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        remembered(repo.core, Lengths()).rerank("what is it?", [SECRET])
        folder = tmp_path / ".ibidem" / "reranks"
        assert list(folder.iterdir())
        repo.maintenance.erase(secret)
        assert not list(folder.iterdir())


@pytest.mark.parametrize("is_erased", [True, False], ids=["erasure", "open"])
def test_what_a_killed_import_has_left_goes(tmp_path: Path, is_erased: bool) -> None:
    data = SECRET.encode() * 400
    with ibidem.init(tmp_path / "a") as repo:
        secret = add_secret(repo)
        held = Quarantine(repo.core, memory_bytes_max=0)
        held.take([(BlobCid.of(data), data)])
        shutil.copytree(tmp_path / "a", tmp_path / "b")  # where nobody holds it
        held.close()
        repo.maintenance.erase(secret)
    with ibidem.open(tmp_path / "b") as copy:
        assert not list((tmp_path / "b" / ".ibidem").glob("quarantine-*"))
        left = tmp_path / "b" / ".ibidem" / "quarantine-left"
        left.mkdir()
        (left / "blocks").write_bytes(data)
        if is_erased:
            copy.maintenance.erase(secret)
            assert places_of(tmp_path / "b", *NEEDLES) == []
    ibidem.open(tmp_path / "b").close()
    assert not left.exists()


def test_a_folder_that_this_user_may_not_list_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ibidem.init(tmp_path) as repo:
        repo.add("the mill")
        repo.retrieve("mill")
        listed, receipts = os.scandir, tmp_path / ".ibidem" / "receipts"

        def scandir(path: str | Path) -> object:
            if Path(path) == receipts:
                raise PermissionError(13, "Permission denied", str(path))
            return listed(path)

        monkeypatch.setattr(os, "scandir", scandir)
        with pytest.raises(StorageError, match=r"receipts: Permission denied"):
            repo.maintenance.fsck()


def test_an_import_that_goes_on_keeps_its_blocks(tmp_path: Path) -> None:
    data = b"from elsewhere"
    with ibidem.init(tmp_path) as repo, Quarantine(repo.core, memory_bytes_max=0) as held:
        held.take([(BlobCid.of(data), data)])
        repo.maintenance.erase(add_secret(repo))
        ibidem.open(tmp_path).close()
        assert held[BlobCid.of(data)] == data


def test_notes_that_were_read_before_are_not_told_from_memory(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        space = repo.notes.space()
        target = add_secret(repo)
        head = space.add([Event("remark", (target,), detail={"text": SECRET})], author="ada")
        told = other.notes.space()
        (event,) = told.at(head).events
        assert event.id is not None
        repo.maintenance.erase(event.id)
        with pytest.raises(ErasedError):
            told.at(head)
        assert told.log().events == ()


DIES = """
import os, sys, ibidem
from ibidem.objects.ids import NodeId
from ibidem.repo.erasure import erase
erase.finish = lambda *_: os._exit(9)
ibidem.open(sys.argv[1]).maintenance.erase(NodeId.parse(sys.argv[2]))
"""


@pytest.mark.parametrize("what", ["node", "receipt"])
def test_who_has_it_open_finishes_what_a_killed_process_began_before_anything_is_read(
    tmp_path: Path, what: str
) -> None:
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        old, receipt = repo.head, repo.retrieve(SECRET).receipt
        assert receipt is not None

        def read() -> object:
            return repo.at(old).node(secret) if what == "node" else repo.receipts.find(receipt.cid)

        assert read() is not None
        done = subprocess.run(
            [sys.executable, "-c", DIES, str(tmp_path), str(secret)],
            env={**os.environ, "PYTHONPATH": SOURCE},
            check=False,
        )
        assert done.returncode == 9
        assert places_of(tmp_path, *NEEDLES)
        with pytest.raises((ErasedError, NotFoundError)):
            read()
        assert places_of(tmp_path, *NEEDLES) == []
        assert repo.maintenance.fsck().is_clean


def test_known_erasures_are_noted_under_the_lock_of_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another opening removed the draft of the file, and this one ended in an error of the disk."""
    noted = []

    def written(path: Path, data: bytes) -> None:
        with (
            pytest.raises(StorageError, match="lock"),
            shared.folder_lock(path.parent, wait_seconds=0),
        ):
            pass
        noted.append((path, data))

    monkeypatch.setattr(shared, "write_file", written)
    shared.note(tmp_path, b"cid")
    assert noted == [(tmp_path / "local" / "erasures", b"cid")]

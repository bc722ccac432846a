"""A repository in a bucket or a database keeps the promises of one in a folder."""

from __future__ import annotations

import os
import re
import urllib.request
from pathlib import Path

import pytest
from tests.s3_server import BUCKET

import ibidem
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError, StorageError
from ibidem.repo.erasure.local_files import unlisted
from ibidem.repo.maintenance.folder import fsck_folder
from ibidem.repo.repository import Repository
from ibidem.store.log.backend import bucket_at
from ibidem.store.protocol import SupportsNotes


@pytest.fixture(params=["s3_prefix", "postgres_schema"])
def address(request: pytest.FixtureRequest) -> str:
    """The address of no repository yet, on each kind of server."""
    return str(request.getfixturevalue(request.param))


def fill(repository: Repository) -> None:
    with repository.transaction(author="a", message="first", time=1) as tx:
        for number in range(30):
            tx.add_node("Note", summary=f"note {number} about pumps")


def answer(repository: Repository) -> str:
    return repository.retrieve("pumps 7", limit=5).to_json()


def test_the_answers_have_the_same_bytes_as_in_a_folder(address: str, tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "here", clock=lambda: 0) as here:
        fill(here)
        expected, head = answer(here), here.head
    with ibidem.init(address, clock=lambda: 0) as there:
        fill(there)
        assert there.head == head
        assert answer(there) == expected
    with ibidem.open(address, clock=lambda: 0) as again:
        assert answer(again) == expected
        assert again.folder is not None
        assert unlisted(again.folder) == []
    assert fsck_folder(address).is_clean


def test_clones_go_between_all_kinds(address: str, tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "here") as here:
        fill(here)
        head = here.head
    with ibidem.clone(tmp_path / "here", f"{address}a") as first:
        assert first.head == head
    with ibidem.clone(f"{address}a", f"{address}b") as second:
        assert second.head == head
        assert second.sync.remotes.get("origin").location == f"{address}a"
    with ibidem.clone(f"{address}b", tmp_path / "back") as back:
        assert back.head == head
        with back.transaction(author="a") as tx:
            tx.add_node("Note", summary="more")
        back.sync.push("origin")
        head = back.head
    with ibidem.open(f"{address}b") as second:
        assert second.head == head


def test_creating_is_complete_or_leaves_nothing(address: str, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        ibidem.open(address)
    assert caught.value.kind is ErrorKind.REPOSITORY_NOT_FOUND
    (tmp_path / "broken.car").write_bytes(b"no bundle")
    with pytest.raises(ibidem.errors.IbidemError):
        ibidem.clone(tmp_path / "broken.car", address)
    with pytest.raises(NotFoundError):
        ibidem.open(address)
    ibidem.init(address).close()
    with pytest.raises(InvalidInputError, match=r"holds a repository|exists"):
        ibidem.init(address)


def test_the_address_of_a_server_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidInputError, match="got the scheme https://") as error:
        ibidem.init("https://localhost/x")
    assert "repo clone URL" in str(error.value.hint)


@pytest.mark.parametrize(
    "wrong", ["s3://", "s3://bucket", "s3://a:b@bucket/x", "s3://bucket/x?stale=1", "ftp://a/b"]
)
def test_other_addresses_are_refused(wrong: str) -> None:
    for call in (ibidem.init, ibidem.open):
        with pytest.raises(InvalidInputError, match=r"address"):
            call(wrong)


def test_an_erasure_reaches_the_store_and_every_machine(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "Rumpelstiltskin"
    with ibidem.init(address) as first, first.transaction(author="a") as tx:
        node = tx.add_node("Note", summary=f"the name is {secret}")
        tx.add_node("Note", summary="pumps are blue")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
    with ibidem.open(address) as second:
        assert secret in second.retrieve("name").text
    if address.startswith("s3:"):
        assert holds(tmp_path / "other", secret)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with ibidem.open(address) as first:
        first.maintenance.erase([node], reason="asked", author="a")
    if address.startswith("s3:"):
        objects = bucket_at(address)[0]
        for name in objects.listed(""):
            assert secret.encode() not in (objects.get(name) or b""), name
    assert not holds(tmp_path / "data", secret)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
    with ibidem.open(address) as second:
        assert not holds(tmp_path / "other", secret)
        assert secret not in second.retrieve("name").text
        assert "pumps" in second.retrieve("pumps").text
    assert fsck_folder(address).is_clean


def holds(folder: Path, text: str) -> bool:
    """Returns whether a file below a folder contains a text."""
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_collection_deletes_blocks(address: str) -> None:
    with ibidem.init(address) as repository:
        fill(repository)
        repository.history.undo(author="a")
        before = repository.core.store.stats()
        repository.maintenance.gc(keep_operations=1)
        after = repository.core.store.stats()
        assert after.block_count < before.block_count
    with ibidem.open(address) as repository:
        assert repository.head is None
        fill(repository)
    assert fsck_folder(address).is_clean


def test_files_that_cannot_follow_an_erasure_elsewhere_are_a_typed_error(
    s3_prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ibidem.init(s3_prefix) as first, first.transaction(author="a") as tx:
        node = tx.add_node("Note", summary="the name is Rumpelstiltskin")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
    with ibidem.open(s3_prefix) as second:
        folder = second.folder
    assert folder is not None
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with ibidem.open(s3_prefix) as first:
        first.maintenance.erase([node], reason="asked", author="a")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
    (folder / "receipts").symlink_to("nowhere")
    with pytest.raises(StorageError, match=re.escape(str(folder))):
        ibidem.open(s3_prefix)
    (folder / "receipts").unlink()
    ibidem.open(s3_prefix).close()


def test_an_erasure_in_a_bucket_that_keeps_versions_is_refused(s3_prefix: str) -> None:
    address = s3_prefix.replace(f"/{BUCKET}/", "/versioned/")
    keep_versions("Enabled")
    with ibidem.init(address) as repository:
        store = repository.core.store
        assert isinstance(store, SupportsNotes)
        assert "old versions" in store.notes()[0]
        with repository.transaction(author="a") as tx:
            node = tx.add_node("Note", summary="Rumpelstiltskin")
        with pytest.raises(StorageError, match="old versions"):
            repository.maintenance.erase([node], reason="asked", author="a")
    keep_versions("Suspended")
    with ibidem.open(address) as repository:
        assert repository.maintenance.fsck().is_clean
        store = repository.core.store
        assert isinstance(store, SupportsNotes)
        assert store.notes() == ()


def keep_versions(status: str) -> None:
    """Creates a bucket of its own, and lets it keep old versions of objects or not."""
    url = f"{os.environ['AWS_ENDPOINT_URL']}/versioned"
    body = f"<VersioningConfiguration><Status>{status}</Status></VersioningConfiguration>"
    for target, data in ((url, b""), (f"{url}?versioning", body.encode())):
        urllib.request.urlopen(urllib.request.Request(target, data, method="PUT")).close()

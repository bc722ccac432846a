"""Segments that another machine built: taken from a trusted key only, and in part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'ibidem[s3]'")
from click.testing import CliRunner

import ibidem
from ibidem import Repository
from ibidem.cli.main import cli
from ibidem.index import shared
from ibidem.index.shared import SharedIndex
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.repo.signing.key import SigningKey, index_signer
from ibidem.repo.signing.keyring import TrustedKey, revoke
from ibidem.store.backends import local_folder, location_at
from ibidem.store.protocol import SharedFiles, SupportsSharedFiles

WORDS = ("mill", "card", "wheel", "engine", "shaft", "lever", "number", "store")
COUNT = 60
Enter = Callable[[str], None]


@pytest.fixture
def enter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Makes this process work on the machine of that name, with its own files."""
    return lambda name: monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / name))


@pytest.fixture(params=["s3_prefix", "postgres_schema"])
def address(request: pytest.FixtureRequest, enter: Enter) -> str:
    """A repository whose index the machine `one` shares, on each kind of server."""
    address = str(request.getfixturevalue(request.param))
    enter("one")
    with ibidem.init(address) as repo:
        with repo.transaction(message="notes") as tx:
            for number in range(COUNT):
                text = " ".join(WORDS[(number * step) % len(WORDS)] for step in (1, 3, 5))
                tx.add_node("Note", summary=f"{text} {number}", key=number)
        repo.keys.ring.generate("ada")
        assert repo.maintenance.share_index() > 1_000
        assert shared_names(address)
    return address


@contextmanager
def files_at(address: str) -> Iterator[SharedFiles]:
    with location_at(address).backend.open(address, local_folder(address)) as store:
        assert isinstance(store, SupportsSharedFiles)
        yield store.shared_files


def shared_names(address: str) -> list[str]:
    with files_at(address) as files:
        return list(files.listed("index/"))


def public_of(address: str, enter: Enter) -> bytes:
    enter("one")
    with ibidem.open(address) as repo:
        return repo.keys.ring.private("ada").public


def follow(address: str, enter: Enter, machine: str) -> Repository:
    """Opens the repository on a machine that trusts the key."""
    public = public_of(address, enter)
    enter(machine)
    repo = ibidem.open(address)
    if "ada" not in repo.keys.ring.trust().keys:
        repo.keys.ring.add(TrustedKey("ada", public))
    return repo


def built(repo: Repository) -> list[str]:
    """Has progress reported, and returns the list that grows by what is built."""
    works: list[str] = []
    repo.show_progress(lambda work, done, total: works.append(work))
    return works


def segments(repo: Repository) -> list[str]:
    folder = repo.core.search_index.folder
    assert folder is not None
    found = folder / "segments"
    return sorted(path.name for path in found.iterdir()) if found.is_dir() else []


def test_a_machine_that_trusts_the_key_builds_nothing(address: str, enter: Enter) -> None:
    enter("one")
    with ibidem.open(address) as repo:
        expected = repo.retrieve("engine card", limit=5).to_json()
    with follow(address, enter, "two") as repo:
        works = built(repo)
        assert repo.retrieve("engine card", limit=5).to_json() == expected
        assert works == []
        assert segments(repo) == []
    with ibidem.open(address) as repo:  # what is here serves the next process without a listing
        works = built(repo)
        assert repo.retrieve("engine card", limit=5).to_json() == expected
        assert works == []
        assert repo.maintenance.verify_index() == ()


def test_a_machine_that_does_not_builds_its_own_and_says_so(address: str, enter: Enter) -> None:
    enter("two")
    with ibidem.open(address) as repo:
        works = built(repo)
        assert repo.retrieve("engine", limit=5).items
        assert works
        assert all(work.endswith("(no shared index is accepted here)") for work in works)
        assert segments(repo)


def test_a_revoked_key_is_believed_no_more(address: str, enter: Enter) -> None:
    with follow(address, enter, "two") as repo:
        assert repo.retrieve("engine", limit=5).items
        assert segments(repo) == []
        revoke(repo.keys.ring, "ada", [], "lost")
    with ibidem.open(address) as repo:
        expected = repo.retrieve("engine", limit=5).items
        assert expected
        assert segments(repo)


def test_a_newer_head_starts_from_what_was_shared(address: str, enter: Enter) -> None:
    enter("one")
    with ibidem.open(address) as repo, repo.transaction(message="more") as tx:
        tx.add_node("Note", summary="a rare barrel", key="more")
    with follow(address, enter, "two") as repo:
        works = built(repo)
        (item,) = repo.retrieve("barrel", limit=5).items
        assert item.node.summary == "a rare barrel"
        assert len(repo.retrieve("engine", limit=COUNT).items) > 10
        assert not any("no shared" in work for work in works)
        assert repo.maintenance.verify_index() == ()
        repo.keys.ring.generate("two")
        repo.maintenance.share_index(sign="two")  # also what it took from the other
    names = shared_names(address)
    assert len([name for name in names if "/manifests/" in name]) == 2


def test_a_segment_that_was_changed_is_not_used(address: str, enter: Enter) -> None:
    enter("one")
    with ibidem.open(address) as repo:
        expected = repo.retrieve("engine card", limit=5).to_json()
    names = [name for name in shared_names(address) if "/segments/" in name]
    with files_at(address) as files:
        for name, body in zip(names, files.get_all(names), strict=True):
            data = bytearray(body or b"")
            data[-len(data) // 3] ^= 1
            files.put(name, bytes(data))
    with follow(address, enter, "two") as repo:
        assert repo.retrieve("engine card", limit=5).to_json() == expected
        assert repo.maintenance.verify_index() == ()


def test_a_segment_that_is_gone_is_built(address: str, enter: Enter) -> None:
    names = shared_names(address)
    with files_at(address) as files:
        files.delete(name for name in names if "/segments/" in name)
    with follow(address, enter, "two") as repo:
        assert repo.retrieve("engine card", limit=5).items
        assert segments(repo)


def test_a_lie_of_a_trusted_key_is_found_by_verifying(
    address: str, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter("one")
    with ibidem.open(address) as repo:
        honest = repo.core.search_index.current.snapshot(repo.at().root_cid)
        with repo.transaction(message="more") as tx:
            tx.add_node("Note", summary="a rare barrel", key="more")
        root = repo.at().root_cid
        index = repo.core.search_index.current
        assert index._shared is not None
        assert index._registry is not None
        from dataclasses import replace

        lie = replace(honest.state, root=root)
        key = repo.keys.ring.private("ada")
        directory = index._registry.segment_store.directory
        index._shared.publish(lie, 99, directory, key.sign_index)
    with follow(address, enter, "two") as repo:
        assert not repo.retrieve("barrel", limit=5).items
        assert repo.maintenance.verify_index()
        found = CliRunner().invoke(cli, ["index", "verify", "-R", address])
        assert found.exit_code == 12, found.output
        repo.maintenance.reindex()
        assert repo.maintenance.verify_index() == ()
        assert repo.retrieve("barrel", limit=5).items


def test_an_erasure_deletes_what_was_shared_and_what_was_taken(address: str, enter: Enter) -> None:
    with follow(address, enter, "two") as repo:
        assert repo.retrieve("engine card", limit=5).items
        taken = repo.core.search_index.folder
        assert taken is not None
        assert list((taken / "shared" / "segments").iterdir())
    before = shared_names(address)
    enter("one")
    with ibidem.open(address) as repo:
        node = node_id("", 7)
        repo.maintenance.erase(node)
        assert shared_names(address) == []
        assert repo.maintenance.share_index() > 0
    assert not set(before) & set(shared_names(address))
    enter("two")
    with ibidem.open(address) as repo:
        assert not (taken / "shared").exists()
        works = built(repo)
        found = repo.retrieve("engine card", limit=COUNT).items
        assert found
        assert node not in {item.node.id for item in found}
        assert not any("no shared" in work for work in works)


def test_a_file_of_another_scope_is_not_accepted(address: str, enter: Enter) -> None:
    names = shared_names(address)
    with follow(address, enter, "two") as repo, files_at(address) as files:
        root = repo.at().root_cid
        judge = repo.core.search_index._is_accepted
        scope = names[0].split("/")[1]
        folder = repo.core.folder
        assert folder is not None
        assert SharedIndex(folder / "a", files, scope, judge).find(root, ())
        for name, body in zip(names, files.get_all(names), strict=True):
            files.put(name.replace(scope, "elsewhere"), body or b"")
        assert SharedIndex(folder / "b", files, "elsewhere", judge).find(root, ()) == []
        assert SharedIndex(folder / "c", files, scope, lambda *_: False).find(root, ()) == []


def test_a_signature_is_over_every_byte() -> None:
    key = SigningKey.generate("ada")
    signature = key.sign_index(b"block")
    assert index_signer(b"block", signature) == key.public
    assert index_signer(b"blocK", signature) is None
    assert index_signer(b"block", signature[:-1]) is None
    assert index_signer(b"block", b"") is None


def test_only_a_repository_in_a_bucket_shares(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        repo.keys.ring.generate("ada")
        with repo.transaction() as tx:
            tx.add_node("Note", summary="x")
        with pytest.raises(InvalidInputError, match="bucket"):
            repo.maintenance.share_index()
        with pytest.raises(NotFoundError):
            repo.maintenance.share_index(sign="nobody")


class Counting:
    """Counts the bytes that are read in parts."""

    def __init__(self, files: SharedFiles) -> None:
        self._files = files
        self.bytes_read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def get_ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes] | None:
        found = self._files.get_ranges(name, spans)
        self.bytes_read += sum(map(len, found or []))
        return found


def test_a_large_segment_is_read_by_column_within_a_limit(
    address: str, enter: Enter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shared, "SMALL_BYTES", 0)
    monkeypatch.setattr(shared, "WINDOW_BYTES", 1)
    enter("one")
    with ibidem.open(address) as repo, files_at(address) as files:
        index = repo.core.search_index.current
        manifests = index._registry.manifests() if index._registry else []
        names = sorted(manifests[0].names())
        scope = shared_names(address)[0].split("/")[1]
        judge = repo.core.search_index._is_accepted
        counting: Any = Counting(files)
        here = SharedIndex(tmp_path / "here", counting, scope, judge, cache_bytes_max=0)
        (manifest,) = here.find(repo.at().root_cid, ())
        here.begin(names)
        total = sum(
            found.size for name, found in counting.listed("index/").items() if "segm" in name
        )
        segment = max((here.open(name) for name in names), key=lambda one: one.size_bytes)
        assert counting.bytes_read < total
        counting.bytes_read = 0
        first = next(iter(segment))
        assert segment[first] is not None
        assert counting.bytes_read == segment.column(first).nbytes
        assert len(segment[first]) >= 0
        assert counting.bytes_read == segment.column(first).nbytes  # not twice
        here.verify(segment.name)
        assert manifest.names() == set(names)
        here._pinned = set()  # another head was taken since
        here._make_room()
        assert list((tmp_path / "here" / "segments").iterdir()) == []
        here.verify(segment.name)  # and comes back

"""What was erased stays erased: in copies that authorise it, and in those that are begun anew."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.repo.signing.keyring import TrustedKey
from ibidem.repo.sync.remotes import address_of

Pair = tuple[Repository, Repository]
SECRET = "retry number 7 of"
NODE = node_id("", ["doc", 7])


def authorised(pair: Pair) -> Pair:
    """Lets `ours` carry out what `theirs` erases."""
    ours, theirs = pair
    key = theirs.keys.ring.generate("ada")
    ours.keys.ring.add(TrustedKey("ada", key.public, may_erase=True))
    return pair


def has_secret(folder: Path) -> list[str]:
    return [
        str(path)
        for path in (folder / ".ibidem").rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("is_pulled", [True, False], ids=["pulled", "fetched"])
def test_a_copy_that_authorises_it_erases_too(pair: Pair, tmp_path: Path, is_pulled: bool):
    ours, theirs = authorised(pair)
    ours.sync.pull()
    assert has_secret(tmp_path / "ours")
    theirs.maintenance.erase(NODE, reason="asked for")
    report = ours.sync.pull() if is_pulled else ours.sync.fetch()
    assert report.erasure_count == 1
    assert ours.maintenance.fsck().faults == ()
    assert not has_secret(tmp_path / "ours")
    assert not has_secret(tmp_path / "theirs")
    assert NODE not in {node.id for node in ours.at().nodes()}
    ours.sync.pull()
    ours.sync.push()
    assert theirs.head == ours.head


def test_a_copy_that_does_not_authorise_it_keeps_what_it_has(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    theirs.keys.ring.generate("ada")
    ours.sync.pull()
    theirs.maintenance.erase(NODE)
    report = ours.sync.fetch()
    assert (report.erasure_count, report.refused_erasure_count) == (0, 1)
    assert has_secret(tmp_path / "ours")
    assert ours.maintenance.fsck().faults == ()
    ours.sync.pull()
    assert NODE not in {node.id for node in ours.at().nodes()}
    assert ours.maintenance.fsck().faults == ()


def test_a_push_takes_the_erasure_along(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    ours.sync.pull()
    key = ours.keys.ring.generate("bob")
    theirs.keys.ring.add(TrustedKey("bob", key.public, may_erase=True))
    ours.maintenance.erase(NODE)
    ours.sync.push()
    assert theirs.head == ours.head
    assert not has_secret(tmp_path / "theirs")
    assert theirs.maintenance.fsck().faults == ()


def test_a_stale_copy_does_not_bring_it_back(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    ours.sync.pull()
    theirs.maintenance.erase(NODE)
    with ours.transaction() as tx:
        tx.add_node("Doc", summary="something else")
    ours.sync.pull()
    ours.sync.push()
    assert not has_secret(tmp_path / "theirs")
    assert theirs.maintenance.fsck().faults == ()
    assert "something else" in {node.summary for node in theirs.at().nodes()}


def test_another_version_of_it_is_refused(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    ours.sync.pull()
    with ours.transaction() as tx:
        tx.update_node(NODE, summary="another version")
    theirs.maintenance.erase(NODE)
    before = theirs.head
    ours.sync.fetch()
    with pytest.raises(InvalidInputError) as error:
        ours.sync.push(force=True)
    assert error.value.kind is ErrorKind.FORGOTTEN
    assert theirs.head == before
    assert theirs.maintenance.fsck().faults == ()


def test_a_clone_is_begun_without_it_and_refuses_it(pair: Pair, tmp_path: Path):
    _, theirs = pair
    theirs.maintenance.erase(NODE)
    with ibidem.clone(tmp_path / "theirs", tmp_path / "copy") as copy:
        assert copy.head == theirs.head
        assert copy.maintenance.erasures() == theirs.maintenance.erasures()
        assert copy.maintenance.fsck().faults == ()
        assert not has_secret(tmp_path / "copy")
        with pytest.raises(IbidemError) as error:
            copy.at("main~1").node(NODE)
        assert error.value.kind is ErrorKind.ERASED


def test_an_export_says_what_was_erased(pair: Pair, tmp_path: Path):
    ours, theirs = authorised(pair)
    theirs.maintenance.erase(NODE)
    theirs.sync.export(tmp_path / "all.car")
    assert SECRET.encode() not in (tmp_path / "all.car").read_bytes()
    with ibidem.clone(tmp_path / "all.car", tmp_path / "copy") as copy:
        assert copy.maintenance.erasures() == theirs.maintenance.erasures()
        assert copy.maintenance.fsck().faults == ()
    report = ours.sync.load(tmp_path / "all.car")
    assert report.erasure_count == 1
    assert ours.maintenance.fsck().faults == ()
    with ibidem.init(tmp_path / "stranger") as stranger:
        with pytest.raises(IbidemError) as error:
            stranger.sync.load(tmp_path / "all.car")
        assert error.value.kind is ErrorKind.BLOCK_NOT_FOUND
        assert stranger.head is None


def test_a_full_copy_remembers_it_too(pair: Pair, tmp_path: Path):
    _, theirs = pair
    theirs.maintenance.erase(NODE)
    theirs.sync.export(tmp_path / "full.car", full=True)
    assert SECRET.encode() not in (tmp_path / "full.car").read_bytes()
    with ibidem.clone(tmp_path / "full.car", tmp_path / "copy") as copy:
        assert copy.maintenance.erasures() == theirs.maintenance.erasures()
        assert list(copy.history.operations()) == list(theirs.history.operations())
        assert copy.maintenance.fsck().faults == ()


def test_unsigned_commits_are_refused_where_signatures_are_wanted(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    key = ours.keys.ring.generate("bob")
    theirs.keys.ring.add(TrustedKey("bob", key.public))
    theirs.keys.require_signed(["heads/"])
    with ours.transaction() as tx:
        tx.add_node("Doc", summary="unsigned")
    before = theirs.head
    with pytest.raises(InvalidInputError) as error:
        ours.sync.push()
    assert error.value.kind is ErrorKind.UNSIGNED
    assert theirs.head == before
    ours.history.undo()
    ours.keys.sign_with("bob")
    with ours.transaction() as tx:
        tx.add_node("Doc", summary="signed")
    ours.sync.push()
    assert theirs.head == ours.head


def test_what_was_only_fetched_is_not_thereby_let_in(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    ours.sync.pull()
    ours.keys.require_signed(["heads/"])
    with theirs.transaction() as tx:
        tx.add_node("Doc", summary="unsigned")
    ours.sync.fetch()
    before = ours.head
    with pytest.raises(InvalidInputError) as error:
        ours.sync.pull()
    assert error.value.kind is ErrorKind.UNSIGNED
    theirs.sync.export(tmp_path / "all.car")
    with pytest.raises(InvalidInputError):
        ours.sync.load(tmp_path / "all.car")
    assert ours.head == before


def test_the_log_comes_back_with_a_full_copy(tmp_path: Path):
    with ibidem.init(tmp_path / "a") as repo:
        for number in range(3):
            with repo.transaction(message=str(number)) as tx:
                tx.add_node("Doc", summary=f"note {number}")
        repo.history.undo()
        repo.tag("v1")
        repo.sync.export(tmp_path / "full.car", full=True)
        with ibidem.clone(tmp_path / "full.car", tmp_path / "b") as copy:
            assert list(copy.history.operations()) == list(repo.history.operations())
            assert copy.head == repo.head
            copy.history.undo()
            copy.history.undo()
            assert len(list(copy.at().nodes())) == 1
            assert copy.maintenance.fsck().faults == ()
        with ibidem.init(tmp_path / "c") as used:
            used.sync.load(tmp_path / "full.car")
            assert len(list(used.history.operations())) == 2
            used.sync.remotes.add("file", address_of(str(tmp_path / "full.car")))
            assert used.sync.fetch("file").moves

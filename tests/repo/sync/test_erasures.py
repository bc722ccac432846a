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
    key = theirs.keyring.generate("ada")
    ours.keyring.add(TrustedKey("ada", key.public, may_erase=True))
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
    ours.pull()
    assert has_secret(tmp_path / "ours")
    theirs.erase(NODE, reason="asked for")
    report = ours.pull() if is_pulled else ours.fetch()
    assert report.erasure_count == 1
    assert ours.fsck().faults == ()
    assert not has_secret(tmp_path / "ours")
    assert not has_secret(tmp_path / "theirs")
    assert NODE not in {node.id for node in ours.at().nodes()}
    ours.pull()
    ours.push()
    assert theirs.head == ours.head


def test_a_copy_that_does_not_authorise_it_keeps_what_it_has(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    theirs.keyring.generate("ada")
    ours.pull()
    theirs.erase(NODE)
    report = ours.fetch()
    assert (report.erasure_count, report.refused_erasure_count) == (0, 1)
    assert has_secret(tmp_path / "ours")
    assert ours.fsck().faults == ()
    ours.pull()
    assert NODE not in {node.id for node in ours.at().nodes()}
    assert ours.fsck().faults == ()


def test_a_push_takes_the_erasure_along(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    ours.pull()
    key = ours.keyring.generate("bob")
    theirs.keyring.add(TrustedKey("bob", key.public, may_erase=True))
    ours.erase(NODE)
    ours.push()
    assert theirs.head == ours.head
    assert not has_secret(tmp_path / "theirs")
    assert theirs.fsck().faults == ()


def test_a_stale_copy_does_not_bring_it_back(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    ours.pull()
    theirs.erase(NODE)
    with ours.transaction() as tx:
        tx.add_node("Doc", summary="something else")
    ours.pull()
    ours.push()
    assert not has_secret(tmp_path / "theirs")
    assert theirs.fsck().faults == ()
    assert "something else" in {node.summary for node in theirs.at().nodes()}


def test_another_version_of_it_is_refused(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    ours.pull()
    with ours.transaction() as tx:
        tx.update_node(NODE, summary="another version")
    theirs.erase(NODE)
    before = theirs.head
    ours.fetch()
    with pytest.raises(InvalidInputError) as error:
        ours.push(is_forced=True)
    assert error.value.kind is ErrorKind.FORGOTTEN
    assert theirs.head == before
    assert theirs.fsck().faults == ()


def test_a_clone_is_begun_without_it_and_refuses_it(pair: Pair, tmp_path: Path):
    _, theirs = pair
    theirs.erase(NODE)
    with ibidem.clone(tmp_path / "theirs", tmp_path / "copy") as copy:
        assert copy.head == theirs.head
        assert copy.erasures() == theirs.erasures()
        assert copy.fsck().faults == ()
        assert not has_secret(tmp_path / "copy")
        with pytest.raises(IbidemError) as error:
            copy.at("main~1").node(NODE)
        assert error.value.kind is ErrorKind.ERASED


def test_an_export_says_what_was_erased(pair: Pair, tmp_path: Path):
    ours, theirs = authorised(pair)
    theirs.erase(NODE)
    theirs.export(tmp_path / "all.car")
    assert SECRET.encode() not in (tmp_path / "all.car").read_bytes()
    with ibidem.clone(tmp_path / "all.car", tmp_path / "copy") as copy:
        assert copy.erasures() == theirs.erasures()
        assert copy.fsck().faults == ()
    report = ours.import_(tmp_path / "all.car")
    assert report.erasure_count == 1
    assert ours.fsck().faults == ()
    with ibidem.init(tmp_path / "stranger") as stranger:
        with pytest.raises(IbidemError) as error:
            stranger.import_(tmp_path / "all.car")
        assert error.value.kind is ErrorKind.BLOCK_NOT_FOUND
        assert stranger.head is None


def test_a_full_copy_remembers_it_too(pair: Pair, tmp_path: Path):
    _, theirs = pair
    theirs.erase(NODE)
    theirs.export(tmp_path / "full.car", is_full=True)
    assert SECRET.encode() not in (tmp_path / "full.car").read_bytes()
    with ibidem.clone(tmp_path / "full.car", tmp_path / "copy") as copy:
        assert copy.erasures() == theirs.erasures()
        assert list(copy.operations()) == list(theirs.operations())
        assert copy.fsck().faults == ()


def test_unsigned_commits_are_refused_where_signatures_are_wanted(pair: Pair):
    ours, theirs = pair
    ours.pull()
    key = ours.keyring.generate("bob")
    theirs.keyring.add(TrustedKey("bob", key.public))
    theirs.require_signed(["heads/"])
    with ours.transaction() as tx:
        tx.add_node("Doc", summary="unsigned")
    before = theirs.head
    with pytest.raises(InvalidInputError) as error:
        ours.push()
    assert error.value.kind is ErrorKind.UNSIGNED
    assert theirs.head == before
    ours.undo()
    ours.sign_with("bob")
    with ours.transaction() as tx:
        tx.add_node("Doc", summary="signed")
    ours.push()
    assert theirs.head == ours.head


def test_what_was_only_fetched_is_not_thereby_let_in(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    ours.pull()
    ours.require_signed(["heads/"])
    with theirs.transaction() as tx:
        tx.add_node("Doc", summary="unsigned")
    ours.fetch()
    before = ours.head
    with pytest.raises(InvalidInputError) as error:
        ours.pull()
    assert error.value.kind is ErrorKind.UNSIGNED
    theirs.export(tmp_path / "all.car")
    with pytest.raises(InvalidInputError):
        ours.import_(tmp_path / "all.car")
    assert ours.head == before


def test_the_log_comes_back_with_a_full_copy(tmp_path: Path):
    with ibidem.init(tmp_path / "a") as repo:
        for number in range(3):
            with repo.transaction(message=str(number)) as tx:
                tx.add_node("Doc", summary=f"note {number}")
        repo.undo()
        repo.tag("v1")
        repo.export(tmp_path / "full.car", is_full=True)
        with ibidem.clone(tmp_path / "full.car", tmp_path / "b") as copy:
            assert list(copy.operations()) == list(repo.operations())
            assert copy.head == repo.head
            copy.undo()
            copy.undo()
            assert len(list(copy.at().nodes())) == 1
            assert copy.fsck().faults == ()
        with ibidem.init(tmp_path / "c") as used:
            used.import_(tmp_path / "full.car")
            assert len(list(used.operations())) == 2
            used.remotes.add("file", address_of(str(tmp_path / "full.car")))
            assert used.fetch("file").moves

"""Signatures: what is signed, whose word counts, and what no signature can be made of."""

from __future__ import annotations

import os
from dataclasses import replace
from hashlib import sha512
from pathlib import Path

import pytest
from nacl import bindings

import ibidem
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.ids import NodeId
from ibidem.repo.maintenance.folder import fsck_folder
from ibidem.repo.repository import Repository
from ibidem.repo.signing.key import SigningKey, signer_of
from ibidem.repo.signing.keyring import Keyring, TrustedKey, parse_public
from ibidem.repo.signing.verify import Standing, Verifier, check_signed, may_erase

ORDER = 2**252 + 27742317777372353535851937790883648493
SMALL_ORDER = [
    bytes(32),
    b"\x01" + bytes(31),
    bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
]


def commits(repo: Repository, *signers: str | None) -> list[CommitCid]:
    made = []
    for number, name in enumerate(signers):
        with repo.transaction(author="ada", message=f"{number}", sign=name or False) as tx:
            tx.add_node("Doc", summary=f"number {number}", unique=True)
        assert tx.commit is not None
        made.append(tx.commit.cid)
    return made


def standings(repo: Repository, rev: object = "HEAD") -> list[str]:
    return [str(verdict.standing) for verdict in repo.keys.verify(rev)]


@pytest.fixture
def repo() -> Repository:
    found = ibidem.init(clock=lambda: 1_000_000)
    found.keys.ring.generate("ada")
    return found


def test_what_is_signed_is_the_commit_without_its_signature(repo: Repository) -> None:
    (cid,) = commits(repo, "ada")
    commit = repo.commit_at(cid)
    key = repo.keys.ring.private("ada")
    assert commit.cid == cid == repo.head
    assert commit.signature is not None
    assert len(commit.signature) == 96
    assert signer_of(commit) == key.public
    assert key.sign(replace(commit, signature=None)) == commit


def test_every_field_is_covered(repo: Repository) -> None:
    (cid,) = commits(repo, "ada")
    commit = repo.commit_at(cid)
    for change in (
        {"author": "eve"},
        {"time": 0},
        {"message": "other"},
        {"parents": (cid,)},
        {"root": Commit(commit.root).root.__class__(commit.root.raw[:-1] + b"\x00")},
        {"agent": "eve"},
        {"task": "eve"},
        {"extra": {"later": 1}},
    ):
        assert signer_of(replace(commit, **change)) is None, change


def test_no_signature_can_be_made_of_another(repo: Repository) -> None:
    """Stripped, swapped, moved, of another scheme, of small order, in a second form."""
    first, second = (repo.commit_at(cid) for cid in commits(repo, "ada", "ada"))
    signature = first.signature
    assert signature is not None
    eve = SigningKey.generate("eve")
    swapped = eve.public + signature[32:]
    number = int.from_bytes(signature[64:], "little") + ORDER
    second_form = signature[:64] + number.to_bytes(32, "little")
    wrong = [
        *(replace(first, signature=bad) for bad in (b"x", signature + b"\x00", signature[:95])),
        replace(first, signature=swapped),
        replace(second, signature=signature),
        replace(first, signature=second_form),
        *(replace(first, signature=point + point + bytes(32)) for point in SMALL_ORDER),
    ]
    verifier = Verifier(repo.core.store, repo.keys.ring.trust())
    for commit in wrong:
        assert verifier.verdict(commit.cid, commit).standing is Standing.BAD
    stripped = replace(first, signature=None)
    assert verifier.verdict(stripped.cid, stripped).standing is Standing.UNSIGNED


@pytest.mark.parametrize("is_mixed", [False, True])
def test_a_key_of_mixed_order_signs_nothing_whichever_libsodium_is_installed(
    is_mixed: bool,
) -> None:
    """Versions of it differ about the very same signature."""
    secret, nonce = 0x1BDE, 0x5EED
    public, r = (
        bindings.crypto_scalarmult_ed25519_base_noclamp(number.to_bytes(32, "little"))
        for number in (secret, nonce)
    )
    if is_mixed:
        public = bindings.crypto_core_ed25519_add(public, SMALL_ORDER[2])
    for attempt in range(99):
        commit = Commit(RootCid.of(b"root"), message=f"attempt {attempt}")
        message = b"ibidem:commit:1\x00" + commit.encode()
        h = int.from_bytes(sha512(r + public + message).digest(), "little") % ORDER
        if h % 2 == 0:  # h times a point of order 2 is nothing: the equation holds
            break
    number = (nonce + h * secret) % ORDER
    signed = replace(commit, signature=public + r + number.to_bytes(32, "little"))
    assert signer_of(signed) == (None if is_mixed else public)


def test_a_signature_of_an_erasure_is_none_of_a_commit() -> None:
    key = SigningKey.generate("ada")
    erasure = key.sign(Erasure(NodeId(bytes(16)), (Cid.of(b"x"),)))
    assert signer_of(erasure) == key.public
    moved = replace(erasure, node=NodeId(b"\x01" * 16))
    assert signer_of(moved) is None


def test_who_is_trusted_decides(repo: Repository) -> None:
    repo.keys.ring.generate("bob")
    commits(repo, "ada", None, "bob")
    assert standings(repo) == ["good", "unsigned", "good"]
    repo.keys.ring.change(lambda trust: replace(trust, keys={"ada": trust.keys["ada"]}))
    assert standings(repo) == ["unknown", "unsigned", "good"]


def test_back_dating_does_not_defeat_a_revocation(repo: Repository) -> None:
    """The seed of this project compared the time in the commit, which its author writes."""
    early = commits(repo, "ada", "ada")
    repo.keys.revoke("ada", good=[early[0]], reason="stolen")
    with repo.transaction(author="eve", time=0, sign="ada") as tx:
        tx.add_node("Doc", summary="dated before everything")
    assert standings(repo) == ["revoked", "revoked", "good"]
    repo.keys.revoke("ada", good=[early[1]])
    assert standings(repo) == ["revoked", "good", "good"]
    repo.keys.revoke("ada")
    assert standings(repo) == ["revoked", "revoked", "revoked"]


def test_a_merged_theft_stays_a_theft(repo: Repository) -> None:
    (good,) = commits(repo, "ada")
    repo.branch("stolen", at=good)
    repo.keys.revoke("ada", good=[good])
    repo.keys.ring.generate("new")
    with repo.transaction(branch="stolen", sign="ada") as tx:
        tx.add_node("Doc", summary="theft")
    commits(repo, "new")
    repo.keys.sign_with("new")
    repo.merge("stolen")
    assert sorted(standings(repo)) == ["good", "good", "good", "revoked"]


def test_everything_that_commits_signs_where_it_was_told_to(repo: Repository) -> None:
    repo.keys.sign_with("ada")
    commits_before = commits(repo, None)
    with repo.stage.transaction() as tx:
        tx.add_node("Doc", summary="staged")
    repo.stage.commit()
    repo.branch("side", at=commits_before[0])
    with repo.transaction(branch="side") as tx:
        tx.add_node("Doc", summary="on the side")
    repo.merge("side")
    assert sorted(standings(repo)) == ["good", "good", "good", "unsigned"]
    repo.keys.sign_with(None)
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="not signed")
    assert standings(repo)[0] == "unsigned"


def test_what_is_brought_in_must_be_signed_where_that_is_wanted(repo: Repository) -> None:
    """The hook of fetch, pull, import and push."""
    known, unsigned, signed = commits(repo, None, None, "ada")

    def bring(name: str, target: CommitCid, *known_here: CommitCid) -> None:
        check_signed(
            repo.core.store, repo.keys.ring.trust(), [(name, target)], lambda cid: cid in known_here
        )

    bring("heads/main", signed)  # nothing is wanted yet
    repo.keys.require_signed(["heads/"])
    with pytest.raises(InvalidInputError) as caught:
        bring("heads/main", signed)
    assert caught.value.kind is ErrorKind.UNSIGNED
    with pytest.raises(InvalidInputError):
        bring("heads/main", signed, known)
    bring("heads/main", signed, unsigned)
    bring("tags/v1", signed)
    repo.keys.require_signed([])
    bring("heads/main", signed)
    with pytest.raises(InvalidInputError):
        repo.keys.require_signed(["main"])


def test_an_erasure_is_carried_out_only_for_a_key_that_may(repo: Repository) -> None:
    there = ibidem.init(clock=lambda: 1)
    for copy in (repo, there):
        with copy.transaction() as tx:
            node = tx.add_node("Doc", summary="the same secret on both", key="s")
    repo.maintenance.erase(node, reason="asked", sign=False)
    unsigned = repo.maintenance.erasures()
    assert there.maintenance.accept_erasures(unsigned).refused == unsigned
    other = ibidem.init(clock=lambda: 1)
    key = other.keys.ring.generate("ada")
    with other.transaction() as tx:
        tx.add_node("Doc", summary="the same secret on both", key="s")
    other.maintenance.erase(node, reason="asked")
    signed = other.maintenance.erasures()
    assert signer_of(signed[0]) == key.public
    assert there.maintenance.accept_erasures(signed).refused == signed
    there.keys.ring.add(TrustedKey("ada", key.public))
    assert there.maintenance.accept_erasures(signed).refused == signed
    assert not may_erase(there.keys.ring.trust(), signed[0])
    there.keys.ring.add(TrustedKey("ada", key.public, may_erase=True))
    # This copy has a version of its own, which the erasure of the other does not name.
    with there.transaction() as tx:
        tx.update_node(node, summary="the same secret, edited")
    report = there.maintenance.accept_erasures(signed)
    assert report.accepted == signed
    assert report.done is not None
    assert there.maintenance.fsck().is_clean
    assert all(b"secret" not in there.core.store.get(cid) for cid in there.core.store.cids())
    assert {erasure.cid for erasure in signed} < {
        erasure.cid for erasure in there.maintenance.erasures()
    }
    assert there.maintenance.accept_erasures(signed).done is None
    there.keys.revoke("ada")
    assert not may_erase(there.keys.ring.trust(), signed[0])


# -- keys on disk ------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="no such modes there")
def test_a_private_key_is_its_owners_alone(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        key = repo.keys.ring.generate("ada")
        path = tmp_path / ".ibidem/keys/ada.key"
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        commits(repo, "ada")
        assert key.seed.hex() not in repr(key)
        assert all(key.seed not in repo.core.store.get(cid) for cid in repo.core.store.cids())
        path.chmod(0o644)
        with pytest.raises(InvalidInputError, match="others may read"):
            repo.keys.ring.private("ada")


def test_keys_are_read_back_and_damage_is_told(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        key = repo.keys.ring.generate("ada")
        (head,) = commits(repo, "ada")
        repo.keys.revoke("ada", good=[head], reason="gone")
        repo.keys.require_signed(["heads/", "tags/"])
        before = repo.keys.ring.trust()
    keys = tmp_path / ".ibidem/keys"
    assert Keyring(keys).trust() == before
    assert Keyring(keys).private().public == key.public
    for name in ("trusted", "ada.key"):
        data = (keys / name).read_bytes()
        for at in range(len(data)):
            damaged = bytearray(data)
            damaged[at] ^= 0x04
            (keys / name).write_bytes(damaged)
            with pytest.raises(CorruptError):
                Keyring(keys).trust() if name == "trusted" else Keyring(keys).private("ada")
        assert not fsck_folder(tmp_path).is_clean
        (keys / name).write_bytes(data)
        (keys / name).chmod(0o600)
    assert fsck_folder(tmp_path).is_clean


@pytest.mark.parametrize("name", ["", "A", "../x", "a/b", "x" * 65, 7])
def test_bad_names_of_keys_are_refused(repo: Repository, name: str) -> None:
    with pytest.raises(InvalidInputError):
        repo.keys.ring.generate(name)


def test_names_and_keys_are_not_confused(repo: Repository) -> None:
    public = repo.keys.ring.trust().keys["ada"].public
    with pytest.raises(InvalidInputError):
        repo.keys.ring.generate("ada")
    with pytest.raises(InvalidInputError):
        repo.keys.ring.add(TrustedKey("bob", public))
    with pytest.raises(InvalidInputError):
        repo.keys.ring.add(TrustedKey("ada", bytes(32)))
    with pytest.raises(NotFoundError):
        repo.keys.ring.private("bob")
    with pytest.raises(NotFoundError):
        repo.keys.revoke("bob")
    repo.keys.ring.generate("bob")
    with pytest.raises(NotFoundError):
        repo.keys.ring.private()
    with pytest.raises(InvalidInputError):
        parse_public("00")


@pytest.mark.parametrize("public", [*SMALL_ORDER, b"\xff" * 32, b"short"])
def test_a_key_under_which_nothing_can_be_signed_is_not_trusted(
    repo: Repository, public: bytes
) -> None:
    before = repo.keys.ring.trust()
    with pytest.raises(InvalidInputError):
        repo.keys.ring.add(TrustedKey("bob", public))
    with pytest.raises(InvalidInputError):
        parse_public(public.hex())
    assert repo.keys.ring.trust() == before
    known = before.keys["ada"].public
    assert parse_public(known.hex()) == known

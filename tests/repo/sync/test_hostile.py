"""What somebody means to harm is refused with a typed error, and nothing here has changed."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, NodeCid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.tree import EMPTY_TREE
from ibidem.repo.repository import Repository
from ibidem.repo.sync.car import CarLimits, car_header, car_section
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.messages import Push, Update
from ibidem.repo.sync.names import check_ref, check_remote
from ibidem.repo.sync.remotes import address_of

from .conftest import filled
from .forging import Forge, bundle, put_raw, refused, state


def test_the_forge_makes_what_is_taken_when_nothing_is_wrong(repo: Repository, forge: Forge):
    repo.sync.load(io.BytesIO(forge.of_nodes(forge.node("a"), forge.node("b"))))
    assert "evil" in repo.branches()
    assert repo.maintenance.fsck().faults == ()


def test_every_flipped_byte_of_a_bundle_is_refused_or_changes_nothing_but_its_message(
    repo: Repository,
):
    file = io.BytesIO()
    with ibidem.init(clock=lambda: 0) as small:
        with small.transaction() as tx:
            tx.add_node("Doc", summary="a")
        small.sync.export(file)
    data = file.getvalue()
    before = state(repo)
    rng = np.random.default_rng(1)
    for at in rng.choice(len(data), 80, replace=False).tolist():
        changed = bytearray(data)
        changed[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(IbidemError):
            repo.sync.load(io.BytesIO(bytes(changed)))
        assert state(repo) == before


def test_every_cut_of_a_bundle_is_refused(repo: Repository, forge: Forge):
    data = forge.of_nodes(forge.node("a"))
    before = state(repo)
    for stop in range(0, len(data), 7):
        with pytest.raises(IbidemError):
            repo.sync.load(io.BytesIO(data[:stop]))
    assert state(repo) == before


def test_every_missing_block_is_noticed(repo: Repository, forge: Forge):
    blob = put_raw(forge.blocks, b"x" * 5000)
    forge.of_nodes(forge.node("a"), forge.node("b", content=(blob,)))
    target = next(cid for cid, block in forge.blocks.items() if b"fcommit" in block)
    for cid in set(forge.blocks) - {EMPTY_TREE}:
        less = {other: block for other, block in forge.blocks.items() if other != cid}
        error = refused(repo, bundle(less, target))
        assert error.kind is ErrorKind.BLOCK_NOT_FOUND


def test_a_block_that_happens_to_be_here_must_be_sent_all_the_same(repo: Repository, forge: Forge):
    """Else a guess of a CID would be enough to read what no ref shows."""
    with repo.stage.transaction() as tx:
        tx.add_node("Doc", summary="secret on the stage", key="secret")
    staged = next(
        cid
        for cid in repo.core.store.cids()
        if not cid.is_raw and b"secret on the stage" in repo.core.store.get(cid)
    )
    tree = forge.tree([(node_id("", "secret").raw, NodeCid(staged.raw))])
    data = bundle(forge.blocks, forge.commit(forge.root(nodes=tree)))
    assert refused(repo, data).kind is ErrorKind.BLOCK_NOT_FOUND


def test_histories_need_their_beginning(repo: Repository, forge: Forge):
    stranger = CommitCid.of(b"not here")
    data = bundle(forge.blocks, forge.commit(forge.root(), stranger))
    assert refused(repo, data).kind is ErrorKind.BLOCK_NOT_FOUND


def test_a_bundle_that_requires_what_is_not_here_is_refused(repo: Repository, forge: Forge):
    commit = forge.commit(forge.root())
    data = bundle(forge.blocks, commit, requires=(CommitCid.of(b"not here"),))
    assert refused(repo, data).kind is ErrorKind.BLOCK_NOT_FOUND


HOSTILE_NAMES = [
    *("", "main", "heads", "heads/", "heads//a", "/heads/a", "heads/a/", "HEADS/a", "heads/A"),
    *("heads/../a", "heads/a/../b", "heads/..", "heads/.", "heads/.a", "heads/a..b", "heads/a."),
    *("heads/a.lock", "heads/a.lock/b", "heads/-a", "heads/a b", "heads/a\n", "heads/a\0b"),
    *("heads/a~1", "heads/a^", "heads/a:b", "heads/a?", "heads/a*", "heads/[a", "heads/a\\b"),
    *(
        "heads/@{",
        "heads/%2e%2e",
        "heads/\u202ea",
        "heads/é",
        "heads/a\u200b",
        "heads/" + "a" * 256,
    ),
    *("remotes/origin/heads/main", "evil/a", "tags/../heads/main", "heads/" + "a" * 256),
    *("receipts/../a", "receipts/A", "runs/../a", "notes/..", "heads/heads/a", "heads/tags/a"),
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_name_that_could_mislead_is_refused(repo: Repository, forge: Forge, name: str):
    with pytest.raises(InvalidInputError):
        check_ref("name", name)
    commit = forge.commit(forge.root())
    block = codec.encode(
        {
            "v": 1,
            "kind": "bundle",
            "head": "heads/evil",
            "refs": {name: {"seq": 0, "target": commit}},
        }
    )
    pairs = sorted([*forge.blocks.items(), (Cid.of(block), block)])
    data = car_header([Cid.of(block)]) + b"".join(car_section(*pair) for pair in pairs)
    refused(repo, data)


@pytest.mark.parametrize("name", ["", "a/b", "..", "A", "a b", "-a", "a" * 64, "a\n", "origin\0"])
def test_the_name_of_a_remote_is_no_path(name: str):
    with pytest.raises(InvalidInputError):
        check_remote(name)


def test_a_push_that_says_nothing_is_refused(repo: Repository):
    before = state(repo)
    with pytest.raises(InvalidInputError):
        LocalRemote(repo.core).push(Push({}), ())
    assert state(repo) == before


def test_a_push_without_the_blocks_is_refused(repo: Repository):
    before = state(repo)
    stranger = CommitCid.of(b"stranger")
    with pytest.raises(NotFoundError):
        LocalRemote(repo.core).push(Push({"heads/x": Update(stranger, None)}), ())
    assert state(repo) == before


def test_nothing_is_given_out_that_no_ref_reaches(repo: Repository):
    with repo.stage.transaction() as tx:
        tx.add_node("Doc", summary="secret on the stage")
    for cid in repo.core.store.cids():
        is_commit = not cid.is_raw and b"fcommit" in repo.core.store.get(cid)
        if is_commit:
            continue
        with pytest.raises(NotFoundError):
            LocalRemote(repo.core).pack([cid], [])


def test_a_commit_that_was_undone_is_not_given_out(repo: Repository):
    head = repo.head
    assert head is not None
    repo.history.undo()
    with pytest.raises(NotFoundError):
        LocalRemote(repo.core).pack([head], [])


def test_too_many_blocks_end_at_the_limit(repo: Repository, forge: Forge):
    data = forge.of_nodes(*(forge.node(str(number)) for number in range(50)))
    before = state(repo)
    with pytest.raises(CorruptError) as error:
        repo.sync.load(io.BytesIO(data), limits=CarLimits(block_count_max=20))
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    assert state(repo) == before


def test_much_waits_on_disk_and_leaves_nothing_behind(tmp_path: Path, monkeypatch):
    from ibidem.repo.sync import quarantine

    with ibidem.init(tmp_path / "a") as one, ibidem.init(tmp_path / "b") as other:
        filled(one, 40)
        one.sync.export(tmp_path / "all.car")
        defaults = {"memory_bytes_max": 5000, "is_unseen": False}
        monkeypatch.setattr(quarantine.Quarantine.__init__, "__kwdefaults__", defaults)
        other.sync.load(tmp_path / "all.car")
        assert other.head == one.head
        assert other.maintenance.fsck().faults == ()
        assert sorted(path.name for path in (tmp_path / "b" / ".ibidem").iterdir()) == [
            "blocks",
            "format",
        ]


def test_a_file_is_not_written_through_a_link(repo: Repository, tmp_path: Path):
    (tmp_path / "link.car").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInputError):
        repo.sync.export(tmp_path / "link.car")
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_and_a_folder_are_no_files(repo: Repository, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises((InvalidInputError, OSError)):
            repo.sync.load(path)
    with pytest.raises(NotFoundError):
        repo.sync.load(tmp_path / "absent")


def test_an_export_that_fails_leaves_no_file(repo: Repository, tmp_path: Path):
    with pytest.raises(NotFoundError):
        repo.sync.export(tmp_path / "x.car", branches=["absent"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "location",
    [
        "ftp://host/x",
        "file:///etc/passwd",
        "http://user:secret@host/",
        "http://",
        "http://host/?token=x",
        "http://host/#x",
        "http://host:99999/",
        "http://a b/",
        "http://h\r\nX: y/",
        "",
        "a\0b",
    ],
)
def test_a_location_of_another_form_is_refused(location: str):
    with pytest.raises(InvalidInputError):
        address_of(location)

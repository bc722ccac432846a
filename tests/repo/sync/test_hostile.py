"""What somebody means to harm is refused with a typed error, and nothing here has changed."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.blocks import Buffer
from ibidem.objects.cid import BlobCid, Cid, CommitCid, NodeCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.conflict import Conflict
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    IbidemError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.node import Child, Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, build
from ibidem.objects.tree.block import encode
from ibidem.objects.vector import Vector
from ibidem.repo.repository import Repository
from ibidem.repo.sync.bundle import Bundle, Push, Tip, Update
from ibidem.repo.sync.car import CarLimits, car_header, car_section
from ibidem.repo.sync.container import container
from ibidem.repo.sync.names import check_ref, check_remote
from ibidem.repo.sync.place import address_of
from ibidem.repo.sync.remote import LocalRemote

from .conftest import filled

Blocks = dict[Cid, bytes]


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init(clock=lambda: 0) as repository:
        filled(repository, 12)
        yield repository


def state(repo: Repository) -> tuple[object, ...]:
    return (
        sorted(cid.raw for cid in repo.store.cids()),
        {name: repo.store.cell(name) for name in repo.store.cells()},
    )


def bundle(blocks: Blocks, target: Cid, name: str = "heads/evil", **fields: object) -> bytes:
    message = Bundle({name: Tip(CommitCid(target.raw), 0)}, "heads/evil", **fields)
    return b"".join(container(message, sorted(blocks.items())))


def refused(repo: Repository, data: bytes, *, kind: ErrorKind | None = None) -> IbidemError:
    """Imports and pushes the data; returns the error of the import."""
    before = state(repo)
    with pytest.raises(IbidemError) as error:
        repo.import_(io.BytesIO(data))
    assert not isinstance(error.value, InvalidInputError) or kind is ErrorKind.INVALID_INPUT
    if kind is not None:
        assert error.value.kind is kind
    assert state(repo) == before
    return error.value


def put(blocks: Blocks, block: bytes) -> Cid:
    cid = Cid.of(block)
    blocks[cid] = block
    return cid


class Forge:
    """Makes a commit whose parts can be replaced by bad ones."""

    def __init__(self) -> None:
        self.blocks: Blocks = {EMPTY_TREE: EMPTY_TREE_BLOCK}
        self.buffer = Buffer()

    def node(self, summary: str = "evil", **fields: object) -> Node:
        node = Node(
            id=ibidem_id(summary), ntype="Doc", summary=summary, key=("", summary), **fields
        )
        put(self.blocks, node.encode())
        return node

    def tree(self, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        tree = build(entries, self.buffer)
        self.blocks.update(self.buffer.new)
        return tree

    def root(self, **trees: object) -> RootCid:
        fields = dict.fromkeys(("nodes", "edges", "tombstones", "conflicts"), EMPTY_TREE)
        return RootCid(put(self.blocks, Root(**{**fields, **trees}).encode()).raw)

    def commit(self, root: RootCid, *parents: CommitCid) -> CommitCid:
        return CommitCid(put(self.blocks, Commit(root, parents).encode()).raw)

    def of_nodes(self, *nodes: Node) -> bytes:
        tree = self.tree([(node.id.raw, node.cid) for node in nodes])
        return bundle(self.blocks, self.commit(self.root(nodes=tree)))


def ibidem_id(key: str):
    from ibidem.objects.derive import node_id

    return node_id("", key)


@pytest.fixture
def forge() -> Forge:
    return Forge()


def test_the_forge_makes_what_is_taken_when_nothing_is_wrong(repo: Repository, forge: Forge):
    repo.import_(io.BytesIO(forge.of_nodes(forge.node("a"), forge.node("b"))))
    assert "evil" in repo.branches()
    assert repo.fsck().faults == ()


def test_every_flipped_byte_of_a_bundle_is_refused_or_changes_nothing_but_its_message(
    repo: Repository,
):
    file = io.BytesIO()
    with ibidem.init(clock=lambda: 0) as small:
        with small.transaction() as tx:
            tx.add_node("Doc", summary="a")
        small.export(file)
    data = file.getvalue()
    before = state(repo)
    rng = np.random.default_rng(1)
    for at in rng.choice(len(data), 80, replace=False).tolist():
        changed = bytearray(data)
        changed[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(IbidemError):
            repo.import_(io.BytesIO(bytes(changed)))
        assert state(repo) == before


def test_every_cut_of_a_bundle_is_refused(repo: Repository, forge: Forge):
    data = forge.of_nodes(forge.node("a"))
    before = state(repo)
    for stop in range(0, len(data), 7):
        with pytest.raises(IbidemError):
            repo.import_(io.BytesIO(data[:stop]))
    assert state(repo) == before


def test_every_missing_block_is_noticed(repo: Repository, forge: Forge):
    blob = put_raw(forge.blocks, b"x" * 5000)
    forge.of_nodes(forge.node("a"), forge.node("b", content=(blob,)))
    target = next(cid for cid, block in forge.blocks.items() if b"fcommit" in block)
    for cid in set(forge.blocks) - {EMPTY_TREE}:
        less = {other: block for other, block in forge.blocks.items() if other != cid}
        error = refused(repo, bundle(less, target))
        assert error.kind is ErrorKind.BLOCK_NOT_FOUND


def put_raw(blocks: Blocks, data: bytes) -> BlobCid:
    cid = BlobCid.of(data)
    blocks[cid] = data
    return cid


def test_a_block_that_happens_to_be_here_must_be_sent_all_the_same(repo: Repository, forge: Forge):
    """Else a guess of a CID would be enough to read what no ref shows."""
    with repo.staging() as tx:
        tx.add_node("Doc", summary="secret on the stage", key="secret")
    staged = next(
        cid
        for cid in repo.store.cids()
        if not cid.is_raw and b"secret on the stage" in repo.store.get(cid)
    )
    tree = forge.tree([(ibidem_id("secret").raw, NodeCid(staged.raw))])
    data = bundle(forge.blocks, forge.commit(forge.root(nodes=tree)))
    assert refused(repo, data).kind is ErrorKind.BLOCK_NOT_FOUND


def test_a_mislabelled_block_is_refused(repo: Repository):
    cid = Cid.of(codec.encode({"kind": "node", "v": 1}))
    data = car_header([cid]) + car_section(cid, b"\xa0")
    assert refused(repo, data).kind is ErrorKind.HASH_MISMATCH


def test_an_oversized_block_is_refused(repo: Repository):
    block = codec.encode([bytes(1 << 19)] * 1)
    raw = BlobCid.of(bytes((8 << 20) + 1))
    data = car_header([Cid.of(block)]) + car_section(raw, bytes((8 << 20) + 1))
    refused(repo, data, kind=ErrorKind.LIMIT_EXCEEDED)


@pytest.mark.parametrize(
    "block",
    [
        b"\x81" * 100 + b"\x80",
        b"\xa1\x61a" * 100 + b"\x80",
        b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"\xbf\xff",
        b"\xa2\x61a\x01\x61a\x02",
        b"\xf9\x00\x00",
        b"\xa2\x61v\x01\x64kind\x64evil",
        codec.encode({"kind": "evil", "v": 1}),
        codec.encode({"kind": "node", "v": 99}),
        codec.encode([1]),
    ],
)
def test_a_block_that_is_not_of_the_format_is_refused(repo: Repository, block: bytes):
    cid = Cid.of(block)
    with pytest.raises((CorruptError, FormatError)):
        repo.import_(io.BytesIO(car_header([cid]) + car_section(cid, block)), branch="x")
    assert isinstance(
        refused(repo, car_header([cid]) + car_section(cid, block)), (CorruptError, FormatError)
    )


def test_a_value_of_another_kind_in_its_place_is_refused(repo: Repository, forge: Forge):
    node = forge.node("a")
    tree = forge.tree([(node.id.raw, node.cid)])
    for name in ("edges", "tombstones", "conflicts"):
        data = bundle(forge.blocks, forge.commit(forge.root(**{name: tree})))
        assert isinstance(refused(repo, data), (CorruptError, FormatError))


def test_a_node_at_the_key_of_another_is_refused(repo: Repository, forge: Forge):
    node = forge.node("a")
    tree = forge.tree([(bytes(16), node.cid)])
    refused(repo, bundle(forge.blocks, forge.commit(forge.root(nodes=tree))))


def test_a_conflict_that_leads_to_the_history_is_refused(repo: Repository, forge: Forge):
    """What is here must not be walked for a block that merely names it."""
    head = repo.head
    assert head is not None
    other = forge.node("a")
    sides = tuple(sorted((Cid(head.raw), Cid(other.cid.raw))))
    conflict = Conflict("node", sides)
    put(forge.blocks, conflict.encode())
    tree = forge.tree([(other.id.raw, conflict.cid)])
    error = refused(repo, bundle(forge.blocks, forge.commit(forge.root(conflicts=tree))))
    assert "as a part of it" in str(error)


def test_a_raw_block_for_a_node_is_refused(repo: Repository, forge: Forge):
    raw = put_raw(forge.blocks, b"not a node")
    tree = forge.tree([(bytes(16), raw)])
    refused(repo, bundle(forge.blocks, forge.commit(forge.root(nodes=tree))))


def test_a_commit_in_place_of_a_root_is_refused(repo: Repository, forge: Forge):
    commit = forge.commit(forge.root())
    refused(repo, bundle(forge.blocks, forge.commit(RootCid(commit.raw))))


def test_a_root_in_place_of_a_commit_is_refused(repo: Repository, forge: Forge):
    refused(repo, bundle(forge.blocks, CommitCid(forge.root().raw)))


def test_a_vector_of_another_dimension_is_refused(repo: Repository, forge: Forge):
    node = forge.node("a")
    vector = Vector.from_array(np.ones(3, np.float32), dtype="f32", of=bytes(32))
    put(forge.blocks, vector.encode())
    nodes = forge.tree([(node.id.raw, node.cid)])
    vectors = forge.tree([(node.id.raw, vector.cid)])
    for config in ({}, {"models": {"m": {"dim": 4, "metric": "cosine", "dtype": "f32"}}}):
        root = forge.root(nodes=nodes, vectors={"m": vectors}, config=config)
        refused(repo, bundle(forge.blocks, forge.commit(root)))


def test_a_root_whose_config_means_nothing_is_refused(repo: Repository, forge: Forge):
    for config in ({"semantics": 0}, {"models": 3}, {"fields": ["x"]}):
        data = bundle(forge.blocks, forge.commit(forge.root(config=config)))
        assert isinstance(refused(repo, data), CorruptError)


def test_a_root_that_requires_what_is_not_known_is_refused(repo: Repository, forge: Forge):
    block = codec.encode(
        {**Root(EMPTY_TREE, EMPTY_TREE, EMPTY_TREE, EMPTY_TREE).to_map(), "requires": ["x"]}
    )
    root = RootCid(put(forge.blocks, block).raw)
    error = refused(repo, bundle(forge.blocks, forge.commit(root)))
    assert isinstance(error, FormatError)


def hostile_trees() -> dict[str, Callable[[Forge, list[tuple[bytes, Cid]]], TreeCid]]:
    def leaf(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        keys = b"".join(key for key, _ in entries)
        cids = b"".join(cid.raw for _, cid in entries)
        return TreeCid(put(forge.blocks, encode(0, keys, cids, b"")).raw)

    def inner(forge: Forge, level: int, children: list[tuple[bytes, TreeCid]], count: int):
        keys = b"".join(key for key, _ in children)
        cids = b"".join(cid.raw for _, cid in children)
        counts = count.to_bytes(8, "big") * len(children)
        return TreeCid(put(forge.blocks, encode(level, keys, cids, counts)).raw)

    def out_of_order(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        return leaf(forge, entries[::-1])

    def repeated(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        return leaf(forge, entries + entries[-1:])

    def needless_level(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        return inner(forge, 1, [(entries[-1][0], leaf(forge, entries))], len(entries))

    def cut_elsewhere(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        one, other = leaf(forge, entries[:2]), leaf(forge, entries[2:])
        return inner(forge, 1, [(entries[1][0], one), (entries[-1][0], other)], 2)

    def shared_bomb(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        """Each level refers to everything below it many times: small to send, huge to walk."""
        known = [(key, leaf(forge, [(key, cid)])) for key, cid in entries]
        for level in range(1, 60):
            known = [
                (known[at][0], inner(forge, level, known[: at + 1], 1)) for at in range(len(known))
            ]
        return known[-1][1]

    def wrong_last(forge: Forge, entries: list[tuple[bytes, Cid]]) -> TreeCid:
        return inner(forge, 1, [(b"\xff" * 16, leaf(forge, entries))], len(entries))

    made = (out_of_order, repeated, needless_level, cut_elsewhere, shared_bomb, wrong_last)
    return {make.__name__: make for make in made}


@pytest.mark.parametrize("make", hostile_trees().values(), ids=hostile_trees())
@pytest.mark.parametrize("on_top", [False, True], ids=["alone", "on a commit"])
def test_a_tree_that_is_not_the_tree_of_its_entries_is_refused(
    repo: Repository, forge: Forge, make, on_top: bool
):
    nodes = sorted((forge.node(str(number)) for number in range(8)), key=lambda node: node.id.raw)
    tree = make(forge, [(node.id.raw, node.cid) for node in nodes])
    parents: tuple[CommitCid, ...] = ()
    root = forge.root(nodes=tree)
    if on_top:
        parent = repo.commit_at()
        parents = (parent.cid,)
        whole = Root.decode(repo.store.get(parent.root))
        root = RootCid(put(forge.blocks, replace(whole, nodes=tree).encode()).raw)
    error = refused(repo, bundle(forge.blocks, forge.commit(root, *parents)))
    assert isinstance(error, (CorruptError, NotFoundError))


def test_a_tree_on_a_commit_with_another_boundary_is_refused(repo: Repository, forge: Forge):
    """The leaf of the old tree is cut in two, with nothing changed in it."""
    parent = repo.commit_at()
    whole = Root.decode(repo.store.get(parent.root))
    from ibidem.objects.tree import Tree

    entries = list(Tree(repo.store, whole.nodes).items())
    tree = hostile_trees()["cut_elsewhere"](forge, entries)
    root = RootCid(put(forge.blocks, replace(whole, nodes=tree).encode()).raw)
    error = refused(repo, bundle(forge.blocks, forge.commit(root, parent.cid)))
    assert "another form" in str(error)


def test_nodes_that_contain_each_other_do_no_harm(repo: Repository, forge: Forge):
    one, other = ibidem_id("one"), ibidem_id("other")
    nodes = [
        Node(id=one, ntype="Section", key=("", "one"), children=(Child(other, "", 1, 0),)),
        Node(id=other, ntype="Section", key=("", "other"), children=(Child(one, "", 1, 0),)),
    ]
    for node in nodes:
        put(forge.blocks, node.encode())
    repo.import_(io.BytesIO(forge.of_nodes(*nodes)))
    found = repo.at("evil")
    assert found.retrieve("anything").items == ()
    with pytest.raises(IbidemError):
        found.locate(one)


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
        LocalRemote(repo).push(Push({}), ())
    assert state(repo) == before


def test_a_push_without_the_blocks_is_refused(repo: Repository):
    before = state(repo)
    stranger = CommitCid.of(b"stranger")
    with pytest.raises(NotFoundError):
        LocalRemote(repo).push(Push({"heads/x": Update(stranger, None)}), ())
    assert state(repo) == before


def test_nothing_is_given_out_that_no_ref_reaches(repo: Repository):
    with repo.staging() as tx:
        tx.add_node("Doc", summary="secret on the stage")
    for cid in repo.store.cids():
        is_commit = not cid.is_raw and b"fcommit" in repo.store.get(cid)
        if is_commit:
            continue
        with pytest.raises(NotFoundError):
            LocalRemote(repo).pack([cid], [])


def test_a_commit_that_was_undone_is_not_given_out(repo: Repository):
    head = repo.head
    assert head is not None
    repo.undo()
    with pytest.raises(NotFoundError):
        LocalRemote(repo).pack([head], [])


def test_too_many_blocks_end_at_the_limit(repo: Repository, forge: Forge):
    data = forge.of_nodes(*(forge.node(str(number)) for number in range(50)))
    before = state(repo)
    with pytest.raises(CorruptError) as error:
        repo.import_(io.BytesIO(data), limits=CarLimits(block_count_max=20))
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    assert state(repo) == before


def test_much_waits_on_disk_and_leaves_nothing_behind(tmp_path: Path, monkeypatch):
    from ibidem.repo.sync import quarantine

    with ibidem.init(tmp_path / "a") as one, ibidem.init(tmp_path / "b") as other:
        filled(one, 40)
        one.export(tmp_path / "all.car")
        monkeypatch.setattr(
            quarantine.Quarantine.__init__, "__kwdefaults__", {"memory_bytes_max": 5000}
        )
        other.import_(tmp_path / "all.car")
        assert other.head == one.head
        assert other.fsck().faults == ()
        assert sorted(path.name for path in (tmp_path / "b" / ".ibidem").iterdir()) == [
            "blocks",
            "format",
        ]


def test_a_file_is_not_written_through_a_link(repo: Repository, tmp_path: Path):
    (tmp_path / "link.car").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInputError):
        repo.export(tmp_path / "link.car")
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_and_a_folder_are_no_files(repo: Repository, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises((InvalidInputError, OSError)):
            repo.import_(path)
    with pytest.raises(NotFoundError):
        repo.import_(tmp_path / "absent")


def test_an_export_that_fails_leaves_no_file(repo: Repository, tmp_path: Path):
    with pytest.raises(NotFoundError):
        repo.export(tmp_path / "x.car", branches=["absent"])
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

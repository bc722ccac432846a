"""Verifying: every way in which a foreign tree can be wrong is refused, by name."""

import random
from collections.abc import Callable

import pytest

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.errors import CorruptError, FormatError
from ibidem.objects.tree import EMPTY_TREE, Tree, build, verify
from ibidem.objects.tree.block import EMPTY_TREE_BLOCK, decode

from .reference import byte_string, cid, random_entries, raw_cid, write_block

Blocks = dict[Cid, bytes]
Fields = tuple[int, list[bytes], list[bytes], list[int]]


class Forge:
    """A tree whose blocks can be rewritten; the blocks above follow with correct CIDs."""

    def __init__(self, size: int = 3000) -> None:
        buffer = WriteBatch()
        self.top = build(random_entries(random.Random(1), size).items(), buffer)
        self.blocks: Blocks = dict(buffer.new)

    def read(self, at: TreeCid) -> Fields:
        block = decode(self.blocks[at])
        counts = [
            int.from_bytes(block.counts[i : i + 8], "big") for i in range(0, 8 * block.size, 8)
        ]
        return block.level, list(block.key_list), list(block.cid_list()), counts

    def put(self, level: int, keys: list[bytes], cids: list[bytes], counts: list[int]) -> bytes:
        block = write_block(level, keys, cids, counts)
        self.blocks[TreeCid.of(block)] = block
        return TreeCid.of(block).raw

    def rewrite_leaf(self, change: Callable[[Fields], Fields], *, index: int = 1) -> bytes:
        """Rewrites the leaf at `index` below the top's first child, if it has levels between."""
        path = [(self.top, index)]
        while self.read(path[-1][0])[0] > 1:
            at, _ = path[-1]
            path[-1] = (at, 0)
            path.append((TreeCid(self.read(at)[2][0]), index))
        leaf = TreeCid(self.read(path[-1][0])[2][index])
        raw = changed = self.put(*change(self.read(leaf)))
        for at, place in reversed(path):
            level, keys, cids, counts = self.read(at)
            cids[place] = raw
            raw = self.put(level, keys, cids, counts)
        self.top = TreeCid(raw)
        return changed


def test_what_was_built_is_right() -> None:
    for size in (0, 1, 2, 300, 20_000):
        forge = Forge(size)
        assert verify(WriteBatch(Reader(forge.blocks)), forge.top) == size


class Reader:
    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    def get(self, cid: Cid) -> bytes:
        return self.blocks[cid] if cid in self.blocks else WriteBatch().get(cid)


def refused(forge: Forge, at: bytes | None, message: str, kind: str = "corrupt") -> None:
    with pytest.raises(CorruptError, match=message) as caught:
        verify(Reader(forge.blocks), forge.top)
    assert caught.value.kind == kind
    if at is not None:
        assert str(Cid(at)) in str(caught.value)


def test_keys_out_of_order_are_refused() -> None:
    forge = Forge()

    def swap(fields: Fields) -> Fields:
        level, keys, cids, counts = fields
        return level, [keys[1], keys[0], *keys[2:]], cids, counts

    refused(forge, forge.rewrite_leaf(swap), "not above the key before")


def test_a_key_twice_is_refused() -> None:
    forge = Forge()

    def repeat(fields: Fields) -> Fields:
        level, keys, cids, counts = fields
        return level, [keys[1], *keys[1:]], cids, counts

    refused(forge, forge.rewrite_leaf(repeat), "not above the key before")


def test_blocks_that_overlap_are_refused() -> None:
    forge = Forge()

    def reach_down(fields: Fields) -> Fields:
        level, keys, cids, counts = fields
        return level, [bytes(16), *keys[1:]], cids, counts

    refused(forge, forge.rewrite_leaf(reach_down), "not above the key before")


def test_a_block_of_another_width_is_refused() -> None:
    forge = Forge()

    def widen(fields: Fields) -> Fields:
        level, keys, cids, counts = fields
        return level, [key + b"\0" for key in keys], cids, counts

    refused(forge, forge.rewrite_leaf(widen), "keys of 17 bytes, expected 16")


def test_a_block_of_another_level_is_refused() -> None:
    forge = Forge()

    def raise_level(fields: Fields) -> Fields:
        _, keys, cids, _ = fields
        return 1, keys, cids, [1] * len(keys)

    refused(forge, forge.rewrite_leaf(raise_level), "level 1, expected 0")


def test_a_last_key_that_is_not_the_parents_is_refused() -> None:
    forge = Forge()

    def shorten(fields: Fields) -> Fields:
        level, keys, cids, counts = fields
        return level, keys[:-1], cids[:-1], counts

    refused(forge, forge.rewrite_leaf(shorten), "its parent says")


def test_a_count_that_is_not_that_of_the_child_is_refused() -> None:
    forge = Forge()

    def thin(fields: Fields) -> Fields:
        level, keys, cids, counts = fields
        return level, keys[1:], cids[1:], counts

    refused(forge, forge.rewrite_leaf(thin), "its parent counts")


def test_boundaries_of_another_rule_are_refused() -> None:
    entries = sorted(random_entries(random.Random(2), 100))
    forge = Forge(0)
    pieces = [entries[:50], entries[50:]]
    leaves = [forge.put(0, piece, [raw_cid(1)] * 50, []) for piece in pieces]
    lasts = [piece[-1] for piece in pieces]
    forge.top = TreeCid(forge.put(1, lasts, leaves, [50, 50]))
    refused(forge, None, "ends? a block")
    merged = sorted(random_entries(random.Random(3), 200))
    forge.top = TreeCid(forge.put(0, merged, [raw_cid(1)] * 200, []))
    refused(forge, forge.top.raw, "should end a block")


def test_a_top_above_a_single_block_is_refused() -> None:
    forge = Forge(20)
    keys = forge.read(forge.top)[1]
    forge.top = TreeCid(forge.put(1, keys[-1:], [forge.top.raw], [20]))
    refused(forge, forge.top.raw, "expected a lower top")


def test_a_value_that_is_no_cid_is_refused() -> None:
    forge = Forge()

    def spoil(fields: Fields) -> Fields:
        level, keys, cids, counts = fields
        return level, keys, [bytes(36), *cids[1:]], counts

    refused(forge, forge.rewrite_leaf(spoil), "does not hold a cid")


def test_a_missing_block_is_named() -> None:
    forge = Forge()
    victim = forge.read(forge.top)[2][0]
    del forge.blocks[Cid(victim)]
    refused(forge, victim, "missing", "block-not-found")


def test_bytes_under_the_wrong_cid_are_refused() -> None:
    forge = Forge()
    one, other = forge.read(forge.top)[2][:2]
    forge.blocks[Cid(one)] = forge.blocks[Cid(other)]
    refused(forge, one, "its bytes have the cid", "hash-mismatch")


def test_the_empty_tree_needs_no_block() -> None:
    assert verify(Reader({}), EMPTY_TREE) == 0


HEAD = b"\xa5\x61v\x01\x64cids"
TAIL = b"\x64kind\x64tree\x65level\x00"
ONE = write_block(0, [b"k"], [raw_cid(1)], [])
INNER = write_block(1, [b"k", b"m"], [raw_cid(1), raw_cid(2)], [1, 1])


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\xa0",
        ONE + b"\0",
        ONE[:-1],
        ONE.replace(b"tree", b"node"),
        ONE.replace(b"keys", b"kexs"),
        ONE.replace(b"\x65level\x00", b"\x65level\x01"),
        ONE.replace(b"\x65level\x00", b"\x65level\x18\x00"),
        ONE.replace(b"\x64keys\x41k", b"\x64keys\x58\x01k"),
        ONE.replace(b"\x64keys\x41k", b"\x64keys\x61k"),
        ONE.replace(b"\x64keys\x41k", b"\x64keys\x40"),
        ONE.replace(b"\x64keys\x41k", b"\x64keys\x58\x41" + bytes(65)),
        HEAD + byte_string(raw_cid(1)[:35]) + b"\x64keys\x41k" + TAIL,
        HEAD + byte_string(b"") + b"\x64keys\x41k" + TAIL,
        HEAD + b"\x59\x00\x24" + raw_cid(1) + b"\x64keys\x41k" + TAIL,
        HEAD + b"\x5a\x00\x00\x00\x24" + raw_cid(1) + b"\x64keys\x41k" + TAIL,
        HEAD + byte_string(raw_cid(1) * 2) + b"\x64keys\x43abc" + TAIL,
        write_block(0, [b"k"] * 257, [raw_cid(1)] * 257, []),
        write_block(1, [], [], []),
        INNER.replace(b"\x65level\x01", b"\x65level\x00"),
        INNER.replace(b"\x65level\x01", b"\x65level\x18\x41"),
        INNER.replace(b"counts", b"kounts"),
        INNER[:-1],
        write_block(1, [b"k", b"m"], [raw_cid(1), raw_cid(2)], [1]),
    ],
)
def test_malformed_blocks_are_refused(block: bytes) -> None:
    with pytest.raises(CorruptError):
        decode(block)
    source = Reader({TreeCid.of(block): block})
    with pytest.raises(CorruptError, match=str(TreeCid.of(block))):
        verify(source, TreeCid.of(block))
    with pytest.raises(CorruptError, match=str(TreeCid.of(block))):
        Tree(source, TreeCid.of(block)).get(b"k")


def test_every_single_bit_flip_of_a_small_block_is_refused_or_read_as_other_content() -> None:
    for block in (ONE, INNER, EMPTY_TREE_BLOCK):
        original = decode(block)
        for bit in range(8 * len(block)):
            flipped = bytearray(block)
            flipped[bit // 8] ^= 1 << bit % 8
            try:
                read = decode(bytes(flipped))
            except (CorruptError, FormatError):
                continue
            assert (read.keys, read.cids, read.counts, read.level) != (
                original.keys,
                original.cids,
                original.counts,
                original.level,
            )


def test_a_newer_version_is_told_apart() -> None:
    newer = ONE.replace(b"\x61v\x01", b"\x61v\x02")
    with pytest.raises(FormatError, match="version"):
        Tree(Reader({TreeCid.of(newer): newer}), TreeCid.of(newer)).get(b"k")
    assert cid(1).raw == raw_cid(1)

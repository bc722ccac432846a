"""Building: bytes equal the specification's, whatever the order; bad entries are refused."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK, Tree, build, build_arrays, verify
from ibidem.objects.tree.block import decode, encode
from ibidem.objects.tree.boundary import cut_flags, forced, key_hash, key_hashes
from ibidem.objects.tree.build import Rows, write_blocks

from . import reference
from .reference import cid, random_entries, raw_cid, stored


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 40), st.integers(0, 900), st.integers(0, 2**32))
def test_build_equals_the_reference_to_the_byte(width: int, size: int, seed: int) -> None:
    entries = random_entries(random.Random(seed), size, width)
    top, blocks = stored(entries)
    raw, expected = reference.build({key: value.raw for key, value in entries.items()})
    assert (top.raw, {found.raw: block for found, block in blocks.items()}) == (raw, expected)
    assert verify(WriteBatch(reference.Recorder(blocks)), top) == len(entries)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, 2000), min_size=0, max_size=1500), st.integers(0, 70))
def test_cuts_equal_the_recursive_split_for_any_hashes(hashes: list[int], limit: int) -> None:
    def recursive(start: int, stop: int) -> list[int]:
        if stop - start + 1 <= 256:
            return []
        smallest = min(range(start, stop), key=lambda at: (hashes[at], at))
        return [*recursive(start, smallest), smallest, *recursive(smallest + 1, stop)]

    assert sorted(forced(hashes)) == recursive(0, len(hashes))
    ascending = sorted(hashes)
    hashes = ascending
    assert sorted(forced(hashes)) == recursive(0, len(hashes))


def test_hash_of_rows_equals_hash_of_keys_at_every_width() -> None:
    rng = random.Random(1)
    for width in range(1, 65):
        keys = [rng.randbytes(width) for _ in range(5)]
        rows = np.frombuffer(b"".join(keys), np.uint8).reshape(5, width)
        for level in (0, 1, 63):
            expected = [reference.key_hash(key, level) for key in keys]
            assert [key_hash(key, level) for key in keys] == expected
            assert key_hashes(rows, level).tolist() == expected


def test_insertion_order_does_not_change_the_tree() -> None:
    rng = random.Random(2)
    entries = list(random_entries(rng, 3000).items())
    expected = build(entries, WriteBatch())
    for _ in range(5):
        rng.shuffle(entries)
        assert build(iter(entries), WriteBatch()) == expected


def test_block_bytes_are_those_of_the_codec() -> None:
    rng = random.Random(3)
    for size in (1, 5, 6, 7, 8, 15, 16, 23, 24, 255, 256):
        for width in (1, 16, 64):
            for level in (0, 1, 23, 24, 64):
                keys = b"".join(sorted(rng.randbytes(width) for _ in range(size)))
                cids = b"".join(raw_cid(rng.randrange(99)) for _ in range(size))
                counts = rng.randbytes(8 * size) if level else b""
                fields = {"kind": "tree", "v": 1, "level": level, "keys": keys, "cids": cids}
                block = encode(level, keys, cids, counts)
                assert block == codec.encode({**fields, "counts": counts} if level else fields)
                read = decode(block)
                assert (read.level, read.size, read.width) == (level, size, width)
                assert (read.keys, read.cids, read.counts) == (keys, cids, counts)


def test_nothing_gives_the_empty_tree_and_puts_its_block() -> None:
    buffer = WriteBatch()
    assert build([], buffer) == EMPTY_TREE
    assert buffer.new == {EMPTY_TREE: EMPTY_TREE_BLOCK}
    none = np.zeros((0, 16), np.uint8), np.zeros((0, 36), np.uint8)
    assert build_arrays(*none, WriteBatch()) == EMPTY_TREE
    assert (
        codec.encode({"kind": "tree", "v": 1, "level": 0, "keys": b"", "cids": b""})
        == EMPTY_TREE_BLOCK
    )


def test_arrays_and_pairs_build_the_same_tree() -> None:
    entries = random_entries(random.Random(4), 5000)
    top, blocks = stored(entries)
    keys, cids = Tree(reference.Recorder(blocks), top).arrays()
    assert build_arrays(keys, cids, WriteBatch()) == top
    assert keys.tobytes() == b"".join(sorted(entries))


def test_no_block_holds_more_than_256_entries() -> None:
    _, blocks = stored(random_entries(random.Random(5), 30_000))
    sizes = [decode(block).size for block in blocks.values()]
    assert max(sizes) <= 256
    assert min(sizes) >= 1


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([(b"a", cid(1)), (b"a", cid(1))], "ascending"),
        ([(b"a", cid(1)), (b"ab", cid(1))], "expected 1"),
        ([(b"", cid(1))], "expected 1 to 64"),
        ([(bytes(65), cid(1))], "expected 1 to 64"),
    ],
)
def test_bad_entries_are_refused(entries: list[tuple[bytes, Cid]], message: str) -> None:
    buffer = WriteBatch()
    with pytest.raises(InvalidInputError, match=message):
        build(entries, buffer)
    assert not buffer.new


def test_bad_arrays_are_refused() -> None:
    keys = np.arange(32, dtype=np.uint8).reshape(2, 16)
    cids = np.frombuffer(raw_cid(1) * 2, np.uint8).reshape(2, 36)
    for bad_keys, bad_cids in ((keys[::-1], cids), (keys, cids[:1]), (keys[0], cids)):
        with pytest.raises(InvalidInputError):
            build_arrays(bad_keys, bad_cids, WriteBatch())


def test_order_is_that_of_bytes_even_with_trailing_zeros() -> None:
    keys = [bytes(16), bytes(15) + b"\x01", b"\x01" + bytes(15), b"\x7f" * 16, b"\x80" + bytes(15)]
    rows = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 16)
    top = build_arrays(rows, np.frombuffer(raw_cid(7) * 5, np.uint8).reshape(-1, 36), WriteBatch())
    assert top == build([(key, cid(7)) for key in keys], WriteBatch())


def test_level_beyond_the_last_is_refused() -> None:
    rows = Rows(np.zeros((1, 16), np.uint8), np.zeros((1, 36), np.uint8), np.ones(1, np.uint64))
    written: dict[bytes, bytes] = {}
    with pytest.raises(InvalidInputError, match="level 65") as caught:
        write_blocks(65, rows, np.ones(1, np.int64), written.__setitem__)
    assert caught.value.kind == "limit-exceeded"
    assert not written


def test_no_entries_have_no_boundaries() -> None:
    assert cut_flags(np.zeros((0, 16), np.uint8), 0).tolist() == []

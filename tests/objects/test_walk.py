"""The walk: its order, what it reads together, and what it tells its visitor."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ibidem.objects import codec
from ibidem.objects.block import Map
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import CorruptError, NotFoundError, StorageError
from ibidem.objects.walk import ANY, BLOB, Link, read_blocks, walk
from ibidem.store.memory import MemoryStore


class Recorder:
    """Enters every block once; a block here is a list of links."""

    def __init__(self) -> None:
        self.entered: set[bytes] = set()
        self.read: list[bytes] = []
        self.gone: list[Cid] = []

    def enter(self, link: Link) -> bool:
        is_new = link.raw not in self.entered
        self.entered.add(link.raw)
        return is_new

    def block(self, link: Link, block: bytes) -> Iterable[Link]:
        self.read.append(block)
        fields = {} if link.raw[1] == 0x55 else codec.decode(block)
        return [link_to(cid) for cid in fields.get("links", ())]

    def missing(self, link: Link, error: NotFoundError | CorruptError) -> None:
        self.gone.append(Cid(link.raw))


class Counting:
    """A store that notes how many blocks each read asks for."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.reads: list[int] = []

    def get(self, cid: Cid) -> bytes:
        self.reads.append(1)
        return self._store.get(cid)

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        wanted = list(cids)
        self.reads.append(len(wanted))
        return self._store.get_many(wanted)


def link_to(cid: Cid) -> Link:
    return Link(cid.raw, BLOB if cid.is_raw else ANY)


def put(store: MemoryStore, name: str, *links: Cid) -> Cid:
    fields: Map = {"links": list(links), "name": name}
    block = codec.encode(fields)
    store.put({Cid.of(block): block})
    return Cid.of(block)


def names(blocks: Iterable[bytes]) -> list[str]:
    return [str(codec.decode(block)["name"]) for block in blocks]


def test_it_goes_depth_first_in_the_order_of_the_links_whatever_the_batch() -> None:
    store = MemoryStore()
    shared = put(store, "shared")
    left = put(store, "left", put(store, "left.a"), put(store, "left.b", shared))
    right = put(store, "right", shared, put(store, "right.a"))
    top = put(store, "top", left, right)
    for batch in (1, 2, 128):
        visitor = Recorder()
        walk(store, [link_to(top), link_to(top)], visitor, batch=batch)
        expected = ["top", "left", "left.a", "left.b", "shared", "right", "right.a"]
        assert names(visitor.read) == expected


def test_what_waits_is_read_together_and_raw_blocks_one_by_one() -> None:
    store = MemoryStore()
    blobs = [b"blob %d" % number for number in range(3)]
    store.put({BlobCid.of(blob): blob for blob in blobs})
    values = [put(store, f"{number}") for number in range(10)]
    top = put(store, "top", *values, *map(BlobCid.of, blobs))
    counting, visitor = Counting(store), Recorder()
    walk(counting, [link_to(top)], visitor, batch=4)
    assert counting.reads == [1, 4, 4, 2, 1, 1, 1]
    assert len(visitor.read) == 14


def test_one_missing_or_damaged_block_hides_no_other() -> None:
    store = MemoryStore()
    here = [put(store, "a"), put(store, "b")]
    gone, damaged = Cid.of(b"gone"), put(store, "damaged")
    store._blocks[damaged] = b"other bytes"
    top = put(store, "top", here[0], gone, damaged, here[1])
    visitor = Recorder()
    walk(store, [link_to(top)], visitor)
    assert names(visitor.read) == ["top", "a", "b"]
    assert visitor.gone == [gone, damaged]
    found = dict(read_blocks(store, [*here, gone, damaged], batch=3))
    assert names(found[cid] for cid in here if isinstance(found[cid], bytes)) == ["a", "b"]
    assert isinstance(found[gone], NotFoundError)
    assert isinstance(found[damaged], CorruptError)


def test_a_store_that_fails_ends_the_walk() -> None:
    class Failing:
        def get(self, cid: Cid) -> bytes:
            raise StorageError("the disk is gone")

        def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
            raise StorageError("the disk is gone")

    with pytest.raises(StorageError, match="the disk is gone"):
        walk(Failing(), [link_to(Cid.of(b""))], Recorder())

"""Reads through `TreeCache` equal those of its source; only blocks of trees are kept, up to a
bound."""

from __future__ import annotations

from collections.abc import Iterable

from ibidem.objects.cid import Cid, NodeCid, TreeCid
from ibidem.objects.tree.cache import ENTRY_BYTES, TreeCache


class Counting:
    """A source of blocks that counts reads."""

    def __init__(self) -> None:
        self.blocks: dict[Cid, bytes] = {}
        self.reads: list[bytes] = []

    def get(self, cid: Cid) -> bytes:
        self.reads.append(cid.raw)
        return self.blocks[cid]

    def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
        return [self.get(cid) for cid in cids]


def filled(count: int) -> tuple[Counting, list[TreeCid]]:
    source = Counting()
    cids = [TreeCid.of(b"%03d" % number) for number in range(count)]
    source.blocks = {cid: b"%03d" % number for number, cid in enumerate(cids)}
    return source, cids


def test_a_tree_block_is_read_once_and_others_each_time() -> None:
    source, (first, second, third) = filled(3)
    cache = TreeCache(source)
    assert [cache.get(first), cache.get(first)] == [b"000", b"000"]
    assert cache.get_many([third, first, second, third]) == [b"002", b"000", b"001", b"002"]
    assert cache.get(third) == b"002"
    assert source.reads.count(first.raw) == source.reads.count(second.raw) == 1
    other = NodeCid(first.raw)
    assert [cache.get(other), *cache.get_many([other])] == [b"000", b"000"]
    assert source.reads.count(first.raw) == 3


def test_what_is_kept_has_a_bound_and_what_is_used_stays() -> None:
    source, cids = filled(100)
    cache = TreeCache(source, bytes_max=20 * (3 + ENTRY_BYTES))
    for cid in cids:
        assert cache.get(cids[0]) == b"000"
        assert cache.get(cid) == source.blocks[cid]
        assert len(cache._new) + len(cache._old) <= 22
    assert source.reads.count(cids[0].raw) == 1
    assert len(source.reads) == 100
    assert cache.get(cids[1]) == b"001"
    assert source.reads.count(cids[1].raw) == 2

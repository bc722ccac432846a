"""A decoded tree block: columns of keys, CIDs and counts, and the search for a key in them.

The columns are kept as the bytes that were read. Keys are split only in blocks that are searched
repeatedly; reading a leaf for one key does not split the others.

Spec: format 6.1.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from struct import Struct, unpack

from ibidem.objects.cid import CID_BYTES

COUNT_BYTES = 8


class Block:
    """A decoded block: `size` entries, ascending by key. Columns are immutable bytes.

    `keys` is size x width, `cids` size x 36, `counts` size x 8 (big-endian) above level 0 and empty
    at level 0, where each entry counts as one.
    """

    __slots__ = ("_split", "cids", "counts", "keys", "level", "size", "width")

    def __init__(self, level: int, size: int, keys: bytes, cids: bytes, counts: bytes) -> None:
        self.level = level
        self.size = size
        self.width = len(keys) // size if size else 0
        self.keys = keys
        self.cids = cids
        self.counts = counts
        self._split: tuple[bytes, ...] | None = None

    @property
    def key_list(self) -> tuple[bytes, ...]:
        """The keys, one by one."""
        if self._split is None:
            self._split = splitter(self.width, self.size).unpack(self.keys)
        return self._split

    @property
    def last(self) -> bytes:
        """The last key, which is the key of this block in the block above."""
        return self.keys[-self.width :]

    @property
    def entry_count(self) -> int:
        """Number of leaf entries in and below this block."""
        if self.level == 0:
            return self.size
        return sum(unpack(f">{self.size}Q", self.counts))

    def find(self, key: bytes) -> int:
        """Returns the index of the first key that is not below `key`; `size` when there is none."""
        return bisect_left(self.key_list, key)

    def place(self, key: bytes) -> int:
        """Returns the index of `key`, -1 if it is absent; does not split the keys."""
        keys, width = self.keys, self.width
        at = keys.find(key)
        while at > 0 and at % width:
            at = keys.find(key, at + 1)
        return at // width if at > 0 else at

    def cid(self, index: int) -> bytes:
        """Returns the 36 bytes of the CID at `index`."""
        return self.cids[index * CID_BYTES : (index + 1) * CID_BYTES]

    def payload(self, index: int) -> bytes:
        """Returns the payload of a key: its CID, followed above level 0 by its count."""
        if self.level == 0:
            return self.cids[index * CID_BYTES : (index + 1) * CID_BYTES]
        return self.cid(index) + self.counts[index * COUNT_BYTES : (index + 1) * COUNT_BYTES]

    def cid_list(self) -> tuple[bytes, ...]:
        """Returns the CIDs, one by one."""
        return splitter(CID_BYTES, self.size).unpack(self.cids)


@lru_cache(maxsize=4096)
def splitter(width: int, size: int) -> Struct:
    """Returns a `Struct` that splits a byte string into `size` fields of `width` bytes."""
    return Struct(f"{width}s" * size)

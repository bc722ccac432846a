"""Reads every reachable block once and checks it for itself and for its place.

A block is read, hashed, decoded as if it came from a stranger and encoded again. In a tree, keys
ascend, children end where their parents say, and every value carries the id that it stands under.
What is missing because it was erased is counted and is no fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.derive import ref_key
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    IbidemError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.ids import StableId
from ibidem.objects.tree.block import decode
from ibidem.objects.verify import read_foreign
from ibidem.objects.view import Ref
from ibidem.repo.keep.reach import EMPTY_RAW, TREE, Link, expand
from ibidem.repo.keep.report import Fault, FaultKind

if TYPE_CHECKING:
    from ibidem.objects.block import Block
    from ibidem.objects.blocks import Source

Progress = Callable[[int, int], None]


class Walk:
    """One pass over everything that some links lead to."""

    def __init__(
        self,
        source: Source,
        is_erased: Callable[[Cid], bool],
        *,
        total: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._source = source
        self._is_erased = is_erased
        self._total, self._progress = total, progress
        self.faults: list[Fault] = []
        self.seen: dict[bytes, set[tuple[str, str, bytes]]] = {}
        """By CID, what it was needed as: kind, kind of values, key."""
        self.whole: set[bytes] = set()
        """CIDs of the blocks that were read and are right."""
        self.erased: set[bytes] = set()
        self.counts: Counter[str] = Counter()
        self.size_bytes = 0

    def run(self, links: Iterable[Link]) -> None:
        """Follows the links, and those of what they lead to, depth first."""
        waiting = list(links)
        waiting.reverse()
        while waiting:
            link = waiting.pop()
            known = self.seen.setdefault(link.raw, set())
            use = (link.kind, link.of, link.key)
            if use in known:
                continue
            known.add(use)
            waiting.extend(self._visit(link, is_new=len(known) == 1))

    def fault(self, kind: FaultKind, link: Link, detail: str, where: str | None = None) -> None:
        """Records what is wrong with a block."""
        cid = Cid(link.raw)
        self.faults.append(Fault(kind, where or f"{_noun(link)} {cid}", detail, cid, link.owner))

    def _visit(self, link: Link, *, is_new: bool) -> list[Link]:
        if link.raw == EMPTY_RAW and link.kind == TREE:
            return []
        try:
            block = self._read(link)
        except (NotFoundError, CorruptError) as error:
            self._unreadable(link, error, is_new=is_new)
            return []
        if block is None:
            return []
        try:
            value = None if Cid(link.raw).is_raw else read_foreign(block)
            found = list(expand(link, block))
            self._check_place(link, block, value)
        except FormatError as error:
            self.fault(FaultKind.UNKNOWN, link, str(error))
            return []
        except (CorruptError, InvalidInputError) as error:
            self.fault(FaultKind.MALFORMED, link, str(error))
            return []
        if is_new:
            self.whole.add(link.raw)
            self.counts[link.kind if value is None else value.KIND] += 1
            self.size_bytes += len(block)
            if self._progress is not None and not len(self.whole) % 1000:
                self._progress(min(len(self.whole), self._total), self._total)
        return found

    def _read(self, link: Link) -> bytes | None:
        cid = Cid(link.raw)
        block = self._source.get(cid)
        found = BlobCid.of(block) if cid.is_raw else Cid.of(block)
        if found != cid:
            raise CorruptError(f"the bytes are those of {found}", kind=ErrorKind.HASH_MISMATCH)
        return block

    def _unreadable(self, link: Link, error: IbidemError, *, is_new: bool) -> None:
        if isinstance(error, CorruptError):
            if is_new:
                self.fault(FaultKind.DAMAGED, link, "the bytes are not those that the CID names")
        elif self._is_erased(Cid(link.raw)):
            self.erased.add(link.raw)
        elif is_new:
            self.fault(FaultKind.MISSING, link, "it is not in the store")

    def _check_place(self, link: Link, block: bytes, value: Block | None) -> None:
        """Checks that a block fits the place in a tree that it was found in."""
        if link.kind == TREE:
            tree = decode(block)
            if any(one >= other for one, other in pairwise(tree.key_list)):
                raise CorruptError("tree: its keys do not ascend")
            if link.key and (tree.level != link.level or not tree.size or tree.last != link.key):
                raise CorruptError(
                    f"tree: it does not end at key {link.key.hex()} of level {link.level}, "
                    "as its parent says"
                )
        elif link.key and value is not None:
            key = _key_of(value)
            if key is not None and key != link.key:
                raise CorruptError(f"{value.KIND} {key.hex()} stands at key {link.key.hex()}")


def _key_of(value: Block) -> bytes | None:
    """Returns the key that a value must stand under in its tree, where it says so itself."""
    if isinstance(value, Ref):
        return ref_key(value.name)
    found = getattr(value, "id", None)
    return found.raw if isinstance(found, StableId) else None


def _noun(link: Link) -> str:
    return f"tree of {link.of}s" if link.kind == TREE and link.of else link.kind

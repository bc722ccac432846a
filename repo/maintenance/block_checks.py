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

from ibidem.objects import codec
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    IbidemError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.location import Part
from ibidem.objects.node import Node
from ibidem.objects.receipt import ReceiptBlock
from ibidem.objects.step import Step
from ibidem.objects.tree.block import decode
from ibidem.objects.verify import read_foreign
from ibidem.repo.maintenance.reachability import EMPTY_RAW, TREE, Link, expand
from ibidem.repo.maintenance.report import Fault, FaultKind
from ibidem.repo.root_check import place_problem
from ibidem.repo.runs.records import check_record

if TYPE_CHECKING:
    from ibidem.objects.block import Block
    from ibidem.objects.blocks import Source

Progress = Callable[[int, int], None]

Use = tuple[str, str, bytes]
"""What a block is needed as: its kind, the kind of its values, the key it stands under."""


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
        self.seen: dict[bytes, Use] = {}
        """By CID, what it was first needed as."""
        self._seen_again: set[tuple[bytes, Use]] = set()
        self.by_kind: dict[str, set[bytes]] = {"commit": set(), "root": set()}
        """CIDs of the commits and of the roots that were read."""
        self.parts: dict[bytes, Part] = {}
        """By CID, the nodes that list others."""
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
            use = (link.kind, link.of, link.key)
            first = self.seen.setdefault(link.raw, use)
            is_new = first is use
            if not is_new:
                if first == use or (link.raw, use) in self._seen_again:
                    continue
                self._seen_again.add((link.raw, use))
            waiting.extend(self._visit(link, is_new=is_new))

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
            if is_new and isinstance(value, (Step, ReceiptBlock)):
                self._check_record(link, block, value)
        except FormatError as error:
            self.fault(FaultKind.UNKNOWN, link, str(error))
            return []
        except (CorruptError, InvalidInputError) as error:
            self.fault(FaultKind.MALFORMED, link, str(error))
            return []
        if is_new:
            self.whole.add(link.raw)
            if isinstance(value, Node) and value.children:
                self.parts[link.raw] = Part.of(value)
            kind = link.kind if value is None else value.KIND
            self.counts[kind] += 1
            if kind in self.by_kind:
                self.by_kind[kind].add(link.raw)
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

    def _check_record(self, link: Link, block: bytes, value: Block) -> None:
        """Checks the values in a step or a receipt; what it leads to is read all the same."""
        try:
            check_record(self._source, block, value)
        except (CorruptError, FormatError) as error:
            self.fault(FaultKind.MALFORMED, link, str(error))

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
            problem = place_problem(link.kind, link.key, codec.decode(block))
            if problem is not None:
                raise CorruptError(problem)


def _noun(link: Link) -> str:
    return f"tree of {link.of}s" if link.kind == TREE and link.of else link.kind

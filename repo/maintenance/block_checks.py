"""Reads every reachable block once and checks it, both by itself and in its context.

A block is read, which verifies its hash, decoded as untrusted input and encoded again. In a tree,
keys ascend, the last key of each child is the one its parent names, and every value carries the id
that is its key. Blocks that are missing because they were erased are counted and are no fault.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from ibidem.objects.cid import Cid
from ibidem.objects.cid_table import NOTE_BYTES, CidTable
from ibidem.objects.edge import Edge
from ibidem.objects.errors import (
    CorruptError,
    FormatError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.location import Part
from ibidem.objects.node import Node
from ibidem.objects.progress import STEP, Progress, silent
from ibidem.objects.receipt import ReceiptBlock
from ibidem.objects.step import Step
from ibidem.objects.tree.block import decode
from ibidem.objects.vector import Vector
from ibidem.objects.verify import read_foreign
from ibidem.objects.walk import (
    BATCH_BLOCKS,
    EMPTY_RAW,
    KEYED,
    LEAVES,
    TREE,
    Link,
    expand,
    links_below,
    read_many,
    walk,
)
from ibidem.repo.maintenance.report import Fault, FaultKind
from ibidem.repo.maintenance.value_checks import PLAIN, CheckValues, PlainValues, Values
from ibidem.repo.root_check import place_problem
from ibidem.repo.runs.records import check_record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ibidem.objects.block import Block
    from ibidem.objects.blocks import Source
    from ibidem.objects.tree.columns import Block as TreeBlock

_WORK = "checking blocks"
_VALUES_AT_ONCE = 1024
"""Values of a kind that are checked together."""
_VALUES_STARTED_MAX = 8
"""The most checks of values that go on at a time."""
Look = Callable[[Cid, bytes], None]
"""Called with each block that was read and matches the hash of its CID."""


class BlockCheck:
    """A visitor of everything reachable from some links."""

    def __init__(
        self,
        source: Source,
        is_erased: Callable[[Cid], bool],
        check_values: CheckValues,
        *,
        total: int = 0,
        progress: Progress = silent,
        look: Look | None = None,
    ) -> None:
        self._source = source
        self._is_erased = is_erased
        self._check_values = check_values
        self._look = look
        self._total, self._progress = total, progress
        self.faults: list[Fault] = []
        self.entered = CidTable(total)
        """The blocks met so far, each with the role in which it was needed first."""
        self._gathered: dict[str, list[Link]] = {}
        """Values whose check has not started, by kind."""
        self._started: deque[tuple[list[Link], Callable[[], PlainValues]]] = deque()
        self._is_ending = False
        self._needed_again: set[tuple[bytes, bytes]] = set()
        """Blocks needed in a further role, with that role."""
        self.by_kind: dict[str, set[bytes]] = {"commit": set(), "root": set()}
        """CIDs of the commits and of the roots that were read."""
        self.parts: dict[bytes, Part] = {}
        """By CID, the nodes that list others."""
        self.whole_count = 0
        """Blocks that were read and are valid."""
        self.erased: set[bytes] = set()
        self._dims: set[int] = set()
        self.counts: Counter[str] = Counter()
        self.size_bytes = 0

    def run(self, links: Iterable[Link]) -> None:
        """Follows the links and those of their targets, depth first; values come after the tree
        blocks that link to them, many at a time.
        """
        self._progress(_WORK, 0, self._total)
        walk(self._source, links, self)
        while self._started or any(self._gathered.values()):
            for kind in sorted(self._gathered):
                self._start_values(kind)
            self._finish_values(0)
        self._progress(_WORK, self._total, self._total)

    @property
    def dim(self) -> int | None:
        """The dimension of all vectors that were read, None if they have several or there is no
        vector."""
        return next(iter(self._dims)) if len(self._dims) == 1 else None

    def end(self) -> None:
        """Forgets which blocks were met, 48 bytes each; nothing can be checked after that."""
        self.entered = CidTable()

    def enter(self, link: Link) -> bool:
        """Returns whether a block has not been met before in the role given by the link."""
        use = _use(link)
        first = self.entered.add(link.raw, use)
        if first is not None:
            if first == use or (link.raw, use) in self._needed_again:
                return False
            self._needed_again.add((link.raw, use))
        elif link.kind in PLAIN and self._look is None:
            links = self._gathered.setdefault(link.kind, [])
            links.append(link)
            if len(links) == _VALUES_AT_ONCE:
                self._start_values(link.kind)
            return False
        return True

    def _start_values(self, kind: str) -> None:
        links = self._gathered.pop(kind)
        values = Values(
            kind,
            b"".join([link.raw for link in links]),
            b"".join([link.key for link in links]),
        )
        self._started.append((links, self._check_values(values)))

    def _finish_values(self, started_max: int) -> None:
        """Records the checks that started first; values that are not plain are checked here.

        Args:
            started_max: how many checks may go on, whoever does them, so that faults are always
                reported in the same order.
        """
        if self._is_ending:
            return
        self._is_ending = True
        while len(self._started) > started_max:
            links, result = self._started.popleft()
            found = result()
            others = [links[index] for index in found.others]
            if others:
                self._check_others(others)
            count = len(links) - len(others)
            self.whole_count += count
            self.counts[links[0].kind] += count
            self.size_bytes += found.size_bytes
            self._dims.update(found.dims)
            self._progress(_WORK, min(self.whole_count, self._total), self._total)
        self._is_ending = False

    def _check_others(self, links: Sequence[Link]) -> None:
        for start in range(0, len(links), BATCH_BLOCKS):
            some = links[start : start + BATCH_BLOCKS]
            blocks = read_many(self._source, [Cid(link.raw) for link in some])
            for link, block in zip(some, blocks, strict=True):
                if isinstance(block, bytes):
                    walk(self._source, self.block(link, block), self)
                elif isinstance(block, (NotFoundError, CorruptError)):
                    self.missing(link, block)
                else:
                    raise block

    def fault(self, kind: FaultKind, link: Link, detail: str, where: str | None = None) -> None:
        """Records a fault of a block."""
        cid = Cid(link.raw)
        self.faults.append(Fault(kind, where or f"{_noun(link)} {cid}", detail, cid, link.owner))

    def block(self, link: Link, block: bytes) -> Iterable[Link]:
        """Checks a block; returns its links, none if it is invalid."""
        if len(self._started) > _VALUES_STARTED_MAX:
            self._finish_values(_VALUES_STARTED_MAX)
        cid, is_new = Cid(link.raw), self._is_new(link)
        if is_new and self._look is not None:
            self._look(cid, block)
        if _is_empty_tree(link):
            return ()
        try:
            found: Iterable[Link] = ()
            if link.kind == TREE and not cid.is_raw:
                value, found = None, self._tree(link, block)
            else:
                value = None if cid.is_raw else read_foreign(block)
                if value is None or link.kind != value.KIND or link.kind not in LEAVES:
                    found = list(expand(link, block))
                self._check_key(link, value)
            if is_new and isinstance(value, (Step, ReceiptBlock)):
                self._check_record(link, block, value)
        except FormatError as error:
            self.fault(FaultKind.UNKNOWN, link, str(error))
            return ()
        except (CorruptError, InvalidInputError) as error:
            self.fault(FaultKind.MALFORMED, link, str(error))
            return ()
        if is_new:
            self.whole_count += 1
            if isinstance(value, Node) and value.children:
                self.parts[link.raw] = Part.of(value)
            if isinstance(value, Vector):
                self._dims.add(value.dim)
            kind = link.kind if value is None else value.KIND
            self.counts[kind] += 1
            if kind in self.by_kind:
                self.by_kind[kind].add(link.raw)
            self.size_bytes += len(block)
            if not self.whole_count % STEP:
                self._progress(_WORK, min(self.whole_count, self._total), self._total)
        return found

    def missing(self, link: Link, error: NotFoundError | CorruptError) -> None:
        """Records that a block is damaged or missing, unless it was erased."""
        if _is_empty_tree(link):
            return
        if isinstance(error, CorruptError):
            if self._is_new(link):
                self.fault(FaultKind.DAMAGED, link, "the bytes are not those that the CID names")
        elif self._is_erased(Cid(link.raw)):
            self.erased.add(link.raw)
        elif self._is_new(link):
            self.fault(FaultKind.MISSING, link, "it is not in the store")

    def _is_new(self, link: Link) -> bool:
        return not self._needed_again or (link.raw, _use(link)) not in self._needed_again

    def _check_record(self, link: Link, block: bytes, value: Block) -> None:
        """Checks the values in a step or a receipt; its links are followed in any case."""
        try:
            check_record(self._source, block, value)
        except (CorruptError, FormatError) as error:
            self.fault(FaultKind.MALFORMED, link, str(error))

    def _tree(self, link: Link, block: bytes) -> list[Link]:
        """Checks a tree block in its place; returns its links, except those that were followed."""
        try:
            tree = decode(block)
        except (CorruptError, FormatError):
            read_foreign(block)  # a fault of the block itself comes before one of its place
            raise
        keys = np.frombuffer(tree.keys, f"S{tree.width or 1}")
        if not (keys[:-1] < keys[1:]).all():  # of one width, so their order is that of the bytes
            raise CorruptError("tree: its keys do not ascend")
        if link.key and (tree.level != link.level or not tree.size or tree.last != link.key):
            raise CorruptError(
                f"tree: it does not end at key {link.key.hex()} of level {link.level}, "
                "as its parent says"
            )
        if not tree.size:
            return []
        is_new = ~self.entered.noted(tree.cids, _uses_below(link, tree))
        return list(links_below(link, tree, is_new.tolist()))

    @staticmethod
    def _check_key(link: Link, value: Block | None) -> None:
        """Checks that a value has the id under which a tree has it."""
        if link.key and value is not None:
            problem = place_problem(link.kind, link.key, {"kind": value.KIND, "id": _id_of(value)})
            if problem is not None:
                raise CorruptError(problem)


def _id_of(value: Block) -> bytes | None:
    return value.id.raw if isinstance(value, (Node, Edge)) else None


def _is_empty_tree(link: Link) -> bool:
    """Returns whether a link leads to the empty tree, which can be read even if its block is
    missing.
    """
    return link.raw == EMPTY_RAW and link.kind == TREE


_MASK = (1 << 64) - 1
_FACTORS = tuple(hash(("factor of a key", number)) & _MASK for number in range(10))
"""Random numbers of this process."""
_WORDS = Struct(f"<{ID_BYTES // 4}I")


def _use(link: Link) -> bytes:
    """Returns the role of a block in compact form: its kind, the kind of its values, its key.

    Keys of 16 bytes are mixed by multiply-shift hashing, whose factors nobody can know beforehand:
    two keys have the same mix in one of 2**64 cases, whoever made them. It is the hash that numpy
    computes as well, for all entries of a block at once.
    """
    role = hash((link.kind, link.of)) & _MASK
    if len(link.key) != ID_BYTES:
        use = role ^ (hash(link.key) & _MASK if link.key else 0)
        return use.to_bytes(NOTE_BYTES, "little")
    high, low = _FACTORS[4], _FACTORS[9]
    for at, word in enumerate(_WORDS.unpack(link.key)):
        high += _FACTORS[at] * word
        low += _FACTORS[5 + at] * word
    use = role ^ (high & _MASK) >> 32 << 32 ^ (low & _MASK) >> 32
    return use.to_bytes(NOTE_BYTES, "little")


def _uses_below(link: Link, tree: TreeBlock) -> NDArray[np.uint64]:
    """Returns the role of every block that a tree block links to, as numbers."""
    role = np.uint64(hash((TREE, link.of) if tree.level else (link.of, "")) & _MASK)
    if not tree.level and link.of not in KEYED:
        return np.full(tree.size, role, np.uint64)
    if tree.width != ID_BYTES:
        return np.frombuffer(b"".join(map(_use, links_below(link, tree))), "<u8")
    words = np.frombuffer(tree.keys, "<u4").reshape(-1, ID_BYTES // 4).astype(np.uint64)
    factors = np.array(_FACTORS, np.uint64)
    high = words @ factors[:4] + factors[4]
    low = words @ factors[5:9] + factors[9]
    shift = np.uint64(32)
    mixed: NDArray[np.uint64] = role ^ high >> shift << shift ^ low >> shift
    return mixed


def _noun(link: Link) -> str:
    return f"tree of {link.of}s" if link.kind == TREE and link.of else link.kind

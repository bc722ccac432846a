"""Which blocks a root, or a set of refs, needs that the receiver does not have.

Sender and receiver run the same walk: the sender sends what it yields, the receiver demands it.
Blocks that both roots share are passed unread, so the cost follows the change. A tree is walked
level by level, and every child must end where its parent says and begin after the child before it,
so a small tree cannot stand for a huge one. Parents come before children, and a root before its
values: the order in which a receiver can check them.

Spec: sync 4.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, ReceiptCid, RootCid, StepCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError, NotFoundError
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.links import check_kind, links
from ibidem.objects.root import VALUE_KINDS, Root
from ibidem.objects.tree import Tree, diff
from ibidem.objects.tree.block import EMPTY_TREE, check_child, load

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.tree.columns import Block


Family = tuple[str, str]
"""A tree of a root: its field, and the model or vocabulary under it, "" for the plain ones."""

_LINKING = frozenset(("node", "conflict"))
"""Kinds of values that need other blocks."""
_PARTS = ("node", "edge")
"""Kinds of parts that are not raw: the sides of a conflict."""
_BATCH_KEYS = 4096


class Need(NamedTuple):
    """A block that a root needs, and as what."""

    cid: Cid
    kind: str
    """`root`, `tree`, the kind of a value, or `part` of one: a blob, a side of a conflict."""
    key: bytes = b""
    """Of a value: the key it stands under."""
    name: str = ""
    """Of a vector: its model or vocabulary."""


def root_needs(source: Source, cid: Cid, bases: Sequence[Root]) -> Iterator[Need]:
    """Yields the blocks of a root that none of the `bases` has in the same place.

    A block is yielded before it is read, so that a receiver can refuse what it was not given. A
    value that the source does not have is yielded, and what it would lead to is not.

    Raises:
        NotFoundError: a tree block or the root is missing.
        CorruptError: a tree is out of order, or not a block of its kind.
    """
    yield Need(cid, "root")
    root = Root.decode(source.get(cid))
    before = [base.families() for base in bases]
    for family, tree in root.families().items():
        olds = [trees[family] for trees in before if family in trees]
        yield from (Need(block, "tree") for block in tree_needs(source, tree, olds))
        yield from _value_needs(source, family, tree, olds)


def tree_needs(source: Source, tree: TreeCid, olds: Iterable[TreeCid]) -> Iterator[TreeCid]:
    """Yields the blocks of a tree that none of the `olds` has at the same level, from the top."""
    bases = list(dict.fromkeys(olds))
    if tree in bases:
        return
    yield tree
    if tree == EMPTY_TREE:
        return
    shared = _Shared(source, bases)
    top = load(source, tree.raw)
    wanted = [_Child(tree.raw, b"", top.last if top.size else b"")]
    level = top.level
    while True:
        known = shared.at(level, wanted)
        if level == top.level and tree.raw in known:
            return
        wanted = [child for child in wanted if known.get(child.raw) != child.last]
        below: list[_Child] = []
        for child in wanted:
            if level != top.level:
                yield TreeCid(child.raw)
            block = load(source, child.raw)
            check_child(block, child.raw, level, child.last)
            below += _children(block, child)
        if not level or not below:
            return
        wanted, level = below, level - 1


class _Child(NamedTuple):
    """A block that a parent names: its keys lie above `lower`, up to and with `last`."""

    raw: bytes
    lower: bytes
    last: bytes


class _Shared:
    """The blocks of some trees, level by level, as far as they overlap with what is asked about."""

    def __init__(self, source: Source, trees: list[TreeCid]) -> None:
        self._source = source
        self._open: dict[int, dict[bytes, _Child]] = {}
        for tree in trees:
            top = load(source, tree.raw)
            if top.size:
                self._put(top.level, _Child(tree.raw, b"", top.last))

    def at(self, level: int, ranges: list[_Child]) -> dict[bytes, bytes]:
        """Returns the last key of every block at a level that overlaps one of the ranges, by CID.

        Args:
            level: never above that of the call before.
            ranges: ascending and apart.
        """
        lasts = [child.last for child in ranges]
        while self._open and max(self._open) > level:
            for child in self._open.pop(max(self._open)).values():
                at = bisect_right(lasts, child.lower)
                if at == len(lasts) or ranges[at].lower >= child.last:
                    continue
                block = load(self._source, child.raw)
                if block.level:
                    for below in _children(block, child):
                        self._put(block.level - 1, below)
        return {child.raw: child.last for child in self._open.get(level, {}).values()}

    def _put(self, level: int, child: _Child) -> None:
        self._open.setdefault(level, {})[child.raw] = child


def _children(block: Block, place: _Child) -> list[_Child]:
    """Returns the children of an inner block; raises unless its keys ascend within its place."""
    if block.width != ID_BYTES:
        raise CorruptError(
            f"tree block {Cid(place.raw)}: keys of {block.width} bytes, expected {ID_BYTES}"
        )
    keys = (place.lower, *block.key_list)
    if any(one >= other for one, other in pairwise(keys)):
        raise CorruptError(f"tree block {Cid(place.raw)}: its keys do not ascend within its place")
    if not block.level:
        return []
    return list(map(_Child, block.cid_list(), keys, block.key_list))


def _value_needs(
    source: Source, family: Family, tree: TreeCid, olds: Sequence[TreeCid]
) -> Iterator[Need]:
    kind = VALUE_KINDS[family[0]]
    first, *others = olds or [EMPTY_TREE]
    changes = diff(source, first, tree)
    rest = [Tree(source, other) for other in others if other != first]
    while batch := list(islice(changes, _BATCH_KEYS)):
        keys = [key for key, _, _ in batch]
        elsewhere = [other.get_many(keys) for other in rest]
        for at, (key, before, after) in enumerate(batch):
            there = [found[at] for found in elsewhere]
            if after is None or after in there:
                continue
            yield Need(after, kind, key, family[1])
            if kind in _LINKING:
                parts = dict.fromkeys(_parts(source, after))
                for old in (before, *there):
                    for part in () if old is None or not parts else _parts(source, old):
                        parts.pop(part, None)
                yield from (Need(part, "part", key) for part in parts)


def _parts(source: Source, cid: Cid) -> Iterator[Cid]:
    """Yields what a value needs, and what that needs; nothing of what is not here.

    Raises:
        CorruptError: it leads to something that is no part of a value.
    """
    seen = {cid}
    waiting = [cid]
    while waiting:
        at = waiting.pop()
        try:
            block = source.get(at)
        except NotFoundError:
            continue
        if at != cid and (kind := check_kind(codec.decode(block))) not in _PARTS:
            raise CorruptError(f"value {cid}: got a {kind} as a part of it, expected {_PARTS}")
        for part in links(block):
            if part not in seen:
                seen.add(part)
                yield part
                if not part.is_raw:
                    waiting.append(part)


_TARGET_KINDS: Mapping[type[Cid], tuple[str, ...]] = {
    CommitCid: ("commit",),
    StepCid: ("step",),
    ReceiptCid: ("receipt",),
}
_ANY_TARGET = ("commit", "step", "receipt")


@dataclass(slots=True)
class Records:
    """Steps and receipts behind some refs, and what they lead to."""

    needs: list[Need] = field(default_factory=list)
    commits: list[CommitCid] = field(default_factory=list)
    """What receipts were read against: heads of annotations."""
    roots: list[RootCid] = field(default_factory=list)
    """States that steps and receipts read, oldest first."""


def kind_of(block: bytes) -> str:
    """Returns the kind of a DAG-CBOR block; raises for one that is not known."""
    return check_kind(codec.decode(block))


def split_targets(source: Source, targets: Iterable[Cid]) -> tuple[list[CommitCid], list[Cid]]:
    """Returns which of some targets of refs are commits, and which steps or receipts.

    Args:
        targets: of the class that the name of their ref says; a plain `Cid` where no name is known.

    Raises:
        CorruptError: a block is of another kind than its class says, or nothing that a ref may
            point to.
    """
    commits: list[CommitCid] = []
    records: list[Cid] = []
    for target in targets:
        found = "raw block" if target.is_raw else kind_of(source.get(target))
        expected = _TARGET_KINDS.get(type(target), _ANY_TARGET)
        if found not in expected:
            raise CorruptError(
                f"ref target {target}: got a {found}, expected a {' or '.join(expected)}",
                hint="the name of a ref says what it points to; 'repo fsck' names refs that differ",
            )
        if found == "commit":
            commits.append(CommitCid(target.raw))
        else:
            records.append(target)
    return commits, records


def records_behind(
    source: Source, targets: Iterable[Cid], is_had: Callable[[Cid], bool]
) -> Records:
    """Returns the steps and receipts from `targets` back to those that are had.

    Raises:
        CorruptError: a step or receipt leads to a block of a kind that it cannot lead to.
    """
    found = Records()
    seen: set[Cid] = set()
    waiting = list(targets)
    while waiting:
        cid = waiting.pop()
        if cid in seen or is_had(cid):
            continue
        seen.add(cid)
        if cid.is_raw:
            found.needs.append(Need(cid, "part"))
            continue
        block = source.get(cid)
        kind = kind_of(block)
        if kind == "root":
            found.roots.append(RootCid(cid.raw))
        elif kind == "commit":
            found.commits.append(CommitCid(cid.raw))
        elif kind in ("step", "receipt", "result"):
            found.needs.append(Need(cid, kind))
            waiting.extend(links(block))
        else:
            raise CorruptError(f"block {cid}: got kind {kind!r}, expected a step or a receipt")
    found.roots.reverse()
    return found


def needs_of(
    source: Source,
    commits: Mapping[CommitCid, Commit],
    records: Records,
    is_covered: Callable[[RootCid], bool],
    *,
    after_root: Callable[[Mapping[RootCid, Root]], None] | None = None,
) -> Iterator[Need]:
    """Yields every block that commits, steps and receipts need beyond what is had.

    Args:
        commits: parents before children; the parents that are not among them are had.
        is_covered: whether a root that only steps and receipts name is had, or is behind `commits`.
        after_root: called after the needs of each root with those that it was compared with.
    """
    yield from records.needs

    def of_root(cid: RootCid, before: list[RootCid]) -> Iterator[Need]:
        bases = {base: Root.decode(source.get(base)) for base in before}
        yield from root_needs(source, cid, list(bases.values()))
        if after_root is not None:
            after_root(bases)

    for cid, commit in commits.items():
        yield Need(cid, "commit")
        parents = [
            (commits[parent] if parent in commits else Commit.decode(source.get(parent))).root
            for parent in commit.parents
        ]
        if commit.root not in parents:
            yield from of_root(commit.root, parents)
    before: list[RootCid] = []
    for root in records.roots:
        if not is_covered(root):
            yield from of_root(root, before)
        before = [root]

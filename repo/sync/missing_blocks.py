"""Which blocks a root, or a set of refs, needs that the receiver does not have.

Sender and receiver run the same walk: the sender sends the blocks that it yields, the receiver
requires them. Blocks shared by both roots are skipped unread, so the cost is that of the change. A
tree is walked level by level, and the keys of every child must end at the key its parent names and
begin after the previous child, so a small tree cannot expand to a huge one. Parents come before
children, and a root before its values: the order in which a receiver can check them.

Spec: sync 4.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice, repeat
from operator import ge
from typing import TYPE_CHECKING, NamedTuple

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, ReceiptCid, RootCid, StepCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError, NotFoundError
from ibidem.objects.ids import ID_BYTES
from ibidem.objects.links import check_kind, links, may_link
from ibidem.objects.record import record
from ibidem.objects.root import VALUE_KINDS, Root, TreeName
from ibidem.objects.tree import Tree, diff
from ibidem.objects.tree.block import EMPTY_TREE, check_child, load
from ibidem.objects.tree.diff import Changes
from ibidem.objects.tree.read import load_many
from ibidem.objects.walk import (
    ANY,
    BATCH_BLOCKS,
    BLOB,
    Link,
    block_links,
    read_many,
    walk,
    wrong_target,
)

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.tree.columns import Block


_LINKING = frozenset(("node", "conflict"))
"""Kinds of values that link to other blocks."""
_PARTS = ("node", "edge")
"""Kinds of parts that are not raw: the sides of a conflict."""
_BATCH_KEYS = 4096
Choose = Callable[[Sequence[Cid]], Sequence[Cid]]


class Need(NamedTuple):
    """A block that a root needs, and its role."""

    cid: Cid
    kind: str
    """`root`, `tree`, the kind of a value, or `part` of one: a blob, a side of a conflict."""
    key: bytes = b""
    """Of a value: its key in the tree."""
    name: str = ""
    """Of a vector: its model or vocabulary."""
    block: bytes | None = None
    """Of a value that had to be read to find what it needs: its block."""


def root_needs(
    source: Source,
    cid: Cid,
    bases: Sequence[Root],
    changes: Changes = diff,
    to_read: Choose = list,
) -> Iterator[Need]:
    """Yields the blocks of a root that none of the `bases` has in the same place.

    A block is yielded before it is read, so that a receiver can refuse one that was not sent. A
    value that the source does not have is yielded, but the blocks that it links to are not.

    Args:
        source: has the blocks.
        cid: of the root.
        bases: the first one is similar.
        changes: finds the differences of two trees.
        to_read: chooses out of some values those that must be read, because it is not known that
            they need no other block.

    Raises:
        NotFoundError: a tree block or the root is missing.
        CorruptError: a tree is out of order, or contains a block of another kind.
    """
    yield Need(cid, "root")
    root = Root.decode(source.get(cid))
    before = [base.trees() for base in bases]
    for tree_name, tree in root.trees().items():
        olds = [trees[tree_name] for trees in before if tree_name in trees]
        yield from (Need(block, "tree") for block in tree_needs(source, tree, olds))
        yield from _value_needs(source, tree_name, tree, olds, changes, to_read)


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
        waiting = iter(wanted)
        while batch := list(islice(waiting, BATCH_BLOCKS)):
            if level != top.level:
                yield from (TreeCid(child.raw) for child in batch)
            blocks = load_many(source, [child.raw for child in batch])
            for child, block in zip(batch, blocks, strict=True):
                check_child(block, child.raw, level, child.last)
                below += _children(block, child)
        if not level or not below:
            return
        wanted, level = below, level - 1


class _Child(NamedTuple):
    """A child block with its range of keys: above `lower`, up to and including `last`."""

    raw: bytes
    lower: bytes
    last: bytes


class _Shared:
    """The blocks of some trees, level by level, as far as they overlap with given ranges."""

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
            level: never above that of the previous call.
            ranges: ascending and disjoint.
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


def _children(block: Block, position: _Child) -> list[_Child]:
    """Returns the children of an inner block; raises unless its keys ascend within its range."""
    if block.width != ID_BYTES:
        raise CorruptError(
            f"tree block {Cid(position.raw)}: keys of {block.width} bytes, expected {ID_BYTES}"
        )
    keys = (position.lower, *block.key_list)
    if any(map(ge, keys, block.key_list)):
        raise CorruptError(
            f"tree block {Cid(position.raw)}: its keys do not ascend within its place"
        )
    if not block.level:
        return []
    return list(map(_Child, block.cid_list(), keys, block.key_list))


def _value_needs(
    source: Source,
    tree_name: TreeName,
    tree: TreeCid,
    olds: Sequence[TreeCid],
    find_changes: Changes,
    to_read: Choose,
) -> Iterator[Need]:
    kind = VALUE_KINDS[tree_name[0]]
    first, *others = olds or [EMPTY_TREE]
    changes = iter(find_changes(source, first, tree))
    rest = [Tree(source, other) for other in others if other != first]
    while batch := list(islice(changes, _BATCH_KEYS)):
        keys = [key for key, _, _ in batch]
        elsewhere = [other.get_many(keys) for other in rest]
        columns = zip(*elsewhere, strict=True) if rest else repeat(())
        new = (
            (key, after, (before, *there))
            for (key, before, after), there in zip(batch, columns, strict=False)
            if after is not None and after not in there
        )
        if kind in _LINKING:
            yield from _linking_needs(source, kind, tree_name[1], new, to_read)
        else:
            yield from (Need(cid, kind, key, tree_name[1]) for key, cid, _ in new)


def _linking_needs(
    source: Source,
    kind: str,
    name: str,
    new: Iterator[tuple[bytes, Cid, tuple[Cid | None, ...]]],
    to_read: Choose,
) -> Iterator[Need]:
    """Yields values with the blocks that they need and that the values they replace did not."""
    while batch := list(islice(new, BATCH_BLOCKS)):
        cids = to_read([cid for _, cid, _ in batch])
        blocks = dict(zip(cids, read_many(source, cids), strict=True))
        for key, cid, olds in batch:
            block = blocks.get(cid)
            if block is None or isinstance(block, NotFoundError):
                yield Need(cid, kind, key, name)
                continue
            if not isinstance(block, bytes):
                raise block
            yield Need(cid, kind, key, name, block)
            # A raw block, which a receiver has refused, is none of ours.
            parts = _parts(source, cid, block) if cid.is_raw or may_link(block) else {}
            for old in olds:
                for part in () if old is None or not parts else _parts_of(source, old):
                    parts.pop(part, None)
            yield from (Need(part, "part", key) for part in parts)


def _parts_of(source: Source, cid: Cid) -> dict[Cid, None]:
    (block,) = read_many(source, [cid])
    if isinstance(block, NotFoundError):
        return {}
    if not isinstance(block, bytes):
        raise block
    return _parts(source, cid, block)


def _parts(source: Source, cid: Cid, block: bytes) -> dict[Cid, None]:
    """Returns the blocks that a value needs, directly or indirectly; missing ones have no links.

    Raises:
        CorruptError: it links to a block that is no part of a value.
    """
    direct = list(links(block))
    if not direct:
        return {}
    visitor = _Parts(cid)
    walk(source, (Link(part.raw, BLOB if part.is_raw else ANY) for part in direct), visitor)
    return visitor.found


class _Parts:
    """A visitor of the parts of a value."""

    def __init__(self, value: Cid) -> None:
        self._value = value
        self.found: dict[Cid, None] = {}

    def enter(self, link: Link) -> bool:
        """Records a part; one that is not raw may have parts itself."""
        cid = Cid(link.raw)
        if cid == self._value or cid in self.found:
            return False
        self.found[cid] = None
        return not cid.is_raw

    def block(self, link: Link, block: bytes) -> Iterable[Link]:
        """Returns the parts of a part; raises for a block that cannot be one."""
        kind = kind_of(block)
        if kind not in _PARTS:
            raise CorruptError(
                f"value {self._value}: got a {kind} as a part of it, expected {_PARTS}"
            )
        return block_links(block)

    def missing(self, link: Link, error: NotFoundError | CorruptError) -> None:
        """Ignores missing blocks."""
        if isinstance(error, CorruptError):
            raise error


_TARGET_KINDS: Mapping[type[Cid], tuple[str, ...]] = {
    CommitCid: ("commit",),
    StepCid: ("step",),
    ReceiptCid: ("receipt",),
}
_ANY_TARGET = ("commit", "step", "receipt")


@record(frozen=False)
class Records:
    """Steps and receipts reachable from some refs, and the states that they refer to."""

    needs: list[Need] = field(default_factory=list)
    commits: list[CommitCid] = field(default_factory=list)
    """Notes heads that receipts refer to."""
    roots: list[RootCid] = field(default_factory=list)
    """States that steps and receipts read, oldest first."""


def kind_of(block: bytes) -> str:
    """Returns the kind of a DAG-CBOR block; raises for one that is not known."""
    return check_kind(codec.decode(block))


def split_targets(source: Source, targets: Iterable[Cid]) -> tuple[list[CommitCid], list[Cid]]:
    """Separates the targets of refs into commits, and steps or receipts.

    Args:
        source: has the blocks.
        targets: each of the class given by the name of its ref; a plain `Cid` if no name is known.

    Raises:
        CorruptError: a block is of another kind than its class, or of one that no ref may point to.
    """
    commits: list[CommitCid] = []
    records: list[Cid] = []
    for target in targets:
        found = "raw block" if target.is_raw else kind_of(source.get(target))
        expected = _TARGET_KINDS.get(type(target), _ANY_TARGET)
        if found not in expected:
            raise CorruptError(
                f"ref: {wrong_target(found, target, expected)}",
                hint="'repo fsck' names the refs that differ",
            )
        if found == "commit":
            commits.append(CommitCid(target.raw))
        else:
            records.append(target)
    return commits, records


def records_behind(
    source: Source, targets: Iterable[Cid], is_had: Callable[[Cid], bool]
) -> Records:
    """Returns the steps and receipts from `targets` back to those that the receiver has.

    Raises:
        CorruptError: a step or receipt links to a block of a kind that it cannot link to.
    """
    visitor = _RecordWalk(is_had)
    walk(source, (Link(cid.raw, ANY) for cid in targets), visitor)
    visitor.found.roots.reverse()
    return visitor.found


class _RecordWalk:
    """A visitor of steps, receipts and their links, except those that the receiver has."""

    def __init__(self, is_had: Callable[[Cid], bool]) -> None:
        self._is_had = is_had
        self._met: set[bytes] = set()
        self.found = Records()

    def enter(self, link: Link) -> bool:
        """Returns whether a block is met for the first time and the receiver does not have it."""
        cid = Cid(link.raw)
        if link.raw in self._met or self._is_had(cid):
            return False
        self._met.add(link.raw)
        if cid.is_raw:
            self.found.needs.append(Need(cid, "part"))
        return not cid.is_raw

    def block(self, link: Link, block: bytes) -> Iterable[Link]:
        """Records a block by its kind; returns the links of a step, a receipt or a result."""
        cid, kind = Cid(link.raw), kind_of(block)
        if kind == "root":
            self.found.roots.append(RootCid(link.raw))
        elif kind == "commit":
            self.found.commits.append(CommitCid(link.raw))
        elif kind in ("step", "receipt", "result"):
            self.found.needs.append(Need(cid, kind))
            return block_links(block)
        else:
            raise CorruptError(f"block {cid}: got kind {kind!r}, expected a step or a receipt")
        return ()

    def missing(self, link: Link, error: NotFoundError | CorruptError) -> None:
        """Raises the error."""
        raise error


def needs_of(
    source: Source,
    commits: Mapping[CommitCid, Commit],
    records: Records,
    is_covered: Callable[[RootCid], bool],
    *,
    after_root: Callable[[Mapping[RootCid, Root]], None] | None = None,
    changes: Changes = diff,
    to_read: Choose = list,
) -> Iterator[Need]:
    """Yields every block that commits, steps and receipts need and the receiver does not have.

    Args:
        source: has the blocks.
        commits: parents before children; the receiver has the parents that are not among them.
        records: the steps and receipts.
        is_covered: whether the receiver has a root that only steps and receipts name, or it is in
            the history of `commits`.
        after_root: called after the needs of each root with the roots that it was compared with.
        changes: finds the differences of two trees.
        to_read: as in `root_needs`.
    """
    yield from records.needs

    def of_root(cid: RootCid, before: list[RootCid]) -> Iterator[Need]:
        bases = {base: Root.decode(source.get(base)) for base in before}
        yield from root_needs(source, cid, list(bases.values()), changes, to_read)
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

"""Checks every root in the history, for `repo fsck`: each against the one before it.

`root_check` defines what makes a root valid. It receives only the values that differ from the root
of the first parent, so the cost of a long history is the size of its changes. Missing or malformed
blocks are reported by the walk over all blocks and skipped here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.block import in_version
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.conflict import NODE
from ibidem.objects.errors import CorruptError, FormatError, IbidemError, NotFoundError
from ibidem.objects.links import check_kind
from ibidem.objects.root import VALUE_KINDS, Root
from ibidem.objects.tree import EMPTY_TREE, Change
from ibidem.objects.tree.block import decode
from ibidem.objects.vector import VECTORS, Vector
from ibidem.objects.verify import VALUES
from ibidem.objects.walk import (
    BATCH_BLOCKS,
    LEAVES,
    TREE,
    Link,
    expand,
    links_below,
    read_many,
    walk,
)
from ibidem.repo.history.ancestry import parents_first, read_commit
from ibidem.repo.maintenance.cells import start_links
from ibidem.repo.maintenance.report import Fault
from ibidem.repo.root_check import RootCheck

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.commit import Commit
    from ibidem.store.protocol import Store

_UNREADABLE = (NotFoundError, CorruptError, FormatError)
_READ = frozenset(("edge", "conflict", *VECTORS))
"""Kinds whose values need checks beyond those of the walk, which checks their kind and their key.
"""
_IN_ROOTS = frozenset(VALUE_KINDS.values())


class HistoryCheck:
    """Checks roots, each against one that was checked before it."""

    def __init__(
        self,
        source: Source,
        is_erased: Callable[[Cid], bool],
        *,
        is_well_formed: bool,
        dim: int | None = None,
    ) -> None:
        """Checks nothing yet.

        Args:
            is_well_formed: whether all blocks were found well-formed in their places, so that a
                value need not be checked by itself again.
            dim: the dimension of every vector there is, if they have one and the same; then they
                are not read again.
        """
        self._dim = dim
        self._source = source
        self._is_erased = is_erased
        self._is_well_formed = is_well_formed
        self._done: set[RootCid] = set()
        self.faults: list[Fault] = []
        self._check = RootCheck(source, self.faults.append)

    def check(self, cid: RootCid, before: RootCid | None, owner: str) -> None:
        """Checks a root against `before`, a similar root that was checked already."""
        if cid in self._done:
            return
        self._done.add(cid)
        with suppress(*_UNREADABLE):
            root = Root.decode(self._source.get(cid))
            bases: dict[RootCid, Root] = {}
            if before is not None and before in self._done:
                bases[before] = Root.decode(self._source.get(before))
            self._check.begin(cid, root, owner)
            self._tell(root, next(iter(bases.values()), None))
            self._check.end(bases)

    def finish(self) -> None:
        """Runs the checks that need several roots; after that, `faults` is complete."""
        with suppress(*_UNREADABLE):
            self._check.finish()

    def _tell(self, root: Root, old: Root | None) -> None:
        before = {} if old is None else old.trees()
        for tree_name, tree in root.trees().items():
            kind = VALUE_KINDS[tree_name[0]]
            if kind not in _READ and kind != NODE:
                continue
            changes = self._check.changes(self._source, before.get(tree_name, EMPTY_TREE), tree)
            if kind == NODE:
                self._tell_nodes(changes)
                continue
            known = self._known_fields(kind)
            for batch in _batches((key, cid) for key, _, cid in changes if cid is not None):
                if known is not None:
                    for key, cid in batch:
                        self._check.value(kind, key, tree_name[1], cid, known)
                    continue
                blocks = read_many(self._source, [cid for _, cid in batch])
                for (key, cid), block in zip(batch, blocks, strict=True):
                    self._tell_value(kind, key, tree_name[1], cid, block)

    def _tell_nodes(self, changes: Iterable[Change]) -> None:
        """Passes on which nodes are new, so that they are not looked up for what refers to them."""
        with suppress(*_UNREADABLE):  # the end of the root reads the same blocks
            for key, _, cid in islice(changes, self._check.nodes_max):
                if cid is not None:
                    self._check.value(NODE, key, "", cid, None)

    def _known_fields(self, kind: str) -> Mapping[str, Any] | None:
        """Returns the fields that the check of a root needs of every value of a kind, None if it
        has to read them."""
        if not self._is_well_formed or kind not in VECTORS:
            return None
        if kind != Vector.KIND:
            return {"kind": kind}
        return None if self._dim is None else {"kind": kind, "dim": self._dim}

    def _tell_value(
        self, kind: str, key: bytes, name: str, cid: Cid, block: bytes | IbidemError
    ) -> None:
        fields = None
        try:
            if isinstance(block, IbidemError):
                raise block
            if not self._is_well_formed:
                VALUES[kind].decode(block)
            fields = in_version(codec.decode(block))
        except NotFoundError:
            if not self._is_erased(cid):
                return
        except (CorruptError, FormatError):
            return
        self._check.value(kind, key, name, cid, fields)


def _batches(values: Iterator[tuple[bytes, Cid]]) -> Iterator[list[tuple[bytes, Cid]]]:
    """Yields the values in batches, including those before an error."""
    batch: list[tuple[bytes, Cid]] = []
    try:
        for value in values:
            batch.append(value)
            if len(batch) == BATCH_BLOCKS:
                yield batch
                batch = []
    except _UNREADABLE:
        yield batch
        raise
    yield batch


def in_order(source: Source, commits: Iterable[bytes]) -> Iterator[tuple[CommitCid, Commit]]:
    """Yields commits by CID, parents first; unreadable ones are left out."""
    found: dict[CommitCid, Commit] = {}
    for raw in commits:
        with suppress(IbidemError):
            cid = CommitCid(raw)
            found[cid] = read_commit(source, cid)
    yield from parents_first(found).items()


def check_roots(
    source: Source,
    commits: Iterable[bytes],
    roots: Iterable[bytes],
    is_erased: Callable[[Cid], bool],
    *,
    is_well_formed: bool,
    dim: int | None = None,
) -> list[Fault]:
    """Returns the faults of all roots: those of the commits, and others.

    Args:
        source, is_erased, is_well_formed, dim: as for `HistoryCheck`.
        commits: CIDs of the commits.
        roots: CIDs of all roots.
    """
    check = HistoryCheck(source, is_erased, is_well_formed=is_well_formed, dim=dim)
    of_commit: dict[bytes, RootCid] = {}
    for cid, commit in in_order(source, commits):
        before = of_commit.get(commit.parents[0].raw) if commit.parents else None
        check.check(commit.root, before, f"commit {cid}")
        of_commit[cid.raw] = commit.root
    for raw in roots:
        check.check(RootCid(raw), None, "the stage, the origin or a receipt")
    check.finish()
    return check.faults


def valid_history(store: Store, dim: int | None = None) -> bytes:
    """Checks the roots of a store whose blocks are believed to be well-formed and complete.

    Args:
        store: has the blocks.
        dim: as for `HistoryCheck`.

    Returns:
        `history_digest` of its commits and roots if no root has a fault; empty if there is any
        doubt.
    """
    found = _History()
    lost: list[Cid] = []

    def is_erased(cid: Cid) -> bool:
        lost.append(cid)
        return True

    try:
        walk(store, start_links(store, store.cells()), found)
        faults = check_roots(
            store, found.commits, found.roots, is_erased, is_well_formed=True, dim=dim
        )
    except IbidemError:
        return b""
    return b"" if faults or lost or found.lost else history_digest(found.commits, found.roots)


def history_digest(commits: Iterable[bytes], roots: Iterable[bytes]) -> bytes:
    """Returns a digest of the CIDs of some commits and roots, whatever their order."""
    return blake3(b"".join([*sorted(commits), b"roots", *sorted(roots)])).digest()


class _History:
    """A visitor of everything but the trees of roots: collects commits and roots."""

    def __init__(self) -> None:
        self.commits: set[bytes] = set()
        self.roots: set[bytes] = set()
        self.lost = False
        self._met: dict[str, set[bytes]] = {}
        """The blocks that were met, by the kind that their links require."""

    def enter(self, link: Link) -> bool:
        """Returns whether a block has not been met, and may lead to a commit or a root."""
        if link.kind in LEAVES or (link.kind == TREE and link.of in _IN_ROOTS):
            return False
        met = self._met.setdefault(link.kind, set())
        if link.raw in met:
            return False
        met.add(link.raw)
        return True

    def block(self, link: Link, block: bytes) -> Iterable[Link]:
        """Collects a commit or a root; returns the links of a block."""
        is_raw = Cid(link.raw).is_raw
        if link.kind == TREE and not is_raw:
            # Each view has another tree of refs: nearly all entries of its blocks were met.
            tree = decode(block)
            met = self._met.get(TREE if tree.level else link.of, set())
            return links_below(link, tree, [raw not in met for raw in tree.cid_list()])
        if not is_raw:
            kind = check_kind(codec.decode(block))
            if kind == "commit":
                self.commits.add(link.raw)
            elif kind == "root":
                self.roots.add(link.raw)
        return expand(link, block)

    def missing(self, link: Link, error: IbidemError) -> None:
        """Notes that a block cannot be read."""
        self.lost = True

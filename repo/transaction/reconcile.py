"""Reconciles edits with a root that has moved: they are merged with the changes made in between.

The edits are applied to their base root. If that is still the newest root, the result is final;
otherwise the two are merged three ways, as branches are, so that a later writer loses nothing.
Edits that only add are applied to the newest root, which gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.blocks import LayeredBlocks, WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.config import Config
from ibidem.objects.errors import ConflictError, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import document_of
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.objects.root import NODES, Root
from ibidem.objects.tree import Tree
from ibidem.repo.erasure.guard import NOTHING_ERASED, Erased, forgotten
from ibidem.repo.transaction.additions import Additions
from ibidem.repo.transaction.changeset import ChangeSet, check_read, check_rebase, with_edits
from ibidem.repo.transaction.staged_blocks import StagedBlocks

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.erasure import Erasure

RECORD = "record"
RAISE = "raise"
UNMOVED = "unmoved"


def checked_choice(on_conflict: str) -> str:
    """Returns RECORD, RAISE or UNMOVED, or raises `InvalidInputError`."""
    if on_conflict not in (RECORD, RAISE, UNMOVED):
        raise InvalidInputError(
            f"on_conflict: got {on_conflict!r:.80}, expected {RECORD!r}, {RAISE!r} or {UNMOVED!r}"
        )
    return on_conflict


@record
class Reconciled:
    """Edits merged with a root."""

    root_cid: RootCid
    blocks: Mapping[Cid, bytes]
    """Blocks that the root needs and the source does not have."""
    needs: tuple[RootCid, ...] = ()
    """Roots of which the new root uses values, and that may be unreferenced by now."""
    more: Mapping[Cid, bytes] | None = None
    """Further blocks that it needs, which may exceed memory."""

    def all_blocks(self) -> Mapping[Cid, bytes]:
        """Returns all blocks that the root needs and the source does not have."""
        return self.blocks if self.more is None else LayeredBlocks(self.blocks, self.more)


class Reconciliation:
    """The edits of one transaction, checked and applied to their base root."""

    def __init__(
        self, source: Source, base_cid: RootCid, edits: ChangeSet, blocks: Mapping[Cid, bytes]
    ) -> None:
        """Applies the edits to their base root.

        Raises:
            InvalidInputError: kind `dangling-reference`.
        """
        self._source = source
        self._base_cid = base_cid
        self._edits = edits
        self._more: StagedBlocks | None = None
        self._blocks: Mapping[Cid, bytes] = {}
        if isinstance(blocks, StagedBlocks):
            self._more = blocks
            self._buffer = WriteBatch(blocks.batch)
        else:
            self._blocks = blocks
            self._buffer = WriteBatch(source)
            self._buffer.new.update(blocks)
        self._before = Root.decode(source.get(base_cid))
        self._root = with_edits(self._before, edits, self._buffer)
        self._additions: Additions | None = None
        block = self._root.encode()
        self._root_cid = RootCid.of(block)
        self._is_changed = self._root_cid != base_cid
        if self._is_changed:
            self._buffer.put(self._root_cid, block)

    def on(
        self,
        now: RootCid,
        *,
        on_conflict: str = RECORD,
        erased: Callable[[], Erased] = lambda: NOTHING_ERASED,
    ) -> Reconciled:
        """Returns the edits merged with a root.

        Args:
            now: the current root of the branch or stage.
            on_conflict: RECORD, or RAISE to fail if both sides changed the same thing.
            erased: returns what was erased and only the base and the edits may have.

        Raises:
            InvalidInputError: kind `forgotten`: a node is added that was erased.
            ConflictError: both sides gave one name to models whose vectors cannot be compared, or
                both added the same node as a new one; or a node on which the edits depend has
                another value; or, with RAISE, both changed the same thing.
        """
        if now == self._base_cid:
            return Reconciled(self._root_cid, self._buffer.new, more=self._more)
        after, before = Root.decode(self._source.get(now)), self._before
        if not self._is_changed:
            if self._edits.events:
                check_read(self._source, before, after, self._edits)
            return Reconciled(now, {})
        if self._additions is None:
            self._additions = Additions(self._buffer, before, self._root, self._edits)
        added = WriteBatch(self._buffer)
        root = self._additions.on(after, added)
        if root is not None:
            check_read(self._buffer, before, after, self._edits)
            block = root.encode()
            cid = RootCid.of(block)
            blocks = {**self._blocks, **added.new, cid: block}
            return Reconciled(cid, blocks, more=self._more)
        return self.merged(now, on_conflict=on_conflict, erased=erased)

    def merged(
        self,
        now: RootCid,
        *,
        on_conflict: str = RECORD,
        erased: Callable[[], Erased] = lambda: NOTHING_ERASED,
    ) -> Reconciled:
        """Returns the three-way merge of the edits with another root than the base, as `on`; its
        blocks are in memory."""
        from ibidem.repo.merge.three_way import merge_to_commit, reachable

        after, before = Root.decode(self._source.get(now)), self._before
        if on_conflict == RAISE:
            check_rebase(self._buffer, before, after, self._edits)
        check_read(self._buffer, before, after, self._edits)
        _check_models(after, self._edits)
        self._check_fresh(after)
        gone = self._with_parts(erased())
        merged = WriteBatch(self._buffer)
        root_cid = merge_to_commit(
            self._buffer, self._base_cid, now, self._root_cid, merged, erased=gone
        )
        new: Mapping[Cid, bytes] = {**self._buffer.new, **merged.new}
        if self._more is not None:
            new = LayeredBlocks(new, self._more)
        return Reconciled(root_cid, reachable(root_cid, new), (self._base_cid,))

    def _check_fresh(self, now: Root) -> None:
        """Raises if a node added as new exists already."""
        fresh = sorted(self._edits.fresh)
        for raw, cid in zip(fresh, Tree(self._source, now.nodes).get_many(fresh), strict=True):
            if cid is not None:
                raise ConflictError(
                    f"node {raw.hex()}: got the same new node from another writer, with the same "
                    "author and time",
                    hint="add it again: on the newer state it is a node of its own",
                )

    def _with_parts(self, erased: Erased) -> Erased:
        """Returns what was erased, with the parts that the edits add to an erased document: of what
        was there before, the changes are left out.

        Raises:
            InvalidInputError: kind `forgotten`: a node is added that was erased.
        """
        if not erased.nodes:
            return erased
        edits = {raw: cid for raw, cid in self._edits.of(NODES).items() if cid is not None}
        parts: dict[bytes, Erasure] = {}
        keys = sorted(edits)
        for raw, cid in zip(
            keys, Tree(self._source, self._before.nodes).get_many(keys), strict=True
        ):
            if cid is not None:
                continue
            if raw in erased.nodes:
                raise forgotten(NodeId(raw))
            document = document_of(Node.decode(self._buffer.get(edits[raw])))
            if document is not None and document.raw in erased.nodes:
                parts[raw] = erased.nodes[document.raw]
        return replace(erased, nodes={**erased.nodes, **parts})


def _check_models(now: Root, edits: ChangeSet) -> None:
    models = Config.from_map(now.config).models
    for name, model in edits.models.items():
        known = models.get(name, model)
        digests = {digest for digest in (known.digest, model.digest) if digest is not None}
        if known.dim != model.dim or len(digests) > 1:
            raise ConflictError(
                f"model {name!r}: both sides registered it, and differently",
                hint="use another model name for another model",
            )

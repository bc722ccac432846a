"""Checks received blocks as a whole before they become visible: every root, tree and value.

The hash of each block was checked when it was received. Here the relations are checked: that no
required block was left out of the transfer, even if the store happens to contain it for another
reason. `root_check` defines what makes a root valid, as for `repo fsck`.

Spec: sync 4, 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.block import in_version
from ibidem.objects.cid import CID_BYTES, Cid, CommitCid, RootCid, TreeCid
from ibidem.objects.cid_table import CidTable
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError
from ibidem.objects.links import may_link
from ibidem.objects.progress import Progress
from ibidem.objects.root import VALUE_KINDS, Root
from ibidem.objects.tree.block import EMPTY_TREE
from ibidem.objects.tree.cache import TreeCache
from ibidem.objects.verify import VALUES
from ibidem.objects.walk import BATCH_BLOCKS
from ibidem.repo.history.ancestry import parents_first
from ibidem.repo.maintenance.source_check import SourceCheck, refuse_problems
from ibidem.repo.root_check import Incident, RootCheck, refuse
from ibidem.repo.runs.records import check_record
from ibidem.repo.sync.missing_blocks import (
    Need,
    needs_of,
    records_behind,
    split_targets,
)
from ibidem.repo.sync.quarantine import Quarantine, missing_from_pack
from ibidem.repo.view_check import NEVER_ERASED

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.sync.have_set import HaveSet

_VALUES = frozenset(VALUE_KINDS.values())
_RECORDS = frozenset(("step", "receipt"))
"""Kinds whose values have their own checks."""


class Accepted:
    """The result: the blocks to publish, and the existing commits that they build on."""

    def __init__(self, expected: int = 0) -> None:
        """Has no block yet, and room for the CIDs of `expected` ones."""
        self.cids = CidTable(expected)
        self.built_on: set[Cid] = set()
        """Commits, steps, receipts and roots that are here and were not sent."""
        self.commits: dict[CommitCid, Commit] = {}
        """New ones, parents before children."""


_WORK = "checking blocks"
_BATCH_CIDS = 16_384
"""Number of CIDs that are accepted together."""


class Inspection:
    """One check of a quarantine against the existing blocks."""

    def __init__(
        self,
        quarantine: Quarantine,
        source: Source,
        known: HaveSet,
        is_erased: Callable[[Cid], bool],
        incident: Incident,
        progress: Progress,
    ) -> None:
        """Checks nothing yet.

        Args:
            incident: finds the edges at nodes of roots that are known here.
            progress: told how many blocks were checked.
        """
        self._quarantine = quarantine
        self._source: Source = TreeCache(quarantine.over(source))
        self._known = known
        self._is_erased = is_erased
        self._roots = RootCheck(self._source, refuse, incident=incident)
        self._sources = SourceCheck(self._source, changes=self._roots.changes)
        self._nodes: TreeCid = EMPTY_TREE
        """Those of the root that is being checked."""
        self._has_parts = False
        """Whether a node that is new in that root lists others."""
        self._values: list[Need] = []
        """Values of that root that are still to be checked, all together."""
        self._required = bytearray()
        """CIDs that are still to be added to the accepted ones, many at once."""
        self._accepted = Accepted(len(quarantine))
        self._progress = progress

    def run(self, targets: Iterable[Cid]) -> Accepted:
        """Checks everything reachable from the targets that is not known here.

        Raises:
            NotFoundError: kind `block-not-found`: something is missing.
            CorruptError, FormatError: a block is invalid in its place.
        """
        accepted = self._accepted
        self._progress(_WORK, 0, len(self._quarantine))
        given = list(targets)
        wanted = [target for target in given if not self._is_known(target)]
        for target in wanted:
            if target not in self._quarantine:
                raise missing_from_pack(target, "ref target")
        split_targets(self._source, given)  # known targets must be of the right kind
        heads, records = split_targets(self._source, wanted)
        chain = records_behind(self._source, records, self._is_had)
        for need in chain.needs:
            if need.kind in _RECORDS:
                block = self._source.get(need.cid)
                check_record(self._source, block, VALUES[need.kind].decode(block))
        accepted.commits = self._commits([*heads, *chain.commits], accepted)
        covered = {commit.root for commit in accepted.commits.values()}
        for need in needs_of(
            self._source,
            accepted.commits,
            chain,
            lambda root: root in covered or self._is_built_on(root, self._known.root(root)),
            after_root=self._end_root,
            changes=self._roots.changes,
            to_read=self._unnoted,
        ):
            self._check(need)
            if len(self._required) >= _BATCH_CIDS * CID_BYTES:
                self._accept()
                self._progress(_WORK, len(accepted.cids), len(self._quarantine) + 1)
        self._accept()
        self._progress(_WORK, len(accepted.cids), len(accepted.cids))
        self._roots.finish()
        return accepted

    def _is_known(self, target: Cid) -> bool:
        if isinstance(target, CommitCid):
            return self._is_built_on(target, self._known.commit(target))
        return self._is_built_on(target, self._known.record(target))

    def _is_built_on(self, cid: Cid, is_known: bool) -> bool:
        """Records an existing block that the new ones rely on: it must still be here at
        publication.
        """
        if is_known:
            self._accepted.built_on.add(cid)
        return is_known

    def _is_had(self, cid: Cid) -> bool:
        """Returns whether a step, a receipt or part of one needs no check; raises if it is lost."""
        if self._is_built_on(cid, self._known.record(cid)):
            return True
        if cid in self._quarantine:
            return False
        if self._is_erased(cid):
            return True
        # The walk stops at a known root or commit where it is read, not here.
        if not cid.is_raw and (
            self._known.root(RootCid(cid.raw)) or self._known.commit(CommitCid(cid.raw))
        ):
            return False
        raise missing_from_pack(cid, "block")

    def _commits(self, heads: Iterable[CommitCid], accepted: Accepted) -> dict[CommitCid, Commit]:
        found: dict[CommitCid, Commit] = {}
        waiting = list(heads)
        while waiting:
            cid = waiting.pop()
            if cid in found or cid in accepted.built_on:
                continue
            if self._known.commit(cid):
                accepted.built_on.add(cid)
            elif cid in self._quarantine:
                found[cid] = Commit.decode(self._quarantine[cid])
                waiting.extend(found[cid].parents)
            else:
                raise missing_from_pack(cid, "commit")
        return parents_first(found)

    def _accept(self) -> None:
        self._accepted.cids.add_all(self._required)
        self._required = bytearray()

    def _unnoted(self, cids: Sequence[Cid]) -> list[Cid]:
        """Returns those of some values of which not all that their places require was noted."""
        noted = self._quarantine.fields_of(cids)
        return [cid for cid, fields in zip(cids, noted, strict=True) if not fields]

    def _check(self, need: Need) -> None:
        if need.kind in _VALUES:
            self._values.append(need)
            # A value is checked before the blocks that it links to, which follow.
            has_links = need.block is not None and may_link(need.block)
            if has_links or len(self._values) == BATCH_BLOCKS:
                self._check_values()
            return
        if need.cid not in self._quarantine:
            if need.kind == "tree" and need.cid == EMPTY_TREE:
                return
            self._check_erased(need)
            return
        self._required += need.cid.raw
        if need.kind == "root":
            root = Root.decode(self._quarantine[need.cid])
            self._nodes = root.nodes
            self._has_parts = False
            self._roots.begin(RootCid(need.cid.raw), root)

    def _check_erased(self, need: Need) -> None:
        """Raises for a block that was not sent, unless it was erased."""
        if need.kind in NEVER_ERASED or not self._is_erased(need.cid):
            raise missing_from_pack(need.cid, need.kind)

    def _check_values(self) -> None:
        """Checks values in the place where each is needed; reads only those of which not all that
        this takes was noted."""
        values, self._values = self._values, []
        unread: list[Need] = []
        noted = self._quarantine.fields_of([need.cid for need in values])
        for need, fields in zip(values, noted, strict=True):
            if fields is None:
                self._check_erased(need)
            else:
                self._required += need.cid.raw
                if need.cid.is_raw:
                    raise CorruptError(
                        f"{need.kind}: got the raw block {need.cid}, expected a value"
                    )
            if fields is None or fields:
                self._roots.value(need.kind, need.key, need.name, need.cid, fields)
            elif need.block is not None:
                self._check_value(need, need.block)
            else:
                unread.append(need)
        blocks = self._quarantine.get_many([need.cid for need in unread])
        for need, block in zip(unread, blocks, strict=True):
            self._check_value(need, block)

    def _check_value(self, need: Need, block: bytes) -> None:
        fields = in_version(codec.decode(block))
        self._roots.value(need.kind, need.key, need.name, need.cid, fields)
        self._has_parts |= need.kind == "node" and "children" in fields

    def _end_root(self, bases: Mapping[RootCid, Root]) -> None:
        self._check_values()
        self._roots.end(bases)
        # Nodes that differ from one base only are not among the values.
        if self._has_parts or len(bases) > 1:
            before = next((base.nodes for base in bases.values()), EMPTY_TREE)
            refuse_problems(self._sources, self._nodes, before)

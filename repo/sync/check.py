"""Checks what was sent, whole, before anything of it is seen: every root, tree and value in place.

That each block is what its CID says was checked as it came in. Here it is shown that the blocks
belong together: that nothing that should have come is missing, even where the store happens to have
it for other reasons; that every tree is the one tree of its entries; and that every value is of the
kind, and under the key, that its place demands.

Spec: sync 4, 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.objects.blocks import Buffer
from ibidem.objects.cid import Cid, CommitCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import CONTAINERS, Part, check_sources
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import diff, mutate, verify
from ibidem.objects.tree.block import EMPTY_TREE
from ibidem.objects.verify import VALUES
from ibidem.repo.run.records import check_record
from ibidem.repo.sync.ancestry import parents_first
from ibidem.repo.sync.closure import needs_of, records_behind, split_targets
from ibidem.repo.sync.delta import Need, families
from ibidem.repo.sync.quarantine import Quarantine, missing_from_pack

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.sync.known import Known

_KEYED = frozenset(("node", "edge"))
"""Kinds whose blocks hold the id that they stand under."""
_BY_PLACE = frozenset(("tree", "part", "step", "receipt", "result", "commit"))
"""Kinds that the walk to them has read already."""


_RECORDS = frozenset(("step", "receipt"))
"""Kinds whose values have a shape of their own."""


class Accepted:
    """What passed: the blocks to publish, and the commits here that they build on."""

    def __init__(self) -> None:
        self.cids: list[Cid] = []
        self.built_on: set[Cid] = set()
        """Commits, steps, receipts and roots that are here and were not sent."""
        self.commits: dict[CommitCid, Commit] = {}
        """New ones, parents before children."""


class Inspection:
    """One check of a quarantine against what is here."""

    def __init__(
        self,
        quarantine: Quarantine,
        source: Source,
        known: Known,
        is_erased: Callable[[Cid], bool],
    ) -> None:
        self._quarantine = quarantine
        self._source: Source = quarantine.over(source)
        self._known = known
        self._is_erased = is_erased
        self._models: Mapping[str, int] = {}
        self._parts: dict[NodeId, Part] = {}
        """New documents and sections of the root that is being checked."""
        self._accepted = Accepted()

    def run(self, targets: Iterable[Cid]) -> Accepted:
        """Checks everything that the targets need beyond what is known here.

        Raises:
            NotFoundError: kind `block-not-found`: something is missing.
            CorruptError, FormatError: something is not what its place demands.
        """
        accepted = self._accepted
        wanted = [target for target in targets if not self._is_known(target)]
        for target in wanted:
            if target not in self._quarantine:
                raise missing_from_pack(target, "ref target")
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
            after_root=self._check_root,
        ):
            self._check(need, accepted)
        return accepted

    def _is_known(self, target: Cid) -> bool:
        if isinstance(target, CommitCid):
            return self._is_built_on(target, self._known.commit(target))
        return self._is_built_on(target, self._known.record(target))

    def _is_built_on(self, cid: Cid, is_known: bool) -> bool:
        """Remembers what is relied on: it must still be here when all is published."""
        if is_known:
            self._accepted.built_on.add(cid)
        return is_known

    def _is_had(self, cid: Cid) -> bool:
        """Tells whether a step, a receipt or a part of one needs no check; raises if it is lost."""
        if self._is_built_on(cid, self._known.record(cid)):
            return True
        if cid in self._quarantine:
            return False
        if self._is_erased(cid):
            return True
        # A root or a commit that is known ends the walk where it is looked at, not here.
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

    def _check(self, need: Need, accepted: Accepted) -> None:
        block: bytes | None = None
        if need.kind in _BY_PLACE:
            is_here = need.cid in self._quarantine
        else:
            block = self._quarantine.get(need.cid)
            is_here = block is not None
        if not is_here:
            if need.kind == "tree" and need.cid == EMPTY_TREE:
                return
            if self._is_erased(need.cid):
                return
            raise missing_from_pack(need.cid, need.kind)
        accepted.cids.append(need.cid)
        if block is None:
            return
        if need.cid.is_raw:
            raise CorruptError(f"{need.kind}: got the raw block {need.cid}, expected a value")
        fields = codec.decode(block)
        if fields["kind"] != need.kind:
            raise CorruptError(
                f"block {need.cid}: got kind {fields['kind']!r}, "
                f"expected {need.kind!r} in its place"
            )
        if need.kind == "root":
            self._read_models(fields)
        elif need.kind in _KEYED and fields["id"] != need.key:
            raise CorruptError(
                f"{need.kind} {need.cid}: got id {fields['id'].hex()}, "
                f"expected that of its key {need.key.hex()}"
            )
        elif need.kind == "vector" and fields["dim"] != self._models.get(need.name):
            raise CorruptError(
                f"vector of {need.key.hex()} in model {need.name!r:.80}: got dimension "
                f"{fields['dim']}, expected {self._models.get(need.name)} as the root's config says"
            )

        elif need.kind == "node" and "children" in fields and fields["ntype"] in CONTAINERS:
            self._parts[NodeId(need.key)] = Part.of(Node.from_map(fields))

    def _read_models(self, fields: dict[str, Any]) -> None:
        models = Config.from_map(fields.get("config", {})).models
        self._models = {name: model.dim for name, model in models.items()}
        for name in fields.get("vectors", {}):
            if name not in self._models:
                raise CorruptError(
                    f"root.vectors: got model {name!r:.80}, expected one of the root's config"
                )

    def _check_root(self, cid: RootCid, bases: Sequence[Root]) -> None:
        """Shows that each tree is, block for block, the one that its entries make."""
        check_sources(self._parts)
        self._parts.clear()
        before = [families(base) for base in bases]
        for family, tree in families(Root.decode(self._source.get(cid))).items():
            olds = [trees[family] for trees in before if family in trees]
            if tree not in olds:
                check_tree(self._source, tree, olds[0] if olds else EMPTY_TREE)


def check_tree(source: Source, tree: TreeCid, old: TreeCid) -> None:
    """Raises unless a tree is what building it from its entries gives.

    Args:
        old: a tree that is. The differences, laid on it, must give the same tree: trees have one
            form only, so this is proof, and it costs what differs.
    """
    if old == EMPTY_TREE:
        verify(source, tree)
        return
    edits = {key: after for key, _, after in diff(source, old, tree)}
    again = mutate(old, edits, Buffer(source))
    if again != tree:
        raise CorruptError(
            f"tree {tree}: got blocks in another form than its {len(edits)} changes give, "
            f"expected {again}"
        )

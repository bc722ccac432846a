"""Three-way merge of two roots with the root of their common ancestor. It works property by
property: a conflict is recorded in `Root.conflicts` while the graph has a usable value. The result
depends only on the set of the two sides, to the byte, and the cost is proportional to their
changes.

Spec: merge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid, TreeCid
from ibidem.objects.config import Config
from ibidem.objects.errors import ConflictError, CorruptError
from ibidem.objects.links import links
from ibidem.objects.root import VECTOR_FAMILIES, Root, TreeName
from ibidem.objects.tree import EMPTY_TREE, EMPTY_TREE_BLOCK
from ibidem.repo.erasure.guard import NOTHING_ERASED, Erased
from ibidem.repo.maintenance.cleaned import cleaned_root
from ibidem.repo.maintenance.source_check import SourceCheck, refuse_problems
from ibidem.repo.merge.config import keep_models, merge_config, merge_map
from ibidem.repo.merge.fields import Sensitivity
from ibidem.repo.merge.graph import GraphMerge
from ibidem.repo.merge.vectors import VectorMerge
from ibidem.retrieve.access.policy import policy_of

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

NO_ROOT = Root(EMPTY_TREE, EMPTY_TREE, EMPTY_TREE, EMPTY_TREE)
"""The base of histories without a common ancestor."""


def merge_roots(
    source: Source,
    base: RootCid | None,
    ours: RootCid,
    theirs: RootCid,
    buffer: WriteBatch,
    *,
    is_base: bool = False,
    erased: Erased = NOTHING_ERASED,
) -> RootCid:
    """Returns the merge of two roots, the same whichever of them is called ours.

    Args:
        source: contains the blocks of all three roots.
        base: the root of the common ancestor; None if there is none.
        buffer: receives exactly the new blocks that the merged root needs.
        is_base: the result is only the base of another merge, and is computed whatever the sides
            contain.
        erased: erased nodes, replaced by tombstones in the roots first.

    Raises:
        ConflictError: both sides changed the trust policy so that neither is stricter.
        NotFoundError: a block is missing.

    Spec: merge 1.
    """
    work = WriteBatch(_before(source, buffer))
    if erased.nodes:
        base = None if base is None else cleaned_root(work, base, erased, is_base=True)
        ours, theirs = (cleaned_root(work, side, erased) for side in (ours, theirs))
    if ours == theirs or theirs == base:
        root = ours
    elif ours == base:
        root = theirs
    else:
        before = NO_ROOT if base is None else Root.decode(work.get(base))
        roots = [Root.decode(work.get(cid)) for cid in (ours, theirs)]
        block = _merged(before, roots[0], roots[1], work, is_base=is_base).encode()
        root = RootCid.of(block)
        work.put(root, block)
        buffer.put(EMPTY_TREE, EMPTY_TREE_BLOCK)
    for cid, found in reachable(root, work.new).items():
        buffer.put(cid, found)
    return root


def merge_to_commit(
    source: Source,
    base: RootCid | None,
    ours: RootCid,
    theirs: RootCid,
    buffer: WriteBatch,
    *,
    erased: Erased = NOTHING_ERASED,
) -> RootCid:
    """Returns the merge of two roots, after checking that a commit may have it.

    Raises:
        ConflictError: as `merge_roots`; or child lists that are valid on each side are invalid
            together.

    Spec: merge 1-d.
    """
    merged = merge_roots(source, base, ours, theirs, buffer, erased=erased)
    if merged in (ours, theirs):
        return merged
    work = _before(source, buffer)
    nodes, *sides = (Root.decode(work.get(cid)).nodes for cid in (merged, ours, theirs))
    try:
        for side in sides:
            refuse_problems(SourceCheck(work), nodes, side)
    except CorruptError as error:
        raise ConflictError(
            f"the two sides together: {error}",
            hint="take the part out of one of the lists on one side, and merge again",
        ) from error
    return merged


def reachable(root: RootCid, blocks: Mapping[Cid, bytes]) -> dict[Cid, bytes]:
    """Returns the new blocks that a root needs; blocks of discarded attempts are left out."""
    found: dict[Cid, bytes] = {}
    waiting: list[Cid] = [root]
    while waiting:
        cid = waiting.pop()
        block = blocks.get(cid)
        if block is None or cid in found:
            continue
        found[cid] = block
        if not cid.is_raw:
            waiting.extend(links(block))
    return found


def _merged(base: Root, ours: Root, theirs: Root, buffer: WriteBatch, *, is_base: bool) -> Root:
    configs = (base.config, ours.config, theirs.config)
    merged_config, names = merge_config(*configs, is_base=is_base)
    config = Config.from_map(merged_config)
    policy = policy_of(config)
    sensitivity = None if policy is None else Sensitivity(policy)
    graph = GraphMerge(base, ours, theirs, buffer, sensitivity=sensitivity)
    graph.run()
    vectors = VectorMerge(graph, config, buffer)
    merged: dict[TreeName, TreeCid] = {}
    for family in VECTOR_FAMILIES:
        sides = [getattr(root, family.name) for root in (base, ours, theirs)]
        if family.name == "vectors":
            sides[1], sides[2] = _renamed(sides[1], names.ours), _renamed(sides[2], names.theirs)
        trees = _merged_trees(vectors, family.kind, sides)
        merged |= {(family.name, name): tree for name, tree in trees.items()}
    models = [name for family, name in merged if family == "vectors"]
    merged_config = keep_models(merged_config, models, (ours.config, theirs.config))
    return Root(
        graph.node_triples.merged(graph.nodes),
        graph.edge_triples.merged(graph.edges),
        graph.tombstone_triples.merged(graph.tombstones),
        graph.conflict_triples.merged(graph.conflicts),
        config=merged_config,
        requires=tuple(sorted({*ours.requires, *theirs.requires})),
        extra=merge_map(base.extra, ours.extra, theirs.extra),
    ).with_trees(merged)


def _merged_trees(
    vectors: VectorMerge, kind: str, sides: list[Mapping[str, TreeCid]]
) -> dict[str, TreeCid]:
    merged = {}
    for name in {name for side in sides for name in side}:
        base, ours, theirs = (side.get(name, EMPTY_TREE) for side in sides)
        merged[name] = vectors.tree(kind, base, ours, theirs)
    return {name: tree for name, tree in merged.items() if tree != EMPTY_TREE}


def _renamed(trees: Mapping[str, TreeCid], names: Mapping[str, str]) -> Mapping[str, TreeCid]:
    return {names.get(name, name): tree for name, tree in trees.items()}


def _before(source: Source, buffer: WriteBatch) -> WriteBatch:
    """Returns what reads the new blocks of a buffer, and others from a source."""
    both = WriteBatch(source)
    both.new = buffer.new
    return both

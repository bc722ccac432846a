"""Checks what single nodes cannot show of a document: that its source has an end.

A part is read as the root has it, so that two nodes that are each well may still stand for a source
that contains itself, or for one without end. What every commit adds is measured by itself, and the
documents of each ref as a whole.

Spec: format 5.1, 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, RootCid, TreeCid
from ibidem.objects.errors import CorruptError, IbidemError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import Measures, Part
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, diff
from ibidem.repo.maintenance.report import Fault, FaultKind

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source

Compared = tuple[RootCid, RootCid | None, str]
"""A root, the one that it is compared with, and what has it."""


def check_sources(
    source: Source, parts: Mapping[bytes, Part], roots: Iterable[Compared]
) -> Iterator[Fault]:
    """Yields the nodes that contain themselves, and those whose source is over the limits.

    Args:
        parts: by CID of the node, every one that lists others.
    """
    if not parts:
        return
    told: set[Cid] = set()
    for root, before, owner in roots:
        try:
            found = dict(_changed(source, parts, root, before))
        except IbidemError:
            continue  # told of by the walk
        measures = Measures({id_: parts[cid.raw] for id_, cid in found.items()}.get)
        for id_, cid in found.items():
            try:
                measures.of(id_)
            except CorruptError as error:
                if cid not in told:
                    told.add(cid)
                    yield Fault(FaultKind.MALFORMED, f"node {cid}", str(error), cid, owner)


def _changed(
    source: Source, parts: Mapping[bytes, Part], root: RootCid, before: RootCid | None
) -> Iterator[tuple[NodeId, Cid]]:
    """Yields the nodes with parts that one root has and another has not, by id."""
    old = EMPTY_TREE if before is None else _nodes(source, before)
    for key, _, cid in diff(source, old, _nodes(source, root)):
        if cid is not None and cid.raw in parts:
            yield NodeId(key), cid


def _nodes(source: Source, root: RootCid) -> TreeCid:
    return Root.decode(source.get(root)).nodes

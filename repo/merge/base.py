"""The base of a merge: the root of the common ancestor of two commits.

Spec: merge 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid, RootCid
from ibidem.repo.erasure.guard import NOTHING_ERASED, Erased
from ibidem.repo.history.ancestry import lowest_common, merge_bases, read_commit
from ibidem.repo.merge.three_way import merge_roots

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source, WriteBatch

VIRTUAL_DEPTH_MAX = 16
"""Maximal depth of merging merge bases; beyond it, the ancestor with the lowest CID is used."""


def common_root(
    source: Source,
    ours: CommitCid,
    theirs: CommitCid,
    buffer: WriteBatch,
    *,
    erased: Erased = NOTHING_ERASED,
) -> RootCid | None:
    """Returns the root that is the base of a merge of two commits: that of the common ancestor; the
    merge of their roots if there are several; None if there is none.

    Args:
        buffer: receives the blocks of a merged base; they are not needed afterwards.
        erased: as in `merge_roots`.

    Spec: merge 8.
    """
    return merged_root(source, merge_bases(source, ours, theirs), buffer, erased=erased)


def merged_root(
    source: Source,
    bases: tuple[CommitCid, ...],
    buffer: WriteBatch,
    depth_max: int = VIRTUAL_DEPTH_MAX,
    *,
    erased: Erased = NOTHING_ERASED,
) -> RootCid | None:
    """Returns the root of a commit; of several, their merge, as in `common_root`; None if there are
    none.
    """
    if not bases:
        return None
    root = read_commit(source, bases[0]).root
    for position, other in enumerate(bases[1:] if depth_max else (), 1):
        common = lowest_common(source, bases[:position], (other,))
        before = merged_root(source, common, buffer, depth_max - 1, erased=erased)
        second = read_commit(source, other).root
        root = merge_roots(source, before, root, second, buffer, is_base=True, erased=erased)
    return root

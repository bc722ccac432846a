"""Checks an index directory: files by their hashes, bounds by recomputing them, snapshots against
the blocks.

Retrieval is exact only if the bounds in a segment hold, so they are computed again from the columns
that they bound. Bounds with fixed arithmetic must be equal; those of dense rows, which may be
summed in any order, must still be bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from ibidem.index.describe import differences, entries, node_cids
from ibidem.index.families.vector_rows import ROWS
from ibidem.index.index import Index
from ibidem.index.manifest import Manifest, read_manifest
from ibidem.index.segments.codes import CODE_COLUMNS, codes_problem
from ibidem.index.segments.impacts import impact_columns
from ibidem.index.segments.segment import Segment
from ibidem.index.segments.store import FolderSegmentStore
from ibidem.index.snapshot import Snapshot
from ibidem.index.snapshot_registry import SnapshotRegistry
from ibidem.objects.blocks import Source
from ibidem.objects.cid import RootCid
from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError, IbidemError, StorageError
from ibidem.objects.root import NOUNS, Root
from ibidem.objects.tree import Tree

_HASH_DIGITS = 64


def audit(
    directory: Path, blocks: Source, *, whole: Collection[RootCid] = ()
) -> Iterator[tuple[str, str]]:
    """Yields (file, what is wrong with it) for an index directory; nothing is changed.

    Args:
        directory: the directory of the index; it need not exist.
        blocks: the source of the roots' blocks.
        whole: roots whose snapshots, if they are on disk, are compared entry by entry with new
            ones. All others are compared by the ids and CIDs of their rows.
    """
    segment_store = FolderSegmentStore(directory / "segments")
    damaged: set[str] = set()
    for name in segment_store.names():
        problem = _file_problem(segment_store, name)
        if problem is not None:
            damaged.add(name)
            yield f"segments/{name}", problem
    for path in sorted(_files(directory / "snapshots")):
        manifest = read_manifest(path)
        problems = list(_manifest_problems(path, manifest, segment_store, damaged, blocks, whole))
        # A manifest that another process has removed or replaced in the meantime is not reported.
        if problems and path.exists() and read_manifest(path) == manifest:
            yield from ((f"snapshots/{path.name}", problem) for problem in problems)


def forget(directory: Path, files: Collection[str]) -> None:
    """Removes files that `audit` named, and the snapshots that need them."""
    registry = SnapshotRegistry(directory)
    names = {file.partition("/")[2] for file in files}
    registry.forget(found for found in registry.manifests() if found.names() & names)
    for name in names:
        (directory / "snapshots" / name).unlink(missing_ok=True)
        (directory / "segments" / name).unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in folder.iterdir() if path.name[0] != ".")


def _file_problem(segment_store: FolderSegmentStore, name: str) -> str | None:
    if name.startswith("."):
        return None  # being written, or left by a process that was killed
    if len(name) != _HASH_DIGITS:
        return "no file of an index has such a name"
    try:
        segment_store.verify(name)
        return bound_problem(segment_store.open(name))
    except (CorruptError, StorageError) as error:
        return str(error) if (segment_store.directory / name).exists() else None


def bound_problem(segment: Segment) -> str | None:
    """Returns what is wrong with the bounds in a segment, None if they hold."""
    columns = segment.columns()
    if "term.impacts" in columns:
        for name, expected in impact_columns(columns).items():
            found = columns.get(name)
            if found is None or not np.array_equal(found, expected):
                return f"column {name} is not what follows from its terms"
    if columns.keys() >= {"rows", *CODE_COLUMNS}:
        return codes_problem(columns)
    return None


def _manifest_problems(
    path: Path,
    manifest: Manifest | None,
    segment_store: FolderSegmentStore,
    damaged: set[str],
    blocks: Source,
    whole: Collection[RootCid],
) -> Iterator[str]:
    if manifest is None or str(manifest.root) != path.name:
        yield "it is damaged, or of another version"
        return
    missing = manifest.names() - set(segment_store.names())
    if missing:
        yield f"its segment {min(missing)} is not there"
    elif not manifest.names() & damaged:
        yield from _snapshot_problems(manifest, segment_store, blocks, whole)


def _snapshot_problems(
    manifest: Manifest,
    segment_store: FolderSegmentStore,
    blocks: Source,
    whole: Collection[RootCid],
) -> Iterator[str]:
    try:
        root = Root.decode(blocks.get(manifest.root))
        held = Snapshot(manifest.open(segment_store), manifest.root, Config.from_map(root.config))
        if manifest.root in whole:
            yield from differences(held, Index(None, blocks).build(manifest.root))
        else:
            yield from row_problems(held, root, blocks)
    except IbidemError as error:
        yield str(error)


def row_problems(held: Snapshot, root: Root, blocks: Source) -> Iterator[str]:
    """Yields the families whose live rows are not the entries of the root's trees."""

    if dict(node_cids(held)) != {key: cid.raw for key, cid in Tree(blocks, root.nodes).items()}:
        yield "its nodes are not those of its root"
    edges = {key: facts[0] for key, facts in entries(held, "edges")}
    if edges != {key: cid.raw[4:] for key, cid in Tree(blocks, root.edges).items()}:
        yield "its edges are not those of its root"
    hidden = {key for key, _ in entries(held, "tombstones")}
    if hidden != set(Tree(blocks, root.tombstones)):
        yield "its tombstones are not those of its root"
    for family in ROWS:
        section = f"{NOUNS[family]}s"
        vectors = {key: facts[0] for key, facts in entries(held, section)}
        if vectors != {
            (name, key): cid.raw[4:]
            for (of, name), tree in root.trees().items()
            if of == family
            for key, cid in Tree(blocks, tree).items()
        }:
            yield f"its {section} are not those of its root"

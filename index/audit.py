"""Checks an index directory: files by their hashes, derived columns by computing them again,
snapshots against the blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from ibidem.index.arrays import Array, to_ordinals
from ibidem.index.bounds import bound_problem
from ibidem.index.describe import differences, live_rows, row_hashes
from ibidem.index.families.vector_rows import ROWS
from ibidem.index.index import Index
from ibidem.index.manifest import Manifest, read_manifest
from ibidem.index.segments.reader import SegmentView
from ibidem.index.segments.store import FolderSegmentStore
from ibidem.index.snapshot import Snapshot
from ibidem.index.snapshot_registry import SnapshotRegistry
from ibidem.objects.blocks import Source
from ibidem.objects.cid import DAG_CBOR_PREFIX, RootCid, TreeCid
from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError, IbidemError, StorageError
from ibidem.objects.root import NOUNS, Root
from ibidem.objects.tree import EMPTY_TREE, Tree
from ibidem.store.files import medium_error

_FOLDERS = ("snapshots", "segments")
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
    """Removes files that `audit` named, and the snapshots that need them.

    Raises:
        StorageError: one of them cannot be removed.
    """
    registry = SnapshotRegistry(directory)
    names = {file.partition("/")[2] for file in files}
    registry.forget(found for found in registry.manifests() if found.names() & names)
    for path in (directory / folder / name for name in names for folder in _FOLDERS):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise medium_error(path, error) from error


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
            fresh = Index(None, blocks).rebuilt(manifest.root, segment_store.directory)
            yield from differences(held, fresh)
        else:
            yield from row_problems(held, root, blocks)
    except (IbidemError, IndexError, ValueError) as error:  # also of columns that contradict
        yield str(error)


def row_problems(held: Snapshot, root: Root, blocks: Source) -> Iterator[str]:
    """Yields the families whose live rows are not the entries of the root's trees."""
    trees = root.trees()
    nouns = {"nodes": "nodes", "edges": "edges", **{kind: f"{NOUNS[kind]}s" for kind in ROWS}}
    for kind, noun in nouns.items():
        names = {name for of, name in (*trees, *held.state.families) if of == kind}
        if any(
            _held_rows(held, kind, name) != _tree_rows(blocks, trees.get((kind, name), EMPTY_TREE))
            for name in names
        ):
            yield f"its {noun} are not those of its root"
    hidden, _ = Tree(blocks, root.tombstones).arrays()
    if _total(held.node_ids(to_ordinals(held.tombstoned))) != _total(hidden):
        yield "its tombstones are not those of its root"


def _held_rows(held: Snapshot, kind: str, name: str) -> tuple[int, int]:
    """Returns the `_total` of the live rows of a family, over their ids and their CIDs."""
    count = total = 0
    for part in held.state.of((kind, name)):
        segment = SegmentView(part, held.live if kind in ROWS else None)
        live = live_rows(segment)
        ids = part.segment["ids"] if kind == "edges" else held.node_ids(segment.ordinals)
        some = _total(ids[live], part.segment["cids"][live])
        count, total = count + some[0], (total + some[1]) % (1 << 64)
    return count, total


def _tree_rows(blocks: Source, tree: TreeCid) -> tuple[int, int]:
    """Returns the same of the entries of a tree."""
    keys, cids = Tree(blocks, tree).arrays()
    return _total(keys, cids[:, len(DAG_CBOR_PREFIX) :])


def _total(*columns: Array) -> tuple[int, int]:
    """Returns the number of rows of some columns, and the sum of their hashes modulo 2^64."""
    return len(columns[0]), int(row_hashes(*columns).sum())

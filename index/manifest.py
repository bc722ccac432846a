"""Snapshots on disk: one small file per root, which names its segments and their dead rows.

The file has the form of a segment (`segment`): its columns are serialised bitmaps, its header lists
the rest, and the file ends with a hash of all of it. A manifest that is damaged, of another version
or that names a missing segment counts as absent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from blake3 import blake3
from pyroaring import BitMap

from ibidem.index.arrays import Columns, bitmap_bytes, bitmap_of_bytes
from ibidem.index.families.snapshot_parts import SnapshotParts
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.segment import Segment, SegmentFile, read_segment
from ibidem.index.segments.store import FolderSegmentStore, write_file
from ibidem.objects.cid import RootCid
from ibidem.objects.errors import CorruptError
from ibidem.objects.record import record

INDEX_VERSION = 6
"""Version of everything in an index directory; another one is never read, only rebuilt."""
_HASH_BYTES = 32


@record
class Manifest:
    """One remembered snapshot, its segments not yet opened."""

    root: RootCid
    sequence: int
    """Increases by one with each manifest written to a directory, which gives the order of
    creation."""
    identities: tuple[str, ...]
    families: tuple[tuple[str, str, tuple[tuple[str, BitMap | None], ...]], ...]
    """(kind, model or vocabulary, (segment name, dead ordinals) for each part)."""
    tombstoned: BitMap

    @classmethod
    def of(cls, state: SnapshotParts, sequence: int) -> Self:
        """Returns the manifest of a state."""
        assert state.root is not None, "BUG: only the state of a root is remembered"
        return cls(
            state.root,
            sequence,
            tuple(segment.name for segment in state.identities),
            tuple(
                (kind, name, tuple((part.segment.name, part.dead) for part in parts))
                for (kind, name), parts in state.items()
            ),
            state.tombstoned,
        )

    def names(self) -> set[str]:
        """Returns the names of all segments."""
        return {
            *self.identities,
            *(name for _, _, parts in self.families for name, _ in parts),
        }

    def open(self, segment_store: FolderSegmentStore) -> SnapshotParts:
        """Returns the state, every segment mapped.

        Raises:
            CorruptError: a segment is missing or damaged.
        """
        families = {
            (kind, name): tuple(Part(segment_store.open(segment), dead) for segment, dead in parts)
            for kind, name, parts in self.families
            if parts
        }
        identities = tuple(segment_store.open(name) for name in self.identities)
        return SnapshotParts(self.root, identities, families, self.tombstoned)


def write_manifest(path: Path, manifest: Manifest) -> int:
    """Writes a manifest; returns its size in bytes.

    Raises:
        StorageError: the file could not be written.
    """
    data = encode_manifest(manifest)
    write_file(path, [data], is_flushed=False)
    return len(data)


def encode_manifest(manifest: Manifest) -> bytes:
    """Returns the bytes of a manifest."""
    columns: Columns = {"tombstoned": bitmap_bytes(manifest.tombstoned)}
    families = []
    for kind, name, parts in manifest.families:
        for index, (_, dead) in enumerate(parts):
            if dead:
                columns[f"{kind}/{index}/{name}"] = bitmap_bytes(dead)
        families.append([kind, name, [segment for segment, _ in parts]])
    meta = {
        "version": INDEX_VERSION,
        "root": manifest.root,
        "sequence": manifest.sequence,
        "identities": list(manifest.identities),
        "families": families,
    }
    data = b"".join(SegmentFile.of(columns, meta).pieces)
    return data + blake3(data).digest()


def read_manifest(path: Path) -> Manifest | None:
    """Returns the manifest in a file; None when it is missing, damaged or of another version."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return decode_manifest(path.name, data)


def decode_manifest(name: str, data: bytes) -> Manifest | None:
    """Returns the manifest in some bytes; None where they are damaged or of another version.

    Args:
        name: of the file, for errors.
    """
    body = data[:-_HASH_BYTES]
    if blake3(body).digest() != data[-_HASH_BYTES:]:
        return None
    try:
        file = read_segment(name, body)
    except CorruptError:
        return None
    meta = file.meta
    if meta.get("version") != INDEX_VERSION:
        return None
    families = tuple(
        (
            kind,
            name,
            tuple(
                (segment, _bitmap(file, f"{kind}/{index}/{name}"))
                for index, segment in enumerate(segments)
            ),
        )
        for kind, name, segments in meta["families"]
    )
    return Manifest(
        RootCid(meta["root"].raw),
        meta["sequence"],
        tuple(meta["identities"]),
        families,
        bitmap_of_bytes(file["tombstoned"]),
    )


def _bitmap(file: Segment, column: str) -> BitMap | None:
    return bitmap_of_bytes(file[column]) if column in file else None

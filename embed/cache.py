"""A cache of vectors by model and text, shared by all processes, so that no text is embedded twice.

Each model has a folder with 256 files, one for each first byte of a text's digest. A file is a
sequence of frames of one width: digest of the text, vector, checksum. Frames are appended under a
lock and only changed to be destroyed; a torn or damaged frame is ignored. Everything may be deleted
at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from ibidem.embed.protocol import Embedder, Float32s, batches, checked
from ibidem.objects.errors import StorageError
from ibidem.objects.text import text_digest
from ibidem.store.files import folder_lock, medium_error

_CHECK_BYTES = 16
_WIDTHS = range(32 + 4 + _CHECK_BYTES, 32 + 4 * 4096 + _CHECK_BYTES + 1, 4)
_TRIED_FRAMES = 4


class VectorCache:
    """Vectors of texts, in a folder or, for a repository in memory, in a dict."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._kept: dict[tuple[bytes, bytes], bytes] = {}

    def find(self, model: bytes, dim: int, texts: Sequence[bytes]) -> dict[bytes, Float32s]:
        """Returns the cached vectors, (dim,) float32, by the digest of their text."""
        if self._folder is None:
            kept = ((text, self._kept.get((model, text))) for text in texts)
            return {text: np.frombuffer(data, "<f4") for text, data in kept if data is not None}
        by_file: dict[int, list[bytes]] = {}
        for text in texts:
            by_file.setdefault(text[0], []).append(text)
        found: dict[bytes, Float32s] = {}
        for number, wanted in by_file.items():
            frames = self._frames(model, dim, number)
            if frames is not None:
                for text in wanted:
                    vector = _frame_of(frames, model, text)
                    if vector is not None:
                        found[text] = vector
        return found

    def add(self, model: bytes, vectors: Mapping[bytes, Float32s]) -> None:
        """Stores vectors by the digest of their text; a failure to write is ignored."""
        if self._folder is None:
            for text, vector in vectors.items():
                self._kept[model, text] = vector.astype("<f4").tobytes()
            return
        by_file: dict[int, list[bytes]] = {}
        for text, vector in vectors.items():
            body = text + vector.astype("<f4").tobytes()
            by_file.setdefault(text[0], []).append(body + _check(model, body))
        folder = self._folder / model.hex()
        with suppress(OSError, StorageError):
            folder.parent.mkdir(parents=True, exist_ok=True)
            with folder_lock(folder):
                for number, frames in by_file.items():
                    _append(folder / f"{number:02x}", frames)

    def discard(self, texts: Iterable[bytes]) -> None:
        """Destroys the vectors of texts, given by their digests, in all models.

        Raises:
            StorageError: a file cannot be written.
        """
        gone = frozenset(texts)
        for known in [key for key in self._kept if key[1] in gone]:
            del self._kept[known]
        if self._folder is None or not self._folder.is_dir():
            return
        numbers = {f"{text[0]:02x}" for text in gone}
        try:
            for folder in (path for path in self._folder.iterdir() if path.is_dir()):
                with folder_lock(folder):
                    for path in folder.iterdir():
                        if path.name in numbers:
                            _blank(path, gone)
        except OSError as error:
            if isinstance(error, StorageError):
                raise
            raise medium_error(self._folder, error) from error

    def _frames(self, model: bytes, dim: int, number: int) -> NDArray[Any] | None:
        assert self._folder is not None, "BUG: frames are in files"
        path = self._folder / model.hex() / f"{number:02x}"
        kind = np.dtype(
            [("head", "<u8"), ("body", "V", 24 + 4 * dim), ("check", "V", _CHECK_BYTES)]
        )
        try:
            count = path.stat().st_size // kind.itemsize
            return np.memmap(path, kind, "r", shape=(count,)) if count else None
        except (OSError, ValueError):
            return None


class CachedEmbedder:
    """An embedder that looks up texts in the cache first."""

    def __init__(self, embedder: Embedder, cache: VectorCache, *, is_writing: bool = True) -> None:
        """Wraps an embedder.

        Args:
            is_writing: whether new vectors are added to the cache.
        """
        self._embedder = embedder
        self._cache = cache
        self._is_writing = is_writing
        self.name, self.digest, self.dim = embedder.name, embedder.digest, embedder.dim

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Returns (n, dim) float32; every text is embedded once, and the cache, if at all, is
        written after each batch."""
        digests = [text_digest(text) for text in texts]
        distinct = dict(zip(digests, texts, strict=True))
        found = self._cache.find(self.digest, self.dim, list(distinct))
        missing = {text: digest for digest, text in distinct.items() if digest not in found}
        for part in batches(list(missing)):
            vectors = checked(
                self._embedder.embed(part), count=len(part), dim=self.dim, name=self.name
            )
            made = {missing[text]: row for text, row in zip(part, vectors, strict=True)}
            if self._is_writing:
                self._cache.add(self.digest, made)
            found.update(made)
        out = np.empty((len(texts), self.dim), np.float32)
        for row, digest in enumerate(digests):
            out[row] = found[digest]
        return out


def _blank(path: Path, texts: frozenset[bytes]) -> None:
    """Writes zeros over the frames of some texts, in place: other processes may have mapped the
    file."""
    data = path.read_bytes()
    width = _width(bytes.fromhex(path.parent.name), data)
    if width is None:
        path.unlink()  # it has no valid frame
        return
    with path.open("r+b") as file:
        for start in range(0, len(data), width):
            if data[start : start + 32] in texts:
                file.seek(start)
                file.write(bytes(min(width, len(data) - start)))


def damaged_frames(path: Path) -> tuple[int, int]:
    """Returns the number of frames in a file of the cache, and how many of them are damaged.

    The width of a frame is not stored; it is the one at which the first valid frame ends. A file
    without a valid frame counts as one damaged frame. A destroyed frame, which is all zeros, is not
    damaged, and an incomplete frame at the end, left by a crash, does not count.
    """
    model, data = bytes.fromhex(path.parent.name), path.read_bytes()
    if not data.strip(b"\0"):
        return 0, 0
    width = _width(model, data)
    if width is None:
        return 1, 1
    frames = [data[start : start + width] for start in range(0, len(data) - width + 1, width)]
    blank = bytes(width)
    damaged = sum(frame != blank and not _is_whole(model, frame) for frame in frames)
    return len(frames), damaged


def _width(model: bytes, data: bytes) -> int | None:
    """Returns the width of the frames in a file, found by their checksums."""
    widths = [width for width in _WIDTHS if width <= len(data)]
    widths.sort(key=lambda width: len(data) % width)  # a torn frame at the end is rare
    for width in widths:
        starts = range(0, len(data), width)[:_TRIED_FRAMES]
        if any(_is_whole(model, data[start : start + width]) for start in starts):
            return width
    return None


def _is_whole(model: bytes, frame: bytes) -> bool:
    return frame[-_CHECK_BYTES:] == _check(model, frame[:-_CHECK_BYTES])


def _frame_of(frames: NDArray[Any], model: bytes, text: bytes) -> Float32s | None:
    head = int.from_bytes(text[:8], "little")
    for row in np.flatnonzero(frames["head"] == head).tolist():
        frame = frames[row].tobytes()
        body, check = frame[:-_CHECK_BYTES], frame[-_CHECK_BYTES:]
        if body.startswith(text) and check == _check(model, body):
            return np.frombuffer(body[len(text) :], "<f4")
    return None


def _check(model: bytes, body: bytes) -> bytes:
    return blake3(model + body).digest()[:_CHECK_BYTES]


def _append(path: Path, frames: list[bytes]) -> None:
    """Appends frames after the last complete one: a torn one at the end is truncated."""
    with path.open("ab") as file:
        size = file.tell()
        if torn := size % len(frames[0]):
            file.truncate(size - torn)
        file.write(b"".join(frames))

"""Destroys what an erasure has named: derived files first, then the blocks, then their remains.

In this order, because the blocks say what to look for in the rest. Every step can be done again.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.errors import IbidemError
from ibidem.objects.ids import NodeId
from ibidem.repo.keep.log import ERASING_CELL
from ibidem.repo.keep.traces import Traces, find_traces
from ibidem.repo.receipts import HEAD_BYTES, MARK, frame_at

if TYPE_CHECKING:
    from ibidem.repo.reader import Reader


def finish(repository: Reader, traces: Traces | None = None) -> bool:
    """Destroys what is erased and still here; tells whether there was anything to do.

    Args:
        repository: whose newest view names what is erased.
        traces: what was found of it before, where that is known.

    Raises:
        StorageError: the disk refuses, or a reader of an old state does not end.
    """
    store = repository.store
    pending = store.cell(ERASING_CELL)
    if pending is None:
        return False
    erased = repository.guard.erased()
    if traces is None:
        ids = {NodeId(raw) for raw in erased.nodes}
        traces = find_traces(store, ids, repository.at().config.fields)
    repository.drop_index()
    if repository.folder is not None:
        sweep_index(repository.folder / "index", repository.index_folder)
        _blank_receipts(repository.folder / "receipts", traces)
        _sweep_rest(repository.folder, traces)
    repository.receipts.forget(lambda block: _concerns(block, traces))
    repository.vector_cache.discard(traces.digests)
    store.delete(Cid(raw) for raw in erased.cids)
    store.scrub()
    store.publish({}, {ERASING_CELL: (pending, None)})
    return True


def sweep_index(folder: Path, kept: Path | None) -> None:
    """Removes every index in a folder but one: what was made before an erasure quotes it."""
    if not folder.is_dir():
        return
    for path in list(folder.iterdir()):
        if path == kept or (kept == folder and path.name in ("segments", "snapshots")):
            continue
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _sweep_rest(folder: Path, traces: Traces) -> None:
    """Removes files beside the history that quote the nodes: no answer depends on one."""
    for name in ("local", "cache"):
        for path in (folder / name).rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                if any(text in data for text in traces.quotations):
                    path.unlink(missing_ok=True)


def _blank_receipts(folder: Path, traces: Traces) -> None:
    from ibidem.repo.keep.files import blank

    for path in folder.glob("log*"):
        data = path.read_bytes()
        spans: list[tuple[int, int]] = []
        at = data.find(MARK)
        while at >= 0:
            block = frame_at(data, at)
            if block is None:
                at = data.find(MARK, at + 1)
                continue
            stop = at + HEAD_BYTES + len(block)
            if _concerns(block, traces):
                spans.append((at, stop))
            at = data.find(MARK, stop)
        if spans:
            blank(path, spans)


def _concerns(block: bytes, traces: Traces) -> bool:
    """Tells whether a receipt names one of the nodes or says what they said."""
    if any(raw in block for raw in traces.cids):
        try:
            rows = codec.decode(block).get("items", ())
        except IbidemError:
            return True
        if any(row and row[0] in traces.cids for row in rows):
            return True
    return any(text in block for text in traces.quotations)

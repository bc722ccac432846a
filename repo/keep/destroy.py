"""Destroys what an erasure has named: derived files first, then the blocks, then their remains.

In this order, because the blocks say what to look for in the rest. Every step can be done again, by
several at once too: the mark that there is something to destroy goes when all that was erased by
then is destroyed, whoever erased it.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.errors import ConflictError, IbidemError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.repo.keep.log import ERASING_CELL, HEAD_CELL
from ibidem.repo.keep.traces import Traces, find_traces
from ibidem.repo.operations import RETRIES_MAX, lost_every_race
from ibidem.repo.receipts import HEAD_BYTES, MARK, frame_at

if TYPE_CHECKING:
    from ibidem.repo.reader import Reader


@record
class Known:
    """What is left to destroy where all of these erasures, and no others, are in the view."""

    traces: Traces
    erasures: TreeCid


def finish(repository: Reader, known: Known | None = None) -> bool:
    """Destroys what is erased and still here; tells whether there was anything to do.

    Args:
        repository: whose newest view names what is erased.
        known: what is left to destroy, where the caller knows.

    Raises:
        StorageError: the disk refuses, or a reader of an old state does not end.
    """
    if repository.store.cell(ERASING_CELL) is None:
        return False
    for _ in range(RETRIES_MAX):
        erasures = _erasures(repository)
        if known is None or known.erasures != erasures:
            known = Known(_all_traces(repository), erasures)
        _destroy(repository, known.traces)
        if _is_closed(repository, erasures):
            return True
    raise lost_every_race()


def _erasures(repository: Reader) -> TreeCid:
    return repository._operations.state().view.erasures


def _all_traces(repository: Reader) -> Traces:
    ids = {NodeId(raw) for raw in repository.guard.erased().nodes}
    if not ids:
        return Traces()
    return find_traces(repository.store, ids, repository.at().config.fields)


def _is_closed(repository: Reader, done: TreeCid) -> bool:
    """Takes the mark away where no more was erased than is `done`; tells whether it is gone."""
    store = repository.store
    for _ in range(RETRIES_MAX):
        head, pending = store.cell(HEAD_CELL), store.cell(ERASING_CELL)
        if pending is None:
            return True
        if _erasures(repository) != done:
            return False
        with suppress(ConflictError):
            store.publish({}, {HEAD_CELL: (head, head), ERASING_CELL: (pending, None)})
            return True
    raise lost_every_race()


def _destroy(repository: Reader, traces: Traces) -> None:
    store = repository.store
    repository.drop_index()
    if repository.folder is not None:
        sweep_index(repository.folder / "index", repository.index_folder)
        _blank_receipts(repository.folder / "receipts", traces)
        _sweep_rest(repository.folder, traces)
    repository.receipts.forget(lambda block: _concerns(block, traces))
    repository.vector_cache.discard(traces.digests)
    store.delete(Cid(raw) for raw in repository.guard.erased().cids)
    store.scrub()


def sweep_index(folder: Path, kept: Path | None) -> None:
    """Removes every index in a folder but one: what was made before an erasure quotes it."""
    if not folder.is_dir():
        return
    for path in list(folder.iterdir()):
        if path == kept or (kept == folder and path.name in ("segments", "snapshots", "lock")):
            continue
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _sweep_rest(folder: Path, traces: Traces) -> None:
    """Removes files beside the history that quote the nodes: no answer depends on one."""
    for name in ("local", "cache"):
        for path in (folder / name).rglob("*"):
            with suppress(FileNotFoundError):  # replaced meanwhile, or let go of
                data = path.read_bytes() if path.is_file() else b""
                if any(text in data for text in traces.quotations):
                    path.unlink(missing_ok=True)


def _blank_receipts(folder: Path, traces: Traces) -> None:
    from ibidem.repo.keep.files import blank
    from ibidem.store.files import folder_lock

    if not folder.is_dir():
        return
    with folder_lock(folder):  # no log takes the place of the older one meanwhile
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

"""The checks of `repo doctor` and of the page on the health of a repository: the program, its
packages, the blocks, the commits, the index. They change nothing, and no hint suggests deleting
data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from importlib import metadata
from itertools import islice
from typing import TYPE_CHECKING, Literal

from ibidem.objects.errors import IbidemError
from ibidem.objects.record import record
from ibidem.repo.history.ancestry import newest_first, read_commit
from ibidem.repo.maintenance.report import FaultKind
from ibidem.repo.revspec import HEAD
from ibidem.repo.statistics import repository_stats
from ibidem.store.protocol import SupportsNotes

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid
    from ibidem.objects.progress import Progress
    from ibidem.repo.core import Core
    from ibidem.store.backends import Location
    from ibidem.store.protocol import Store

PYTHON_MIN = (3, 11)
REQUIRED = (
    *("blake3", "cbor2", "click", "dag-cbor", "htpy", "lmdb", "markdown-it-py", "multiformats"),
    *("numpy", "pathspec", "platformdirs", "pynacl", "pyroaring", "rich", "simsimd"),
    *("urllib3", "xxhash"),
)
OPTIONAL = {
    "cbrrr": "makes commits faster: pip install 'ibidem[fast]'",
    "numkong": "makes batches of vector queries faster: pip install numkong",
}
"""Optional packages, and what each one is for."""
SAMPLE_BLOCKS = 500
"""At most; `dag-cbor` needs about two milliseconds for a block."""
FAULTS_SHOWN = 10
REINDEX = "repo index build; no data is affected"
FINISH = "repo erase --finish; it completes the erasure"
RESTORE = "restore the repository from a copy, or fetch the named blocks from one"

Outcome = Literal["ok", "note", "failed"]


@record
class Finding:
    """The result of one check."""

    check: str
    outcome: Outcome
    detail: str
    hint: str | None = None


def check_program() -> Iterator[Finding]:
    """Checks the interpreter and the packages."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= PYTHON_MIN:
        yield Finding("python", "ok", version)
    else:
        yield Finding("python", "failed", version, "install Python 3.11 or later")
    for name in REQUIRED:
        found = _version(name)
        if found is None:
            yield Finding(f"package {name}", "failed", "not installed", f"pip install {name}")
        else:
            yield Finding(f"package {name}", "ok", found)
    for name, gain in OPTIONAL.items():
        found = _version(name)
        yield Finding(
            f"package {name}", "ok" if found else "note", found or f"not installed; {gain}"
        )


def check_repository(core: Core, *, full: bool = False) -> Iterator[Finding]:
    """Checks a repository that is open: its service, its blocks, its commits, its index.

    Args:
        core: the repository.
        full: reads every block, as `fsck` does.
    """
    yield from check_service(core.location, core.store)
    yield check_blocks(core.store, whole=full, progress=core.progress)
    yield check_history(core)
    yield check_index(core)
    if full:
        yield check_all(core)


def check_service(location: Location | None, store: Store) -> Iterator[Finding]:
    """Tests whether the service that holds a repository keeps its promises; nothing for a
    folder."""
    if location is None or location.is_folder:
        return
    for note in notes(store):
        yield Finding("service", "note", note)
    try:
        location.backend.check(location.address, location.folder)
    except IbidemError as error:
        yield Finding("service", "failed", str(error), error.hint)
    else:
        yield Finding("service", "ok", f"{location.shown} keeps the promises of a store")


def notes(store: Store) -> tuple[str, ...]:
    """Returns what the owner of a store's medium should know."""
    return store.notes() if isinstance(store, SupportsNotes) else ()


def check_blocks(store: Store, *, whole: bool, progress: Progress) -> Finding:
    """Hashes blocks and decodes them with our codec and with dag-cbor, an independent library.

    Args:
        store: the store to read.
        whole: read every block; otherwise an even sample of at most `SAMPLE_BLOCKS`.
        progress: told how many blocks were read so far.
    """
    total = store.stats().block_count
    step = 1 if whole else max(1, -(-total // SAMPLE_BLOCKS))
    checked, faults = 0, []
    for cid in islice(store.cids(), 0, None, step):
        checked += 1
        fault = _block_fault(store, cid)
        if fault is not None:
            faults.append(f"{cid}: {fault}")
        progress("reading blocks", checked, -(-total // step))
    scope = (
        "every block" if step == 1 else f"{checked:,} of {total:,} blocks; --full reads all of them"
    )
    if not faults:
        return Finding("blocks", "ok", f"{scope}: hashes and encodings agree with dag-cbor")
    shown = "; ".join(faults[:FAULTS_SHOWN])
    return Finding(
        "blocks", "failed", f"{len(faults):,} damaged of {checked:,} read: {shown}", RESTORE
    )


def check_history(core: Core) -> Finding:
    """Walks the commits of all branches, each once."""
    try:
        heads = core.branches().whole().values()
        count = sum(1 for _ in newest_first(partial(read_commit, core.store), heads))
    except IbidemError as error:
        return Finding("history", "failed", str(error), RESTORE)
    return Finding("history", "ok", f"{_commits(count)} can be read")


def check_index(core: Core) -> Finding:
    """Compares the number of nodes in the index of the head with the number in the head."""
    try:
        indexed = core.graph().with_snapshot(lambda snapshot: len(snapshot.live))
        held = repository_stats(core, HEAD).node_count
    except IbidemError as error:
        return Finding("index", "failed", str(error), REINDEX)
    if indexed != held:
        detail = f"covers {indexed:,} nodes, the head has {held:,}"
        return Finding("index", "failed", detail, REINDEX)
    return Finding("index", "ok", f"covers all {held:,} nodes of the head")


def check_all(core: Core) -> Finding:
    """Reads everything, as `repo fsck` does, and sums the result up in one line."""
    from ibidem.repo.maintenance.fsck import fsck

    report = fsck(core)
    if report.is_clean:
        count = f"{report.block_count:,} block{'s' * (report.block_count != 1)}"
        return Finding("fsck", "ok", f"{count}, the log and the index are whole")
    shown = "; ".join(str(fault) for fault in report.faults[:FAULTS_SHOWN])
    hint = RESTORE if not report.is_data_whole else REINDEX
    if any(fault.kind is FaultKind.UNFINISHED for fault in report.faults):
        hint = FINISH if report.is_data_whole else f"{FINISH}; then {RESTORE}"
    return Finding("fsck", "failed", f"{len(report.faults):,} faults: {shown}", hint)


def _commits(count: int) -> str:
    return f"{count:,} commit{'s' * (count != 1)}"


def _block_fault(store: Store, cid: Cid) -> str | None:
    from ibidem.objects.second_reader import disagreement
    from ibidem.objects.verify import verify_block

    try:
        block = store.get(cid)
        verify_block(cid, block)
        return None if cid.is_raw else disagreement(block)
    except IbidemError as error:
        return str(error)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

"""Merges large segments in the background, so that no commit waits for a merge.

A merge reads segments that never change, so it needs no lock: one thread builds the merged segment
while snapshots continue to use their parts, and a later snapshot replaces the parts by it. Rows
that died in the parts in the meantime are dead in the merged segment too; if rows became live
again, or a part is gone, the merged segment is discarded. Only the layout depends on when a merge
ends, and no answer depends on the layout.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import field, replace

from pyroaring import BitMap

from ibidem.index.families.family import FamilyParts, Merge, full_tier
from ibidem.index.families.snapshot_parts import MERGES, Key, SnapshotParts
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.segment import Segment
from ibidem.index.segments.store import SegmentStore
from ibidem.index.tuning import TUNING, Tuning
from ibidem.objects.record import record


@record(frozen=False)
class _Job:
    """A merge in progress: its sources, and its result or failure."""

    key: Key
    parts: FamilyParts
    process: int = field(default_factory=os.getpid)
    is_done: threading.Event = field(default_factory=threading.Event)
    merged: Segment | None = None

    def run(self, merge: Merge, segment_store: SegmentStore) -> None:
        # If a full disk or a damaged segment raises an error here, the parts stay unchanged, and
        # the next reader of them raises it in its own thread.
        with suppress(Exception):
            self.merged = segment_store.put(merge(self.parts))
        self.is_done.set()


class MergeScheduler:
    """At most one merge at a time for one index."""

    def __init__(self, tuning: Tuning = TUNING) -> None:
        self._tuning = tuning
        self._job: _Job | None = None
        self._step_count = 0

    def taken_over(self, state: SnapshotParts) -> SnapshotParts:
        """Returns the state with a finished merge in place of its parts, if it still fits."""
        job = self._job
        if job is None or not job.is_done.is_set():
            return state
        self._job = None
        parts = state.of(job.key)
        found = None if job.merged is None else _exchanged(parts, job.parts, job.merged)
        if found is None:
            return state
        return replace(state, families={**state.families, job.key: found})

    def begin(self, state: SnapshotParts, segment_store: SegmentStore) -> None:
        """Starts a merge if a family has a full tier and no merge is in progress."""
        job = self._job
        self._step_count += 1
        is_busy = job is not None and job.process == os.getpid()
        if is_busy or self._step_count < self._tuning.steps_before:
            return
        for key, parts in state.items():
            chosen = full_tier(parts, self._tuning)
            if chosen:
                self._job = _Job(key, chosen)
                _start(self._job, MERGES[key[0]], segment_store)
                return

    def wait(self) -> None:
        """Waits for the merge in progress."""
        if self._job is not None and self._job.process == os.getpid():
            self._job.is_done.wait()


def _start(job: _Job, merge: Merge, segment_store: SegmentStore) -> None:
    """Starts a thread that the process joins at exit: a thread that is killed inside native code
    can crash the process."""
    threading.Thread(
        target=job.run, args=(merge, segment_store), name="ibidem-merge", daemon=False
    ).start()


def _exchanged(parts: FamilyParts, sources: FamilyParts, merged: Segment) -> FamilyParts | None:
    """Returns the parts with `merged` in place of `sources`; None if it does not fit."""
    now = {part.segment.name: part for part in parts}
    dead = BitMap()
    for source in sources:
        part = now.pop(source.segment.name, None)
        if part is None:
            return None
        before, after = source.dead or BitMap(), part.dead or BitMap()
        if not before <= after:
            return None
        dead |= after - before
    result = Part(merged, dead or None)
    kept = [part for part in parts if part.segment.name in now]
    # The tail stays last, because new rows are merged into it.
    position = len(kept) - 1 if kept and kept[-1] is parts[-1] else len(kept)
    return (*kept[:position], *([result] if result.live_count else []), *kept[position:])

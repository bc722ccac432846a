"""Segments in files without names: nothing remains of them, and none is needed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ibidem.index.segments.store import TemporarySegmentStore

COLUMNS = {"ordinals": np.arange(5, dtype=np.uint32), "empty": np.zeros(0, np.uint64)}


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="this system has no files without names")
def test_a_segment_is_on_the_disk_without_a_name(tmp_path: Path):
    segment = TemporarySegmentStore(tmp_path).put(COLUMNS, {"a": 1})
    assert not segment.name.startswith("memory-")
    assert not list(tmp_path.iterdir())
    assert segment["ordinals"].ctypes.data % 64 == 0
    assert {name: segment[name].tolist() for name in COLUMNS} == {
        name: column.tolist() for name, column in COLUMNS.items()
    }


def test_a_segment_is_in_memory_where_no_file_can_be_written(tmp_path: Path):
    segment = TemporarySegmentStore(tmp_path / "absent").put(dict(COLUMNS))
    assert segment.name.startswith("memory-")
    assert segment["ordinals"].tolist() == [0, 1, 2, 3, 4]

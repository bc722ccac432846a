"""Logs in object storage against their vectors, read twice; every anchor of spec/log.md cited."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'ibidem[s3]'")
from obstore.store import MemoryStore

from ibidem.objects.errors import IbidemError
from ibidem.store.log import backend
from ibidem.store.log.objects import Bucket

from .make_log_vectors import cases
from .mini_codec import RefusedError, cid_text
from .mini_log import read_log

HOUSE = Path(__file__).parents[2]
CASES = json.loads((HOUSE / "spec" / "vectors" / "log" / "log.json").read_text("ascii"))
STORE = "tests/store/test_log.py::"
CITED = {
    "5-a": STORE + "test_a_lost_answer_is_settled_by_reading_the_entry",
    "5-c": STORE + "test_a_writer_whose_pack_was_collected_puts_another",
}


def objects_of(case: dict[str, Any]) -> dict[str, bytes]:
    return {name: bytes.fromhex(data) for name, data in case["input"].items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_log(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    bucket = Bucket(MemoryStore())
    for name, data in objects_of(case).items():
        bucket.put(name, data)
    monkeypatch.setattr(backend, "bucket_at", lambda address: (bucket, 0.0))

    def read() -> dict[str, Any]:
        with backend.BUCKET.open("s3://bucket/x", tmp_path) as store:
            cids = list(store.cids())
            return {
                "number": store.log.state().number,
                "cells": {name: value.hex() for name, value in store.cells().items()},
                "blocks": {
                    str(cid): block.hex()
                    for cid, block in zip(cids, store.get_many(cids), strict=True)
                },
            }

    if "error" in case:
        with pytest.raises(IbidemError) as error:
            read()
        assert error.value.kind == case["error"]
        return
    assert read() == case["output"]
    assert read() == case["output"]  # from what the first reading left on this machine


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_second_reader_agrees(case: dict[str, Any]):
    if "error" in case:
        with pytest.raises((ValueError, RefusedError)):
            read_log(objects_of(case))
        return
    number, cells, blocks = read_log(objects_of(case))
    assert {
        "number": number,
        "cells": {name: value.hex() for name, value in cells.items()},
        "blocks": {cid_text(cid): block.hex() for cid, block in blocks.items()},
    } == case["output"]


def test_the_vectors_are_those_that_are_made():
    assert cases() == CASES


def test_every_anchor_is_cited():
    anchors = set(re.findall(r"\[(\d-[a-z])\]", (HOUSE / "spec" / "log.md").read_text()))
    cited = {anchor for case in CASES for anchor in case["spec"].split() if "-" in anchor}
    assert cited | set(CITED) == anchors
    for place in CITED.values():
        path, _, name = place.partition("::")
        assert f"def {name}(" in (HOUSE / path).read_text()

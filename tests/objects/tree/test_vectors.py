"""The vectors of section 6: by the reference that made them, and by the engine."""

import json
from pathlib import Path
from typing import Any

import pytest

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError, FormatError
from ibidem.objects.tree import Tree, build, diff, verify
from ibidem.objects.tree.block import decode
from ibidem.objects.tree.boundary import key_hash

from . import reference
from .reference import Recorder

FOLDER = Path(__file__).parents[3] / "spec" / "vectors" / "format"
Case = dict[str, Any]


def cases(topic: str) -> list[Any]:
    found = json.loads((FOLDER / f"tree-{topic}.json").read_text(encoding="utf-8"))
    assert found
    return [pytest.param(case, id=case["name"]) for case in found]


def entries_of(columns: Case) -> dict[bytes, bytes]:
    keys, cids = bytes.fromhex(columns["keys"]), bytes.fromhex(columns["cids"])
    width = columns["width"]
    return {
        keys[at * width : (at + 1) * width]: cids[at * 36 : (at + 1) * 36]
        for at in range(len(cids) // 36)
    }


@pytest.mark.parametrize("case", cases("hash"))
def test_hash(case: Case) -> None:
    key, level = bytes.fromhex(case["input"]["key"]), case["input"]["level"]
    assert f"{key_hash(key, level):016x}" == case["output"]
    assert f"{reference.key_hash(key, level):016x}" == case["output"]


@pytest.mark.parametrize("case", cases("block"))
def test_block(case: Case) -> None:
    block = bytes.fromhex(case["input"])
    if "error" in case:
        with pytest.raises((CorruptError, FormatError)) as caught:
            decode(block)
        assert caught.value.kind == case["error"]
    else:
        read = decode(block)
        assert {"level": read.level, "size": read.size} == case["output"]


@pytest.mark.parametrize("case", cases("build"))
def test_build(case: Case) -> None:
    entries = entries_of(case["input"])
    top, blocks = reference.build(entries)
    buffer = WriteBatch()
    found = build([(key, Cid(raw)) for key, raw in entries.items()], buffer)
    expected = case["output"]
    assert found.raw.hex() == top.hex() == expected["top"]
    assert {cid.raw: block for cid, block in buffer.new.items()} == blocks
    assert sorted(map(len, blocks.values())) == expected["sizes"]
    if "blocks" in expected:
        assert {raw.hex(): block.hex() for raw, block in blocks.items()} == expected["blocks"]
    assert verify(buffer, found) == len(Tree(buffer, found)) == len(entries)


@pytest.mark.parametrize("case", cases("diff"))
def test_diff(case: Case) -> None:
    buffer = WriteBatch()
    before, after = (
        build([(key, Cid(raw)) for key, raw in entries_of(case["input"][side]).items()], buffer)
        for side in ("before", "after")
    )
    start, stop = (
        bytes.fromhex(case["input"][bound]) if bound in case["input"] else None
        for bound in ("start", "stop")
    )
    found = diff(Recorder(buffer.new), before, after, start, stop)
    assert [
        [key.hex(), was and was.raw.hex(), now and now.raw.hex()] for key, was, now in found
    ] == case["output"]

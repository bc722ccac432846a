"""The DAG-CBOR fixtures of the IPLD project; provenance and licence stand beside them.

A third of them hold CIDs that our link rule refuses (section 2 of the format): for these the
independent reader shows that the codec itself agrees, and ours must refuse the block with the
right code.
"""

from __future__ import annotations

import json
from base64 import b32encode, b64decode
from hashlib import sha256
from pathlib import Path

import pytest
from tests.cases import on_each

from ibidem.objects import codec
from ibidem.objects.errors import CorruptError

from . import mini_codec
from .dag_json import read_dag_json

FOLDER = Path(__file__).parent / "fixtures" / "ipld-codec-fixtures"
POSITIVE = [
    json.loads(line) for line in (FOLDER / "positive.jsonl").read_text("utf-8").splitlines()
]
DEVIATIONS: dict[str, str] = json.loads((FOLDER / "deviations.json").read_text("utf-8"))
NEGATIVE = json.loads((FOLDER / "negative.json").read_text("utf-8"))
NAMES = [case["name"] for case in POSITIVE]


pytestmark = pytest.mark.usefixtures("engine")


def test_corpus_is_whole():
    assert len(POSITIVE) == 111
    assert set(DEVIATIONS) < set(NAMES)


@on_each(POSITIVE, NAMES)
def test_block_has_the_cid_of_its_fixture(case):
    raw = b"\x01\x71\x12\x20" + sha256(b64decode(case["cbor_base64"])).digest()
    assert "b" + b32encode(raw).decode().lower().rstrip("=") == case["cid"]


@on_each(POSITIVE, NAMES)
def test_positive_fixture_is_read_and_written_or_deviates_as_stated(case):
    block = b64decode(case["cbor_base64"])
    if case["name"] in DEVIATIONS:
        with pytest.raises(CorruptError) as caught:
            codec.decode_foreign(block)
        assert caught.value.kind == "non-canonical"
        assert "tag" in str(caught.value)
    else:
        value = codec.decode_foreign(block)
        assert codec.decode(block) == value
        assert codec.encode(value) == block


@on_each(POSITIVE, NAMES)
def test_codec_alone_agrees_with_the_dag_json_twin(case):
    block = b64decode(case["cbor_base64"])
    value = mini_codec.decode(block, any_link=True)
    assert mini_codec.encode(value) == block
    assert mini_codec.encode(read_dag_json(case["dag_json"])) == block


@on_each(NEGATIVE, [case["hex"] for case in NEGATIVE])
def test_negative_fixture_is_refused(case):
    with pytest.raises(CorruptError) as caught:
        codec.decode_foreign(bytes.fromhex(case["hex"]))
    assert caught.value.kind == "non-canonical"

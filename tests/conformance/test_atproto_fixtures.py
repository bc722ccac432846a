"""The AT protocol's vectors for DAG-CBOR, CIDs and CID text; provenance and licence stand beside
them."""

from __future__ import annotations

import json
from base64 import b32decode, b64decode
from hashlib import sha256
from pathlib import Path

import pytest

from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError, InvalidInputError

from . import mini_codec

FOLDER = Path(__file__).parent / "fixtures" / "atproto-interop"
CASES = json.loads((FOLDER / "data-model-fixtures.json").read_text("utf-8"))


def read_lines(name: str) -> list[str]:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def value_of(data):
    """Reads the JSON form: {"$link": cid} and {"$bytes": base64}."""
    if isinstance(data, dict):
        if set(data) == {"$link"}:
            return mini_codec.Link(_any_cid(data["$link"]))
        if set(data) == {"$bytes"}:
            return b64decode(data["$bytes"] + "==")
        return {name: value_of(item) for name, item in data.items()}
    return [value_of(item) for item in data] if isinstance(data, list) else data


def _any_cid(text: str) -> bytes:
    return b32decode(text[1:].upper() + "=" * (-len(text[1:]) % 8))


@pytest.mark.parametrize("case", CASES)
def test_data_model_has_these_bytes_and_this_cid(case):
    block = b64decode(case["cbor_base64"] + "==")
    assert mini_codec.encode(value_of(case["json"])) == block
    raw = b"\x01\x71\x12\x20" + sha256(block).digest()
    assert mini_codec.cid_text(raw) == case["cid"]


@pytest.mark.parametrize("case", CASES)
def test_block_is_read_and_written_unless_it_has_foreign_links(case):
    block = b64decode(case["cbor_base64"] + "==")
    if "$link" in json.dumps(case["json"]):
        with pytest.raises(CorruptError) as caught:
            codec.decode_foreign(block)
        assert caught.value.kind == "non-canonical"
    else:
        assert codec.encode(codec.decode_foreign(block)) == block


@pytest.mark.parametrize("text", read_lines("cid_syntax_invalid.txt"))
def test_invalid_cid_text_is_refused(text):
    with pytest.raises(InvalidInputError):
        Cid.parse(text)


@pytest.mark.parametrize("text", read_lines("cid_syntax_valid.txt"))
def test_valid_text_of_a_foreign_cid_is_refused_too(text):
    """All of them name another hash or base than section 2 of the format admits."""
    with pytest.raises(InvalidInputError):
        Cid.parse(text)

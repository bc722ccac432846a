"""The official BLAKE3 vectors, for the library that we hash with and for the second reader's
own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from blake3 import blake3

from .mini_blake3 import blake3 as mini_blake3

VECTORS = json.loads(
    (Path(__file__).parent / "fixtures" / "blake3" / "test_vectors.json").read_text("utf-8")
)
CASES = VECTORS["cases"]
KEY = VECTORS["key"].encode()


def input_of(case) -> bytes:
    size = case["input_len"]
    return (bytes(range(251)) * (size // 251 + 1))[:size]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["input_len"]))
def test_library_gives_the_official_digests(case):
    data, length = input_of(case), len(case["hash"]) // 2
    assert blake3(data).digest(length).hex() == case["hash"]
    assert blake3(data, key=KEY).digest(length).hex() == case["keyed_hash"]
    context = VECTORS["context_string"]
    derived = blake3(data, derive_key_context=context).digest(length).hex()
    assert derived == case["derive_key"]


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["input_len"] <= 8193], ids=lambda c: str(c["input_len"])
)
def test_second_reader_gives_the_official_digests(case):
    assert mini_blake3(input_of(case)).hex() == case["hash"][:64]

"""Project Wycheproof's signatures, for the library's rule and for the second reader's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibidem.repo.signing.ed25519 import is_valid

from .mini_ed25519 import is_valid as mini_is_valid

GROUPS = json.loads(
    (Path(__file__).parent / "fixtures" / "ed25519-wycheproof" / "ed25519_test.json").read_text(
        "utf-8"
    )
)["testGroups"]
CASES = [(group["publicKey"]["pk"], case) for group in GROUPS for case in group["tests"]]


@pytest.mark.parametrize(("public", "case"), CASES, ids=[str(case["tcId"]) for _, case in CASES])
def test_a_signature_is_valid_where_wycheproof_says_so(public, case):
    key, message, signature = (bytes.fromhex(text) for text in (public, case["msg"], case["sig"]))
    expected = case["result"] == "valid"
    assert is_valid(key, message, signature) == expected
    if case["tcId"] % 4 == 0:  # the other is slow
        assert mini_is_valid(key, message, signature) == expected


@pytest.mark.parametrize(("key_bytes", "signature_bytes"), [(31, 64), (33, 64), (32, 63), (32, 65)])
def test_nothing_of_another_length_is_valid(key_bytes, signature_bytes):
    public, case = next((key, case) for key, case in CASES if case["result"] == "valid")
    key, signature = (bytes.fromhex(text) + bytes(1) for text in (public, case["sig"]))
    given = key[:key_bytes], bytes.fromhex(case["msg"]), signature[:signature_bytes]
    assert not is_valid(*given)
    assert not mini_is_valid(*given)

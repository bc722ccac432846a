"""CIDs and ids: one text, exact lengths, never equal to plain bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiformats import CID, multihash
from tests.examples import examples

from ibidem.objects.cid import BlobCid, Cid, NodeCid
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.foreign_cid import describe, describe_text
from ibidem.objects.ids import EdgeId, NodeId


@settings(max_examples=examples(50), deadline=None)
@given(block=st.binary(max_size=64))
def test_text_is_that_of_multiformats(block):
    for cid in (Cid.of(block), BlobCid.of(block)):
        assert str(cid) == CID.decode(cid.raw).encode("base32")
        assert Cid.parse(str(cid)) == cid


def test_cid_is_no_bytes_and_equal_cids_are_equal_in_any_class():
    cid = Cid.of(b"x")
    assert cid != cid.raw
    assert {cid: 1}.get(cid.raw) is None
    assert {cid, NodeCid(cid.raw)} == {cid}
    assert cid != BlobCid.of(b"x")
    assert sorted([BlobCid.of(b"x"), cid]) == [BlobCid.of(b"x"), cid]
    assert BlobCid.of(b"x").is_raw
    assert not cid.is_raw


@pytest.mark.parametrize(
    "raw", [b"", bytes(36), b"\x01\x71\x1e\x20" + bytes(31), "text", None, bytearray(36)], ids=repr
)
def test_bytes_that_are_no_cid_are_refused(raw):
    with pytest.raises(CorruptError):
        Cid(raw)


def test_ids_of_nodes_and_edges_are_never_equal():
    raw = bytes(range(16))
    assert NodeId(raw) != EdgeId(raw)
    assert NodeId(raw) != raw
    assert NodeId.parse(str(NodeId(raw))) == NodeId(raw)
    assert NodeId(raw) < NodeId(raw[::-1])


@pytest.mark.parametrize("text", ["", "00", "g" * 32, "A" * 32, "0" * 31, "0" * 33, " " + "0" * 31])
def test_text_that_is_no_id_is_refused(text):
    with pytest.raises(InvalidInputError):
        NodeId.parse(text)


@pytest.mark.parametrize("raw", [b"", bytes(15), bytes(17), "0" * 16, None])
def test_bytes_that_are_no_id_are_refused(raw):
    with pytest.raises(InvalidInputError):
        NodeId(raw)


@pytest.mark.parametrize("base", ["base32", "base58btc", "base36"])
@pytest.mark.parametrize(
    ("codec", "function"),
    [("dag-pb", "sha2-256"), ("raw", "sha2-512"), ("dag-cbor", "blake2b-256")],
)
def test_a_cid_of_another_system_is_refused_by_codec_and_hash(base, codec, function):
    foreign = CID(base, 1, codec, multihash.digest(b"block", function))
    size_bytes = len(foreign.raw_digest)
    expected = f"a version 1 cid of codec {codec}, hash {function} of {size_bytes} bytes"
    with pytest.raises(CorruptError) as of_bytes:
        Cid(bytes(foreign))
    with pytest.raises(InvalidInputError) as of_text:
        Cid.parse(str(foreign))
    assert expected in str(of_bytes.value)
    assert expected in str(of_text.value)


def test_a_version_0_cid_is_described_too():
    foreign = CID("base58btc", 0, "dag-pb", multihash.digest(b"block", "sha2-256"))
    for found in (describe(bytes(foreign)), describe_text(str(foreign))):
        assert found == "a version 0 cid of codec dag-pb, hash sha2-256 of 32 bytes"


@pytest.mark.parametrize(
    "raw", [b"", b"\x01", b"\x01\x80", b"\x02\x71\x1e\x20", b"\x12\x20", b"text"], ids=repr
)
def test_bytes_that_are_no_cid_at_all_are_not_described(raw):
    assert describe(raw) is None


def test_a_codec_that_no_table_has_is_given_as_a_number():
    found = describe(b"\x01\x90\xee\x7f\x12\x20" + bytes(32))
    assert found == "a version 1 cid of codec 0x1ff710, hash sha2-256 of 32 bytes"


@settings(max_examples=examples(200), deadline=None)
@given(text=st.text(min_size=46, max_size=80))
def test_any_long_text_is_described_or_not(text):
    assert describe_text(text) is None or "cid of codec" in describe_text(text)


@settings(max_examples=examples(200), deadline=None)
@given(raw=st.binary(max_size=40).map(lambda rest: b"\x01" + rest))
def test_any_bytes_are_described_or_not(raw):
    assert describe(raw) is None or "cid of codec" in describe(raw)

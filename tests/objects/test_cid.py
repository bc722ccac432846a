"""CIDs and ids: one text, exact lengths, never equal to plain bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiformats import CID

from ibidem.objects.cid import BlobCid, Cid, NodeCid
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.ids import EdgeId, NodeId


@settings(max_examples=50, deadline=None)
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

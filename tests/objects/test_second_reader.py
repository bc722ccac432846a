"""The second reader agrees with the codec on everything, and says where it does not."""

from __future__ import annotations

import dag_cbor
import pytest
from hypothesis import given, settings

from ibidem.objects import codec
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import CorruptError
from ibidem.objects.second_reader import disagreement

from .strategies import nodes

BLOCK = codec.encode(
    {"kind": "example", "list": [1, 2.5, None, b"bytes"], "link": BlobCid.of(b"raw")}
)


@settings(deadline=None)
@given(node=nodes())
def test_what_the_codec_writes_is_read_alike(node):
    assert disagreement(node.encode()) is None


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"kind": "other"}, "value.kind"),
        ({"list": [1, 2.5, None]}, "value.list, of another length"),
        ({"list": [1, 2.5, None, "bytes"]}, "value.list[3]"),
        ({"list": [1.0, 2.5, None, b"bytes"]}, "value.list[0]"),
        ({"list": [True, 2.5, None, b"bytes"]}, "value.list[0]"),
        ({"link": Cid.of(b"raw")}, "value.link"),
        ({"link": None}, "value.link"),
        ({"more": 1}, "value, with other keys"),
    ],
    ids=str,
)
def test_the_first_value_that_differs_is_named(monkeypatch, change, where):
    block = codec.encode(codec.decode(BLOCK) | change)
    other = dag_cbor.decode(block)
    monkeypatch.setattr(dag_cbor, "decode", lambda _: other)
    monkeypatch.setattr(dag_cbor, "encode", lambda _: BLOCK)
    assert disagreement(BLOCK) == f"dag-cbor reads another {where}"


def test_a_block_that_the_other_cannot_read_or_write_is_named(monkeypatch):
    monkeypatch.setattr(dag_cbor, "encode", lambda _: b"")
    assert disagreement(BLOCK) == "dag-cbor writes it with other bytes"

    def refuse(_: bytes) -> object:
        raise ValueError("byte 3 is wrong\nand so on")

    monkeypatch.setattr(dag_cbor, "decode", refuse)
    assert disagreement(BLOCK) == "dag-cbor cannot read it: byte 3 is wrong"


def test_what_the_codec_itself_cannot_read_is_corrupt():
    with pytest.raises(CorruptError):
        disagreement(BLOCK[:-1])

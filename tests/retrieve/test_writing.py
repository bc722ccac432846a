"""Values written part by part are what the codec writes."""

from __future__ import annotations

import numpy as np
import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects import codec
from ibidem.objects.cid import Cid, NodeCid, RootCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.answer.answer import Answer, receipt_of
from ibidem.retrieve.answer.cbor_writer import (
    array_of,
    bytes_of,
    count_of,
    keys_of,
    link_of,
    map_of,
    real_of,
    reals_of,
    text_of,
)
from ibidem.retrieve.answer.drops import Drop, DropReason, Drops
from ibidem.retrieve.answer.item import Item
from ibidem.retrieve.answer.lane_score import LaneScore, LaneScores
from ibidem.retrieve.lane import LaneStatus
from ibidem.retrieve.query.query import Query

REALS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: value != 0.0)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=300)


@settings(max_examples=examples(100), deadline=None)
@given(TEXTS, st.binary(max_size=300), st.integers(0, 2**64 - 1), REALS | st.just(0.0))
def test_single_values_are_as_the_codec_writes_them(text, data, count, real):
    """[9.2-a] Others are a mistake of the program."""
    assert text_of(text) == codec.encode(text)
    assert bytes_of(data) == codec.encode(data)
    assert count_of(count) == codec.encode(count)
    assert count_of(None) == codec.encode(None)
    assert real_of(real) == codec.encode(real)
    assert reals_of(real, -1.5) == codec.encode(real) + codec.encode(-1.5)
    assert reals_of(1.5, real) == codec.encode(1.5) + codec.encode(real)
    cid = Cid.of(data)
    assert link_of(cid) == codec.encode(cid)


@settings(max_examples=examples(100), deadline=None)
@given(st.dictionaries(TEXTS, st.integers(0, 2**20), max_size=40))
def test_maps_and_arrays_are_as_the_codec_writes_them(values):
    """[9.2-a] Keys by length of their bytes, then by these."""
    assert map_of({key: count_of(one) for key, one in values.items()}) == codec.encode(values)
    assert array_of(map(count_of, values.values())) == codec.encode(list(values.values()))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -0.0])
def test_numbers_that_are_not_canonical_are_refused(value):
    with pytest.raises(InvalidInputError, match="float"):
        real_of(value)
    for pair in ((value, 1.0), (1.0, value)):
        with pytest.raises(InvalidInputError, match="float"):
            reals_of(*pair)


def test_keys_of_a_map_come_in_canonical_order():
    """[9.2-a] Others are a mistake of the program."""
    keys = keys_of("id", "cid", "rendered")
    values = [count_of(1), count_of(2), count_of(3)]
    written = b"".join(key + value for key, value in zip(keys, values, strict=True))
    assert written == codec.encode({"rendered": 3, "cid": 2, "id": 1})
    with pytest.raises(AssertionError):
        keys_of("cid", "id")


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99_999), REALS), max_size=4),
    st.lists(st.tuples(st.integers(0, 2**40), REALS), max_size=40),
    st.sampled_from(DropReason),
)
def test_drops_are_written_and_read_alike(skipped, unseen, reason):
    """[9.2-a] Whether they are looked at one by one or only written."""
    first = [
        Drop(NodeId(number.to_bytes(16, "big")), DropReason.BUDGET, tokens, score)
        for number, tokens, score in skipped
    ]
    raw = [number.to_bytes(16, "big") for number, _ in unseen]
    rest = [
        Drop(NodeId(one), reason, None, score) for one, (_, score) in zip(raw, unseen, strict=True)
    ]
    ids = np.frombuffer(b"".join(raw), np.uint8).reshape(-1, 16)
    drops = Drops(first, reason, ids, np.array([score for _, score in unseen]))
    assert list(drops) == first + rest
    assert drops[1:3] == tuple(first + rest)[1:3]
    assert drops == Drops(first + rest)
    form = [[one.id.raw, str(one.reason), one.tokens, one.score] for one in drops]
    assert drops.written() == Drops(first + rest).written() == codec.encode(form)


LANES = st.dictionaries(
    st.sampled_from(["lexical", "dense", "sparse", "graph", "rerank", "community"]),
    st.tuples(st.integers(1, 100_000), REALS | st.just(0.0), REALS | st.just(0.0)),
    max_size=4,
)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.binary(max_size=9), REALS, TEXTS, st.integers(0, 70_000), LANES), max_size=5
    )
)
def test_items_of_answers_and_receipts_are_as_the_codec_writes_them(rows):
    """[9.2-a] [10-a] [10-b]"""
    items = tuple(
        Item(
            Node(NodeId(Cid.of(name).raw[-16:]), "T"),
            NodeCid.of(name),
            score,
            text,
            tokens,
            LaneScores({lane: LaneScore(*said) for lane, said in lanes.items()}),
        )
        for name, score, text, tokens, lanes in rows
    )
    counts, status = {"limit": 3, "budget": 0}, {"lexical": LaneStatus.OK}
    query = Query("words")
    result = Answer[Item](RootCid.of(b""), query, items, 7, 9, Drops(), counts, (), status)
    form = codec.decode(result.to_bytes())
    assert codec.encode(form) == result.to_bytes()
    assert form["query"] == codec.decode(query.encode())
    assert form["items"] == [
        {
            "id": item.id.raw,
            "cid": item.cid,
            "score": item.score,
            "rendered": item.rendered,
            "tokens": item.tokens,
            "lanes": {lane: list(said) for lane, said in item.lanes.items()},
        }
        for item in items
    ]
    receipt = receipt_of(result)
    form = codec.decode(receipt.encode())
    assert codec.encode(form) == receipt.encode()
    assert form["result"] == result.cid
    assert form["items"] == [
        [item.id.raw, item.cid, item.score, blake3(item.rendered.encode()).digest(), lanes["lanes"]]
        for item, lanes in zip(items, codec.decode(result.to_bytes())["items"], strict=True)
    ]

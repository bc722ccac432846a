"""The codec against its definition: `dag-cbor` gives the bytes, for both engines.

Where the two differ on purpose, the difference is stated here: `dag-cbor` has no depth limit of
ours, keeps -0.0 and admits links of any hash.
"""

from __future__ import annotations

import dag_cbor
import pytest
from dag_cbor.decoding.err import CBORDecodingError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from multiformats import CID
from tests.examples import examples

from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError

from . import strategies

QUICK = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def for_oracle(value):
    if isinstance(value, Cid):
        return CID.decode(value.raw)
    if isinstance(value, dict):
        return {key: for_oracle(item) for key, item in value.items()}
    return [for_oracle(item) for item in value] if isinstance(value, list) else value


def same(left, right) -> bool:
    """Compares by value and exact type."""
    if type(left) is not type(right):
        return isinstance(left, Cid) and left == right
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


@QUICK
@given(value=strategies.VALUES)
def test_bytes_are_those_of_the_definition(engine, value):
    block = codec.encode(value)
    assert block == dag_cbor.encode(for_oracle(value))
    assert same(codec.decode_foreign(block), value)
    assert same(codec.decode(block), value)


@QUICK
@given(value=st.dictionaries(strategies.TEXTS, st.integers(), max_size=8), seed=st.randoms())
def test_order_of_insertion_does_not_change_the_bytes(engine, value, seed):
    entries = [(key, abs(item) % 100) for key, item in value.items()]
    block = codec.encode(dict(entries))
    seed.shuffle(entries)
    assert codec.encode(dict(entries)) == block


@settings(QUICK, max_examples=examples(400))
@given(
    value=strategies.VALUES,
    edits=st.lists(
        st.tuples(st.sampled_from("sid"), st.integers(0, 4096), st.integers(0, 255)), max_size=4
    ),
)
@example(value={"a": 0.0}, edits=[("s", 4, 0x80)])
def test_mutated_block_is_refused_or_is_its_own_encoding(engine, value, edits):
    block = bytearray(codec.encode(value))
    for how, place, byte in edits:
        at = place % (len(block) + 1)
        if how == "i":
            block.insert(at, byte)
        elif at < len(block):
            block[at : at + 1] = bytes((byte,)) if how == "s" else b""
    assert_verdict_is_explained(bytes(block))


@settings(QUICK, max_examples=examples(400))
@given(block=st.binary(max_size=40))
def test_arbitrary_bytes_are_refused_or_are_their_own_encoding(engine, block):
    assert_verdict_is_explained(block)


def assert_verdict_is_explained(block: bytes) -> None:
    try:
        value = codec.decode_foreign(block)
    except CorruptError as refused:
        verdict = refused
    else:
        assert codec.encode(value) == block
        verdict = None
    try:
        expected = dag_cbor.decode(block)
    except (CBORDecodingError, KeyError, ValueError, IndexError, OverflowError):
        assert verdict is not None or block_has_link(block)
        return
    if verdict is not None:
        assert "tag bytes" in str(verdict) or "-0.0" in str(verdict), verdict
    else:
        assert dag_cbor.encode(expected) == block


def block_has_link(block: bytes) -> bool:
    return b"\xd8\x2a" in block


@pytest.mark.slow
@settings(QUICK, max_examples=examples(5_000))
@given(
    value=strategies.VALUES,
    edits=st.lists(st.tuples(st.integers(0, 4096), st.integers(0, 255)), max_size=6),
)
def test_both_engines_give_the_same_verdict_and_value(value, edits):
    pytest.importorskip("cbrrr")
    block = bytearray(codec.encode(value))
    for place, byte in edits:
        block[place % len(block)] = byte
    before = codec.engine_name()
    outcomes = []
    for name in ("cbor2", "cbrrr"):
        codec.use_engine(name)
        try:
            outcomes.append(repr(codec.decode_foreign(bytes(block))))
        except CorruptError as refused:
            outcomes.append(refused.kind)
    codec.use_engine(before)
    assert outcomes[0] == outcomes[1]

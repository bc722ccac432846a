"""A block that is read in fewer steps is read as in all of them, and refused in the same words."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects import codec, verify
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge, read_edge
from ibidem.objects.errors import CorruptError, IbidemError
from ibidem.objects.text import text_digest
from ibidem.objects.vector import Sparse, Vector

from .strategies import edges, nodes

OF = text_digest("text")


def outcome(block):
    try:
        value = verify.read_foreign(block)
    except IbidemError as error:
        return type(error), error.kind, str(error)
    return type(value), None if value is None else value.encode()


def check(block):
    quick = outcome(block)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "_read_well", lambda _: None)
        assert outcome(block) == quick


def damaged(block, seed):
    rng = random.Random(seed)
    changed = bytearray(block)
    place = rng.randrange(len(changed))
    match rng.randrange(4):
        case 0:
            changed[place] = rng.randrange(256)
        case 1:
            del changed[place]
        case 2:
            changed.insert(place, rng.randrange(256))
        case _:
            del changed[place:]
    return bytes(changed)


@st.composite
def vectors(draw):
    dtype, width = draw(st.sampled_from([("f32", 4), ("f16", 2), ("i8", 1)]))
    dim = draw(st.sampled_from([1, 2, 3, 8]))
    extra = draw(st.sampled_from([{}, {"x": 1}]))
    return Vector(
        dtype, dim, OF, draw(st.binary(min_size=dim * width, max_size=dim * width)), extra
    )


SPARSE = st.builds(lambda size: Sparse(bytes(4 * size), bytes(4 * size), OF), st.integers(0, 3))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(vectors() | SPARSE | nodes() | edges(), min_size=1, max_size=4), st.integers(0))
def test_both_ways_agree_on_blocks_and_on_damaged_ones(values, seed):
    for number, value in enumerate(values):
        block = value.encode()
        check(block)
        for again in range(8):
            check(damaged(block, seed + 8 * number + again))


@pytest.mark.parametrize(
    "fields",
    [
        [],
        {},
        {"kind": ["node"], "v": 1},
        {"kind": {"a": 1}, "v": 1},
        {"kind": "node", "v": 1},
        {"kind": "node", "v": 2, "id": bytes(16), "ntype": "A"},
        {"kind": "node", "v": 1, "id": bytes(16), "ntype": "A", "tail": ""},
        {"kind": "vector", "v": 1, "dim": [1], "dtype": {}, "of": 1, "data": None},
        {"kind": "unheard", "v": 1},
        {"kind": "tree", "v": 1},
    ],
)
def test_both_ways_agree_on_what_is_no_value(fields):
    check(codec.encode(fields))


def test_a_vector_like_the_one_before_is_checked_as_that_one_was():
    good = Vector("f32", 2, OF, bytes(8))
    nan = Vector("f32", 2, OF, b"\x00\x00\xc0\x7f" + bytes(4))
    assert verify.read_foreign(good.encode()) == good
    with pytest.raises(CorruptError, match="finite"):
        verify.read_foreign(nan.encode())
    other = Vector("f16", 4, OF, bytes(8))
    assert verify.read_foreign(other.encode()) == other
    more = Vector("f16", 4, OF, bytes(8), {"x": 1})
    assert verify.read_foreign(more.encode()) == more


def test_an_read_edge_the_one_before_is_checked_as_that_one_was():
    one, other = node_id("", 1), node_id("", 2)
    good, back = edge(one, "cites", other), edge(other, "cites", one)
    assert verify.read_foreign(good.encode()) == good
    assert verify.read_foreign(back.encode()) == back
    block = good.encode()
    assert read_edge(good, back.encode()) == back
    other_type = edge(one, "Cites", other)  # whose block has the same length
    assert read_edge(good, other_type.encode()) is None
    assert verify.read_foreign(other_type.encode()) == other_type
    for at in range(len(block)):
        check(block[:at] + bytes((block[at] ^ 1,)) + block[at + 1 :])


@pytest.mark.parametrize("more", [{"weight": 2.0}, {"props": {"x": 1}}, {"extra": {"x": 1}}])
def test_an_edge_with_more_than_ids_and_a_type_is_like_no_other(more):
    found = edge(node_id("", 1), "cites", node_id("", 2), **more)
    assert read_edge(found, found.encode()) is None
    assert verify.read_foreign(found.encode()) == found


def edge(src, etype, dst, **more):
    return Edge(edge_id(src, etype, dst), etype, src, dst, **more)

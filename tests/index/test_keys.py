"""Property keys order like the values they stand for."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from ibidem.index.arrays import bitmap_bytes, bitmap_of_bytes
from ibidem.index.segments.column import Column
from ibidem.index.segments.key_list import KeyList, key_columns, key_list, union_keys
from ibidem.index.segments.property_keys import EXISTS, name_key, number_order, scalar_key
from ibidem.objects import codec
from ibidem.objects.errors import CorruptError

numbers = st.one_of(
    st.integers(-(2**64), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0),
    st.integers(-(2**64), 2**64 - 1).map(float),
    st.builds(lambda exponent, by: 2**exponent + by, st.integers(50, 63), st.integers(-3, 3)),
)


@given(numbers, numbers)
def test_numbers_order_exactly(one: float, other: float):
    order = number_order(one), number_order(other)
    assert (order[0] < order[1]) == (Fraction(one) < Fraction(other))
    assert (order[0] == order[1]) == (Fraction(one) == Fraction(other))


@given(st.one_of(numbers, st.booleans(), st.text(), st.binary(), st.none()), st.data())
def test_keys_are_equal_only_for_equal_canonical_values(one: object, data: st.DataObject):
    other = data.draw(st.one_of(st.just(one), numbers, st.booleans(), st.text(), st.none()))
    assert (scalar_key(one) == scalar_key(other)) == (codec.encode(one) == codec.encode(other))


@given(st.text(), st.text())
def test_no_property_has_keys_of_another(one: str, other: str):
    ends = [EXISTS, *filter(None, map(scalar_key, ("a", 1, None)))]
    keys = [{name_key(name) + end for end in ends} for name in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)
    assert one == other or not keys[0] & keys[1]


@given(st.sets(st.text("ab", min_size=1, max_size=9), min_size=100, max_size=150), st.data())
def test_a_key_is_found_among_keys_that_contain_it(texts: set[str], data: st.DataObject):
    keys = sorted(text.encode() for text in texts)
    found = key_list(keys)
    places = {key: place for place, key in enumerate(keys)}
    for _ in range(2):  # a sample of the keys is kept after some searches
        assert [found.index(key) for key in keys] == list(places.values())
    other = data.draw(st.text("abc", max_size=10)).encode()
    assert found.index(other) == places.get(other)


lists = st.sets(st.binary(max_size=4), max_size=60)


@given(st.lists(lists, min_size=1, max_size=4))
def test_the_union_of_key_lists_is_that_of_the_sets(sets: list[set[bytes]]):
    columns = [key_columns("", sorted(keys)) for keys in sets]
    opened = [KeyList(Column(column[".keys"]), Column(column[".ends"])) for column in columns]
    blob, ends, tables = union_keys(opened)
    union = sorted(set().union(*sets))
    assert list(KeyList(Column(blob), Column(ends))) == union
    for keys, table in zip(sets, tables, strict=True):
        assert [union[place] for place in table.tolist()] == sorted(keys)


near = st.text(st.sampled_from("abé中😀"), min_size=1, max_size=9)


@given(near, st.sets(near), st.data())
def test_keys_are_found_at_edit_distance_1(text: str, words: set[str], data: st.DataObject):
    edits = {
        edit
        for index in range(len(text) + 1)
        for character in ("", *"abé中😀")
        for edit in (text[:index] + character + text[index + size :] for size in (0, 1))
    } - {"", text}
    keys = sorted(
        word.encode() for word in words | data.draw(st.sets(st.sampled_from(sorted(edits))))
    )
    found = [keys[index].decode() for index in key_list(keys).near(text)]
    assert found == [key.decode() for key in keys if key.decode() in edits]


@given(st.sets(st.integers(0, 2**32 - 2), max_size=50), st.data())
def test_a_damaged_bitmap_is_refused(members: set[int], data: st.DataObject):
    found = bitmap_bytes(BitMap(members))
    assert set(bitmap_of_bytes(found)) == members
    if members:
        harmed = found.copy()
        harmed[data.draw(st.integers(0, len(found) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        with pytest.raises(CorruptError):
            bitmap_of_bytes(harmed)

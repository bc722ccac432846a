"""`CidTable` against a dict: one at a time, many at once, while it grows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ibidem.objects.cid import DAG_CBOR_PREFIX, RAW_PREFIX, Cid
from ibidem.objects.cid_table import CidTable

raws = st.builds(
    lambda prefix, number: prefix + number.to_bytes(2, "big") * 16,
    st.sampled_from((DAG_CBOR_PREFIX, RAW_PREFIX)),
    st.integers(0, 50),
)


@given(
    st.lists(st.tuples(raws, st.binary(min_size=8, max_size=8)), max_size=60),
    st.lists(raws, max_size=60),
    st.lists(
        st.tuples(raws, st.integers(0, 2**64 - 1)), max_size=60, unique_by=lambda pair: pair[0]
    ),
)
def test_it_answers_as_a_dict_does(
    pairs: list[tuple[bytes, bytes]], more: list[bytes], noted: list[tuple[bytes, int]]
) -> None:
    table, expected = CidTable(), dict[bytes, bytes]()
    for raw, note in pairs:
        assert table.add(raw, note) == expected.get(raw)
        expected.setdefault(raw, note)
    table.add_all(b"".join(more))
    for raw in more:
        expected.setdefault(raw, bytes(8))
    table.add_all(b"".join(raw for raw, _ in noted), [number for _, number in noted])
    for raw, number in noted:
        expected.setdefault(raw, number.to_bytes(8, "little"))
    assert len(table) == len(expected)
    raws = [*expected, RAW_PREFIX + bytes(32)]
    notes = [
        None if raw not in expected else int.from_bytes(expected[raw], "little") for raw in raws
    ]
    assert table.notes(b"".join(raws)) == notes
    assert all(raw in table and table.add(raw) == note for raw, note in expected.items())
    others = [Cid(prefix + b"\x01" + bytes(31)) for prefix in (DAG_CBOR_PREFIX, RAW_PREFIX)]
    asked = [*map(Cid, expected), *others]
    assert list(table.absent(asked)) == [cid for cid in asked if cid.raw not in expected]
    assert table.absent_count(cid.raw for cid in asked) == len(list(table.absent(asked)))


def test_it_grows_and_keeps_notes_whatever_was_expected() -> None:
    rng = np.random.default_rng(3)
    some = [DAG_CBOR_PREFIX + rng.bytes(32) for _ in range(5_000)]
    many = [DAG_CBOR_PREFIX + rng.bytes(32) for _ in range(20_000)]
    for expected in (0, 10, 30_000):
        table = CidTable(expected)
        for number, raw in enumerate(some):
            assert table.add(raw, number.to_bytes(8, "little")) is None
        table.add_all(b"".join(many + some + many))
        assert len(table) == 25_000
        assert [table.add(raw) for raw in some] == [n.to_bytes(8, "little") for n in range(5_000)]
        assert list(table.absent(map(Cid, some + many))) == []


def test_cids_that_belong_in_one_row_are_told_apart() -> None:
    """The place is chosen by eight bytes; CIDs that share these stand one after the other."""
    alike = [DAG_CBOR_PREFIX + bytes(20) + bytes([number]) + bytes(11) for number in range(16)]
    in_tail = [DAG_CBOR_PREFIX + bytes([number]) + bytes(31) for number in range(1, 200)]
    for one_by_one in (True, False):
        table = CidTable()
        for raw in in_tail if one_by_one else ():
            table.add(raw)
        if not one_by_one:
            table.add_all(b"".join(in_tail))
        assert len(table) == len(in_tail)
        assert all(raw in table for raw in in_tail)
        assert len(list(table.absent(map(Cid, alike)))) == len(alike)


def test_one_note_is_what_many_are() -> None:
    cids = [Cid.of(b"%d" % number) for number in range(3_000)]
    table = CidTable()
    assert table.note(cids[0].raw) is None
    table.add_all(b"".join(cid.raw for cid in cids[:2_000]), range(1, 2_001))
    found = [table.note(cid.raw) for cid in cids]
    assert found == table.notes(b"".join(cid.raw for cid in cids))
    assert found == [*range(1, 2_001), *[None] * 1_000]

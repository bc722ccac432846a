"""A pack is in one order, whatever its CIDs have in common."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects.cid import DAG_CBOR_PREFIX, RAW_PREFIX
from ibidem.repo.sync.pack import sorted_cids

PREFIXES = st.sampled_from((DAG_CBOR_PREFIX, RAW_PREFIX))
ENDS = st.sampled_from((bytes(8), b"\x01" + bytes(7), b"\xff" * 8))
CIDS = st.builds(
    lambda prefix, first, rest, last: prefix + first + rest + last,
    PREFIXES,
    ENDS,
    st.binary(min_size=16, max_size=16),
    ENDS,
)


@settings(max_examples=examples(100))
@given(st.lists(CIDS))
def test_cids_of_both_codecs_ascend_each_once_also_where_hashes_begin_alike(raws):
    assert sorted_cids(raws + raws[:3]) == b"".join(sorted(set(raws)))

"""Many byte strings are found in a block as they are one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibidem.repo.erasure.substrings import FEW, HEAD_BYTES, OFFSETS_MAX, START_BYTES, Substrings

LETTERS = st.binary(min_size=HEAD_BYTES, max_size=12).map(lambda raw: bytes(one % 2 for one in raw))


@given(
    strings=st.lists(LETTERS, max_size=3 * FEW),
    block=st.lists(st.integers(0, 1), max_size=60).map(bytes),
    at=st.integers(0, 60),
    is_put_in=st.booleans(),
    lead=st.sampled_from([b"", bytes(START_BYTES - HEAD_BYTES - 2)]),
)
def test_it_equals_a_search_one_by_one(
    strings: list[bytes], block: bytes, at: int, is_put_in: bool, lead: bytes
) -> None:
    strings = [lead + one for one in strings]
    if strings and is_put_in:
        block = block[:at] + strings[-1] + block[at:]
    expected = any(one in block for one in strings)
    assert Substrings(strings).is_any_in(block) == expected
    more = [bytes((2, number)) * HEAD_BYTES for number in range(2 * FEW)]
    assert Substrings([*strings, *more]).is_any_in(block) == expected


def test_a_string_may_be_the_whole_block_or_its_end() -> None:
    strings = [bytes((number,)) * HEAD_BYTES for number in range(2 * FEW)]
    for one in strings:
        assert Substrings(strings).is_any_in(one)
        assert Substrings(strings).is_any_in(b"\xff" * 9 + one)
        assert not Substrings(strings).is_any_in(one[1:])
        assert not Substrings(strings).is_any_in(b"")


@pytest.mark.parametrize("at", [0, OFFSETS_MAX - HEAD_BYTES + 1, OFFSETS_MAX, 2 * OFFSETS_MAX])
def test_a_string_is_found_anywhere_in_a_large_file(at: int) -> None:
    search = Substrings(bytes((number,)) * HEAD_BYTES for number in range(1, 2 * FEW))
    data = bytes(at) + bytes((7,)) * HEAD_BYTES
    assert search.is_any_in(data)
    assert search.is_any_in(data + b"\0")
    assert not search.is_any_in(data[:-1])


class Counted(bytes):
    """Bytes that count how often their beginnings are compared."""

    comparison_count = 0

    def startswith(self, *given: object) -> bool:
        """Counts, and answers."""
        Counted.comparison_count += 1
        return super().startswith(*given)  # type: ignore[arg-type]


def test_strings_that_begin_alike_are_not_compared_one_by_one() -> None:
    dates = [f"2026-01-{number:05}" for number in range(2000)]
    block = Counted(" ".join(f"{date} other" for date in dates).encode())
    assert not Substrings(f"{date} words".encode() for date in dates).is_any_in(block)
    assert Counted.comparison_count <= len(dates)

"""Columns that snapshots share: what stays in place, what is given up, what older ones see."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ibidem.retrieve.lexical.row_layout import row_layout_of


@dataclass
class Segment:
    """What is asked of a lexical segment here."""

    name: str
    ordinals: np.ndarray
    lengths: np.ndarray
    cache: dict = field(default_factory=dict)


def segment(name, first, count):
    ordinals = np.arange(first, first + count, dtype=np.uint32)
    return Segment(name, ordinals, ordinals + np.uint32(7))


def check(segments, **options):
    layout = row_layout_of(segments, **options)
    for one in segments:
        start = layout.starts[one.name]
        span = slice(start, start + len(one.ordinals))
        assert np.array_equal(layout.ordinals[span], one.ordinals)
        assert np.array_equal(layout.lengths[span], one.lengths)
    spans = sorted((layout.starts[one.name], len(one.ordinals)) for one in segments)
    ends = [start + count for start, count in spans]
    assert all(end <= start for end, (start, _) in zip(ends, spans[1:], strict=False))
    assert layout.size == max(ends, default=0)
    assert layout.zeros_pool.acquire(np.float32).shape[0] >= layout.size
    return layout


def test_one_segment_is_not_copied():
    one = segment("a", 0, 50)
    assert check([one]).lengths is one.lengths
    assert check([]).size == 0


def test_a_new_tail_leaves_the_others_in_place():
    first, second = segment("a", 0, 9000), segment("b", 9000, 4000)
    before = check([first, second, segment("tail", 13000, 5)])
    after = check([first, second, segment("longer tail", 13000, 6)])
    assert np.shares_memory(before.lengths, after.lengths)
    assert before.starts["b"] == after.starts["b"]
    assert after.starts["longer tail"] >= before.size
    assert before.zeros_pool is after.zeros_pool
    assert np.array_equal(before.ordinals[-5:], np.arange(13000, 13005))


def test_what_is_left_unused_is_given_up():
    first, second = segment("a", 0, 100), segment("b", 100, 60)
    older = check([first, second], slack_rows=10)
    pools = [older.zeros_pool]  # held, so that no two have one address
    for number in range(1, 30):
        layout = check([first, second, segment(f"tail {number}", 160, number)], slack_rows=10)
        pools.append(layout.zeros_pool)
        assert layout.size <= (160 + number) * 5 // 4 + 10
    assert len(set(map(id, pools))) > 3
    assert np.array_equal(older.ordinals[:100], first.ordinals)


def test_spare_zeros_are_lent_to_one_at_a_time():
    spare = check([segment("a", 0, 9)]).zeros_pool
    one, other = spare.acquire(np.float32), spare.acquire(np.float32)
    assert one is not other
    spare.release(one)
    assert spare.acquire(np.float64).dtype == np.float64
    assert spare.acquire(np.float32) is one

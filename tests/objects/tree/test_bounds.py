"""The bounds of 6.3, for keys chosen to break them, and the cost of edits in a large tree."""

import random

import numpy as np
import pytest

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.tree import Tree, build_arrays, diff, mutate, verify
from ibidem.objects.tree.block import decode

from .mining import BELOW, keys_with, mined, sorted_keys
from .reference import Recorder, cid, raw_cid

KINDS = [
    "never a boundary",
    "always a boundary",
    "ascending hashes",
    "descending hashes",
    "valley",
    "equal hashes",
]
SPAN_MAX = 256


def built(keys: np.ndarray) -> tuple[TreeCid, dict[Cid, bytes]]:
    buffer = WriteBatch()
    cids = np.frombuffer(raw_cid(1) * len(keys), np.uint8).reshape(-1, 36)
    return build_arrays(keys, cids, buffer), buffer.new


def edits_near(keys: np.ndarray, count: int) -> list[dict[bytes, Cid | None]]:
    """Deletes, and inserts of keys of every hash, from the smallest to the largest."""
    rng = random.Random(3)
    edits: list[dict[bytes, Cid | None]] = []
    for _ in range(count):
        at = rng.randrange(len(keys))
        edits.append({keys[at].tobytes(): None})
        hashes = [rng.randrange(1 << 64), rng.randrange(BELOW), BELOW, (1 << 64) - 1]
        wanted = np.full(at + 1, rng.choice(hashes), np.uint64)
        edits.append({keys_with(wanted, 0)[-1].tobytes(): cid(2)})
    ends = (bytes(16), b"\xff" * 16, keys[0].tobytes(), keys[-1].tobytes())
    edits += [{key: cid(3)} for key in ends[:2]] + [{key: None} for key in ends[2:]]
    return edits


def check_bounds(keys: np.ndarray, count: int) -> str:
    """Each edit equals a fresh build, and new blocks hold no more entries than 6.3 allows."""
    top, blocks = built(keys)
    assert max(decode(block).size for block in blocks.values()) <= SPAN_MAX
    source = Recorder(blocks)
    height = Tree(source, top).height
    most, written, read = 0, 0, 0
    edits = edits_near(keys, count)
    for edit in edits:
        source.reads.clear()
        buffer = WriteBatch(source)
        changed = mutate(top, edit, buffer)
        sizes: dict[int, list[int]] = {}
        for block in buffer.new.values():
            sizes.setdefault(decode(block).level, []).append(decode(block).size)
        window = 1
        for level in sorted(sizes):
            assert sum(sizes[level]) <= window + 2 * SPAN_MAX - 1
            window = len(sizes[level])
        most = max(most, sum(sizes.get(0, [])))
        written += len(buffer.new)
        read += len(source.reads)
        changes = list(diff(buffer, top, changed))
        assert [key for key, _, _ in changes] == [key for key in edit if changed != top]
    return (
        f"height {height}, {len(blocks)} blocks; an edit: at most {most} entries in new leaves, "
        f"{written / len(edits):.1f} blocks written, {read / len(edits):.1f} read"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_mined_keys_stay_within_the_bound(kind: str) -> None:
    check_bounds(mined(kind, 3000), 8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rounds", [(1,), pytest.param((0, 1, 2), marks=pytest.mark.slow)])
def test_edits_among_mined_keys_equal_a_fresh_build(kind: str, rounds: tuple[int, ...]) -> None:
    rng = random.Random(4)
    keys = mined(kind, 1200)
    top, blocks = built(keys)
    for round_ in rounds:
        for edit in edits_near(keys, 2):
            more = [keys[rng.randrange(len(keys))].tobytes() for _ in range(round_ * 3)]
            edits = edit | dict.fromkeys(more)
            found = mutate(top, edits, WriteBatch(Recorder(blocks)))
            kept = [key.tobytes() for key in keys if key.tobytes() not in edits]
            added = [key for key, value in edits.items() if value is not None]
            rows = np.frombuffer(b"".join(sorted(kept + added)), np.uint8).reshape(-1, 16)
            values = b"".join((edits.get(row.tobytes()) or cid(1)).raw for row in rows)
            buffer = WriteBatch()
            assert found == build_arrays(
                rows, np.frombuffer(values, np.uint8).reshape(-1, 36), buffer
            )
            assert verify(buffer, found) == len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_100_000_mined_keys_stay_within_the_bound(kind: str) -> None:
    print(f"\n100,000 keys, {kind}: {check_bounds(mined(kind, 100_000), 40)}")


@pytest.mark.slow
def test_edits_among_a_million_entries_write_little_more_than_the_path() -> None:
    keys = sorted_keys(1_000_000)
    top, blocks = built(keys)
    source = Recorder(blocks)
    height = Tree(source, top).height
    rng = random.Random(5)
    written: dict[str, list[int]] = {"value": [], "insert": [], "delete": []}
    compared: list[int] = []
    for _ in range(200):
        known = keys[rng.randrange(len(keys))].tobytes()
        for kind, edit in (
            ("value", {known: cid(9)}),
            ("insert", {rng.randbytes(16): cid(9)}),
            ("delete", {known: None}),
        ):
            buffer = WriteBatch(source)
            changed = mutate(top, edit, buffer)
            written[kind].append(len(buffer.new))
            source.reads.clear()
            reader = Recorder(blocks | buffer.new) if len(compared) < 9 else None
            if reader is not None:
                assert len(list(diff(reader, top, changed))) == 1
                compared.append(len(reader.reads))
    source.reads.clear()
    Tree(source, top).get(known)
    means = {kind: sum(counts) / len(counts) for kind, counts in written.items()}
    print(
        f"\n1,000,000 entries, height {height}, {len(blocks)} blocks; blocks written, mean of 200: "
        f"{means}; worst { ({kind: max(counts) for kind, counts in written.items()}) }; "
        f"blocks read by diff: {compared}; by get: {len(source.reads)}"
    )
    assert max(written["value"]) <= height
    assert means["insert"] <= height + 2
    assert means["delete"] <= height + 2
    assert len(source.reads) == height
    assert max(compared) <= 2 * height + 6

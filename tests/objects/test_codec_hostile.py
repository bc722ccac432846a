"""Inputs made to exhaust a reader: refused in bounded memory, whatever they declare.

Memory is measured with `tracemalloc` for what Python allocates and bounded for the whole process
by an address-space limit in a child, because the engines allocate outside Python's heap.
"""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import pytest

from ibidem.objects import codec
from ibidem.objects.errors import CorruptError, InvalidInputError

MIB = 1 << 20


def bombs() -> dict[str, bytes]:
    declared = b"\x9a" + (100_000).to_bytes(4, "big")
    return {
        "two million deep": b"\x81" * (2 * MIB) + b"\x00",
        "a hundred thousand deep": b"\x81" * 100_000 + b"\x00",
        "nested arrays that declare what could fit": declared * 100_000,
        "64 nested arrays that declare what could fit": declared * 63 + b"\x00" * 200_000,
        "nested maps likewise": (b"\xba\x00\x01\x00\x00\x61a") * 50_000,
        "a million empty lists, one short": b"\x9a\x00\x0f\xff\xfb" + b"\x80" * (MIB - 6),
        "array of 2^64 - 1": b"\x9b" + b"\xff" * 8,
        "map of 2^63": b"\xbb\x80" + bytes(7),
        "bytes of 2^64 - 1": b"\x5b" + b"\xff" * 8,
        "text of 2^31 - 1": b"\x7a\x7f\xff\xff\xff" + b"x" * 100,
        "tagged bytes of 2^32 - 1": b"\xd8\x2a\x5a\xff\xff\xff\xff\x00",
    }


@pytest.mark.parametrize("name", list(bombs()))
@pytest.mark.usefixtures("engine")
def test_bomb_is_refused_within_four_megabytes(name):
    block = bombs()[name]
    tracemalloc.start()
    try:
        with pytest.raises(CorruptError) as caught:
            codec.decode_foreign(block)
        assert caught.value.kind in ("limit-exceeded", "corrupt", "non-canonical")
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_bombs_pass_in_a_process_that_may_not_grow(engine_name):
    pytest.importorskip("resource")
    program = f"""
import resource, sys
sys.path.insert(0, {str(sys.path[0])!r})
from ibidem.objects import codec
from ibidem.objects.errors import CorruptError, InvalidInputError
codec.use_engine({engine_name!r})
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
declared = b"\\x9a" + (100_000).to_bytes(4, "big")
for block in (b"\\x81" * (1 << 20), declared * 100_000, b"\\x9b" + b"\\xff" * 8, declared * 63):
    try:
        codec.decode_foreign(block)
        raise SystemExit("accepted")
    except CorruptError:
        pass
loop = []
loop.append(loop); loop.append(loop)
try:
    codec.encode(loop)
    raise SystemExit("accepted")
except InvalidInputError:
    print("refused")
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd="src"
    )
    assert found.stdout.strip() == "refused", found.stderr


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("count", [50_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_block_of_very_many_items_is_read(count: int):
    block = codec.encode([[]] * count)
    assert len(codec.decode_foreign(block)) == count


@pytest.mark.usefixtures("engine")
def test_cycles_and_shared_parts_are_refused_before_they_are_written():
    loop: list[object] = []
    loop.append(loop)
    wide: list[object] = []
    wide.extend([wide] * 10)
    mapping: dict[str, object] = {}
    mapping["self"] = mapping
    doubling: object = 0
    for _ in range(60):
        doubling = [doubling, doubling]
    for value in (loop, wide, mapping, doubling, [0] * (MIB + 1)):
        with pytest.raises(InvalidInputError) as caught:
            codec.encode(value)
        assert caught.value.kind == "limit-exceeded"

"""CAR files: what is written is one form, what is read is strict, bounded and hashed."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects import codec
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    IbidemError,
    InvalidInputError,
)
from ibidem.repo.sync.car import CarLimits, CarReader, CarWriter, car_section, varint, write_car

FIXTURES = Path(__file__).parents[2] / "conformance" / "fixtures" / "go-car"
BLOCK = codec.encode({"kind": "example", "n": 1})
CID = Cid.of(BLOCK)


def made(*blocks: bytes) -> bytes:
    pairs = sorted({BlobCid.of(block): block for block in (*blocks, b"root")}.items())
    file = io.BytesIO()
    write_car(file, [BlobCid.of(b"root")], pairs)
    return file.getvalue()


def read(data: bytes, **limits: int) -> list[tuple[Cid, bytes]]:
    return list(CarReader(io.BytesIO(data), limits=CarLimits(**limits)))


def header(value: object) -> bytes:
    block = codec.encode(value)
    return varint(len(block)) + block


HEADER = header({"roots": [CID], "version": 1})


class Endless:
    """Gives the same bytes for ever, and counts."""

    def __init__(self, head: bytes, repeated: bytes) -> None:
        self._head = io.BytesIO(head)
        self._repeated = repeated
        self._buffer = io.BytesIO()
        self.size_bytes = 0

    def read(self, size: int, /) -> bytes:
        part = self._head.read(size) or self._buffer.read(size)
        if not part:
            self._buffer = io.BytesIO(self._repeated)
            part = self._buffer.read(size)
        self.size_bytes += len(part)
        return part


@settings(max_examples=examples(50))
@given(st.lists(st.binary(max_size=300), max_size=8))
def test_what_is_written_is_read_back(blocks: list[bytes]):
    found = dict(read(made(*blocks)))
    assert found == {BlobCid.of(block): block for block in (*blocks, b"root")}


def test_the_same_blocks_give_the_same_bytes_in_any_order():
    assert made(b"a", b"b", b"c") == made(b"c", b"a", b"b")


def test_a_block_out_of_order_is_not_written():
    writer = CarWriter(io.BytesIO(), [CID])
    writer.put(CID, BLOCK)
    with pytest.raises(InvalidInputError):
        writer.put(CID, BLOCK)


def test_a_file_without_roots_is_not_written():
    with pytest.raises(InvalidInputError):
        write_car(io.BytesIO(), [], [])


def test_more_roots_than_a_header_holds_are_not_written():
    roots = [BlobCid.of(bytes([n >> 8, n & 255])) for n in range(2000)]
    with pytest.raises(InvalidInputError) as error:
        write_car(io.BytesIO(), roots, [])
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED


def test_every_cut_of_a_file_is_refused_or_ends_between_two_blocks():
    data = made(b"a" * 10, b"b" * 200)
    whole = read(data)
    for stop in range(len(data)):
        try:
            found = read(data[:stop])
        except CorruptError:
            continue
        assert found == whole[: len(found)]
        assert len(found) < len(whole)


def test_every_flipped_bit_is_refused_or_changes_the_roots_only():
    data = made(b"a" * 10, b"b" * 20)
    whole = read(data)
    for at in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            try:
                reader = CarReader(io.BytesIO(bytes(changed)))
                found = list(reader)
            except IbidemError:
                continue
            assert found == whole
            assert reader.roots != (BlobCid.of(b"root"),)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", ErrorKind.CORRUPT),
        (b"\x00", ErrorKind.CORRUPT),
        (b"\x80", ErrorKind.CORRUPT),
        (b"\xff" * 9, ErrorKind.CORRUPT),
        (b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", ErrorKind.CORRUPT),
        (b"\x81\x00" + HEADER[1:], ErrorKind.NON_CANONICAL),
        (varint(1 << 62), ErrorKind.LIMIT_EXCEEDED),
        (varint((64 << 10) + 1), ErrorKind.LIMIT_EXCEEDED),
        (header([1]), ErrorKind.CORRUPT),
        (header({"version": 1}), ErrorKind.CORRUPT),
        (header({"roots": [], "version": 1}), ErrorKind.CORRUPT),
        (header({"roots": [b"x"], "version": 1}), ErrorKind.CORRUPT),
        (header({"roots": [CID], "version": True}), ErrorKind.CORRUPT),
        (header({"roots": [CID], "version": 1, "more": 1}), ErrorKind.CORRUPT),
        (HEADER + b"\x00", ErrorKind.CORRUPT),
        (HEADER + b"\x23" + CID.raw, ErrorKind.CORRUPT),
        (HEADER + varint(1 << 60), ErrorKind.LIMIT_EXCEEDED),
        (HEADER + varint((1 << 20) + 37), ErrorKind.LIMIT_EXCEEDED),
        (HEADER + varint((1 << 20) + 37) + CID.raw, ErrorKind.LIMIT_EXCEEDED),
        (HEADER + varint(37 + len(BLOCK)) + CID.raw + BLOCK, ErrorKind.CORRUPT),
        (HEADER + car_section(CID, BLOCK + b"x"), ErrorKind.HASH_MISMATCH),
        (HEADER + car_section(BlobCid.of(b"1"), b"2"), ErrorKind.HASH_MISMATCH),
        (HEADER + varint(40) + b"\x01\x55\x12\x20" + bytes(36), ErrorKind.CORRUPT),
        (HEADER + varint(40) + b"\x01\x71\x1e\x10" + bytes(36), ErrorKind.CORRUPT),
        (HEADER + varint(40) + b"\x01\x55\x00\x20" + bytes(36), ErrorKind.CORRUPT),
    ],
)
def test_hostile_bytes_are_refused(data: bytes, kind: ErrorKind):
    with pytest.raises(CorruptError) as error:
        read(data)
    assert error.value.kind is kind


def test_another_version_is_a_format_error():
    with pytest.raises(FormatError):
        read(header({"version": 2}))


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.car")))
def test_fixture_of_the_formats_authors_is_refused_with_a_typed_error(name: str):
    with pytest.raises((CorruptError, FormatError)):
        read((FIXTURES / name).read_bytes())


def test_the_fixtures_are_there():
    assert len(list(FIXTURES.glob("*.car"))) == 7


def test_an_endless_stream_of_tiny_blocks_ends_at_the_limit():
    stream = Endless(HEADER, car_section(BlobCid.of(b""), b""))
    with pytest.raises(CorruptError) as error:
        for _ in CarReader(stream, limits=CarLimits(block_count_max=1000)):
            pass
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    assert stream.size_bytes < 50_000


def test_an_endless_stream_of_large_blocks_ends_at_the_limit():
    block = bytes(1 << 20)
    stream = Endless(HEADER, car_section(BlobCid.of(block), block))
    with pytest.raises(CorruptError) as error:
        for _ in CarReader(stream, limits=CarLimits(size_bytes_max=10 << 20)):
            pass
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    assert stream.size_bytes <= 10 << 20


def test_memory_is_that_of_one_block():
    block = bytes(1 << 20)
    section = car_section(BlobCid.of(block), block)

    def sections() -> Iterator[tuple[Cid, bytes]]:
        stream = Endless(HEADER, section)
        yield from CarReader(stream, limits=CarLimits(size_bytes_max=64 << 20))

    tracemalloc.start()
    with pytest.raises(CorruptError):
        for _ in sections():
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_a_declared_length_reserves_no_memory():
    tracemalloc.start()
    with pytest.raises(CorruptError):
        read(HEADER + varint(CID_AND_RAW) + BlobCid.of(b"").raw + b"short")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 18


CID_AND_RAW = 36 + (1 << 20)


def test_an_archive_of_another_system_is_refused_by_codec_and_hash():
    foreign = b"\x01\x70\x12\x20" + bytes(32)
    head = b"\xa2\x65roots\x81\xd8\x2a\x58\x25\x00" + foreign + b"\x67version\x01"
    for data in (varint(len(head)) + head, HEADER + varint(37) + foreign + b"x"):
        with pytest.raises(CorruptError, match="codec dag-pb, hash sha2-256 of 32 bytes"):
            read(data)

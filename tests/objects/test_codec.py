"""The codec by example: what it writes, what it refuses and with which code."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from ibidem.objects import codec
from ibidem.objects.cid import BlobCid, Cid, NodeCid
from ibidem.objects.errors import CorruptError, InvalidInputError

pytestmark = pytest.mark.usefixtures("engine")

LINK = "d82a5825000171 1e20".replace(" ", "")


def nest(depth: int, inner=0):
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "f6"),
        (True, "f5"),
        (1, "01"),
        (1.0, "fb3ff0000000000000"),
        (0.0, "fb0000000000000000"),
        (-1, "20"),
        ((1 << 64) - 1, "1bffffffffffffffff"),
        (-(1 << 64), "3bffffffffffffffff"),
        (5e-324, "fb0000000000000001"),
        ("é", "62c3a9"),
        (b"\x00", "4100"),
        ((1, (2,)), "82018102"),
        ({"b": 0, "aa": 0, "a": 0}, "a3616100616200626161 00".replace(" ", "")),
        ({"é": 0, "z": 0, "zzz": 0}, "a3617a0062c3a900637a7a7a00"),
    ],
)
def test_value_has_one_sequence_of_bytes(value, written):
    assert codec.encode(value).hex() == written
    assert codec.decode_foreign(bytes.fromhex(written)) == codec.decode(bytes.fromhex(written))


def test_true_and_one_and_one_point_zero_stay_apart():
    values = codec.decode_foreign(codec.encode([True, 1, 1.0, False, 0, 0.0]))
    assert [type(value) for value in values] == [bool, int, float, bool, int, float]


@pytest.mark.parametrize("link", [NodeCid.of(b"x"), BlobCid.of(b"x"), Cid.of(b"x")])
def test_every_cid_class_is_written_as_a_link_and_read_as_cid(link):
    block = codec.encode({"a": link, "b": [link]})
    read = codec.decode_foreign(block)
    assert type(read["a"]) is Cid
    assert read == {"a": Cid(link.raw), "b": [Cid(link.raw)]}


def test_bytes_that_look_like_a_cid_stay_bytes():
    raw = Cid.of(b"x").raw
    assert codec.decode_foreign(codec.encode([raw, b"\x00" + raw])) == [raw, b"\x00" + raw]


class Text(str):
    """A subclass that must not pass for its base."""


class Number(int):
    """Likewise."""


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        1 << 64,
        -(1 << 64) - 1,
        "\ud800",
        {"\udc00": 1},
        {"\udc00": 1, "a": 1},
        {1: 2},
        {"a": 1, 2: 3},
        {b"a": 1},
        {None: 1},
        {1, 2},
        frozenset(),
        bytearray(b"x"),
        memoryview(b"x"),
        object(),
        1j,
        Text("x"),
        Number(1),
        {Text("x"): 1},
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_value_outside_the_format_is_refused(value):
    for wrapped in (value, [value], {"a": [{"b": value}]}):
        with pytest.raises(InvalidInputError) as caught:
            codec.encode(wrapped)
        assert caught.value.kind == "invalid-input"


def test_depth_64_is_written_and_read_and_65_is_not():
    assert codec.decode_foreign(codec.encode(nest(64))) == nest(64)
    with pytest.raises(InvalidInputError) as caught:
        codec.encode(nest(65))
    assert caught.value.kind == "limit-exceeded"
    with pytest.raises(CorruptError) as refused:
        codec.decode_foreign(b"\x81" * 65 + b"\x00")
    assert refused.value.kind == "limit-exceeded"


def test_block_of_the_largest_size_passes_and_one_byte_more_does_not():
    body = b"x" * ((1 << 20) - 5)
    assert codec.decode_foreign(codec.encode(body)) == body
    with pytest.raises(InvalidInputError) as caught:
        codec.encode(body + b"x")
    assert caught.value.kind == "limit-exceeded"
    with pytest.raises(CorruptError) as refused:
        codec.decode_foreign(b"\x5a" + (len(body) + 1).to_bytes(4, "big") + body + b"x")
    assert refused.value.kind == "limit-exceeded"


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ("", "corrupt"),
        ("0000", "corrupt"),
        ("61", "corrupt"),
        ("62c328", "corrupt"),
        ("63eda080", "corrupt"),
        ("a1616100ff", "corrupt"),
        ("9affffffff", "corrupt"),
        ("9bffffffffffffffff", "corrupt"),
        ("bb8000000000000000", "corrupt"),
        ("5bffffffffffffffff", "corrupt"),
        ("7b7fffffffffffffff", "corrupt"),
        ("1800", "non-canonical"),
        ("190001", "non-canonical"),
        ("5800", "non-canonical"),
        ("9800", "non-canonical"),
        ("b800", "non-canonical"),
        ("9fff", "non-canonical"),
        ("bfff", "non-canonical"),
        ("5f4100ff", "non-canonical"),
        ("7f6161ff", "non-canonical"),
        ("1c", "non-canonical"),
        ("ff", "non-canonical"),
        ("f7", "non-canonical"),
        ("e0", "non-canonical"),
        ("f820", "non-canonical"),
        ("f93c00", "non-canonical"),
        ("fa3f800000", "non-canonical"),
        ("fb8000000000000000", "non-canonical"),
        ("fb7ff8000000000000", "non-canonical"),
        ("fb7ff0000000000000", "non-canonical"),
        ("fbfff0000000000000", "non-canonical"),
        ("a10000", "non-canonical"),
        ("a1410000", "non-canonical"),
        ("a2616100616100", "non-canonical"),
        ("a2616200616100", "non-canonical"),
        ("a262616100616200", "non-canonical"),
        ("c000", "non-canonical"),
        ("c249010000000000000000", "non-canonical"),
        ("d9002a58250001711e20" + "00" * 32, "non-canonical"),
        ("d82a00", "non-canonical"),
        ("d82a6100", "non-canonical"),
        ("d82a58250101711e20" + "00" * 32, "non-canonical"),
        ("d82a58250001711e1f" + "00" * 32, "non-canonical"),
        ("d82a58250001711220" + "00" * 32, "non-canonical"),
        ("d82a58250002711e20" + "00" * 32, "non-canonical"),
        ("d82a58260001711e20" + "00" * 33, "non-canonical"),
        ("d82a50 0001711e0b".replace(" ", "") + "00" * 11, "non-canonical"),
        ("d82a582300 1220".replace(" ", "") + "00" * 32, "non-canonical"),
    ],
)
def test_foreign_block_outside_the_format_is_refused(block, kind):
    for foreign in (bytes.fromhex(block), b"\x81" + bytes.fromhex(block)):
        with pytest.raises(CorruptError) as caught:
            codec.decode_foreign(foreign)
        assert caught.value.kind == kind, caught.value


def test_trusted_decoding_wraps_what_the_libraries_raise():
    for block in ("", "61", "62c328", "d82a00", "d82a41ff", "c000"):
        with pytest.raises(CorruptError):
            codec.decode(bytes.fromhex(block))


def test_decoded_maps_are_in_canonical_order():
    assert list(codec.decode(codec.encode({"bb": 1, "c": 2, "aaa": 3, "a": 4}))) == [
        "a",
        "c",
        "bb",
        "aaa",
    ]


def test_unknown_engine_is_refused_and_the_old_one_stays(engine):
    with pytest.raises(InvalidInputError, match="expected 'cbrrr' or 'cbor2'"):
        codec.use_engine("dag-cbor")
    assert codec.engine_name() == engine


def test_importing_the_codec_loads_no_oracle_and_no_numpy():
    program = (
        "import sys; import ibidem.objects.codec, ibidem.objects.vector, ibidem.objects.links;"
        "print(sorted({'dag_cbor', 'multiformats', 'numpy', 'hypothesis'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="src"
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"props": {"a": [1, {"b": math.nan}]}}, r"props\.a\[1\]\.b: float"),
        ([0, "\ud800"], r"\[1\]: text"),
        ({"a": {1: 2}}, "a: map key"),
    ],
)
def test_error_names_the_place_of_the_value(value, place):
    with pytest.raises(InvalidInputError, match=place):
        codec.encode(value)

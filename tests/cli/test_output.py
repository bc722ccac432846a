"""What is written is safe for a terminal and exact for a program."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.cli.render import output

TERMINAL = set(map(chr, [*range(9), *range(11, 32), *range(127, 160)]))
DIRECTION = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text())
@settings(max_examples=examples(200))
def test_printable_text_steers_no_terminal(text: str):
    assert not set(output.printable(text)) & (TERMINAL | DIRECTION)


@given(st.text())
@settings(max_examples=examples(100))
def test_one_line_is_one_line(text: str):
    assert len(output.one_line(text, width=20).splitlines()) <= 1
    assert len(output.one_line(text, width=20)) <= 20


def test_escapes_are_shown():
    assert output.printable("a\x1b[2Jb\u202ec\td\n") == "a\\x1b[2Jb\\u202ec\td\n"


def test_ordinary_text_of_any_script_is_left_alone():
    text = "naïve 検索 поиск עברית 🙂"
    assert output.printable(text) == text


def test_json_is_canonical_and_exact():
    written = output.canonical_json({"b": 1.5, "a": "é\x1b", "c": [True, None], "d": b"\x00\x01"})
    assert written.decode() == '{"a":"é\\u001b","b":1.5,"c":[true,null],"d":{"/":{"bytes":"AAE"}}}'
    assert json.loads(written)["a"] == "é\x1b"


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_767_225_600_000_000, "2026-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (2**62, "4611686018427387904 us"),
    ],
)
def test_moments_are_utc(microseconds: int, text: str):
    assert output.moment(microseconds) == text


def test_columns_are_aligned():
    assert output.table([("a", "bb", "c"), ("dd", "e", "f")]) == ["a   bb  c", "dd  e   f"]


def test_one_long_cell_does_not_make_every_line_of_a_table_as_long():
    long = "x" * 100_000
    lines = output.table([(long, "b"), ("a", "c")])
    assert lines == [f"{long}  b", f"{'a':<{output.PADDED_MAX}}  c"]


def test_styles_take_no_room_in_a_column_and_no_line_ends_with_blanks(
    capsys: pytest.CaptureFixture[str],
):
    rows = [(output.good("good"), "a", "x"), (output.faint("unsigned"), "b", "")]
    output.say(*output.table(rows))
    assert capsys.readouterr().out == "good      a  x\nunsigned  b\n"
    assert output.table([]) == []


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (1, "node", "1 node"),
        (2, "node", "2 nodes"),
        (0, "entry", "0 entries"),
        (1000, "edge", "1,000 edges"),
    ],
)
def test_plural(count: int, noun: str, text: str):
    assert output.plural(count, noun) == text

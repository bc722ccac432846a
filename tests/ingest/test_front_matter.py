"""The subset of YAML that front matter may use, and what happens to the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibidem.ingest.document import read_document
from ibidem.ingest.front_matter import FRONT_MATTER_CHARS_MAX, read_front_matter
from ibidem.objects.codec import encode


def values(body):
    return read_front_matter(f"---\n{body}\n---\n").values


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("k: plain text", "plain text"),
        ("k: 12", 12),
        ("k: -3", -3),
        ("k: 007", "007"),
        ("k: 1.5", 1.5),
        ("k: 0.0", 0.0),
        ("k: -0.0", "-0.0"),
        ("k: true", True),
        ("k: False", False),
        ("k: yes", "yes"),
        ("k: 2024-01-31", "2024-01-31"),
        ("k: http://a/b#c", "http://a/b#c"),
        ("k: a # note", "a"),
        ('k: "a # b"', "a # b"),
        ("k: 'it''s'", "it's"),
        (r'k: "a\nb\u00e9"', "a\nbé"),
        ("k: [a, 1, 'b, c']", ["a", 1, "b, c"]),
        ("k: []", []),
        ("k:\n  - a\n  - 2\n# note\n  - 'c'", ["a", 2, "c"]),
        ("k:\n- a", ["a"]),
        ("k: nan", "nan"),
    ],
)
def test_scalars_and_lists_are_read(line, value):
    assert values(line) == {"k": value}
    assert type(values(line)["k"]) is type(value)


@pytest.mark.parametrize("line", ["k:", "k: ~", "k: null", "# only a note", ""])
def test_an_empty_value_is_no_property(line):
    assert values(line) == {}


@pytest.mark.parametrize(
    "line",
    [
        "a:\n  b: c",
        "k: |\n  text",
        "k: >",
        "k: {a: b}",
        "k: &x 1",
        "k: *x",
        "k: a: b",
        "just words",
        "k: [a, [b]]",
        "k: [a",
        'k: "open',
        r'k: "\ud800"',
        "k: 1\nk: 2",
        "- item",
        "k: !tag x",
        ": v",
    ],
)
def test_what_the_subset_leaves_out_is_reported_by_line(line):
    front = read_front_matter(f"---\n{line}\n---\n")
    assert front.warnings
    assert all(warning.startswith("front matter line ") for warning in front.warnings)


def test_an_unread_line_does_not_take_the_others_with_it():
    front = read_front_matter("---\na: 1\nb: {x: y}\nc: 3\n---\n")
    assert front.values == {"a": 1, "c": 3}
    assert front.warnings == [
        "front matter line 3: '{' begins a form that is not read here; kept as text only"
    ]


def test_a_list_of_mappings_is_no_property():
    front = read_front_matter("---\nauthors:\n  - name: Ada\n    role: x\ntags:\n  - b\n---\n")
    assert front.values == {"tags": ["b"]}
    assert len(front.warnings) == 1


def test_a_file_is_reported_once_however_many_lines_are_not_read():
    front = read_front_matter("---\na: 1\nwords\nb: {x: y}\n- item\nc: 3\n---\n")
    assert front.values == {"a": 1, "c": 3}
    assert front.warnings == [
        (
            "front matter line 3: expected 'key: value' or '- item'; kept as text only; "
            "so are 2 more lines"
        )
    ]


@pytest.mark.parametrize(
    "source", ["text\n---\na: 1\n---\n", "---\na: 1\n", "--\na: 1\n--\n", " ---\na: 1\n---\n"]
)
def test_front_matter_must_open_the_file_and_close(source):
    assert read_front_matter(source).stop == 0


def test_front_matter_over_the_limit_is_text():
    front = read_front_matter("---\na: " + "x" * FRONT_MATTER_CHARS_MAX + "\n---\n")
    assert (front.stop, front.values, len(front.warnings)) == (0, {}, 1)


def test_properties_take_their_names_and_reserved_ones_a_prefix():
    reading = read_document("a.md", "---\ntags: [x]\nsource: elsewhere\n---\ntext\n")
    assert reading.drafts[-1].props == {
        "source": "a.md",
        "media_type": "text/markdown",
        "tags": ["x"],
        "front_matter_source": "elsewhere",
    }
    assert reading.warnings == [
        "front matter: 'source' is reserved, stored as 'front_matter_source'"
    ]


@given(st.text(max_size=80))
def test_any_text_is_read_or_reported_and_fits_the_format(body):
    encode(read_front_matter(f"---\n{body}\n---\n").values)

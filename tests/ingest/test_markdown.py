"""What Markdown becomes: sections, formats, titles, limits."""

import pytest

from ibidem.ingest.document import check_path, read_document
from ibidem.ingest.markdown import HEADING_CHARS_MAX
from ibidem.ingest.split import ITEMS_CHARS_MAX, PASSAGE_CHARS_MAX
from ibidem.objects.errors import InvalidInputError

from .trees import read


def passages(source, path="a.md"):
    """(format, language, text) of each passage in order."""
    return [
        (draft.props["format"], draft.props.get("language"), draft.summary)
        for draft in read_document(path, source).drafts
        if draft.ntype == "Passage"
    ]


def headings(source):
    return [
        (draft.props["heading_level"], draft.summary)
        for draft in read_document("a.md", source).drafts
        if draft.ntype == "Section"
    ]


def test_each_kind_of_block_has_its_format():
    source = (
        "Text *here*\nand on.\n\n- a\n- b\n\n1. c\n\n```python title=x\nx = 1\n\n\ny = 2\n```\n\n"
        "    indented\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<div>\nhtml\n</div>\n\n"
        "[ref]: http://example.org\n"
    )
    assert passages(source) == [
        ("paragraph", None, "Text *here*\nand on."),
        ("list", None, "- a\n- b"),
        ("list", None, "1. c"),
        ("code", "python", "```python title=x\nx = 1\n\n\ny = 2\n```"),
        ("code", None, "    indented"),
        ("quote", None, "> quoted"),
        ("table", None, "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("html", None, "<div>\nhtml\n</div>"),
        ("reference", None, "[ref]: http://example.org"),
    ]


def test_headings_of_all_levels_open_sections_and_lose_their_markup():
    source = (
        "# A *b* `c` [d](http://e) ![f](g) &amp; \\* <i>h</i>\n\n## Two ##\n\n"
        "Set\next\n===\n\nDash\n---\n\n### 3\n#### 4\n##### 5\n###### 6\n####### not a heading\n"
    )
    assert sorted(headings(source)) == [
        (1, "A b c d f & * h"),
        (1, "Set ext"),
        (2, "Dash"),
        (2, "Two"),
        (3, "3"),
        (4, "4"),
        (5, "5"),
        (6, "6"),
    ]
    assert passages(source) == [("paragraph", None, "####### not a heading")]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Uploads { #uploads }", "Uploads"),
        ("# Uploads {#uploads}", "Uploads"),
        ("# Uploads {: #uploads .wide }", "Uploads"),
        ("# `UploadFile` { #upload-file }", "UploadFile"),
        ("# Uploads {#uploads} #", "Uploads"),
        ("# A set {a, b}", "A set {a, b}"),
        ("# A template {# of mine #}", "A template {# of mine #}"),
        ("# {{ title }}", "{{ title }}"),
    ],
)
def test_the_attributes_of_a_heading_are_not_its_text(line, heading):
    (section,) = (
        d for d in read_document("a.md", f"{line}\n\ntext\n").drafts if d.ntype == "Section"
    )
    assert section.summary == heading


def test_sections_nest_by_level_and_levels_may_be_skipped():
    nodes = read("# A\n\n### C\n\n## B\n\n# D\n")
    below = {
        (node.ntype, node.summary): [nodes[child.id].summary for child in node.children]
        for node in nodes.values()
    }
    assert below["Section", "A"] == ["C", "B"]
    assert below["Document", "A"] == ["A", "D"]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("---\ntitle: From the front\n---\n# Heading\n", "From the front"),
        ("## Two\n\n# One\n", "One"),
        ("no heading", "file.md"),
        ("---\ntitle: 7\n---\ntext", "file.md"),
        ("---\ntags: [a]\n---\n<!-- a comment -->\n## Two\n\ntext\n\n## Three\n", "Two"),
        ("text\n\n## Two\n", "file.md"),
        ("##\n\ntext\n", "file.md"),
    ],
)
def test_the_title_is_the_front_matter_s_the_first_h1_the_first_line_or_the_file_name(
    source, title
):
    assert read_document("a/b/file.md", source).drafts[-1].summary == title


def test_a_fenced_block_is_kept_whole_under_the_limit_and_cut_at_line_ends_over_it():
    small = "```\n" + "line\n\n\n" * 500 + "```"
    assert len(passages(small)) == 1
    large = "```sh\n" + "".join(f"echo {number}\n\n" for number in range(2000)) + "```"
    cut = passages(large)
    assert len(cut) > 2
    assert {(name, language) for name, language, _ in cut} == {("code", "sh")}
    assert all(text.splitlines()[0].startswith(("```sh", "echo")) for _, _, text in cut)


def test_a_long_list_is_cut_at_items_and_a_long_table_at_rows():
    source = "".join(f"- item {number}\n  goes on\n" for number in range(600))
    cut = passages(source)
    assert len(cut) > 2
    assert all(text.startswith("- item") and text.endswith("goes on") for _, _, text in cut)
    assert max(len(text) for _, _, text in cut) <= ITEMS_CHARS_MAX
    table = "| a |\n|---|\n" + "".join(f"| row {number} |\n" for number in range(900))
    assert all(text.startswith("| ") and text.endswith("|") for _, _, text in passages(table))


@pytest.mark.parametrize(
    ("name", "mark"), [("a.md", "- "), ("a.md", "7. "), ("a.rst", "* "), ("a.html", "<li>")]
)
def test_a_long_list_is_passages_of_whole_items(name, mark):
    sizes = (10, 300, 2000, 30, 900, 20, 20, 700, 100)
    items = [f"{number} {'word ' * (size // 5)}end" for number, size in enumerate(sizes)]
    source = "\n".join(mark + item for item in items)
    texts = [text for _, _, text in passages(f"<ul>{source}" if "<" in mark else source, name)]
    assert len(texts) > 4
    joined = "\n".join(texts).split("\n")
    assert [line.partition(" ")[2] for line in joined] == items
    assert all(len(text) <= ITEMS_CHARS_MAX or "\n" not in text for text in texts)
    short = "\n".join(mark + item[:40] for item in items)
    assert len(passages(f"<ul>{short}" if "<" in mark else short, name)) == 1


def test_an_item_that_is_added_to_a_long_list_moves_few_cuts():
    items = [f"- item {number} {'word ' * (number * 7 % 30)}\n" for number in range(300)]
    before = {text for _, _, text in passages("".join(items))}
    after = {text for _, _, text in passages("".join([*items[:20], "- one more\n", *items[20:]]))}
    assert len(after - before) < len(after) / 4


def test_a_long_line_without_any_place_to_cut_is_cut_at_the_limit():
    assert [len(text) for _, _, text in passages("x" * 10_000, "a.txt")] == [4000, 4000, 2000]
    assert PASSAGE_CHARS_MAX == 4000


def test_a_heading_over_the_limit_is_a_paragraph():
    source = "# " + "word " * HEADING_CHARS_MAX
    assert headings(source) == []
    assert {name for name, _, _ in passages(source)} == {"paragraph"}


def test_carriage_returns_are_kept_and_do_not_change_the_structure():
    source = "# A\r\n\r\npara\r\nmore\r\n\r\n```\r\ncode\r\n```\r\n"
    assert passages(source) == [
        ("paragraph", None, "para\r\nmore"),
        ("code", None, "```\r\ncode\r\n```"),
    ]


def test_a_byte_order_mark_is_kept_and_reported():
    reading = read_document("a.md", "\ufeff# Title\n\ntext\n")
    assert reading.drafts[-1].summary == "Title"
    assert reading.warnings == ["byte order mark at the start, kept in the source"]


def test_program_source_is_cut_where_a_blank_line_meets_the_left_margin():
    source = "import os\n\n\ndef f():\n    a = 1\n\n    return a\n\n\nx = [\n\n    1,\n\n]\n"
    assert passages(source, "a.py") == [
        ("code", "python", "import os"),
        ("code", "python", "def f():\n    a = 1\n\n    return a"),
        ("code", "python", "x = [\n\n    1,\n\n]"),
    ]


def test_hostile_markdown_takes_bounded_time_and_depth():
    for source in (
        "> " * 20_000,
        "- " * 20_000,
        "[" * 50_000,
        "# " + "[" * 1900,
        "# " + "*a_" * 600,
        "`" * 50_000,
        "[a]: b\n" * 3_000,
        "- a\n" * 5_000,
        "<" * 20_000,
        "|" * 20_000 + "\n|-|\n",
        "# " + "](" * 900,
        "\n".join("#" * (1 + number % 6) + " x" for number in range(3_000)),
        " " * 50_000,
        "a\n" * 10_000,
    ):
        drafts = read_document("a.md", source).drafts
        assert len(drafts) < 20_000


@pytest.mark.parametrize(
    "path", ["", "/a", "a//b", "../a", "a/./b", "a/", "a\0b", "a" * 5000, "\udcff"]
)
def test_a_path_that_is_not_relative_and_normal_is_refused(path):
    with pytest.raises(InvalidInputError, match="path"):
        check_path(path)


def test_an_unknown_media_type_is_refused():
    with pytest.raises(InvalidInputError, match="media_type"):
        read_document("a.md", "", media_type="image/png")


@pytest.mark.parametrize(
    ("block", "heading"),
    [
        ('<h1 align="center">A &amp; <code>b</code></h1>', (1, "A & b")),
        ("<H3>\n  Two\n  lines\n</H3>", (3, "Two lines")),
        ('<h2 title="a>b">a<br>b</h2>', (2, "a b")),
        ("<h2>&nbsp;</h2>", None),
        ("<h2>One</h2> and more", None),
        ("<h2>One</h2><h2>Two</h2>", None),
        ('<h1><img src="logo.svg"></h1>', None),
        ("<h1>" + "long " * 400 + "</h1>", None),
    ],
)
def test_a_block_that_is_a_heading_of_html_is_one(block, heading):
    source = f"{block}\n\nText.\n"
    assert headings(source) == ([heading] if heading else [])
    assert (read_document("a.md", source).drafts[-1].summary == "A & b") is (
        heading == (1, "A & b")
    )


@pytest.mark.parametrize(
    "layout",
    [
        "<!-- lint disable -->",
        '<a id="begin"></a>',
        "</div>",
        '<div class="grid cards">\n<!-- cards -->\n<br/>',
        "<!-- added:\n\n1.0 -->",
        "[![a](a.svg)](https://a.example)\n[![b](b.svg)](b.html)",
        "[TOC]",
        "[[_TOC_]]",
        '<!--\n<img src="a.png">\n-->',
    ],
)
def test_tags_and_comments_are_no_passage(layout):
    source = f"One.\n\n{layout}\n\nTwo:\n\n{layout}\n\n- a\n\n{layout}\n"
    assert [text for _, _, text in passages(source)] == ["One.", f"Two:\n\n{layout}\n\n- a"]


@pytest.mark.parametrize(
    "block",
    [
        "<https://a.example>",
        '<img src="a.png">',
        "<!-- added:\n1.0 --> text",
        "<b>bold</b>",
        "![a wheel](wheel.png)",
        "[![a](a.svg)](b) text",
        f'<a id="{"long-" * 30}"></a>',
    ],
)
def test_html_that_says_something_is_a_passage(block):
    assert [text for _, _, text in passages(f"One.\n\n{block}\n\nTwo.\n")] == [
        "One.",
        block,
        "Two.",
    ]


def test_a_long_comment_is_a_passage_alone():
    comment = f"<!--\n{'long ' * 40}\n\nmore\n-->"
    source = f"{comment}\n## Two\n\n{comment}\n\nText.\n"
    assert passages(source) == [
        ("comment", None, comment),
        ("comment", None, comment),
        ("paragraph", None, "Text."),
    ]
    assert read_document("a.md", source).drafts[-1].summary == "Two"


def test_a_container_of_a_dialect_is_read_with_the_line_that_opens_it():
    """Its closing line is layout, and its indented text is no code."""
    source = (
        "/// tip | Remember\n\nUse *this*.\n\nAnd that.\n\n///\n\n:::note\n\nShort.\n\n:::\n\n"
        '!!! note "A title"\n    Text.\n\n    ```py\n    x = 1\n    ```\n\n    - a\n\n'
        '=== "Tab"\n\n\t???+ tip\n\t    Inner.\n\n\t# No heading\n\n    code\n\nEnd:::\n\nLast.\n'
    )
    assert passages(source) == [
        ("paragraph", None, "/// tip | Remember\n\nUse *this*."),
        ("paragraph", None, "And that."),
        ("paragraph", None, ":::note\n\nShort."),
        ("paragraph", None, '!!! note "A title"\n    Text.'),
        ("code", "py", "    ```py\n    x = 1\n    ```"),
        ("list", None, "    - a"),
        ("paragraph", None, '=== "Tab"\n\n\t???+ tip'),
        ("paragraph", None, "\t    Inner."),
        ("paragraph", None, "\t# No heading"),
        ("paragraph", None, "    code"),
        ("paragraph", None, "End:::"),
        ("paragraph", None, "Last."),
    ]


@pytest.mark.parametrize(
    "source",
    ["!!! note\ntext\n", "=== \n\nx\n", '!!! note "x"\n    a\nlazy\n', "text !!! note\n", "!!!\n"],
)
def test_what_is_no_container_is_read_as_before(source):
    assert {name for name, _, _ in passages(source)} == {"paragraph"}


def test_containers_in_containers_are_read_to_a_depth():
    source = "".join("    " * depth + "!!! a\n" for depth in range(40))
    assert len(passages(source)) < 6


@pytest.mark.parametrize("label", ["**Bugfixes**", "__To delete *it*__"])
def test_a_line_of_bold_is_in_the_passage_of_the_block_after_it(label):
    assert passages(f"{label}\n\n- one\n\nTwo.\n") == [
        ("list", None, f"{label}\n\n- one"),
        ("paragraph", None, "Two."),
    ]


@pytest.mark.parametrize("line", ["**a** and **b**", "**a\nb**", f"**{'long ' * 20}**", "*a*"])
def test_what_is_not_one_short_line_of_bold_is_a_passage_alone(line):
    assert [text for _, _, text in passages(f"{line}\n\n- one\n")] == [line, "- one"]


def test_what_opens_a_part_to_unfold_is_in_the_passage_of_its_text():
    opener = "<details>\n<summary>More</summary>"
    assert [text for _, _, text in passages(f"{opener}\n\n- one\n\n</details>\n\nTwo.\n")] == [
        f"{opener}\n\n- one",
        "Two.",
    ]
    whole = f"{opener}\nText.\n</details>"
    assert [text for _, _, text in passages(f"{whole}\n\nTwo.\n")] == [whole, "Two."]

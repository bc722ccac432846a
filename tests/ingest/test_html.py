"""Pages: what their tables, lists and quotations become, and what a site adds to each page."""

from time import process_time

import pytest

from ibidem.ingest.html import extract


def text(page):
    return extract(page.encode()).text


def passages(page):
    found = extract(page.encode())
    return [found.text[mark.start : mark.stop] for mark in found.marks]


FLOUR = (
    "<table><tr><{0} rowspan=2>Year<{0} colspan=2>Flour<{0} rowspan=2>Note<tr><{0}>white<{0}>brown"
    "<tr><td rowspan=2>1830<td>5<td>6<td>first<tr><td>7<td>8<td>second</table>"
)


@pytest.mark.parametrize("tag", ["th", "td"])
def test_cells_that_span_rows_and_columns_keep_values_below_their_header(tag):
    assert text(FLOUR.format(tag)).split("\n") == [
        "| Year | Flour white | Flour brown | Note |",
        "|---|---|---|---|",
        "| 1830 | 5 | 6 | first |",
        "| 1830 | 7 | 8 | second |",
    ]


def test_a_year_over_columns_is_their_group():
    head = "<tr><td>Mill<td colspan=2>1830<tr><td><td>white<td>brown"
    assert text(f"<table>{head}<tr><td>old<td>5<td>6</table>").split("\n") == [
        "| Mill | 1830 white | 1830 brown |",
        "|---|---|---|",
        "| old | 5 | 6 |",
    ]


def test_names_are_below_their_group_beside_a_cell_of_several_rows_and_columns():
    page = (
        "<table><tr><th rowspan=2 colspan=2>Mill<th colspan=2>Flour<tr><th>white<th>brown"
        "<tr><td>old<td>east<td>a<td>b</table>"
    )
    assert text(page).split("\n") == [
        "| Mill |  | Flour white | Flour brown |",
        "|---|---|---|---|",
        "| old | east | a | b |",
    ]


def test_texts_across_the_top_of_a_table_are_its_caption_and_introduction():
    page = (
        "<table><tr><th colspan=2>The <a href='m.html'>old mill</a><tr><td colspan=2>A drawing"
        "<tr><th>Built<td>1830<tr><th colspan=2>Work<tr><th>Makes<td>flour</table>"
    )
    table = "| Built | 1830 |\n|---|---|\n| Work |  |\n| Makes | flour |"
    assert passages(page) == [f"The old mill\n\nA drawing\n\n{table}"]
    assert extract(page.encode()).marks[0].targets == ("m.html",)


def test_a_span_of_no_use_is_none():
    page = "<table><tr><th colspan=x>a<th rowspan=-1>b<tr><td rowspan=0>1<td>2<tr><td>3</table>"
    assert text(page).split("\n")[2:] == ["| 1 | 2 |", "| 1 | 3 |"]


@pytest.mark.parametrize(
    "first",
    [
        "<td rowspan=65534 colspan=1000>a" * 2000,
        f"<td rowspan=65534>{'long ' * 60}" * 1000,
        "<td rowspan=65534>" * 5000,
        "<td>a" * 1000 + "<tr><td colspan=999999999>b<td>c" * 1000,
    ],
)
def test_spans_without_bound_cost_nothing(first):
    rows = "<tr><td>x<td>y" * 3_000
    start = process_time()
    found = text(f"<table><tr>{first}{rows}</table>")
    assert process_time() - start < 10
    assert len(found) < 1_000_000
    assert found.count("x") == 3_000


def test_a_table_with_blocks_in_its_cells_is_written_row_by_row():
    page = (
        "<table><tr><th>Call<th>What<tr><td><pre>a()</pre><td>Adds <b>one</b>."
        "<tr><td>b()<td><blockquote>Said.</blockquote>More.<tr><td>c()<td>None.</table>"
    )
    assert passages(page) == [
        "Call\n\nWhat",
        "```\na()\n```\n\nAdds one.",
        "b()\n\n> Said.\n\nMore.",
        "c()\n\nNone.",
    ]
    nested = page.replace("None.", "<table><tr><td>1<td>2</table>")
    assert passages(nested)[-2:] == ["c()", "| 1 | 2 |\n|---|---|"]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<ol start=3><li>a<li value=7>b<li>c<ul><li>d</ul></ol>", "3. a\n7. b\n8. c\n  - d"),
        ("<ol start=x><li>a<li value=-2>b<ol start=5><li>c</ol></ol>", "1. a\n-2. b\n  5. c"),
        ("<ol><li>a<ul><li>b</ul><ul><li>c</ul><li>d</ol>", "1. a\n  - b\n  - c\n2. d"),
        ("<ol><li>a</li><ul><li>b</ul><li>c</ol>", "1. a\n  - b\n2. c"),
        ("<ol start=2><li>Call:<pre>a()</pre><li><p>b", "2. Call:\n\n```\na()\n```\n\n3. b"),
        ("<ol><li><pre>a</pre><li><pre>b</pre></ol>", "1.\n\n```\na\n```\n\n2.\n\n```\nb\n```"),
        ("<ol><li><h3>a</h3>b<li>c</ol>", "### 1. a\n\nb\n\n2. c"),
        ("<ol><li><li value=4><ol><li>a<pre>b</pre></ol></ol>", "4. 1. a\n\n```\nb\n```"),
        ("<dl><dt>x<dd><ol><li>a<pre>b</pre></ol></dl>", "x\n1. a\n\n```\nb\n```"),
        ("<ol><li><blockquote>a</blockquote><li>b</ol>c", "1. > a\n\n2. b\n\nc"),
        ("<ol><li><table><tr><td>a<td>b</table></ol>c", "1.\n\n| a | b |\n|---|---|\n\nc"),
        ("<ul><li>a<pre>b</pre></ul>", "a\n\n```\nb\n```"),
    ],
)
def test_the_items_of_a_list_have_their_numbers(page, expected):
    assert text(page) == expected


def test_what_a_wiki_adds_to_its_pages_is_left_out():
    page = (
        '<div id="siteSub">From the wiki</div><a class="mw-jump-link" href="#s">Jump to search</a>'
        '<h2>Mills<span class="mw-editsection">[<a href="e">edit</a>]</span></h2>'
        '<p>Text <span style="display: none;"><math alttext="x^2"></math></span>.</p>'
        '<ol><li><span class="mw-cite-backlink">^ <a href="#c">Jump up</a></span> A book.</ol>'
        '<div class="navbox">All mills</div><div id="catlinks" class="catlinks">Mills</div>'
    )
    assert text(page) == "## Mills\n\nText $x^2$.\n\n1. A book."


@pytest.mark.parametrize("tag", ["main", "article", "div role=main"])
def test_a_sidebar_within_the_text_is_part_of_it(tag):
    around = '<body class="sidebar"><div class="sidebar">All pages</div>{}</body>'
    inside = '<p>Text.</p><aside class="sidebar"><p>Rare</p><p>A note.</p></aside>'
    page = around.format(f"<{tag}>{inside}</{tag.split()[0]}>")
    assert text(page) == "Text.\n\nRare\n\nA note."
    assert text(f'<div class="sidebar">All pages</div>{inside}<article>One.</article>' * 2) == (
        "Text.\n\nOne.\n\nText.\n\nOne."
    )


def test_what_a_style_hides_is_left_out():
    page = (
        '<div style="color:red;DISPLAY : none">Preview</div><p style="x-display:none">One.'
        '<p>Two<span style="display:none"> hidden</span>.<table style="display:none"><tr><td>x'
    )
    assert text(page) == "One.\n\nTwo."


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>a<br>b</p>", "> a\n> b"),
        ("<p>See:<ul><li>a<ul><li>b</ul></ul>c<br>d", "> See:\n\n> - a\n>   - b\n\n> c\n> d"),
        ("a<blockquote>b<ul><li>c</ul></blockquote>d", "> a\n\n>> b\n\n>> - c\n\n> d"),
        ("<ol><li>a<pre>b</pre></ol>", "> 1. a\n\n```\nb\n```"),
        ("<dl><dt>a<dd><ul><li>b</ul></dl>", "> a\n> - b"),
        ("<p>a<h2>b</h2>c", "a\n\n## b\n\nc"),
    ],
)
def test_a_quotation_with_blocks_in_it_keeps_its_signs(page, expected):
    assert text(f"<blockquote>{page}</blockquote>e") == f"{expected}\n\ne"


def test_what_a_quotation_describes_is_no_part_of_it():
    page = "<dl><dt>a<dd><blockquote>b<ul><li>c</ul></blockquote></dl>"
    assert text(page) == "a\n> b\n\n> - c"
    assert text("<ol><li><blockquote></blockquote><li><pre>b</pre></ol>") == "2.\n\n```\nb\n```"


def test_a_link_that_shows_its_target_is_shown_once():
    for target in ("mailto:ada%2Bmill@a.example", "mailto:ada+mill@a.example"):
        assert text(f"<p>Ask <a href='{target}'>ada+mill@a.example</a>.") == (
            "Ask ada+mill@a.example."
        )
    page = "<p>See <a href='https://a.example/M%C3%BChle'>https://a.example/Mühle</a>."
    assert text(page) == "See https://a.example/Mühle."

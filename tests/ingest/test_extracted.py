"""Formats of which the extracted text is stored: what each becomes, and what is left out."""

import hashlib
import io
import json
import re
from base64 import b64encode
from collections import Counter
from random import Random

import pytest

from ibidem.ingest.document import read_document
from ibidem.ingest.extraction import Writer
from ibidem.ingest.html_tree import parse
from ibidem.ingest.mark import Heading
from ibidem.ingest.pdf import write_page
from ibidem.ingest.pdf_margin import without_margins, without_titles
from ibidem.ingest.sandbox import Sandbox
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.location import source_text

from .samples import archive, chart_ex, docx, epub, paragraph, pdf, pptx, shape
from .trees import nodes_of

PAGE = """\
<!doctype html><html><head><title>Retries - Site</title><style>p{}</style></head><body>
<nav><a href="/">Home</a></nav><script>if (a < b) { "<p>no" }</script>
<main><h1>Retries<a class="headerlink" href="#retries">¶</a></h1>
<p>A failed <b>call</b> is <code>retried</code>, see <a href="errors.html">Errors</a>:</p>
<div class="highlight-python3"><pre><span>retry</span>(5)
    more</pre></div>
<ul><li>one<li>two<ol><li>deep</ol></ul>
<h2>Limits</h2><table><caption>All</caption><tr><th>name<th>value<tr><td>tries<td>5 | 6</table>
<dl><dt>timeout<dd>How long.</dl><p># no heading<br>but text &amp; more</main>
<footer>Copyright</footer></body></html>
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as made:
        yield made


@pytest.fixture
def reading(sandbox):
    def read(path, source):
        return read_document(path, source, sandbox=sandbox)

    return read


def document(read):
    return read.drafts[-1]


def parts(read):
    """(format or level, text) of each part, sections before what is in them."""
    nodes = nodes_of(read.drafts)

    def below(node):
        for child in node.children:
            part = nodes[child.id]
            yield part.props.get("format", part.props.get("heading_level")), part.summary
            yield from below(part)

    return list(below(nodes[document(read).id]))


def test_a_page_becomes_its_headings_text_lists_tables_code_and_links(reading):
    read = reading("a.html", PAGE)
    assert document(read).summary == "Retries"
    assert parts(read) == [
        (1, "Retries"),
        (
            "code",
            "A failed call is `retried`, see Errors:\n\n```python3\n{}\n```".format(
                "retry(5)\n    more"
            ),
        ),
        ("list", "- one\n- two\n  1. deep"),
        (2, "Limits"),
        ("table", "All\n\n| name | value |\n|---|---|\n| tries | 5 \\| 6 |"),
        ("paragraph", "timeout\nHow long."),
        ("paragraph", "# no heading\nbut text & more"),
    ]


@pytest.mark.parametrize(
    ("heading", "more", "title"),
    [
        ("<h1>login</h1>", "<h2>Options</h2>", "login"),
        ("<h1>1. Syntax</h1>", "<h1>2. Options</h1>", "login - Site"),
        ("<h2>login</h2>", "", "login - Site"),
    ],
)
def test_a_page_is_called_by_what_is_its_own(reading, heading, more, title):
    """Not by the site, nor by its first part."""
    source = (
        "<title>login - Site</title><body><div><h1>Site</h1></div>"
        f"<main>{heading}<p>It saves a token.</p>{more}<p>None.</p></main>"
    )
    assert document(reading("a.html", source.encode())).summary == title


def test_what_follows_a_note_is_not_below_its_title(reading):
    note = '<div class="note"><h3 class="title">Note</h3><p>Never zero.</p></div>'
    source = f"<h1>Limits</h1><p>There are five.</p>{note}<p>Each is a number.</p>"
    assert parts(reading("a.html", source.encode())) == [
        (1, "Limits"),
        ("paragraph", "There are five."),
        ("paragraph", "Note\nNever zero."),
        ("paragraph", "Each is a number."),
    ]


def test_a_superscript_is_an_exponent_or_the_number_of_a_note(reading):
    source = (
        "<h1>T<sup>2</sup></h1><p>From 0 to 2<sup>8</sup>-1, x<sup> n</sup>, 4<sup>th</sup>, "
        '10<sup>-3</sup>, note<sup><a href="#f">1</a></sup>, old<sup>[a]</sup>, maybe<sup>?</sup>.'
        "</p><table><tr><th>most</th><th>of</th></tr><tr><td>2<sup>64</sup></td><td>rows</td></tr></table>"
    )
    assert parts(reading("a.html", source.encode())) == [
        (1, "T^2"),
        ("paragraph", "From 0 to 2^8-1, x^n, 4th, 10^-3, note[1], old[a], maybe?."),
        ("table", "| most | of |\n|---|---|\n| 2^64 | rows |"),
    ]


def test_places_where_a_line_may_break_are_no_part_of_a_name(reading):
    source = (
        "<p><code>ddl_&#8203;start</code>, soft&shy;ware, \u0e01\u200b\u0e02</p>"
        '<pre>a_&#8203;b</pre><div class="navfooter"><p>Next</p></div>'
    )
    assert parts(reading("a.html", source.encode())) == [
        ("paragraph", "`ddl_start`, software, \u0e01\u200b\u0e02"),
        ("code", "```\na_b\n```"),
    ]


def test_rows_of_text_above_a_row_with_a_number_are_no_groups(reading):
    source = (
        "<table><tr><td>Name</td><td>Port</td></tr><tr><td>abc</td><td>def</td></tr>"
        "<tr><td>mill</td><td>80</td></tr></table><p>After it.</p>"
    )
    assert parts(reading("a.html", source.encode())) == [
        ("table", "| Name | Port |\n|---|---|\n| abc | def |\n| mill | 80 |"),
        ("paragraph", "After it."),
    ]


def test_versions_of_one_sample_are_on_lines_of_their_own(reading):
    source = (
        "<pre><input><code>import os from 'os'</code><code>os = require('os')\n</code></pre>"
        "<pre>$ <code>ls</code> <code>-l</code></pre>"
    )
    assert parts(reading("a.html", source.encode())) == [
        ("code", "```\nimport os from 'os'\nos = require('os')\n```"),
        ("code", "```\n$ ls -l\n```"),
    ]


def test_a_menu_is_left_out_but_not_the_documents_of_a_single_page(reading):
    menu = "<p>Contents:</p><ul><li><a>Install it</a></li><li><a>Configure</a></li></ul>"
    source = (
        '<div class="header"><p>Next: <a>Thread safety</a>, Up: <a>Using it</a> [<a>Index</a>]</p>'
        f'</div><h1>T</h1><div class="toctree-wrapper">{menu}</div>'
        '<div class="toctree-wrapper"><section><h2>Install it</h2><p>Run <a>pip</a>.</p></section>'
        '</div><div class="header">A text that has <a>a link</a> in it.</div>'
    )
    assert parts(reading("a.html", source.encode())) == [
        (1, "T"),
        (2, "Install it"),
        ("paragraph", "Run pip."),
        ("paragraph", "A text that has a link in it."),
    ]


def test_what_every_page_of_a_site_has_is_left_out(reading):
    source = (
        '<div class="nosearch"><p>Small. Fast.</p></div><div class="mainmenu"><ul><li>Home</ul>'
        "</div><h1>ATTACH</h1><p><a>\u25ba</a> Table Of Contents</p><p>It adds a file.</p>"
        '<p>Contents of the file stay.</p><p class="noprint">Feedback</p>'
    )
    assert parts(reading("a.html", source.encode())) == [
        (1, "ATTACH"),
        ("paragraph", "It adds a file."),
        ("paragraph", "Contents of the file stay."),
    ]


def test_labels_of_figures_that_are_left_out_introduce_nothing(reading):
    labels = "".join(f"<p>{name}:</p><svg><path/></svg>" for name in ("statement", "expr", "type"))
    source = f"<h1>ATTACH</h1>{labels}<p>It adds a file.</p><p>So:</p><p>Like this:</p><p>go</p>"
    assert parts(reading("a.html", source.encode())) == [
        (1, "ATTACH"),
        ("paragraph", "statement:\n\nexpr:\n\ntype:"),
        ("paragraph", "It adds a file."),
        ("paragraph", "So:\n\nLike this:\n\ngo"),
    ]


def test_what_is_stored_is_the_text_with_extractor_version_and_digest(reading):
    read = reading("a.html", PAGE)
    props = document(read).props
    assert props["media_type"] == "text/html"
    assert (props["extractor"], props["extractor_version"]) == ("ibidem-html", "14")
    assert props["source_sha256"] == hashlib.sha256(PAGE.encode()).hexdigest()
    text = source_text(document(read).id, nodes_of(read.drafts).__getitem__)
    assert text.startswith("# Retries\n\nA failed call")
    assert text.endswith("but text & more")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<p>Ä x€</p>".encode(), "Ä x€"),
        ("<meta charset=iso-8859-15><p>Ä x€</p>".encode("iso-8859-15"), "Ä x€"),
        ("<p>Ä x€</p>".encode("windows-1252"), "Ä x€"),
        ("\ufeff<p>Ä x€</p>".encode("utf-16"), "Ä x€"),
    ],
)
def test_a_page_is_decoded_as_it_says(reading, data, text):
    assert [part for _, part in parts(reading("a.html", data))] == [text]


@pytest.mark.parametrize(
    ("page", "texts", "targets"),
    [
        (
            "<p>Only the <a href='b.html#x'>following</a> places may be <a href=/c>moved</a>.",
            ["Only the following places may be moved."],
            ["b.html", "/c"],
        ),
        (
            "<p>See <a href=https://e.org/a>one</a> and <a href=https://e.org/b>two</a>.",
            ["See [one] and [two](https://e.org/b).\n\n[one]: https://e.org/a"],
            [],
        ),
        (
            "<p>Of <a href=//e.org/a>one</a> kind:<ul><li><a href=b.html><code>b</code></a>, x",
            ["Of [one](//e.org/a) kind:\n\n- b, x"],
            ["b.html"],
        ),
        (
            "<table><tr><th>a<th>b<tr><td><a href=b.html>c</a> d<td><a href=https://e.org>e</a> f",
            ["| a | b |\n|---|---|\n| c d | [e](https://e.org) f |"],
            ["b.html"],
        ),
        (
            "<ul><li>a <a href=https://e.org/a>b</a> c<ul><li><a href=//e.org>d</a> e</ul><li>f",
            ["- a [b] c\n  [b]: https://e.org/a\n  - [d] e\n    [d]: //e.org\n- f"],
            [],
        ),
        ("<dl><dt><a href=b.html>term</a><dd>text</dl>", ["term\ntext"], ["b.html"]),
        ("<p><a href=b.html>x</a> <a href=b.html#c>y</a>", ["x y"], ["b.html"]),
    ],
)
def test_no_target_of_a_link_interrupts_the_text_of_a_page(reading, page, texts, targets):
    read = reading("a.html", page)
    assert [part for _, part in parts(read)] == texts
    found = [one for draft in read.drafts for one in draft.props.get("targets", ())]
    assert found == targets


def test_the_targets_of_a_long_list_are_in_the_passages_of_their_items(reading):
    item = "<li>item {0} with <a href='https://e.org/{0}'>site {0}</a> in the middle of it"
    read = reading("a.html", f"<ul>{''.join(map(item.format, range(40)))}</ul>")
    found = [text for _, text in parts(read)]
    assert len(found) > 2
    for number in range(40):
        (text,) = [text for text in found if f"- item {number} " in text]
        assert f"  [site {number}]: https://e.org/{number}" in text.split("\n")


def test_what_is_nothing_but_links_within_its_page_is_dropped(reading):
    contents = "<ul><li><a href='#a'>A</a><ol><li><a href='#b'>B b</a></ol></ul>"
    anchor = "<p><a href='#c'>[c]</a>"
    text = "<ul><li><a href='#a'>A</a> says more</ul><p>See <a href='#b'>B</a>."
    term = "<dl><dt><a href='#t'>term</a><dd><pre>code</pre></dl>"
    assert parts(reading("a.html", f"<h1>T</h1>{contents}{anchor}{text}{term}")) == [
        (1, "T"),
        ("list", "- A says more"),
        ("paragraph", "See B."),
        ("code", "term\n\n```\ncode\n```"),
    ]


LONG = "<p>" + "A sentence of some length that says what is meant. " * 9


def test_a_term_that_much_is_said_of_is_a_heading(reading):
    inner = f"<dl><dt><code>auto</code><dt><a href='x'>always</a><dd>{LONG}{LONG}</dl>"
    page = f"<h1>T</h1><dl><dt>--color<dd>{LONG}{inner}<dt>--all<dd><p>Yes.<p>No.</dl><p>After."
    levels = [(level, text.split()[0]) for level, text in parts(reading("a.html", page))]
    assert levels == [
        *[(1, "T"), (2, "--color"), ("paragraph", "A"), (3, "auto,")],
        *[("paragraph", "A"), ("paragraph", "A"), ("paragraph", "--all"), ("paragraph", "After.")],
    ]
    drafts = reading("a.html", page).drafts
    (section,) = (one for one in drafts if (one.ntype, one.summary) == ("Section", "T"))
    (short,) = (one for one in drafts if one.summary == "--all\nYes.\n\nNo.")
    assert short.id in {child.id for child in section.children}


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (f"<h2>A</h2><dl><dt>x<dd>{LONG}{LONG}<h4>B</h4>y</dl>z", [(2, "A"), (3, "x"), (4, "B")]),
        (f"<h3>A</h3><h1><img></h1><dl><dt>x<dd>{LONG}{LONG}</dl>z", [(3, "A"), (4, "x")]),
        (f"<h2>A</h2><dl><dt>`<dd>{LONG}{LONG}<dd>more</dl>z", [(2, "A"), (3, "`")]),
        (f"<h2>A</h2><dl><dt>f({'x' * 300})<dd>{LONG}{LONG}</dl>z", [(2, "A"), (3, "f")]),
        (f"<h2>A</h2><dl><dt>x<dd><p>y<div hidden>{LONG * 3}</div></dl>z", [(2, "A")]),
    ],
)
def test_what_comes_after_a_term_is_in_the_section_around_it(reading, page, expected):
    read = reading("a.html", page)
    assert [part for part in parts(read) if isinstance(part[0], int)] == expected
    (section,) = (one for one in read.drafts if one.summary == "A" and one.ntype == "Section")
    (last,) = (one for one in read.drafts if one.summary == "z")
    assert section.children[-1].id == last.id


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (
            "<figure>a.rs<pre><code class='language-rust'>a()</code></pre><p>Listing 1</figure>",
            ("code", "a.rs\n\n```rust\na()\n```\n\nListing 1"),
        ),
        (
            "<div class='admonition note'><p class='admonition-title'>Note<p>One.<p>Two.</div>",
            ("paragraph", "Note\n\nOne.\n\nTwo."),
        ),
        ("<ul><li>Call it:<pre>a()</pre></ul>", ("code", "Call it:\n\n```\na()\n```")),
        (
            "<table><tbody><tr><td><p>abs(x)<p>Absolute value</table>",
            ("paragraph", "abs(x)\n\nAbsolute value"),
        ),
    ],
)
def test_what_belongs_together_is_one_passage(reading, page, expected):
    beside = "<p>Before.<p>After."
    found = parts(reading("a.html", beside.replace("<p>A", f"{page}<p>A")))
    assert found == [("paragraph", "Before."), expected, ("paragraph", "After.")]


TAGS = (
    "p", "div", "div class=note", "figure", "blockquote", "ul", "li", "dl", "dt", "dd", "table",
    "tr", "td", "h2", "h4", "b", "pre", "section",
)  # fmt: skip


def random_page(chance: Random) -> tuple[str, int]:
    """Returns a page in which any element may be in any other, and how many words it has."""
    pieces, count = [], 0
    for _ in range(chance.randrange(4, 60)):
        tag = chance.choice(TAGS)
        if chance.random() < 0.4:
            pieces.append(f"</{tag.split()[0]}>")
        else:
            pieces.append(f"<{tag}>")
        if chance.random() < 0.7:
            filler = "filler " * chance.choice((0, 3, 60, 200))
            pieces.append(f"w{count} {filler}")
            count += 1
    return "".join(pieces), count


def test_no_word_of_a_page_is_lost_or_doubled(reading):
    chance = Random(1)
    for number in range(150):
        page, count = random_page(chance)
        found = reading("a.html", f"<p>start {page}").drafts
        text = source_text(found[-1].id, nodes_of(found).__getitem__)
        words = re.findall(r"\bw\d+\b", text)
        assert sorted(words) == sorted(f"w{number}" for number in range(count)), (number, page)


def test_the_title_of_a_note_is_not_lost_before_a_definition(reading):
    for start in ("<dl>", ""):
        page = f"<div class=note><h4>Title</h4></div>{start}<dt>x<dd>{LONG}{LONG}"
        assert [text for _, text in parts(reading("a.html", page))][:2] == ["Title", "x"]


@pytest.mark.parametrize(
    "page",
    [
        "<ul><li>shown<pre>x</pre><li hidden>gone</ul>",
        "<table><tbody><tr><td>shown<tr hidden><td>gone<tbody hidden><tr><td>gone</table>",
        "<dl><dt>shown<dd>x<dt hidden>gone<dd hidden>gone</dl>",
    ],
)
def test_hidden_items_rows_and_terms_are_left_out(reading, page):
    found = " ".join(str(text) for _, text in parts(reading("a.html", page)))
    assert "shown" in found
    assert "gone" not in found


def test_what_belongs_together_and_is_long_is_several_passages(reading):
    page = f"<figure>{LONG}{LONG}</figure><table><tr><td>{LONG}{LONG}</table><ul><li>{LONG}<pre>x"
    assert len(parts(reading("a.html", page))) == 5


def test_inline_markup_in_an_item_adds_no_space(reading):
    assert parts(reading("a.html", "<ul><li><b>un</b>likely, <code>x</code>; <i>y</i></ul>")) == [
        ("list", "- unlikely, `x`; y")
    ]


def test_a_cell_of_any_length_is_whole_and_shows_no_part_of_a_target(reading):
    cell = "x " * 3_000 + "<a href='bbbb.html'>label</a>"
    read = reading("a.html", f"<table><tr><th>a<th>b<tr><td>{cell}<td>c</table>")
    text = "\n".join(text for _, text in parts(read))
    assert text.split().count("x") == 3_000
    assert "label" in text
    assert "bbbb" not in text
    assert not set(text) & set("\x1c\x1d\x1e")


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        (f"<h1>{'w ' * 1500}LAST</h1>", "w LAST"),
        ("<ul>loose<li>a</ul>", "- loose\n- a"),
        ("<table><tr><td>a<td>b</tr>loose</table>", "loose"),
        ("<p>x <math><mi>y</mi><mo>=</mo></math></p>", "x y ="),
        ("<p>so <math alttext='x^2'><mi>x</mi></math></p>", "so $x^2$"),
        (
            "<p><math><annotation encoding='application/x-tex'>\\frac{x}{2}</annotation></math>",
            "$\\frac{x}{2}$",
        ),
    ],
)
def test_no_text_of_a_page_is_lost(reading, page, wanted):
    assert wanted in "\n".join(text for _, text in parts(reading("a.html", page)))


def test_a_text_attached_to_an_alternative_that_is_not_shown_is_read(reading):
    message = (
        "Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=A\n\n"
        "--A\nContent-Type: text/plain\n\nhello there\n"
        "--A\nContent-Type: multipart/mixed; boundary=B\n\n"
        "--B\nContent-Type: text/html\n\n<p>hello there\n"
        "--B\nContent-Type: text/plain; name=n.txt\n"
        "Content-Disposition: attachment; filename=n.txt\n\nthe note\n--B--\n--A--\n"
    )
    found = [text for _, text in parts(reading("a.eml", message))]
    assert found.count("hello there") == 1
    assert "the note" in found


def test_a_message_whose_parts_have_no_boundary_is_read_as_it_is(reading):
    message = "Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/{}\n\n--x\n\nhello\n--x--\n"
    for kind in ("mixed", "alternative", "report; boundary=y"):
        found = [text for _, text in parts(reading("a.eml", message.format(kind)))]
        assert any("hello" in text for text in found), kind


def test_many_targets_in_a_short_cell_are_kept(reading):
    links = " ".join(f"<a href='{'p' * 90}{n}.html'>{n}</a>" for n in range(30))
    cell = f"<td>{links}<td><a href='b|c.html'>d|e</a>"
    read = reading("a.html", f"<table><tr><th>a<th>b<tr>{cell}</table>")
    ((_, text),) = parts(read)
    assert text.endswith("28 29 | d\\|e |")
    (targets,) = [draft.props["targets"] for draft in read.drafts if "targets" in draft.props]
    assert len(targets) == 31
    assert targets[-1] == "b%7Cc.html"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.html", "<p>one \x1ctwo\x1dthree\x1efour\x1ffive"),
        ("a.html", "<pre>one \x1ctwo\x1dthree\x1efour five</pre>"),
        ("a.html", "<table><tr><th>a<th>b<tr><td>one \x1ctwo\x1dthree<td>\x1efour five</table>"),
        ("a.csv", "a,b\none \x1ctwo\x1dthree\x1e,four five\n"),
    ],
)
def test_no_text_between_separators_is_lost(reading, path, source):
    read = reading(path, source)
    text = "".join(text for _, text in parts(read))
    assert all(word in text for word in ("one", "two", "three", "four", "five"))
    assert not any("targets" in draft.props for draft in read.drafts)


def test_a_line_break_is_a_space_where_a_text_has_one_line(reading):
    page = "<h2>one<br>two</h2><ul><li>three<br>four</ul><table><caption>five<br>six</caption>"
    read = reading("a.html", page + "<tr><th>a<br>b<th>c<tr><td><br><td><tr><td>d<td>e</table>")
    assert parts(read) == [
        (2, "one two"),
        ("list", "- three four"),
        ("table", "five six\n\n| a b | c |\n|---|---|\n| d | e |"),
    ]


def test_the_caption_of_an_empty_table_is_a_paragraph(reading):
    caption = "<caption>See <a href='b.html'>ports</a></caption>"
    read = reading("a.html", f"<table>{caption}<tr><td><td><tr><td><td></table>")
    assert parts(read) == [("paragraph", "See ports")]
    assert read.drafts[0].props["targets"] == ["b.html"]


def test_a_page_without_text_is_reported(reading):
    read = reading("a.html", "<body><script>render()</script>")
    assert read.warnings == ["no text: the page is empty, or made by its scripts"]


def test_a_tree_holds_any_text_and_is_never_deep():
    for source in (
        "<",
        "<a",
        "<!--",
        "<![CDATA[x",
        "</b>",
        "<a b='>",
        "<p><p>",
        "&#0;&bad;&#xd800;",
        '<a ="' * 2000,
    ):
        assert parse(source) is not None
    assert parse("<div>" * 5000 + "x").text() == "x"
    assert parse("<b a='1>2' c>x</b>").find("b").attributes == {"a": "1>2", "c": ""}


def test_a_table_is_rows_as_in_markdown(reading):
    rows = "".join(f'{number},"a, {number} | b"\n' for number in range(500))
    found = parts(reading("a.csv", "id,text\n" + rows))
    assert len(found) > 5
    lines = "\n".join(text for _, text in found).split("\n")
    assert lines[:2] == ["| id | text |", "|---|---|"]
    assert len(lines) == 502
    assert "| 7 | a, 7 \\| b |" in found[0][1]


@pytest.mark.parametrize(("path", "source"), [("a.tsv", "a\tb\n1\t2\n"), ("a.csv", "a;b\n\n1;2\n")])
def test_the_separator_is_that_of_the_first_line(reading, path, source):
    assert parts(reading(path, source)) == [("table", "| a | b |\n|---|---|\n| 1 | 2 |")]


def test_an_edit_of_a_table_changes_few_passages(reading):
    rows = [f"{number},text {number * 7919}\n" for number in range(800)]
    before = parts(reading("a.csv", "id,text\n" + "".join(rows)))
    after = parts(reading("a.csv", "id,text\n" + "".join([*rows[:400], "x,new\n", *rows[400:]])))
    assert len(set(before) ^ set(after)) <= 6 < len(before)


def test_a_notebook_becomes_its_cells_and_what_they_printed(reading):
    notebook = {
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "\n", "Some *text*."]},
            {
                "cell_type": "code",
                "source": "print(1)",
                "outputs": [
                    {"output_type": "stream", "text": ["1\n"]},
                    {"output_type": "display_data", "data": {"image/png": "AAAA"}},
                    {"output_type": "error", "ename": "E", "evalue": "why", "traceback": []},
                ],
            },
        ],
    }
    read = reading("a.ipynb", json.dumps(notebook))
    assert document(read).summary == "Title"
    assert parts(read) == [
        (1, "Title"),
        ("paragraph", "Some *text*."),
        ("code", "```python\nprint(1)\n```\n\n```\n1\n```\n\n```\nE: why\n```"),
    ]
    (cell,) = (d for d in read.drafts if d.props.get("format") == "code")
    assert cell.props["language"] == "python"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"data": {"text/plain": "<Figure size 640x480 with 1 Axes>", "image/png": "AA"}}, ""),
        (
            {"data": {"text/plain": ["[<matplotlib.lines.Line2D at 0x7f3>,\n", " <a.B at 0x1>]"]}},
            "",
        ),
        ({"data": {"text/plain": "(<Axes: >, <BarContainer object of 3 artists>)"}}, ""),
        (
            {
                "data": {
                    "text/plain": "<IPython.core.display.HTML object>",
                    "text/html": "<table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>",
                }
            },
            "| a | b |\n|---|---|\n| 1 | 2 |",
        ),
        (
            {
                "data": {
                    "text/plain": "<IPython.core.display.Markdown object>",
                    "text/html": "<p>no</p>",
                    "text/markdown": "## Yes ![a](data:image/png;base64,AAAA)",
                }
            },
            "## Yes ![a]()",
        ),
        ({"data": {"text/plain": "   a\n0  1", "text/html": "<p>no</p>"}}, "```\n   a\n0  1\n```"),
        ({"data": {"text/plain": "<Response [200]>"}}, "```\n<Response [200]>\n```"),
        ({"text": "\x1b[1;31mred\x1b[0m\n10%\r20%\r30%\r\nend\r\n"}, "```\nred\n30%\nend\n```"),
    ],
)
def test_an_output_of_a_notebook_is_what_a_reader_sees_of_it(reading, output, text):
    cell = {"cell_type": "code", "source": "x", "outputs": [output]}
    read = reading("a.ipynb", json.dumps({"cells": [cell]}))
    assert parts(read) == [("code", "\n\n".join(filter(None, ["```python\nx\n```", text])))]


def test_a_long_output_is_beside_its_cell_and_a_picture_in_the_text_is_left_out(reading):
    cells = [
        {"cell_type": "markdown", "source": "See ![a](data:image/png;base64,AAAA)."},
        {"cell_type": "code", "source": "x", "outputs": [{"text": "word\n" * 500}]},
    ]
    (_, text), (_, code), (_, output) = parts(reading("a.ipynb", json.dumps({"cells": cells})))
    assert (text, code) == ("See ![a]().", "```python\nx\n```")
    assert output.endswith("...\n```")


def test_a_message_becomes_its_text_and_its_header_properties(reading):
    message = (
        "From: Ada <ada@example.org>\nTo: b@example.org\nSubject: =?utf-8?q?H=C3=A4llo?=\n"
        "Date: Mon, 01 Jan 2024 10:00:00 +0000\nMessage-ID: <1@example.org>\nMIME-Version: 1.0\n"
        "Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n\n"
        "<p>Dear <b>B</b>,</p><p>yes.</p>\n--x\nContent-Type: application/pdf\n"
        'Content-Disposition: attachment; filename="a.pdf"\n\nAAAA\n--x--\n'
    )
    read = reading("a.eml", message)
    props = document(read).props
    assert document(read).summary == props["subject"] == "Hällo"
    assert (props["from"], props["message_id"]) == ("Ada <ada@example.org>", "<1@example.org>")
    assert list(props["attachments"]) == ["a.pdf"]
    assert parts(read) == [
        (1, "Hällo"),
        (
            "paragraph",
            "From: Ada <ada@example.org>\nTo: b@example.org\nDate: Mon, 01 Jan 2024 10:00:00 +0000",
        ),
        ("paragraph", "Dear B,"),
        ("paragraph", "yes."),
    ]


def test_a_mailbox_becomes_a_section_a_message(reading):
    box = "From a Mon\nSubject: One\nFrom: Ada\n\nText.\n\nFrom b Tue\nSubject: Two\n\n>From me\n"
    assert parts(reading("a.mbox", box)) == [
        (1, "One"),
        ("paragraph", "From: Ada"),
        ("paragraph", "Text."),
        (1, "Two"),
        ("paragraph", "From me"),
    ]


def mixed(kind, *parts):
    """A message of parts, each its header and its text."""
    body = "".join(f"--x{kind[:3]}\n{head}\n\n{text}\n" for head, text in parts)
    return f"Content-Type: multipart/{kind}; boundary=x{kind[:3]}", f"{body}--x{kind[:3]}--\n"


def body_parts(read):
    """The parts of a message below its subject, with the levels that they have there."""
    (level, _), *others = parts(read)
    assert level == 1
    return [(kind - 1 if isinstance(kind, int) else kind, text) for kind, text in others]


def message(head, text):
    return f"Subject: S\nMIME-Version: 1.0\n{head}\n\n{text}"


PLAIN, HTML_PART = "Content-Type: text/plain", "Content-Type: text/html"


@pytest.mark.parametrize(
    ("plain", "page", "found"),
    [
        ("Hello, see you.", "<p>Hello, see <b>you</b>.", "Hello, see you."),
        ("\n", "<p>Hello.", "Hello."),
        ("Needs HTML.", f"<p>{'Hello there. ' * 5}", " ".join(["Hello there."] * 5)),
    ],
)
def test_a_page_is_read_where_the_plain_text_beside_it_says_little(reading, plain, page, found):
    source = message(*mixed("alternative", (PLAIN, plain), (HTML_PART, page)))
    assert body_parts(reading("a.eml", source)) == [("paragraph", found)]


def test_all_texts_of_a_message_are_read_and_no_picture(reading):
    picture = "Content-Type: image/png\nContent-Disposition: inline; filename=a.png", "AAAA"
    log = f"{PLAIN}\nContent-Disposition: attachment; filename=a.log", "a line"
    inner = "Content-Type: message/rfc822", "Subject: Inner\nFrom: Ada\n\nForwarded text."
    body = mixed("related", (HTML_PART, "<p>One."), picture)
    source = message(*mixed("mixed", body, picture, (PLAIN, "Two."), log, inner))
    read = reading("a.eml", source)
    assert body_parts(read) == [
        ("paragraph", "One."),
        ("paragraph", "Two."),
        (1, "Inner"),
        ("paragraph", "From: Ada"),
        ("paragraph", "Forwarded text."),
        (1, "a.log"),
        ("paragraph", "a line"),
    ]
    assert list(document(read).props["attachments"]) == ["a.png", "a.png", "a.log"]


INNER = "Subject: Inner\nFrom: Ada\n\nForwarded = text."


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("message/rfc822\nContent-Transfer-Encoding: base64", b64encode(INNER.encode()).decode()),
        ("message/rfc822\nContent-Transfer-Encoding: Base64", INNER),
        ("message/rfc822\nContent-Transfer-Encoding: 8bit", INNER),
        (
            "message/global\nContent-Transfer-Encoding: quoted-printable",
            INNER.replace("= ", "=3D=\n "),
        ),
        (
            "application/octet-stream; name=a.EML\nContent-Transfer-Encoding: base64",
            b64encode(INNER.encode()).decode(),
        ),
        ("text/plain\nContent-Disposition: attachment; filename=a.eml", INNER),
    ],
)
def test_a_forwarded_message_is_read_however_it_is_encoded(reading, head, text):
    source = message(*mixed("mixed", (PLAIN, "See below."), (f"Content-Type: {head}", text)))
    assert body_parts(reading("a.eml", source)) == [
        ("paragraph", "See below."),
        (1, "Inner"),
        ("paragraph", "From: Ada"),
        ("paragraph", "Forwarded = text."),
    ]


def attached(kind, name, data):
    head = f"Content-Type: {kind}\nContent-Transfer-Encoding: base64\nContent-Disposition: "
    return f'{head}attachment; filename="{name}"', b64encode(data).decode()


def test_attached_texts_are_sections_under_their_names(reading):
    source = message(
        *mixed(
            "mixed",
            (PLAIN, "See below."),
            attached("text/csv", "list.csv", b"Name;No\nAda;1\n"),
            attached("text/html", "page.html", b"<h1>Offer</h1><p>It ends."),
            attached("application/octet-stream", "B.TSV", b"k\tv\na\t2\n"),
            attached("text/plain; charset=latin-1", "", "Gr\u00fc\u00dfe".encode("latin-1")),
            attached("application/octet-stream", "a.bin", b"unknown"),
            attached("text/plain", "nul.txt", b"a\0b"),
            attached("text/calendar", "a.ics", b"BEGIN:VCALENDAR"),
            (PLAIN, "Sent to the list."),
        )
    )
    assert body_parts(reading("a.eml", source)) == [
        ("paragraph", "See below."),
        ("paragraph", "Sent to the list."),
        (1, "list.csv"),
        ("table", "| Name | No |\n|---|---|\n| Ada | 1 |"),
        (1, "page.html"),
        (2, "Offer"),
        ("paragraph", "It ends."),
        (1, "B.TSV"),
        ("table", "| k | v |\n|---|---|\n| a | 2 |"),
        (1, "(no name)"),
        ("paragraph", "Gr\u00fc\u00dfe"),
    ]


def test_an_attached_table_that_is_broken_is_read_as_text(reading):
    data = b"Name,No\n" + b'"' + b"a " * (1 << 19) + b"a\n"
    source = message(*mixed("mixed", (PLAIN, "See."), attached("text/csv", "a.csv", data)))
    assert body_parts(reading("a.eml", source))[2][1].startswith('Name,No\n"a a')


def test_attached_secrets_are_not_read(reading):
    key = b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 64 + b"\n-----END PRIVATE KEY-----\n"
    for name, data in (("id_rsa", b"key"), (".env", b"A=1"), ("x/.env", b"A=1"), ("a.txt", key)):
        source = message(*mixed("mixed", (PLAIN, "See."), attached("text/plain", name, data)))
        assert body_parts(reading("a.eml", source)) == [("paragraph", "See.")]


def test_a_forwarded_message_that_is_falsely_called_encoded_is_read(reading):
    head = "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64"
    source = message(*mixed("mixed", (head, "Subject: Inner\nFrom: Ada\n\nabcd efghij")))
    assert body_parts(reading("a.eml", source)) == [
        (1, "Inner"),
        ("paragraph", "From: Ada"),
        ("paragraph", "abcd efghij"),
    ]


def test_a_message_is_read_also_if_one_that_it_forwards_cannot_be(reading):
    inner = "Subject: s\nContent-Type: message/rfc822\n\n" * 3000
    head = "Content-Type: application/x; name=a.eml\nContent-Transfer-Encoding: base64"
    coded = b64encode(inner.encode()).decode()
    source = message(*mixed("mixed", (PLAIN, "One."), (head, coded)))
    assert body_parts(reading("a.eml", source)) == [("paragraph", "One.")]


@pytest.mark.parametrize(
    ("charset", "data", "found"),
    [
        ("", "Grüße".encode("latin-1"), "Grüße"),
        ("", "Grüße".encode(), "Grüße"),
        ("us-ascii", "Grüße".encode(), "Grüße"),
        ("utf-8", "Grüße".encode("latin-1"), "Grüße"),
        ("utf-8", b"\xef\xbb\xbfText", "Text"),
        ("iso-8859-1", "“so”".encode("cp1252"), "“so”"),
        ("unknown-8bit", "Grüße".encode("latin-1"), "Grüße"),
        ("x-nothing", "Grüße".encode(), "Grüße"),
        ("base64", b"Text", "Text"),
        ("gb2312", "漢字".encode("gb18030"), "漢字"),
        ("iso-2022-jp", "日本語".encode("iso-2022-jp") + b"\x1b$B!!", "日本語"),
        ("iso-2022-jp", "日本語".encode("iso-2022-jp") + b"\x1b$B!", "日本語"),
        ("koi8-r", "Привет".encode("koi8-r"), "Привет"),
    ],
)
def test_a_text_of_a_message_is_read_whatever_its_character_set(reading, charset, data, found):
    head = f"Subject: S\nContent-Type: text/plain; charset={charset}\n\n".encode()
    ((_, text),) = body_parts(reading("a.eml", head + data + b"\n"))
    assert text.strip("\ufffd\u3000") == found


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ("Grüße".encode(), "Grüße"),
        ("Grüße".encode("latin-1"), "Grüße"),
        (b"=?utf-8?B?R3LD?= =?utf-8?B?vMOfZQ==?= an", "Grüße an"),
        (b"=?utf-8?q?Gr=FC=DFe?=", "Grüße"),
        (b"=?iso-2022-jp?B?GyRCRnxLXDhsGyhC?=", "日本語"),
    ],
)
def test_a_header_is_read_whatever_its_encoding(reading, raw, found):
    read = reading("a.eml", b"Subject: " + raw + b"\nFrom: " + raw + b" <a@example.org>\n\nText.\n")
    props = document(read).props
    assert (props["subject"], props["from"]) == (found, f"{found} <a@example.org>")


def test_patches_and_source_in_a_message_are_read(reading):
    patch = "Content-Type: text/x-patch", "--- a/mill.c\n+++ b/mill.c"
    source = message(
        *mixed("mixed", (PLAIN, "See."), patch, attached("text/x-python", "a.py", b"x = 1"))
    )
    assert body_parts(reading("a.eml", source)) == [
        ("paragraph", "See."),
        ("paragraph", "--- a/mill.c\n+++ b/mill.c"),
        (1, "a.py"),
        ("paragraph", "x = 1"),
    ]


def test_a_paragraph_of_a_mailbox_may_begin_like_a_message(reading):
    box = "From a Mon\nSubject: One\n\nText.\n\nFrom now on we meet at noon.\nBring tea.\n"
    assert parts(reading("a.mbox", box)) == [
        (1, "One"),
        ("paragraph", "Text."),
        ("paragraph", "From now on we meet at noon.\nBring tea."),
    ]


def test_a_file_that_is_called_a_message_and_is_none_is_left_out(reading):
    for head, text in (
        ("application/octet-stream; name=a.eml\nContent-Transfer-Encoding: base64", "AAAA"),
        ("message/rfc822\nContent-Transfer-Encoding: base64", ""),
    ):
        source = message(*mixed("mixed", (PLAIN, "One."), (f"Content-Type: {head}", text)))
        assert body_parts(reading("a.eml", source))[0] == ("paragraph", "One.")


def test_the_page_of_related_parts_is_the_one_that_they_name(reading):
    style = f"{HTML_PART}\nContent-ID: <a@b>", "<p>Style."
    page = f"{HTML_PART}\nContent-ID: <c@d>", "<p>Page."
    head, text = mixed("related", style, page)
    for start, found in ((' start="<c@d>"', "Page."), (' start="<e@f>"', "Style."), ("", "Style.")):
        source = message(f"{head};{start}" if start else head, text)
        assert body_parts(reading("a.eml", source)) == [("paragraph", found)]


def test_quoted_lines_are_passages_of_their_own(reading):
    text = "Ada wrote:\n> One.\n>\n> Two,\n> three.\nNo.\n\n  > indented\n>> deep\n"
    assert body_parts(reading("a.eml", message(PLAIN, text))) == [
        ("quote", "Ada wrote:\n\n> One."),
        ("quote", "> Two,\n> three."),
        ("paragraph", "No."),
        ("paragraph", "  > indented"),
        ("quote", ">> deep"),
    ]


def test_parts_that_are_nested_deep_take_bounded_time(reading):
    for kind in ("alternative", "mixed"):
        head, text = PLAIN, "Deep."
        for depth in range(60):
            head, text = (
                f"Content-Type: multipart/{kind}; boundary=x{depth}",
                f"--x{depth}\n{PLAIN}\n\n\n--x{depth}\n{head}\n\n{text}\n--x{depth}--\n",
            )
        deep = reading("a.eml", message(head, text))
        assert body_parts(deep) == []
    assert deep.warnings == ["left out: parts more than 16 levels deep"]
    assert len(body_parts(reading("a.eml", message(PLAIN, "> \n" * 50_000 + "> x")))) == 1


def test_a_book_becomes_its_chapters_in_the_order_of_its_spine(reading):
    data = epub({"b.xhtml": "<h1>One</h1><p>first</p>", "a.xhtml": "<h1>Two</h1><p>second</p>"})
    read = reading("a.epub", data)
    assert (document(read).summary, document(read).props["author"]) == ("The & Book", "Ada")
    assert parts(read) == [
        (1, "One"), ("paragraph", "first"), (1, "Two"), ("paragraph", "second"),
    ]  # fmt: skip


def test_a_word_document_becomes_headings_text_lists_and_tables(reading):
    numbered = '<w:numPr><w:ilvl w:val="1"/></w:numPr>'
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    body = (
        paragraph("Plan", "h1")
        + paragraph("Some text.")
        + paragraph("one", "", numbered)
        + paragraph("two", "", numbered)
        + "<w:p><w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>"
        + "<w:tbl>"
        + "".join(f"<w:tr>{cell.format(a)}{cell.format(b)}</w:tr>" for a, b in ("ab", "cd"))
        + "</w:tbl>"
    )
    styles = '<w:style w:styleId="h1"><w:name w:val="heading 1"/></w:style>'
    read = reading("a.docx", docx(body, **{"word/styles.xml": styles}))
    assert document(read).summary == "Plan"
    assert parts(read) == [
        (1, "Plan"),
        ("paragraph", "Some text."),
        ("list", "- one\n- two"),
        ("table", "| a | b |\n|---|---|\n| c | d |"),
    ]


RELATIONS = '<Relationships><Relationship Id="r1" Target="footnotes.xml"/></Relationships>'


def test_notes_of_a_word_document_stand_below_what_refers_to_them(reading):
    def reference(kind, number):
        return f'<w:r><w:{kind}Reference w:id="{number}"/></w:r>'

    def line(text, after, inner=""):
        return paragraph(text, "", inner).replace("</w:p>", f"{after}</w:p>")

    one, two, end = reference("footnote", 1), reference("footnote", 2), reference("endnote", 1)
    body = (
        line("Tried", one)
        + line("item", end, '<w:numPr><w:ilvl w:val="0"/></w:numPr>')
        + f"<w:tbl><w:tr><w:tc>{line('a', two)}</w:tc><w:tc>{line('b', one)}</w:tc></w:tr></w:tbl>"
    )
    notes = {
        f"word/{kind}s.xml": "".join(
            f'<w:{kind} w:id="{number}">{paragraph(text)}</w:{kind}>'
            for number, text in enumerate(texts)
        )
        for kind, texts in (("footnote", ["", "Five times.", "Of all."]), ("endnote", ["", "Z."]))
    }
    read = reading("a.docx", docx(body, **notes, **{"word/_rels/document.xml.rels": RELATIONS}))
    assert parts(read) == [
        ("paragraph", "Tried[^1]\n[^1]: Five times."),
        ("list", "- item[^e1]\n  [^e1]: Z."),
        ("table", "| a[^2] | b[^1] |\n|---|---|"),
        ("paragraph", "[^2]: Of all."),
    ]


def test_a_note_is_read_once_however_often_it_is_referred_to(reading):
    note = f'<w:footnote w:id="1">{paragraph("x" * 1_000_000)}</w:footnote>'
    references = '<w:footnoteReference w:id="1"/>' * 10_000
    body = f"<w:p>{references}</w:p>" * 2
    read = reading("a.docx", docx(body, **{"word/footnotes.xml": note}))
    assert sum(len(text) for _, text in parts(read)) < 1_100_000


def test_a_text_box_of_a_word_document_stands_below_its_anchor(reading):
    box = f"<w:txbxContent>{paragraph('In a box.', 'h1')}{paragraph('More.')}</w:txbxContent>"
    drawing = (
        f"<w:r><mc:AlternateContent><mc:Choice><wps:txbx>{box}</wps:txbx></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    styles = '<w:style w:styleId="h1"><w:name w:val="heading 1"/></w:style>'
    body = f"<w:p><w:r><w:t>Anchor.</w:t></w:r>{drawing}</w:p>{paragraph('After.')}"
    assert parts(reading("a.docx", docx(body, **{"word/styles.xml": styles}))) == [
        ("paragraph", "Anchor."),
        (1, "In a box."),
        ("paragraph", "More."),
        ("paragraph", "After."),
    ]


def test_each_text_in_a_table_of_a_word_document_is_read_once(reading):
    def cell(inner):
        return f"<w:tc>{inner}</w:tc>"

    def row(*cells):
        return f"<w:tr>{''.join(cells)}</w:tr>"

    def control(inner):
        return f"<w:sdt><w:sdtContent>{inner}</w:sdtContent></w:sdt>"

    def box(inner):
        text = f"<w:txbxContent>{inner}</w:txbxContent>"
        return f"<w:r><mc:Choice>{text}</mc:Choice><mc:Fallback>{text}</mc:Fallback></w:r>"

    inner = f"<w:tbl>{row(cell(paragraph('c')), cell(paragraph('d')))}</w:tbl>"
    boxed = paragraph("e").replace("</w:p>", f"{box(paragraph('f'))}</w:p>")
    body = (
        row(cell(paragraph("a")), cell(paragraph("b") + inner))
        + row(cell(boxed), control(cell(paragraph("g"))))
        + control(row(cell(paragraph("h")), cell(f"<w:del>{paragraph('gone')}</w:del>")))
    )
    assert parts(reading("a.docx", docx(f"<w:tbl>{body}</w:tbl>"))) == [
        ("table", "| a | b c d |\n|---|---|\n| e f | g |\n| h |  |")
    ]


def test_hidden_text_of_a_word_document_is_left_out(reading):
    body = (
        "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>SECRET</w:t></w:r><w:r><w:rPr>"
        '<w:vanish w:val="0"/></w:rPr><w:t>e</w:t><w:noBreakHyphen/><w:t>mail</w:t></w:r></w:p>'
    )
    assert parts(reading("a.docx", docx(body))) == [("paragraph", "e-mail")]


def test_a_word_document_with_other_prefixes_is_read(reading):
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    document = (
        f'<ns0:document xmlns:ns0="{space}"><ns0:body><ns0:p><ns0:r>'
        "<ns0:t>ns0: one</ns0:t></ns0:r></ns0:p>"
        "<ns0:p><ns0:r><ns0:t>two</ns0:t></ns0:r></ns0:p></ns0:body></ns0:document>"
    )
    read = reading("a.docx", archive({"word/document.xml": document}))
    assert parts(read) == [("paragraph", "ns0: one"), ("paragraph", "two")]


def test_a_word_document_whose_name_space_has_no_prefix_is_read(reading):
    office = "http://schemas.openxmlformats.org"
    body = (
        f'<?xml version="1.0"?><document xmlns="{office}/wordprocessingml/2006/main" '
        f'xmlns:q="{office}/wordprocessingml/2006/main"><body><p><pPr><pStyle q:val="H"/></pPr>'
        f'<r><t>Mill</t></r></p><p><r><t>a</t><br/><drawing><graphic xmlns="{office}/drawingml/'
        '2006/main"><tbl/></graphic></drawing><t>b</t></r></p>'
        "<tbl><tr><tc><p><r><t>c</t></r></p></tc></tr></tbl></body></document>"
    )
    styles = (
        f'<styles xmlns="{office}/wordprocessingml/2006/main" xmlns:w="{office}/wordprocessingml/'
        '2006/main"><style w:styleId="H"><name w:val="heading 1"/></style></styles>'
    )
    read = reading("a.docx", archive({"word/document.xml": body, "word/styles.xml": styles}))
    assert document(read).summary == "Mill"
    assert [text for _, text in parts(read)] == ["Mill", "a\nb", "| c |\n|---|"]


def test_no_deleted_or_moved_text_of_a_word_document_is_read(reading):
    note = '<w:r><w:footnoteReference w:id="1"/></w:r>'
    box = f"<w:r><w:txbxContent>{paragraph('gone')}</w:txbxContent></w:r>"
    moved = "<w:r><w:t>moved</w:t></w:r>"
    body = (
        f"<w:p><w:del>{note}{box}</w:del><w:moveFrom>{moved}</w:moveFrom></w:p>"
        f"<w:p><w:moveTo>{moved}</w:moveTo></w:p>"
    )
    notes = {"word/footnotes.xml": f'<w:footnote w:id="1">{paragraph("gone")}</w:footnote>'}
    assert parts(reading("a.docx", docx(body, **notes))) == [("paragraph", "moved")]


def run(text, font=""):
    fonts = f'<w:rPr><w:rFonts w:ascii="{font}"/></w:rPr>' if font else ""
    return f'<w:r>{fonts}<w:t xml:space="preserve">{text}</w:t></w:r>'


def test_lines_of_code_of_a_word_document_are_one_block(reading):
    styles = (
        '<w:style w:default="1" w:styleId="n"><w:name w:val="Normal"/>'
        '<w:rPr><w:rFonts w:ascii="Courier New"/></w:rPr></w:style>'
        '<w:style w:styleId="c"><w:name w:val="Source Code"/><w:basedOn w:val="n"/></w:style>'
        '<w:style w:styleId="m"><w:name w:val="Box"/><w:rPr><w:rFonts w:ascii="Fira Mono"/></w:rPr>'
        '</w:style><w:style w:styleId="b"><w:name w:val="Inner"/><w:basedOn w:val="m"/></w:style>'
        '<w:style w:styleId="l"><w:name w:val="Code Caption"/></w:style>'
        '<w:style w:styleId="x"><w:name w:val="Loop"/><w:basedOn w:val="x"/></w:style>'
    )
    inside = run("if x:", "Consolas") + run(" ") + run("pass", "Consolas")
    body = (
        paragraph("Text:", "n")
        + paragraph("a = 1", "c") + paragraph("") + paragraph("  b = 2", "c")
        + paragraph("Code 1", "l")
        + paragraph("one", "b") + f"<w:p>{inside}</w:p>" + paragraph("", "b")
        + f"<w:p>{run('Use ')}{run('ls', 'Consolas')}</w:p>"
        + f"<w:p>{run('word ' * 60, 'Consolas')}</w:p>"
        + paragraph("item", "x", '<w:numPr><w:ilvl w:val="0"/></w:numPr>')
        + paragraph("last", "c")
    )  # fmt: skip
    assert parts(reading("a.docx", docx(body, **{"word/styles.xml": styles}))) == [
        ("code", "Text:\n\n```\na = 1\n\n  b = 2\n```"),
        ("paragraph", "Code 1"),
        ("code", "```\none\nif x: pass\n```"),
        ("paragraph", "Use ls"),
        ("paragraph", ("word " * 60).strip()),
        ("list", "- item"),
        ("code", "```\nlast\n```"),
    ]


def test_a_line_with_a_link_is_text_whatever_its_font(reading):
    body = f'<w:p><w:hyperlink r:id="h">{run("site", "Consolas")}</w:hyperlink></w:p>'
    links = '<Relationships><Relationship Id="h" Target="https://e.org/"/></Relationships>'
    read = reading("a.docx", docx(body, **{"word/_rels/document.xml.rels": links}))
    assert parts(read) == [("paragraph", "[site](https://e.org/)")]


def test_a_style_that_is_based_on_a_heading_is_one(reading):
    styles = (
        '<w:style w:styleId="h"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="o"><w:name w:val="Our Heading"/><w:basedOn w:val="h"/></w:style>'
    )
    read = reading("a.docx", docx(paragraph("Limits", "o"), **{"word/styles.xml": styles}))
    assert parts(read) == [(2, "Limits")]


def cache(kind, *values, code="General"):
    points = "".join(
        f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values) if value
    )
    inner = f"<c:formatCode>{code}</c:formatCode>{points}"
    return f"<c:{kind}Ref><c:{kind}Cache>{inner}</c:{kind}Cache></c:{kind}Ref>"


def titled(text):
    return (
        f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{text}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    )


MONTHS = cache("num", 45292, 45323, code="mmm yy")
CHART = (
    f"<c:chartSpace><c:chart>{titled('Calls')}<c:plotArea><c:barChart>"
    f"<c:ser><c:tx>{cache('str', '007')}</c:tx><c:cat>{MONTHS}</c:cat>"
    f"<c:val>{cache('num', 5, '2.2999999999999998')}</c:val></c:ser>"
    f"<c:ser><c:tx><c:v>lost</c:v></c:tx><c:cat>{MONTHS}</c:cat>"
    f"<c:val>{cache('num', '', 7, code='0.0 [Red]')}</c:val></c:ser></c:barChart>"
    f"<c:catAx>{titled('Month')}</c:catAx><c:valAx>{titled('Thousands')}</c:valAx>"
    "</c:plotArea></c:chart></c:chartSpace>"
)
CHART_TEXT = (
    "Calls, Thousands\n\n| Month | 007 | lost |\n|---|---|---|\n"
    "| 2024-01-01 | 5 |  |\n| 2024-02-01 | 2.3 | 7.0 |"
)


def point(number, text, kind="node"):
    return (
        f'<dgm:pt modelId="{number}" type="{kind}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p>'
        "</dgm:t></dgm:pt>"
    )


DIAGRAM = (
    "<dgm:dataModel><dgm:ptLst>"
    + point(1, "", "doc") + point(2, "Second") + point(3, "First") + point(4, "below")
    + point(5, "shown", "pres") + point(6, "alone")
    + "</dgm:ptLst><dgm:cxnLst>"
    + "".join(
        f'<dgm:cxn srcId="{source}" destId="{target}" srcOrd="{order}"/>'
        for source, target, order in ((1, 2, 10), (1, 3, 9), (3, 4, 0), (4, 3, 0))
    )
    + '<dgm:cxn srcId="6" destId="2" type="presOf"/></dgm:cxnLst></dgm:dataModel>'
)  # fmt: skip
DIAGRAM_TEXT = "- First\n  - below\n- Second\n- alone"
DRAWINGS = (
    '<Relationships><Relationship Id="c" Target="../charts/c.xml"/>'
    '<Relationship Id="d" Target="../diagrams/d.xml"/></Relationships>'
)


def test_charts_and_diagrams_of_a_presentation_are_read(reading):
    def frame(inner):
        return f"<p:graphicFrame><a:graphicData>{inner}</a:graphicData></p:graphicFrame>"

    slide = (
        shape("Why", "title") + frame('<c:chart r:id="c"/>') + frame('<dgm:relIds r:dm="d"/>')
        + frame('<c:chart r:id="none"/>')
    )  # fmt: skip
    files = {
        "ppt/slides/_rels/slide0.xml.rels": DRAWINGS,
        "ppt/charts/c.xml": CHART,
        "ppt/diagrams/d.xml": DIAGRAM,
    }
    read = reading("a.pptx", pptx([slide], **files))
    assert parts(read) == [(1, "Slide 1: Why"), ("table", CHART_TEXT), ("list", DIAGRAM_TEXT)]
    assert read.warnings == ["drawing 'ppt/slides' is not in the archive, left out"]


def chart_text(reading, inner):
    frame = '<p:graphicFrame><c:chart r:id="c"/></p:graphicFrame>'
    files = {"ppt/slides/_rels/slide0.xml.rels": DRAWINGS, "ppt/charts/c.xml": inner}
    return parts(reading("a.pptx", pptx([frame], **files)))[1:]


def test_newer_charts_are_tables_with_the_levels_of_their_labels(reading):
    above = (
        '<cx:lvl><cx:pt idx="0">Fields</cx:pt><cx:pt idx="2">Wood</cx:pt><cx:pt idx="x"/></cx:lvl>'
    )
    inner = chart_ex("Land", ["Rye", "Oats", "Oak"], [3, -1.5, "2.2999999999999998"], more=above)
    frame = '<p:graphicFrame><cx:chart r:id="c"/></p:graphicFrame>'
    slide = f"<mc:AlternateContent><mc:Choice>{frame}</mc:Choice><mc:Fallback>{shape('no')}"
    files = {"ppt/slides/_rels/slide0.xml.rels": DRAWINGS, "ppt/charts/c.xml": inner}
    data = pptx([f"{slide}</mc:Fallback></mc:AlternateContent>"], **files)
    rows = "| Fields Rye | 3 |\n| Fields Oats | -1.5 |\n| Wood Oak | 2.3 |"
    table = f"Land\n\n|  | Amount |\n|---|---|\n{rows}"
    assert parts(reading("a.pptx", data)) == [(1, "Slide 1"), ("table", table)]
    files["ppt/charts/c.xml"] = inner.replace('dataId val="0"', 'dataId val="9"')
    data = pptx([frame], **files)
    assert parts(reading("a.pptx", data)) == [(1, "Slide 1"), ("paragraph", "Land")]


def test_every_title_of_a_chart_is_read(reading):
    series = f"<c:ser><c:cat>{cache('str', 'a')}</c:cat><c:val>{cache('num', 3)}</c:val></c:ser>"
    title = f"<c:title><c:tx>{cache('str', 'Calls')}</c:tx></c:title>"
    axes = "".join(
        f"<c:{axis}Ax>{text and titled(text)}</c:{axis}Ax>"
        for axis, text in (("cat", "Month"), ("val", "Left"), ("val", "Right"), ("cat", ""))
    )
    assert chart_text(reading, f"<c:chart>{title}{series}{axes}</c:chart>") == [
        ("table", "Calls, Left, Right\n\n| Month |  |\n|---|---|\n| a | 3 |")
    ]


def test_a_chart_without_numbers_is_no_empty_table(reading):
    assert chart_text(reading, "<c:chart><c:ser/></c:chart>") == []
    assert chart_text(reading, f"<c:chart>{titled('Calls')}<c:ser/></c:chart>") == [
        ("paragraph", "Calls")
    ]


def test_dates_of_a_chart_are_counted_from_the_first_day_of_its_file(reading):
    series = f"<c:ser><c:val>{cache('num', 43830, code='m/d/yy')}</c:val></c:ser>"
    for val, shown in (("0", "2019-12-31"), ("1", "2024-01-01")):
        chart = f'<c:chartSpace><c:date1904 val="{val}"/>{series}</c:chartSpace>'
        assert chart_text(reading, chart) == [("table", f"|  |  |\n|---|---|\n| 1 | {shown} |")]


def test_a_number_in_the_standard_format_of_a_chart_is_no_date(reading):
    series = f"<c:ser><c:val>{cache('num', 45292, code='Standard')}</c:val></c:ser>"
    assert chart_text(reading, f"<c:chart>{series}</c:chart>") == [
        ("table", "|  |  |\n|---|---|\n| 1 | 45292 |")
    ]


def test_charts_and_diagrams_of_a_word_document_stand_below_their_paragraph(reading):
    def drawing(inner):
        return f"<w:r><w:drawing>{inner}</w:drawing></w:r>"

    body = (
        paragraph("item", "", '<w:numPr><w:ilvl w:val="0"/></w:numPr>').replace(
            "</w:p>", f"""{drawing('<c:chart r:id="c"/>')}</w:p>"""
        )
        + f"""<w:p>{drawing('<dgm:relIds r:dm="d"/>')}</w:p>"""
    )
    files = {
        "word/_rels/document.xml.rels": DRAWINGS.replace("../", ""),
        "word/charts/c.xml": CHART,
        "word/diagrams/d.xml": DIAGRAM,
    }
    assert parts(reading("a.docx", docx(body, **files))) == [
        ("list", "- item"), ("table", CHART_TEXT), ("list", DIAGRAM_TEXT),
    ]  # fmt: skip


def test_a_presentation_becomes_a_section_a_slide(reading):
    data = pptx([shape("Why", "title") + shape("one\ntwo"), shape("Only text")])
    assert parts(reading("a.pptx", data)) == [
        (1, "Slide 1: Why"),
        ("list", "- one\n- two"),
        (1, "Slide 2"),
        ("paragraph", "Only text"),
    ]


def numbered(text, name="", level="", style=""):
    names = f'<w:numId w:val="{name}"/>' if name else ""
    at = f'<w:ilvl w:val="{level}"/>' if level else ""
    return paragraph(text, style, f"<w:numPr>{at}{names}</w:numPr>" if names or at else "")


def lists_of(kinds, *lists):
    """The lists of a document: kinds, each its levels with format, form and start."""
    found = ""
    for kind, levels in enumerate(kinds):
        inner = "".join(
            f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{style}"/>'
            f'<w:lvlText w:val="{form}"/></w:lvl>'
            for at, (style, form, start) in enumerate(levels)
        )
        found += f'<w:abstractNum w:abstractNumId="{kind}">{inner}</w:abstractNum>'
    for name, (kind, inner) in enumerate(lists, 1):
        found += f'<w:num w:numId="{name}"><w:abstractNumId w:val="{kind}"/>{inner}</w:num>'
    return {"word/numbering.xml": f"<w:numbering>{found}</w:numbering>"}


def test_items_of_a_word_document_have_their_numbers(reading):
    legal = [("decimal", "%1.", 1), ("decimal", "%1.%2", 1), ("lowerLetter", "(%3)", 1)]
    roman = [("upperRoman", "%1)", 4), ("bullet", "\uf0b7", 1)]
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    files = lists_of([legal, roman], (0, ""), (0, again), (1, ""))
    files["word/styles.xml"] = (
        '<w:styles><w:style w:styleId="Heading1"><w:name w:val="heading 1"/>'
        '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        '<w:style w:styleId="Clause"><w:name w:val="Clause"/><w:pPr><w:numPr>'
        '<w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style></w:styles>'
    )
    body = (
        paragraph("Rent", "Heading1")
        + paragraph("due on the first", "Clause")
        + numbered("in cash", "1", "2")
        + numbered("or not", "1", "2")
        + paragraph("Pets", "Heading1")
        + paragraph("need consent", "Clause")
        + numbered("no number", "0", style="Clause")
        + paragraph("text")
        + numbered("one", "2", "0")
        + numbered("two", "2", "0")
        + paragraph("text")
        + numbered("four", "3", "0")
        + numbered("dot", "3", "1")
        + numbered("five", "3", "0")
        + numbered("of no list", "9", "0")
    )
    assert [text for kind, text in parts(reading("a.docx", docx(body, **files)))] == [
        "Rent",
        "1.1 due on the first\n  (a) in cash\n  (b) or not",
        "Pets",
        "2.1 need consent",
        "no number",
        "text",
        "1. one\n2. two",
        "text",
        "IV) four\n  - dot\nV) five\n- of no list",
    ]


def test_a_long_list_of_one_level_is_cut_between_items(reading):
    files = lists_of([[("decimal", "%1.", 1), ("decimal", "%1.%2", 1)]], (0, ""))
    body = "".join(numbered("word " * 50, "1", "1") for _ in range(9))
    found = [text for _, text in parts(reading("a.docx", docx(body, **files)))]
    assert [text.partition(" ")[0] for text in found] == ["1.1", "1.4", "1.7"]


@pytest.mark.parametrize(
    ("style", "start", "shown"),
    [
        ("lowerLetter", 27, "aa"),
        ("upperLetter", 999, "999"),
        ("lowerRoman", 1994, "mcmxciv"),
        ("lowerRoman", 4000, "4000"),
        ("decimal", 0, "0"),
        ("upperLetter", 0, "0"),
    ],
)
def test_a_number_of_an_item_in_letters_is_not_long(reading, style, start, shown):
    files = lists_of([[(style, "%1 %2%9", start)]], (0, ""))
    found = parts(reading("a.docx", docx(numbered("x", "1", "0"), **files)))
    assert found == [("list", f"{shown} x")]


def test_an_item_without_a_shown_number_is_an_item(reading):
    files = lists_of([[("decimal", "", 1), ("decimal", "%2.", 1)]], (0, ""))
    body = numbered("one", "1", "0") + numbered("below", "1", "1") + numbered("two", "1", "0")
    assert parts(reading("a.docx", docx(body, **files))) == [("list", "- one\n  1. below\n- two")]


def test_lists_are_not_looked_for_in_lists(reading):
    """Each level that was nested in others was read once for every one of them."""
    inner = lists_of([[("decimal", "%1.", 1)]], (0, ""))["word/numbering.xml"]
    outer = "<w:numbering><w:abstractNum>{}</w:abstractNum></w:numbering>"
    files = {"word/numbering.xml": outer.format(inner)}
    data = docx(numbered("one", "1") + numbered("two", "1"), **files)
    assert parts(reading("a.docx", data)) == [("list", "- one\n- two")]


def word_table(*rows):
    """Each row its cells: a text, or a text and the properties of the cell."""
    body = ""
    for row in rows:
        cells = ((one, "") if isinstance(one, str) else one for one in row)
        inner = "".join(
            f"<w:tc><w:tcPr>{layout}</w:tcPr>{paragraph(text)}</w:tc>" for text, layout in cells
        )
        body += f"<w:tr>{inner}</w:tr>"
    return docx(f"<w:tbl>{body}</w:tbl>")


TWO, DOWN, ON = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
YEARS = "| Team | 2025 plan | 2025 spent |\n|---|---|---|\n| Sales | 1 | 2 |\n| Sales | 3 | 4 |"


def test_merged_cells_of_a_table_in_word_keep_values_below_their_header(reading):
    data = word_table(
        [("Team", DOWN), ("2025", TWO)],
        [("", ON), "plan", "spent"],
        [("Sales", DOWN), "1", "2"],
        [("", ON), "3", "4"],
    )
    assert parts(reading("a.docx", data)) == [("table", YEARS)]
    data = word_table([("Room", TWO), "Size"], [("a", DOWN), "b", "c"], [("d", ON), "", "e"])
    table = "| Room |  | Size |\n|---|---|---|\n| a | b | c |\n| d |  | e |"
    assert parts(reading("a.docx", data)) == [("table", table)]
    data = word_table(["a", "b"], [("x", DOWN), "1"], ["", "2"], [("", ON), "3"])
    table = "| a | b |\n|---|---|\n| x | 1 |\n|  | 2 |\n|  | 3 |"
    assert parts(reading("a.docx", data)) == [("table", table)]
    wide = word_table([("a", '<w:gridSpan w:val="99999999"/>'), ("b", '<w:gridSpan w:val="0"/>')])
    (found,) = parts(reading("a.docx", wide))
    assert found[1].count("---") == 64
    data = word_table(["a", "b"], [("x", DOWN), "1"], [], [("", ON), "2"])
    table = "| a | b |\n|---|---|\n| x | 1 |\n|  |  |\n|  | 2 |"
    assert parts(reading("a.docx", data)) == [("table", table)]


def test_a_table_is_no_larger_than_its_document(reading):
    """A few hundred bytes had gigabytes of cells without text, or of copies of merged cells."""
    wide = '<w:gridSpan w:val="63"/>'
    data = word_table([("a", wide)] * 10, *([["b"]] * 30), [])
    items = "- a | a | a | a | a | a | a | a | a | a\n" + "\n".join(["- a: b"] * 30)
    assert "\n".join(text for _, text in parts(reading("a.docx", data))) == items
    cell = '<a:tc rowSpan="99999">{}</a:tc>'.format("<a:p><a:r><a:t>a</a:t></a:r></a:p>")
    body = f"<a:tr>{cell}</a:tr>" + "<a:tr><a:tc/></a:tr>" * 100
    data = pptx([f"<p:graphicFrame><a:tbl>{body}</a:tbl></p:graphicFrame>"])
    rows = [text.count("| a |") for _, text in parts(reading("a.pptx", data))[1:]]
    assert sum(rows) == 75


def test_merged_cells_of_a_slide_are_in_each_of_their_rows(reading):
    rows = (
        ('<a:tc rowSpan="2">{}</a:tc>', "Team", '<a:tc gridSpan="2">{}</a:tc>', "2025", "", ""),
        ('<a:tc vMerge="1">{}</a:tc>', "", "", "plan", "", "spent"),
        ('<a:tc rowSpan="2">{}</a:tc>', "Sales", "", "1", "", "2"),
        ("", "", "", "3", "", "4"),
    )
    body = ""
    for row in rows:
        pairs = zip(row[::2], row[1::2], strict=True)
        cells = ((cell or "<a:tc>{}</a:tc>", text) for cell, text in pairs)
        inner = (one.format(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>") for one, text in cells)
        body += f"<a:tr>{''.join(inner)}</a:tr>"
    data = pptx([f"<p:graphicFrame><a:tbl>{body}</a:tbl></p:graphicFrame>"])
    assert parts(reading("a.pptx", data))[1:] == [("table", YEARS)]


def test_items_of_a_slide_are_indented_below_their_item(reading):
    lines = (("Delay", ""), ("six weeks", "1"), ("of the permit", "2"), ("Costs", "0"), ("no", "x"))
    items = "".join(
        f'<a:p><a:pPr lvl="{level}"/><a:r><a:t>{line}</a:t></a:r></a:p>' for line, level in lines
    )
    data = pptx([f"<p:sp><p:txBody>{items}</p:txBody></p:sp>"])
    assert parts(reading("a.pptx", data))[1:] == [
        ("list", "- Delay\n  - six weeks\n    - of the permit\n- Costs\n- no")
    ]


def test_a_shape_with_a_fallback_is_read_once(reading):
    new, old = shape("New"), shape("Old")
    either = f"<mc:AlternateContent><mc:Choice>{new}</mc:Choice><mc:Fallback>{old}</mc:Fallback>"
    assert parts(reading("a.pptx", pptx([f"{either}</mc:AlternateContent>"]))) == [
        (1, "Slide 1"),
        ("paragraph", "New"),
    ]


def test_a_pdf_becomes_a_section_a_page(reading):
    pytest.importorskip("pypdf")
    read = reading("a.pdf", pdf(["Hello there.", "The end."]))
    assert document(read).props["extractor"] == "pypdf"
    assert parts(read) == [
        (1, "Page 1"), ("paragraph", "Hello there."), (1, "Page 2"), ("paragraph", "The end."),
    ]  # fmt: skip


def page_of(lines):
    """The bytes of a page's content with these lines."""
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    return f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode()


def with_bookmarks(data, *titles):
    """A PDF with bookmarks to its first page, each a level and a title."""
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    above = [None]
    for level, title in titles:
        item = writer.add_outline_item(title=title, page_number=0, parent=above[level - 1])
        above[level:] = [item]
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def test_bookmarks_of_a_pdf_are_headings_at_their_lines(reading):
    lines = ["Head 7", "Of the Limits", "2.1 Limits", "None.", "Appendix B: Names", "Some."]
    data = pdf(["", "The end."], packed=page_of(lines))
    read = reading("a.pdf", with_bookmarks(data, (1, "Manual"), (2, "Limits"), (2, "Names")))
    assert parts(read) == [
        (1, "Manual"),
        (3, "Page 1"), ("paragraph", "Head 7\nOf the Limits"),
        (2, "2.1 Limits"), (3, "Page 1"), ("paragraph", "None."),
        (2, "Appendix B: Names"), (3, "Page 1"), ("paragraph", "Some."),
        (3, "Page 2"), ("paragraph", "The end."),
    ]  # fmt: skip


def test_each_bookmark_is_compared_once_however_many_lines_its_page_has():
    class Title(str):
        def lower(self):
            compared[self] += 1
            return super().lower()

    compared = Counter[str]()
    titles = [Title(f"no {number}") for number in range(50)] + [Title("line")]
    writer = Writer()
    write_page(writer, 6, "line\n" * 1000, [(1, title) for title in titles], 2)
    assert compared == dict.fromkeys(titles, 1)
    headings = [mark.text for mark in writer.marks if isinstance(mark, Heading)]
    assert headings == [*titles, "Page 7"]


def test_a_page_of_a_pdf_is_cut_where_a_line_ends_a_sentence(reading):
    pytest.importorskip("pypdf")
    lines = [f"Line {number} goes on{'.' * (number % 5 == 0)}" for number in range(120)]
    _, *texts = (text for _, text in parts(reading("a.pdf", pdf([""], packed=page_of(lines)))))
    assert "\n".join(texts).split("\n") == lines
    assert len(texts) > 2
    assert all(len(text) <= 800 for text in texts)
    assert all(text.endswith(".") for text in texts[:-1])


def test_words_that_are_divided_at_the_end_of_a_line_are_whole_again(reading):
    pytest.importorskip("pypdf")
    lines = ["The en-", "coding, byte-swapped and byte-", "swapped again, X-", "ray and a-1-", "b."]
    (_, (_, text)) = parts(reading("a.pdf", pdf([""], packed=page_of(lines))))
    assert text == "The encoding,\nbyte-swapped and byte-swapped\nagain, X-\nray and a-1-\nb."
    names = ["Jean-", "Paul is non-", "European, INTER-", "NATIONAL"]
    (_, (_, text)) = parts(reading("a.pdf", pdf([""], packed=page_of(names))))
    assert text == "Jean-Paul\nis non-European,\nINTERNATIONAL"


def test_the_dots_of_a_table_of_contents_are_shortened(reading):
    pytest.importorskip("pypdf")
    lines = ["1 Names" + " ." * 40 + " 7", "2 Limits........ 8", "and so on... 9"]
    (_, (_, text)) = parts(reading("a.pdf", pdf([""], packed=page_of(lines))))
    assert text == "1 Names ... 7\n2 Limits ... 8\nand so on... 9"


WIDE = " ".join(["600", *["500"] * 30, *["444"] * 64])
CMAP = b"""/CIDInit /ProcSet findresource begin
begincmap
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
1 beginbfrange
<0021> <007A> <0021>
endbfrange
endcmap end"""
SIMPLE = {
    3: b"<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+Times /FirstChar 32 /LastChar 126 "
    b"/Encoding /WinAnsiEncoding /Widths [%s] >>" % WIDE.encode()
}
COMPOSITE = {
    3: b"<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Times /Encoding /Identity-H "
    b"/ToUnicode 4 0 R /DescendantFonts [5 0 R] >>",
    4: b"<< /Length %d >>\nstream\n%s\nendstream" % (len(CMAP), CMAP),
    5: b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /ABCDEF+Times /W [32 [%s]] >>"
    % WIDE.encode(),
}


@pytest.mark.parametrize("font", [SIMPLE, COMPOSITE])
def test_words_of_a_pdf_whose_font_has_no_space_stand_apart(reading, font):
    pytest.importorskip("pypdf")

    def shown(word):
        return f"<{word.encode('utf-16-be' if font is COMPOSITE else 'ascii').hex()}>"

    line = f"BT /F1 10 Tf 72 720 Td [{shown('Two')} -230 {shown('wo')} 20 {shown('rds')}] TJ ET"
    (_, (_, text)) = parts(reading("a.pdf", pdf([""], packed=line.encode(), others=font)))
    assert text == "Two words"


@pytest.mark.parametrize(
    "broken",
    [
        {3: COMPOSITE[3].replace(b"[5 0 R]", b"[]")},
        {4: b"<< /Filter /FlateDecode /Length 4 >>\nstream\nabcd\nendstream"},
        {5: b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A /W null >>"},
    ],
)
def test_a_pdf_with_a_broken_font_is_read(reading, broken):
    pytest.importorskip("pypdf")
    line = b"BT /F1 10 Tf 72 720 Td <00540077> Tj ET"
    assert parts(reading("a.pdf", pdf([""], packed=line, others={**COMPOSITE, **broken})))


def pages_of(*pages):
    return [page.replace("/", "\n") for page in pages]


def test_running_lines_and_numbers_of_pages_are_no_text():
    pages = pages_of(
        "Title/by Ada",
        "i/Guide",
        "Guide 1/1 One/text 9/and 4",
        "2 Ways/2.1 Two/}",
        "Guide 3/more/}",
        "4 Ways/5 apples/}",
        "Guide 5/end/1996",
    )
    labels = ["", "i", *map(str, range(1, 6))]
    assert without_margins(pages, labels) == pages_of(
        "Title/by Ada",
        "Guide",
        "1 One/text 9/and 4",
        "2.1 Two/}",
        "more/}",
        "5 apples/}",
        "end/1996",
    )


def test_a_header_of_several_lines_stays_once():
    pages = pages_of(
        *(
            f"text {'abcd'[page]}/User Guide/Chapter {1 + page // 2}/Page {page + 7}"
            for page in range(4)
        )
    )
    assert without_margins(pages, list("1234")) == pages_of(
        "text a/User Guide/Chapter 1",
        "text b/User Guide/Chapter 1",
        "text c/User Guide/Chapter 2",
        "text d/User Guide/Chapter 2",
    )


def test_lines_that_repeat_far_apart_or_seldom_are_text():
    pages = ["Note", "a", "b", "Note", "c", "d", "Note", "x", "x"]
    assert without_margins(pages, [""] * 9) == pages
    assert without_margins(["Page 1"], ["1"]) == ["Page 1"]
    assert without_margins([], []) == []


def test_headings_and_footnotes_with_the_numbers_of_their_pages_are_text():
    pages = pages_of("1 Names/a/1 See Ada", "2 Limits/b/2 Bob", "3 Ends/c/3 Eve")
    assert without_margins(pages, list("123")) == pages
    pages = pages_of("I think so/a", "b", "c")
    assert without_margins(pages, ["I", "II", "III"]) == pages


def test_headings_that_count_with_the_pages_are_text():
    pages = pages_of(*(f"Lesson {at}/about {at * 'x'}/{at}" for at in range(1, 5)))
    assert without_margins(pages, list("1234")) == [page[:-2] for page in pages]
    pages = pages_of(*(f"Seite {at}/about {at * 'x'}" for at in range(1, 5)))
    assert without_margins(pages, list("1234")) == [
        "about x",
        "about xx",
        "about xxx",
        "about xxxx",
    ]
    heads = ("Ways 1/a", "2 Ways/b", "Ways 3/c", "4 Ways/d")
    assert without_margins(pages_of(*heads), list("1234")) == list("abcd")


def test_lines_that_differ_in_their_marks_alone_are_text():
    pages = pages_of("C/by hand", "C++/by destructors", "C#/by a collector")
    assert without_margins(pages, list("123")) == pages
    pages = pages_of("- 1 -/a", "- 2 -/b", "- 3 -/c")
    assert without_margins(pages, list("123")) == ["a", "b", "c"]


def test_headers_of_titles_are_left_out():
    titles = {
        0: ["Mills", "Old mills"],
        1: ["Stones: how to dress them"],
        3: ["Prices 1830"],
        5: ["Kiln"],
    }
    tops = [
        ("1. Mills", False),
        ("CHAPTER 1. MILLS 1.2. STONES: HOW TO DRESS THEM", True),
        ("Chapter 1. Mills", True),
        ("1 MILLS 1.2 STONES: HOW TO \u2026", True),
        ("APPENDIX A. PRICES 1830 A.1. KILN", False),
        ("APPENDIX A. PRICES 1830 A.1. KILN", True),
        ("Mills", False),
        ("Chapter 1. Mills and more", False),
        ("1 Mills 1.2 Stones: how to", False),
        (f"1 Mills {'x' * 300}", False),
        ("", False),
    ]
    pages = [f"\n{top}\n1. Mills" for top, _ in tops]
    assert without_titles(pages, titles) == [
        "\n1. Mills" if is_header else f"\n{top}\n1. Mills" for top, is_header in tops[:-1]
    ] + ["\n"]
    assert without_titles(pages, {}) == pages
    assert without_titles([], titles) == []


def test_margins_of_a_pdf_are_left_out(reading):
    pytest.importorskip("pypdf")
    read = reading("a.pdf", pdf(["The Guide 1", "The Guide 2", "The Guide 3", "One."]))
    assert parts(read) == [(1, "Page 4"), ("paragraph", "One.")]
    assert read.warnings == ["3 of 4 pages have no text"]


def test_a_pdf_of_one_endless_word_takes_bounded_time(reading):
    pytest.importorskip("pypdf")
    for text in ("a" * 300_000, "a-" * 150_000):
        assert parts(reading("a.pdf", pdf([""], packed=page_of([text]))))


@pytest.mark.parametrize(
    "path",
    [
        *("a.ipynb", "a.eml", "a.mbox", "a.epub", "a.docx", "a.pptx", "a.xlsx", "a.odt", "a.ods"),
        *("a.odp", "a.pdf"),
    ],
)
@pytest.mark.parametrize("data", [b"", b"\x00\xff" * 100, b"PK\x03\x04", b"[" * 100_000, b"{}"])
def test_what_is_not_of_its_format_is_an_error(reading, path, data):
    if path == "a.pdf":
        pytest.importorskip("pypdf")
    with pytest.raises(InvalidInputError):
        reading(path, data)

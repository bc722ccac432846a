"""OpenDocument: what headings, lists, tables, notes and slides become, and what is left out."""

import pytest

from ibidem.ingest.document import read_document
from ibidem.ingest.opendocument import extract_odp, extract_ods, extract_odt
from ibidem.ingest.sandbox import Limits, Sandbox
from ibidem.objects.errors import ErrorKind, InvalidInputError

from .samples import archive, opendocument


def p(text, style=""):
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def items(*texts):
    inner = "".join(f"<text:list-item>{text}</text:list-item>" for text in texts)
    return f"<text:list>{inner}</text:list>"


def cells(*values, more=""):
    inner = "".join(
        value if value.startswith("<table") else f"<table:table-cell>{p(value)}</table:table-cell>"
        for value in values
    )
    return f"<table:table-row {more}>{inner}</table:table-row>"


def cell(shown, kind, *attributes):
    return (
        f'<table:table-cell office:value-type="{kind}" {" ".join(attributes)}>{p(shown)}'
        "</table:table-cell>"
    )


def odt(body, **others):
    return extract_odt(opendocument("text", body, **others))


def ods(rows, name="S", **others):
    body = f'<table:table table:name="{name}">{rows}</table:table>'
    return extract_ods(opendocument("spreadsheet", body, **others)).text.removeprefix("# S\n\n")


NOTE = (
    "<text:note><text:note-citation>1</text:note-citation><text:note-body>"
    f"{p('Below.')}</text:note-body></text:note>"
)


def test_a_text_becomes_its_headings_paragraphs_lists_notes_and_links():
    read = odt(
        p("The Book", "Title")
        + '<text:h text:outline-level="2">Part <text:span>one</text:span></text:h>'
        + p(f"One  line<text:line-break/>and<text:s text:c='3'/>more{NOTE}.")
        + p('See <text:a xlink:href="https://example.org">this</text:a><text:tab/>'
            '<text:a xlink:href="#x">that</text:a>.')
        + items(p("one") + items(p("deep") + p("goes on")), p(f"two{NOTE}"))
    )  # fmt: skip
    assert read.title == "The Book"
    assert read.text == (
        "# The Book\n\n## Part one\n\nOne line\nand   more[^1].\n[^1]: Below.\n\n"
        "See [this](https://example.org)\tthat.\n\n- one\n  - deep\n    goes on\n- two[^1]\n"
        "  [^1]: Below."
    )


@pytest.mark.parametrize(("written", "level"), [("", 1), ("0", 1), ("x", 1), ("3", 3), ("10", 9)])
def test_a_heading_has_a_level_whatever_is_written(written, level):
    (heading,) = odt(f'<text:h text:outline-level="{written}">A</text:h>').marks
    assert heading.level == level


def test_code_is_one_block_and_text_boxes_stand_below_their_paragraph():
    box = f"<draw:frame><draw:text-box>{p('In the box.')}</draw:text-box></draw:frame>"
    styles = '<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>'
    read = odt(p("if x:", "P1") + p("<text:s text:c='2'/>y()", "P1") + p(f"After.{box}"),
               styles=styles)  # fmt: skip
    assert read.text == "```\nif x:\n  y()\n```\n\nAfter.\n\nIn the box."


def test_deleted_text_comments_and_contents_are_left_out():
    read = odt(
        f"<text:tracked-changes>{p('deleted')}</text:tracked-changes>"
        f"<text:table-of-content>{p('Contents 1')}</text:table-of-content>"
        + p(f"kept<office:annotation>{p('comment')}</office:annotation>")
        + f"<text:section>{p('in a section')}</text:section>"
        + "<text:list><text:list-item><text:h>Numbered</text:h></text:list-item></text:list>"
    )
    assert read.text == "kept\n\nin a section\n\n# Numbered"


LISTS = (
    '<text:list-style style:name="L">'
    '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"'
    ' text:display-levels="2"/><text:list-level-style-bullet text:level="3"/></text:list-style>'
    '<text:list-style style:name="R"><text:list-level-style-number text:level="1"'
    ' style:num-format="I" style:num-prefix="(" style:num-suffix=")" text:start-value="4"/>'
    '<text:list-level-style-number text:level="2" style:num-format=""/></text:list-style>'
    '<text:list-style style:name="N"><text:list-level-style-number text:level="1"'
    ' style:num-format="1" text:display-levels="0"/></text:list-style>'
)


def test_items_of_a_list_have_their_numbers():
    def ordered(style, *texts):
        return items(*texts).replace("<text:list>", f"<text:list {style}>", 1)

    first, on = 'text:style-name="L"', 'text:style-name="L" text:continue-numbering="true"'
    inner = items(p("deep") + items(p("dot")), p("deeper"))
    seventh = items(p("seven")).replace("-item>", '-item text:start-value="7">', 1)
    body = (
        ordered(first, p("one") + p("goes on") + inner, p("two") + items(p("again")))
        + ordered(on, p("three"))
        + ordered('text:style-name="R"', p("four") + items(p("none")), p("five"))
        + ordered(first, p("new"), items(p("of no item")))
        + seventh.replace("<text:list>", f"<text:list {on}>")
        + ordered(on.replace("true", "false"), p("again new"))
        + ordered('text:style-name="N"', p("no number is shown"))
        + items(p("of no style")).replace("list-item", "list-header")
    )
    assert odt(body, styles=LISTS).text.split("\n\n") == [
        "1. one\n  goes on\n  1.a) deep\n    - dot\n  1.b) deeper\n2. two\n  2.a) again",
        "3. three",
        "(IV) four\n  - none\n(V) five",
        "1. new\n  1.a) of no item",
        "7. seven",
        "1. again new",
        "- no number is shown",
        "- of no style",
    ]


def test_tables_of_a_text_have_merged_and_repeated_cells():
    spanned = f'<table:table-cell table:number-rows-spanned="2">{p("a")}</table:table-cell>'
    twice = f'<table:table-cell table:number-columns-repeated="2">{p("x")}</table:table-cell>'
    rows = (
        f"<table:table-header-rows>{cells('Key', 'One', 'Two')}</table:table-header-rows>"
        + cells(spanned, twice)
        + f"<table:table-rows>{cells('<table:covered-table-cell/>', 'y', 'z')}</table:table-rows>"
    )
    assert odt(f"<table:table>{rows}</table:table>").text == (
        "| Key | One | Two |\n|---|---|---|\n| a | x | x |\n| a | y | z |"
    )


def test_a_sheet_shows_dates_in_iso_form_and_numbers_as_the_file_shows_them():
    rows = cells("Day", "Share", "At") + cells(
        cell("5.3.26", "date", 'office:date-value="2026-03-05"'),
        cell("12,5 %", "percentage", 'office:value="0.125"'),
        cell("x", "date", 'office:date-value="2026-03-05T08:30:00"'),
    )
    rows += '<table:table-row table:number-rows-repeated="1048574"/>'
    assert ods(rows) == (
        "| Day | Share | At |\n|---|---|---|\n| 2026-03-05 | 12,5 % | 2026-03-05 08:30:00 |"
    )
    assert ods(cells("a", "b", more='table:number-rows-repeated="3"')).count("| a | b |") == 3


def test_a_hidden_sheet_is_left_out():
    styles = (
        '<style:style style:name="t"><style:table-properties table:display="false"/></style:style>'
    )
    body = f'<table:table table:name="S" table:style-name="t">{cells("a")}</table:table>'
    read = extract_ods(opendocument("spreadsheet", body, styles=styles))
    assert (read.text, read.warnings) == ("", ("sheet 'S' is hidden, left out",))


def test_hidden_text_is_left_out():
    styles = (
        '<style:style style:name="H"><style:text-properties text:display="none"/></style:style>'
    )
    read = odt(
        p("All see <text:span text:style-name='H'>SECRET</text:span>this.")
        + p("SECRET", "H")
        + p("<text:hidden-paragraph text:is-hidden='true'/>SECRET")
        + p("One<text:hidden-text text:is-hidden='true'>SECRET</text:hidden-text>.")
        + p("Two<text:hidden-text text:is-hidden='false'> three</text:hidden-text>.")
        + f"<text:section text:display='none'>{p('SECRET')}</text:section>"
        + f"<text:section text:display='true'>{p('Four.')}</text:section>"
        + items(p("five") + p("SECRET", "H"))
        + f"<table:table>{cells('six', 'seven')}{cells(p('x', 'H'), 'nine')}</table:table>",
        styles=styles,
    )
    assert "SECRET" not in read.text
    assert [line for line in read.text.split("\n") if line][:5] == [
        "All see this.", "One.", "Two three.", "Four.", "- five"
    ]  # fmt: skip


CHART = (
    "<chart:chart><chart:title><text:p>Rain by month</text:p></chart:title><chart:plot-area>"
    "<chart:axis><chart:title><text:p>Millimetres</text:p></chart:title></chart:axis>"
    "</chart:plot-area><table:table table:name='local-table'><table:table-header-rows>"
    f"{cells('', 'Graz')}</table:table-header-rows><table:table-rows>{cells('May', '86')}"
    "</table:table-rows></table:table></chart:chart>"
)


def test_charts_of_texts_and_slides_are_tables():
    chart = f"<office:document-content>{CHART}</office:document-content>"
    frame = '<draw:frame><draw:object xlink:href="./Object 1"/><draw:image/></draw:frame>'
    parts = {"Object 1/content.xml": chart}
    table = "Rain by month, Millimetres\n\n|  | Graz |\n|---|---|\n| May | 86 |"
    assert odt(p(f"Below.{frame}") + p("After."), **parts).text == f"Below.\n\n{table}\n\nAfter."
    slide = f"<draw:page>{frame}</draw:page>"
    assert extract_odp(opendocument("presentation", slide, **parts)).text == f"# Slide 1\n\n{table}"
    missing = '<draw:frame><draw:object xlink:href="./Object 2"/></draw:frame>'
    assert odt(p(f"Alone.{missing}"), **parts).text == "Alone."


def test_flat_files_are_read_like_archives():
    def flat(kind, body):
        return (
            '<?xml version="1.0"?>\n<office:document><office:meta><dc:title>T</dc:title>'
            f"</office:meta><office:body><office:{kind}>{body}</office:{kind}></office:body>"
            "</office:document>"
        ).encode()

    inner = "<office:document><office:body><office:chart>{}</office:chart></office:body>"
    chart = f"<draw:object>{inner.format(CHART)}</office:document></draw:object>"
    image = "<draw:image><office:binary-data>iVBORw0KGgo=</office:binary-data></draw:image>"
    read = extract_odt(flat("text", p(f"One.<draw:frame>{chart}{image}</draw:frame>")))
    assert read.title == "T"
    assert read.text.startswith("One.\n\nRain by month, Millimetres\n\n|  | Graz |")
    assert "iVBOR" not in read.text
    sheet = f'<table:table table:name="S">{cells("a", "b")}</table:table>'
    assert extract_ods(flat("spreadsheet", sheet)).text == "# S\n\n| a | b |\n|---|---|"
    slide = (
        f"<draw:page><draw:frame><draw:text-box>{p('x')}</draw:text-box></draw:frame></draw:page>"
    )
    assert extract_odp(flat("presentation", slide)).text == "# Slide 1\n\nx"
    with pytest.raises(InvalidInputError, match="has no office:text"):
        extract_odt(b"<x/>")
    with pytest.raises(InvalidInputError, match="entities"):
        extract_odt(b'<!DOCTYPE x [<!ENTITY a "aaaa">]>')


def test_a_slide_is_a_section_with_its_notes():
    def frame(text, kind=""):
        box = f"<draw:text-box>{text}</draw:text-box>"
        return f'<draw:frame presentation:class="{kind}">{box}</draw:frame>'

    notes = f"<presentation:notes>{frame(p('Say why.'))}</presentation:notes>"
    pages = (
        f"<draw:page>{frame(items(p('one'), p('two')))}{frame(p('Why'), 'title')}{notes}"
        "</draw:page>"
        f"<draw:page>{frame(p('Alone.'))}</draw:page>"
    )
    assert extract_odp(opendocument("presentation", pages)).text == (
        "# Slide 1: Why\n\n- one\n- two\n\nSay why.\n\n# Slide 2\n\nAlone."
    )


def test_title_and_properties_are_those_of_the_file():
    meta = (
        "<office:meta><dc:title>A &amp; B</dc:title><dc:creator>Ada</dc:creator>"
        "<dc:date>2026-03-05T08:00:00</dc:date></office:meta>"
    )
    read = odt(p("x"), **{"meta.xml": meta})
    assert (read.title, read.props) == ("A & B", {"author": "Ada", "date": "2026-03-05T08:00:00"})


def test_a_file_with_a_password_and_one_of_another_kind_are_errors():
    manifest = "<manifest:manifest><manifest:encryption-data/></manifest:manifest>"
    with pytest.raises(InvalidInputError, match="needs a password"):
        odt("", **{"META-INF/manifest.xml": manifest})
    with pytest.raises(InvalidInputError, match=r"content\.xml has no office:text"):
        extract_odt(opendocument("spreadsheet", ""))


def test_files_that_grow_without_bound_are_refused():
    repeated = 'table:number-rows-repeated="99999999"'
    body = f"<table:table>{cells('a' * 100, 'b', more=repeated) * 20}</table:table>"
    with Sandbox(Limits(seconds=10, memory_bytes=512 << 20)) as sandbox:
        for path, data in (
            ("a.odt", archive({"content.xml": b" " * (129 << 20)})),
            ("a.ods", opendocument("spreadsheet", body)),
        ):
            with pytest.raises(InvalidInputError) as error:
                read_document(path, data, sandbox=sandbox)
            assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
        entities = '<!DOCTYPE x [<!ENTITY a "aaaa">]>'
        with pytest.raises(InvalidInputError, match="entities"):
            read_document("a.odt", archive({"content.xml": entities}), sandbox=sandbox)

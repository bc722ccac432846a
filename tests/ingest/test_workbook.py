"""Workbooks and sheets: what each cell, table and sheet becomes, and what is left out."""

from string import ascii_uppercase as LETTERS
from time import process_time

import pytest

from ibidem.ingest.document import read_document
from ibidem.ingest.number_format import number_text
from ibidem.ingest.sandbox import Limits, Sandbox
from ibidem.ingest.workbook import extract
from ibidem.objects.errors import ErrorKind, InvalidInputError

from .samples import archive, row, workbook

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


def text(rows, **others):
    return extract(workbook({"S": rows}, **others)).text.removeprefix("# S\n\n")


def lines(rows, **others):
    return text(rows, **others).split("\n")


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        ("0.30000000000000004", "General", "0.3"),
        ("1234567890123456", "", "1234567890123456"),
        ("1e300", "#,##0", "1e+300"),
        ("12.345", "0.00", "12.35"),
        ("-1234.5", '"$"#,##0.00_);("$"#,##0.00)', "-$1,234.50"),
        ("1234.5", "#,##0.00\\ [$€-407]", "1,234.50 €"),
        ("-0.001", "0.00", "0.00"),
        ("501", "00000", "00501"),
        ("2.5", "0.##", "2.5"),
        ("7", "0.##", "7"),
        ("0.125", "0.0%", "12.5%"),
        ("1500000", "0.0,,", "1500000"),
        ("0.75", "# ?/?", "0.75"),
        ("150000", "0.00E+00", "150000"),
        ("45292", "mmm yy", "2024-01-01"),
        ("45292", "mmmm", "2024-01-01"),
        ("45292", '0.0 "days"', "45292.0 days"),
        ("45292.5", "dd/mm/yyyy hh:mm", "2024-01-01 12:00"),
        ("45292.999999999", "yyyy-mm-dd h:mm", "2024-01-02"),
        ("0.25", "h:mm AM/PM", "06:00"),
        ("1.5", "[h]:mm", "36:00:00"),
        ("1", "yyyy-mm-dd", "1900-01-01"),
        ("61", "yyyy-mm-dd", "1900-03-01"),
        ("-5", "yyyy-mm-dd", "-5"),
        ("9999999", "yyyy-mm-dd", "9999999"),
        ("123456789012345", "0." + "0" * 20, "123456789012345"),
        ("1.5", "0" * 1000, "1.5"),
        ("nan", "0", "nan"),
        ("inf", "yyyy", "inf"),
        ("text", "0", "text"),
    ],
)
def test_a_number_reads_as_its_format_shows_it(number, code, shown):
    assert number_text(number, code) == shown


def test_a_format_longer_than_any_program_writes_is_not_read():
    start = process_time()
    assert [number_text("5.5", code * 100_000) for code in ("[", "[h", "0")] == ["5.5"] * 3
    assert process_time() - start < 1


def test_characters_that_xml_cannot_have_are_read_from_their_codes():
    shared = "<si><t>two_x000D_\nlines_x0009_x_x005F_y</t></si>"
    cells = '<row r="1"><c r="A1" t="s"><v>0</v></c></row>'
    assert text(cells, **{"xl/sharedStrings.xml": f"<sst>{shared}</sst>"}) == "two lines x_y"


def test_dates_count_from_1904_where_the_file_says_so():
    assert number_text("0", "yyyy-mm-dd", is_1904=True) == "1904-01-01"
    styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    head = '<workbookPr date1904="1"/>'
    assert "1904-01-02" in text(row(1, "a", (1, 1)), styles=styles, head=head)


def test_cells_of_every_kind_are_what_a_reader_sees():
    cells = (
        '<c t="s"><v>0</v></c><c t="str"><f>A1</f><v>by formula</v></c><c t="b"><v>1</v></c>'
        '<c t="e"><v>#DIV/0!</v></c><c t="d"><v>2026-03-05T00:00:00</v></c>'
        '<c><f>SUM(A1:A9)</f><v>45</v></c><c t="inlineStr"><is><r><t>rich </t></r>'
        "<r><t>text</t></r></is></c>"
    )
    shared = "<si><r><t>a | </t></r><r><t>b</t></r><rPh><t>sound</t></rPh></si>"
    assert lines(row(1, "k", "v") + f'<row r="2">{cells}</row>', shared=shared)[-1] == (
        "| a \\| b | by formula | TRUE | #DIV/0! | 2026-03-05 | 45 | rich text |"
    )


def test_formulas_without_a_value_are_counted():
    rows = row(1, "k", "v") + '<row r="2"><c r="A2"><f>NOW()</f></c><c r="B2"><v>1</v></c></row>'
    read = extract(workbook({"S": rows}))
    assert read.warnings == (
        "formulas without a value, left out: 1 (save the file in a program that computes them)",
    )


def test_each_sheet_is_a_section_and_a_hidden_one_is_left_out():
    read = extract(
        workbook(
            {
                "One &amp; all": row(1, "a", "b"),
                'Secret|state="hidden"': row(1, "hidden", "text"),
                'Deeper|state="veryHidden"': row(1, "hidden", "text"),
                "Two": row(1, "c", "d"),
            }
        )
    )
    assert [mark.text for mark in read.marks if hasattr(mark, "level")] == ["One & all", "Two"]
    assert "hidden" not in read.text
    assert read.warnings == (
        "sheet 'Secret' is hidden, left out",
        "sheet 'Deeper' is hidden, left out",
    )


def test_empty_columns_are_left_out_and_a_table_goes_on_after_an_empty_row():
    rows = row(3, None, "Name", None, "Count") + row(4, None, "a", None, 1) + row(7, None, "b")
    rows += row(8, None, "c", None, 3)
    assert lines(rows) == ["| Name | Count |", "|---|---|", "| a | 1 |", "| b |  |", "| c | 3 |"]


def test_lines_above_a_table_are_its_caption_and_a_header_begins_another_table():
    rows = row(1, "Report") + row(2, "Costs in 2025") + row(4, "Team", "Cost") + row(5, "a", 1)
    rows += row(7, "Person", "Team") + row(8, "Ada", "a") + row(10, "Bo", "b") + row(12, "End.")
    assert text(rows) == (
        "- Report\n- Costs in 2025\n\n| Team | Cost |\n|---|---|\n| a | 1 |\n\n"
        "| Person | Team |\n|---|---|\n| Ada | a |\n| Bo | b |\n\nEnd."
    )
    rows = row(1, "Costs in 2025") + row(3, "Team", "Cost") + row(4, "a", 1)
    assert text(rows) == "Costs in 2025\n\n| Team | Cost |\n|---|---|\n| a | 1 |"


def test_a_cell_that_is_merged_over_rows_is_in_each_of_them():
    rows = row(1, "Year", None, "Sum") + row(2, "2025", "H1", 1) + row(3, None, "H2", 2)
    rows += row(5, "2026", "H1", 3)
    merged = '<mergeCells><mergeCell ref="A1:B1"/><mergeCell ref="A2:A4"/></mergeCells>'
    assert lines(f"<sheetData>{rows}</sheetData>{merged}")[2:] == [
        "| 2025 | H1 | 1 |",
        "| 2025 | H2 | 2 |",
        "| 2026 | H1 | 3 |",
    ]


@pytest.mark.parametrize("years", [("2025", "2026"), (2025, 2026)])
def test_groups_of_columns_are_part_of_the_names_of_their_columns(years):
    rows = row(1, "Team", years[0], None, years[1], None) + row(
        2, None, "Plan", "Spent", "Plan", "Spent"
    )
    rows += row(3, "Sales", 1, 2, 3, 4) + row(4, "Legal", 5, 6, 7, 8)
    merged = "".join(f'<mergeCell ref="{cells}"/>' for cells in ("A1:A2", "B1:C1", "D1:E1"))
    read = lines(f"<sheetData>{rows}</sheetData><mergeCells>{merged}</mergeCells>")
    assert read == [
        "| Team | 2025 Plan | 2025 Spent | 2026 Plan | 2026 Spent |",
        "|---|---|---|---|---|",
        "| Sales | 1 | 2 | 3 | 4 |",
        "| Legal | 5 | 6 | 7 | 8 |",
    ]


def test_a_cell_over_rows_and_columns_of_the_header_is_no_group_of_the_last_row():
    rows = row(1, "Team", None, "2025", None) + row(2, None, None, "Plan", "Spent")
    rows += row(3, "Sales", "east", 1, 2)
    merged = "".join(f'<mergeCell ref="{cells}"/>' for cells in ("A1:B2", "C1:D1"))
    read = lines(f"<sheetData>{rows}</sheetData><mergeCells>{merged}</mergeCells>")
    assert read[0] == "| Team |  | 2025 Plan | 2025 Spent |"


def test_groups_of_groups_of_columns_are_named_too():
    rows = (
        row(1, None, "2025", None, None, None)
        + row(2, "Team", "H1", None, "H2", None)
        + row(3, None, "Plan", "Spent", "Plan", "Spent")
        + row(4, "Sales", 1, 2, 3, 4)
    )
    head = row(1, "Team", "2025") + rows[rows.index('<row r="2"') :]
    merged = "".join(f'<mergeCell ref="{cells}"/>' for cells in ("B1:E1", "B2:C2", "D2:E2"))
    merged = f"<mergeCells>{merged}</mergeCells>"
    assert lines(f"<sheetData>{rows}</sheetData>{merged}")[:3] == [
        "2025",
        "",
        "| Team | H1 Plan | H1 Spent | H2 Plan | H2 Spent |",
    ]
    assert lines(f"<sheetData>{head}</sheetData>{merged}")[0] == (
        "| Team | 2025 H1 Plan | 2025 H1 Spent | 2025 H2 Plan | 2025 H2 Spent |"
    )


@pytest.mark.parametrize(
    "rows",
    [
        [("Ada", "Lovelace", "London"), ("Bo", "X", "Y")],
        [("Ada", "Lovelace", "London"), ("Bo", "X", 5)],
        [("Ada", None, None), ("Bo", "X", 5)],
        [(2025, 2026, None), ("Bo", "X", 5)],
        [("Ada", "Lovelace", "City")] * 3 + [("Bo", "X", 5)],
    ],
)
def test_a_merged_cell_in_a_header_takes_no_row_of_the_table_along(rows):
    sheet = "".join(row(at, *cells) for at, cells in enumerate(rows, 2))
    merged = '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>'
    read = lines(f"<sheetData>{row(1, 'Name', None, 'City')}{sheet}</sheetData>{merged}")
    assert read[0] == "| Name |  | City |"
    assert len(read) == 2 + len(rows)


def test_a_sheet_of_nearly_empty_cells_is_written_as_lines():
    head = row(1, *(f"Size {at}" for at in range(26)))
    rows = "".join(
        f'<row r="{at}"><c r="{chr(64 + at % 26 + 1)}{at}"><v>{at}</v></c></row>'
        for at in range(2, 600)
    )
    read = lines(head + rows)
    assert (read[1], len(read)) == ("- Size 2: 2", 599)
    columns = [f"{a}{b}{c}" for a in "ABCD" for b in LETTERS for c in LETTERS]
    diagonal = "".join(
        f'<row r="{at}"><c r="{columns[at]}{at}"><v>{at}</v></c>'
        f'<c r="{columns[at + 1]}{at}"><v>{at}</v></c></row>'
        for at in range(1, 2000)
    )
    assert len(text(diagonal)) < 40_000


def test_links_of_cells_have_their_targets():
    rows = f"<sheetData>{row(1, 'Site', 'No')}{row(2, 'docs', 'x')}</sheetData>"
    rows += (
        '<hyperlinks><hyperlink ref="A2" r:id="h"/><hyperlink ref="B2" r:id="none"/></hyperlinks>'
    )
    link = '<Relationships><Relationship Id="h" Target="https://example.org/"/></Relationships>'
    others = {"xl/worksheets/_rels/sheet0.xml.rels": link}
    assert lines(rows, **others)[-1] == "| [docs](https://example.org/) | x |"


def test_passages_of_a_long_table_have_its_header_as_context():
    rows = row(1, "Item", "Price") + "".join(row(at, f"item {at}", at) for at in range(2, 200))
    with Sandbox() as sandbox:
        read = read_document("a.xlsx", workbook({"S": rows}), sandbox=sandbox)
    tables = [draft for draft in read.drafts if draft.props.get("format") == "table"]
    assert len(tables) > 3
    assert all("| Item | Price |" in str(draft.header) for draft in tables[1:])


def test_parts_with_prefixes_are_read():
    sheet = '<x:worksheet><x:sheetData><x:row r="1"><x:c r="A1"><x:v>5</x:v></x:c></x:row>'
    data = {
        "xl/workbook.xml": '<x:workbook><x:sheet name="S" r:id="r"/></x:workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="r" Target="/xl/s.xml"/>'
        "</Relationships>",
        "xl/s.xml": f"{sheet}</x:sheetData></x:worksheet>",
    }
    assert extract(archive(data)).text == "# S\n\n5"


@pytest.mark.parametrize("space", ["ns1", "d3p1", "w"])
def test_relations_are_read_whatever_their_prefix(space):
    office = "http://schemas.openxmlformats.org"
    data = {
        "xl/workbook.xml": f'<workbook xmlns:{space}="{office}/officeDocument/2006/relationships">'
        f'<sheet name="S" sheetId="1" {space}:id="x"/></workbook>',
        "xl/_rels/workbook.xml.rels": f'<ns0:Relationships xmlns:ns0="{office}/package/2006/'
        'relationships"><ns0:Relationship Id="x" Target="s.xml"/></ns0:Relationships>',
        "xl/s.xml": '<worksheet><row r="1"><c r="A1"><v>5</v></c></row></worksheet>',
    }
    read = extract(archive(data))
    assert (read.text, read.warnings) == ("# S\n\n5", ())


@pytest.mark.parametrize("path", ["a.xlsx", "a.docx", "a.pptx"])
def test_a_file_with_a_password_is_an_error_that_says_so(path):
    with Sandbox() as sandbox:
        with pytest.raises(InvalidInputError, match="needs a password"):
            read_document(path, OLE + "EncryptedPackage".encode("utf-16-le"), sandbox=sandbox)
        with pytest.raises(InvalidInputError, match="older program"):
            read_document(path, OLE, sandbox=sandbox)


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="1"><c r="A1" t="s"><v>7</v></c></row>',
        '<row r="1"><c r="A1" t="s"><v>-1</v></c></row>',
    ],
)
def test_a_shared_text_that_is_missing_is_an_error(rows):
    with pytest.raises(InvalidInputError, match="expected one of 0"):
        text(rows)


def test_shared_texts_are_found_by_whatever_name_they_have():
    data = {
        "xl/workbook.xml": '<workbook><sheet name="S" r:id="r"/></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="r" Target="s.xml"/>'
        '<Relationship Id="t" Target="/xl/SharedStrings.xml"/></Relationships>',
        "xl/s.xml": '<worksheet><row r="1"><c r="A1" t="s"><v>0</v></c></row></worksheet>',
        "xl/SharedStrings.xml": "<sst><si><t>text</t></si></sst>",
    }
    assert extract(archive(data)).text == "# S\n\ntext"


def test_positions_that_no_sheet_has_are_read_in_order():
    rows = '<row r="x"><c r="ZZZZ9"><v>1</v></c><c r=""><v>2</v></c></row><row/><row r="99999999"/>'
    assert lines(rows)[0] == "| 1 | 2 |"


def test_sheets_that_grow_without_bound_are_refused():
    limits = Limits(seconds=5, memory_bytes=512 << 20)
    wide = "".join(
        f'<row r="{at}"><c r="A{at}"><v>1</v></c><c r="{chr(65 + at % 23)}X{at}"><v>2</v></c></row>'
        for at in range(1, 20_000)
    )
    with Sandbox(limits) as sandbox:
        for data in (
            workbook({"S": " " * (129 << 20)}),
            workbook({"S": row(1, "a")}, **{"xl/sharedStrings.xml": "<si>" + "a" * (129 << 20)}),
        ):
            with pytest.raises(InvalidInputError) as error:
                read_document("a.xlsx", data, sandbox=sandbox)
            assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
        entities = '<!DOCTYPE x [<!ENTITY a "aaaa">]>'
        with pytest.raises(InvalidInputError, match="entities"):
            read_document("a.xlsx", workbook({"S": f"{entities}<sheetData/>"}), sandbox=sandbox)
        read_document("a.xlsx", workbook({"S": wide}), sandbox=sandbox)

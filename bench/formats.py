"""How often a prompt holds the answer, for questions over a folder of office files.

    python bench/formats.py [--budget N] [--missed]

The files are made here: workbooks, OpenDocument, newer charts, e-mail with attached texts, PDF with
numbered headings. `bench/data/formats.jsonl` has the questions, each with the words that answer it
as a person reads them in the file; they were written before any of these formats was read. A
question counts if these words stand, in order and together, in the answer to `repo prompt`. A file
that is not read, or whose format is not known, is left out and reported as a user sees it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from base64 import b64encode
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench.answers import words
from tests.ingest.samples import (  # type: ignore[import-untyped]
    chart_ex,
    docx,
    opendocument,
    paragraph,
    pdf,
    pptx,
    row,
    shape,
    workbook,
)

QUESTIONS = Path(__file__).parent / "data" / "formats.jsonl"
CITIES = ("Ostrava", "Tampere", "Graz", "Utrecht", "Porto", "Leeds", "Lyon", "Turin", "Cork")
STYLES = (
    '<numFmts><numFmt numFmtId="164" formatCode="#,##0.00\\ [$€-407]"/></numFmts><cellXfs>'
    '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="164"/></cellXfs>'
)
CHART = "http://schemas.microsoft.com/office/drawing/2014/chartex"


def day(year: int, month: int, number: int) -> tuple[int, int]:
    """Returns a date as a cell has it."""
    return (date(year, month, number) - date(1899, 12, 30)).days, 1


def budget() -> bytes:
    """Returns a workbook: costs by department with merged cells, suppliers, a hidden sheet."""
    costs = row(1, "Travel costs by department") + row(
        3, "Department", None, "Quarter", "Spent", "Share of budget", "Approved on"
    )
    merged = ""
    number = 4
    for at, name in enumerate(("Research", "Sales", "Support", "Legal", "Design", "Logistics")):
        for quarter in range(1, 5):
            spent = 1200 + 317 * at + 41.5 * quarter
            costs += row(
                number,
                name if quarter == 1 else None,
                None,
                f"Q{quarter}",
                (spent, 3),
                (round(0.05 * at + 0.2125 * quarter, 4), 2),
                day(2025, 3 * quarter, 10 + at),
            )
            number += 1
        merged += f'<mergeCell ref="A{number - 4}:A{number - 1}"/>'
    total = f'<row r="{number}"><c r="A{number}" t="inlineStr"><is><t>Total</t></is></c>'
    total += f'<c r="D{number}"><f>SUM(D4:D{number - 1})</f><v>50310</v></c></row>'
    suppliers = row(1, "Supplier", "City", "Payment days", "Contract until", "Is preferred")
    for at in range(90):
        suppliers += row(
            at + 2 + at // 30,
            f"Supplier {chr(65 + at % 26)}{at}",
            CITIES[at % 9],
            14 + at % 47,
            day(2026 + at % 3, 1 + at % 12, 1 + at % 28),
            "yes" if at % 7 else "no",
        )
    return workbook(
        {
            "Travel 2025": f"<sheetData>{costs}{total}</sheetData>"
            f"<mergeCells>{merged}</mergeCells>",
            "Suppliers": suppliers,
            'Lookup|state="hidden"': row(1, "Code", "Meaning") + row(2, "X17", "void"),
        },
        styles=STYLES,
    )


def handbook() -> bytes:
    """Returns a text of OpenDocument with headings, lists, a note, a link and a table."""
    rows = "".join(
        "<table:table-row>"
        + "".join(
            f"<table:table-cell><text:p>{value}</text:p></table:table-cell>"
            for value in (f"Room {at}", f"{4 + at % 9} seats", f"floor {at % 5}", CITIES[at % 9])
        )
        + "</table:table-row>"
        for at in range(40)
    )
    head = "".join(
        f"<table:table-cell><text:p>{value}</text:p></table:table-cell>"
        for value in ("Room", "Seats", "Floor", "Named after")
    )
    return opendocument(
        "text",
        '<text:h text:outline-level="1">Office handbook</text:h>'
        '<text:h text:outline-level="2">Keys and badges</text:h>'
        "<text:p>A lost badge is blocked by the reception within ten minutes."
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>At night by the guard, extension 4410.</text:p></text:note-body>"
        "</text:note></text:p>"
        '<text:h text:outline-level="2">Visitors</text:h><text:list><text:list-item>'
        "<text:p>Visitors<text:s/>sign the book at the north gate.</text:p></text:list-item>"
        "<text:list-item><text:p>Parking is booked in the "
        '<text:a xlink:href="https://example.org/parking">parking portal</text:a>.</text:p>'
        "</text:list-item></text:list>"
        '<text:h text:outline-level="2">Rooms</text:h><table:table><table:table-header-rows>'
        f"<table:table-row>{head}</table:table-row></table:table-header-rows>{rows}</table:table>",
    )


def stock() -> bytes:
    """Returns a sheet of OpenDocument."""
    rows = "".join(
        f"<table:table-row><table:table-cell><text:p>{text}</text:p></table:table-cell>"
        f'<table:table-cell office:value-type="float" office:value="{at * 13}"><text:p>{at * 13}'
        '</text:p></table:table-cell><table:table-cell office:value-type="date" '
        f'office:date-value="2026-0{1 + at % 9}-{10 + at % 19}"><text:p>{10 + at % 19}.'
        f"{1 + at % 9}.26</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="1020"/></table:table-row>'
        for at, text in enumerate(f"{one} {size}" for one in CITIES for size in ("bolt", "nut"))
    )
    head = "".join(
        f"<table:table-cell><text:p>{text}</text:p></table:table-cell>"
        for text in ("Article", "In stock", "Counted on")
    )
    return opendocument(
        "spreadsheet",
        f'<table:table table:name="Warehouse"><table:table-row>{head}</table:table-row>{rows}'
        '<table:table-row table:number-rows-repeated="1048500"/></table:table>',
    )


def review() -> bytes:
    """Returns a presentation of OpenDocument."""
    pages = "".join(
        f'<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>{title}'
        f"</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>{text}</text:p>"
        f"</draw:text-box></draw:frame><presentation:notes><draw:frame><draw:text-box><text:p>"
        f"{note}</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"
        for title, text, note in (
            ("Hiring", "Eleven engineers joined in spring.", "Mention the Brno office."),
            ("Churn", "Cancellations fell to 2.4 percent.", "Ask Mara for the raw numbers."),
        )
    )
    return opendocument("presentation", pages)


def slides() -> bytes:
    """Returns a presentation with a waterfall chart."""
    frame = (
        "<mc:AlternateContent><mc:Choice><p:graphicFrame><a:graphic><a:graphicData "
        f'uri="{CHART}"><cx:chart r:id="c"/></a:graphicData></a:graphic></p:graphicFrame>'
        "</mc:Choice><mc:Fallback><p:sp/></mc:Fallback></mc:AlternateContent>"
    )
    return pptx(
        [shape("Cash", "title") + frame],
        **{
            "ppt/slides/_rels/slide0.xml.rels": "<Relationships><Relationship Id='c' "
            "Target='../charts/chartEx1.xml'/></Relationships>",
            "ppt/charts/chartEx1.xml": chart_ex(
                "Cash bridge 2025",
                ["Opening balance", "Licences", "Salaries", "Taxes", "Closing balance"],
                [830, 412, -365, -97.5, 779.5],
                "Million euros",
            ),
        },
    )


def land() -> bytes:
    """Returns a Word document with a treemap."""
    parents = '<cx:lvl><cx:pt idx="0">Farmland</cx:pt><cx:pt idx="2">Forest</cx:pt></cx:lvl>'
    body = paragraph("Land use in the county") + (
        '<w:p><w:r><w:drawing><a:graphicData><cx:chart r:id="c"/></a:graphicData></w:drawing></w:r>'
        "</w:p>"
    )
    return docx(
        body,
        **{
            "word/_rels/document.xml.rels": "<Relationships><Relationship Id='c' "
            "Target='charts/chartEx1.xml'/></Relationships>",
            "word/charts/chartEx1.xml": chart_ex(
                "Land use", ["Barley", "Rye", "Beech", "Spruce"], [41, 17, 23, 64], more=parents
            ),
        },
    )


def mail() -> bytes:
    """Returns a message with attached texts."""
    table = "Device,Serial,Warranty until\n" + "".join(
        f"Scanner {at},SN-{7000 + 13 * at},202{6 + at % 3}-0{1 + at % 9}-15\n" for at in range(40)
    )
    attached = (
        ("text/csv", "devices.csv", table),
        ("text/plain", "notes.txt", "Minutes\n\nThe freezer in the lab is replaced on Friday.\n"),
        ("text/html", "offer.html", "<h1>Offer</h1><p>The offer from Kestrel expires in May."),
        ("application/octet-stream", "cable.csv", "Cable,Length\nviolet,17 m\norange,23 m\n"),
    )
    parts = "".join(
        f"--x\nContent-Type: {kind}\nContent-Transfer-Encoding: base64\n"
        f'Content-Disposition: attachment; filename="{name}"\n\n'
        f"{b64encode(text.encode()).decode()}\n"
        for kind, name, text in attached
    )
    return (
        "From: ada@example.org\nTo: bo@example.org\nSubject: Devices\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: text/plain\n\n'
        f"The lists are attached.\n{parts}--x--\n"
    ).encode()


def files() -> dict[str, bytes]:
    """Returns the files by name."""
    topics = ("greetings", "numbers", "directions", "ordering food", "the weather", "farewells")
    lessons = [
        f"Lesson {at}\nThis hour is about {topic}.\nRepeat each word three times."
        for at, topic in enumerate(topics, 1)
    ]
    languages = [
        "C\nMemory is freed by hand.",
        "C++\nMemory is freed by destructors.",
        "C#\nMemory is freed by a collector.",
    ]
    return {
        "budget.xlsx": budget(),
        "handbook.odt": handbook(),
        "stock.ods": stock(),
        "review.odp": review(),
        "cash.pptx": slides(),
        "land.docx": land(),
        "devices.eml": mail(),
        "course.pdf": pdf(lessons),
        "languages.pdf": pdf(languages),
    }


def main() -> None:
    """Prints how many questions are answered, of each file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--missed", action="store_true", help="print the questions that miss")
    arguments = parser.parse_args()
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:

        def run(*command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, "-m", "ibidem", *command],
                cwd=folder,
                check=False,
                capture_output=True,
                text=True,
            )

        for name, data in files().items():
            (Path(folder) / name).write_bytes(data)
        run("init").check_returncode()
        print(run("commit", ".", "-m", "The files").stdout)
        hits = [
            words(each["answer"])
            in words(run("prompt", each["question"], "--budget", str(arguments.budget)).stdout)
            for each in questions
        ]
    for name in files():
        own = [hit for hit, each in zip(hits, questions, strict=True) if each["path"] == name]
        print(f"{name:16}{sum(own):3} of {len(own)}")
    print(f"{'all':16}{sum(hits):3} of {len(hits)}")
    for each, hit in zip(questions, hits, strict=True):
        if arguments.missed and not hit:
            print(f"    {each['path']}: {each['question']}")


if __name__ == "__main__":
    main()

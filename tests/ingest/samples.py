"""Small sources of formats that are archives or binary, built from their parts."""

import io
import zipfile
import zlib

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'


def archive(parts):
    """The bytes of a zip file of these parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return stream.getvalue()


def docx(body, **parts):
    document = f"<w:document><w:body>{body}</w:body></w:document>"
    return archive({"word/document.xml": document, **parts})


def paragraph(text, style="", inner=""):
    return (
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{inner}</w:pPr>'
        f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    )


def epub(chapters, *, entries="", head=""):
    """A book of these chapters, by the name that the manifest gives."""
    items = "".join(
        f'<item id="c{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    package = (
        f"{head}<package><metadata><dc:title>The &amp; Book</dc:title>"
        f"<dc:creator>Ada</dc:creator></metadata><manifest>{items}{entries}</manifest>"
        f"<spine>{spine}</spine></package>"
    )
    pages = {f"OEBPS/{name}": text for name, text in chapters.items() if text is not None}
    return archive({"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": package, **pages})


def pptx(slides, **others):
    """A presentation of slides, each the XML of its shapes."""
    relations = "".join(
        f'<Relationship Id="r{number}" Target="slides/slide{number}.xml"/>'
        for number in range(len(slides))
    )
    order = "".join(f'<p:sldId r:id="r{number}"/>' for number in range(len(slides)))
    root = f"<p:presentation><p:sldIdLst>{order}</p:sldIdLst></p:presentation>"
    parts = {
        "ppt/presentation.xml": root,
        "ppt/_rels/presentation.xml.rels": f"<Relationships>{relations}</Relationships>",
    }
    for number, shapes in enumerate(slides):
        parts[f"ppt/slides/slide{number}.xml"] = f"<p:sld>{shapes}</p:sld>"
    return archive({**parts, **others})


def shape(text, kind=""):
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    holder = f'<p:ph type="{kind}"/>' if kind else ""
    return f"<p:sp>{holder}<p:txBody>{lines}</p:txBody></p:sp>"


def pdf(pages, *, kids=None, packed=None, others=None):
    """A PDF of pages, each its lines.

    kids: what the tree of pages lists, instead of the pages.
    packed: the bytes of the first page's content before compression, instead of its lines.
    others: further objects, or other ones: 3 is the font.
    """
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        **(others or {}),
    }
    numbers = [10 + 2 * index for index in range(len(pages))]
    listed = kids or " ".join(f"{number} 0 R" for number in numbers)
    objects[2] = f"<< /Type /Pages /Count {len(pages)} /Kids [{listed}] >>".encode()
    for index, (number, line) in enumerate(zip(numbers, pages, strict=True)):
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        ).encode()
        shown = " T* ".join(f"({each}) Tj" for each in line.split("\n"))
        content = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode()
        if packed is not None and index == 0:
            content = packed
        data = zlib.compress(content, 9)
        objects[number + 1] = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (
            len(data),
            data,
        )
    out, places = b"%PDF-1.4\n", {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start, size = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 %s \n" % (places.get(number, 0), b"n" if number in places else b"f")
    return out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)


def workbook(sheets, *, head="", styles="", shared="", **others):
    """A workbook of sheets: by name the XML of its rows, or of all that is in it; an attribute of
    the sheet may follow the name after a bar."""
    relations = '<Relationship Id="s" Target="sharedStrings.xml"/>'
    listed = ""
    parts = {}
    for number, (name, rows) in enumerate(sheets.items()):
        name, _, attributes = name.partition("|")
        target = f"worksheets/sheet{number}.xml"
        relations += f'<Relationship Id="r{number}" Target="{target}"/>'
        listed += f'<sheet name="{name}" {attributes} r:id="r{number}"/>'
        body = rows if "<sheetData" in rows else f"<sheetData>{rows}</sheetData>"
        parts[f"xl/{target}"] = f"<worksheet>{body}</worksheet>"
    parts["xl/workbook.xml"] = f"<workbook>{head}<sheets>{listed}</sheets></workbook>"
    parts["xl/_rels/workbook.xml.rels"] = f"<Relationships>{relations}</Relationships>"
    if styles:
        parts["xl/styles.xml"] = f"<styleSheet>{styles}</styleSheet>"
    if shared:
        parts["xl/sharedStrings.xml"] = f"<sst>{shared}</sst>"
    return archive({**parts, **others})


def row(number, *values):
    """A row of a sheet: texts, numbers, a number with the index of its style, None for no cell."""
    cells = ""
    for index, value in enumerate(values):
        name = f'r="{chr(65 + index)}{number}"'
        if isinstance(value, str):
            cells += f'<c {name} t="inlineStr"><is><t>{value}</t></is></c>'
        elif isinstance(value, tuple):
            cells += f'<c {name} s="{value[1]}"><v>{value[0]}</v></c>'
        elif value is not None:
            cells += f"<c {name}><v>{value}</v></c>"
    return f'<row r="{number}">{cells}</row>'


def opendocument(kind, body, *, styles="", **others):
    """A file of OpenDocument: `kind` is text, spreadsheet or presentation."""
    content = (
        f"<office:document-content><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
        "</office:document-content>"
    )
    return archive(
        {"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": content, **others}
    )


def chart_ex(title, labels, values, name="Amount", *, more=""):
    """A chart of the newer kinds, with one series."""
    texts = "".join(f'<cx:pt idx="{at}">{text}</cx:pt>' for at, text in enumerate(labels))
    numbers = "".join(f'<cx:pt idx="{at}">{value}</cx:pt>' for at, value in enumerate(values))
    return (
        f'<cx:chartSpace><cx:chartData><cx:data id="0"><cx:strDim type="cat"><cx:f>A</cx:f>'
        f"<cx:lvl>{texts}</cx:lvl>{more}</cx:strDim>"
        f'<cx:numDim type="val"><cx:f>B</cx:f><cx:lvl formatCode="General">{numbers}</cx:lvl>'
        "</cx:numDim></cx:data></cx:chartData><cx:chart><cx:title><cx:tx><cx:txData>"
        f"<cx:v>{title}</cx:v></cx:txData></cx:tx></cx:title><cx:plotArea><cx:plotAreaRegion>"
        f'<cx:series layoutId="waterfall"><cx:tx><cx:txData><cx:f>B1</cx:f><cx:v>{name}</cx:v>'
        '</cx:txData></cx:tx><cx:dataId val="0"/></cx:series></cx:plotAreaRegion></cx:plotArea>'
        "</cx:chart></cx:chartSpace>"
    )

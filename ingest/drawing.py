"""Charts and diagrams (SmartArt) of Word and PowerPoint to text: a table each, and a nested list.

A chart keeps a copy of the numbers that it shows, a diagram its texts and which of them are parts
of which. The newer kinds of chart, such as a waterfall or a treemap, keep them in another form: the
levels of a hierarchy are one label, outermost first. Layout is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from ibidem.ingest.archive import Archive, resolved
from ibidem.ingest.extraction import Writer, one_line
from ibidem.ingest.html_tree import Element, child, local
from ibidem.ingest.number_format import number_text

TAGS = frozenset({"c:chart", "cx:chart", "dgm:relids"})
"""The elements by which a document refers to a chart or a diagram."""
_DEPTH_MAX = 9
_LEVELS = frozenset("012345678")
"""Of paragraphs in a shape."""
_TITLED = frozenset({"chart", "catax", "dateax", "valax"})


def write_drawing(
    writer: Writer, archive: Archive, name: str, links: dict[str, str], part: Element
) -> None:
    """Writes the chart or diagram to which an element refers.

    Args:
        name: the part of the archive that has the element.
        links: the targets of its relations.
    """
    key = "r:dm" if part.tag == "dgm:relids" else "r:id"
    target = resolved(name, links.get(part.attributes.get(key, ""), ""))
    if target not in archive:
        writer.warnings.append(f"drawing {target!r:.200} is not in the archive, left out")
    elif part.tag == "c:chart":
        _write_chart(writer, archive.xml(target))
    elif part.tag == "cx:chart":
        _write_newer_chart(writer, archive.xml(target))
    else:
        writer.block("list", "\n".join(_items(archive.xml(target))))


def _write_chart(writer: Writer, chart: Element) -> None:
    series = [part for part in chart.walk() if local(part) == "ser"]
    is_1904 = any(
        local(part) == "date1904" and part.attributes.get("val", "1") in ("1", "true")
        for part in chart.walk()
    )
    titles: dict[str, list[str]] = {}
    for part in chart.walk():
        if local(part) in _TITLED and (title := _title(part)):
            titles.setdefault(local(part), []).append(title)
    rows: dict[tuple[int, str], dict[int, str]] = {}
    for column, one in enumerate(series):
        labels = _points(child(one, "cat", "xval"), is_1904=is_1904)
        for at, value in _points(child(one, "val", "yval"), is_1904=is_1904).items():
            rows.setdefault((at, labels.get(at, str(at + 1))), {})[column] = value
    names = [" ".join(_points(child(one, "tx")).values()) for one in series]
    header = [", ".join(titles.get("catax", titles.get("dateax", []))), *names]
    cells = (
        [label, *(values.get(column, "") for column in range(len(series)))]
        for (_, label), values in sorted(rows.items())
    )
    caption = ", ".join([*titles.get("chart", []), *titles.get("valax", [])])
    if rows or any(header):
        writer.table(chain([header], cells), caption=caption)
    else:
        writer.block("paragraph", caption)


def _write_newer_chart(writer: Writer, chart: Element) -> None:
    kept = {part.attributes.get("id", ""): part for part in chart.walk() if local(part) == "data"}
    captions = [
        title for part in chart.walk() if local(part) == "chart" and (title := _title(part))
    ]
    is_written = False
    for one in (part for part in chart.walk() if local(part) == "series"):
        link = child(one, "dataid")
        data = kept.get("" if link is None else link.attributes.get("val", ""))
        if data is None:
            continue
        labels: dict[int, str] = {}
        values: dict[int, str] = {}
        for dimension in data.children:
            if isinstance(dimension, Element) and local(dimension) == "strdim":
                labels = labels or _levels(dimension)
            elif isinstance(dimension, Element) and local(dimension) == "numdim":
                values = values or _levels(dimension)
        name = "" if (named := child(one, "tx")) is None else _title_text(named)
        rows = [[labels.get(at, ""), values.get(at, "")] for at in sorted({*labels, *values})]
        if rows:
            writer.table(chain([["", name]], rows), caption=", ".join(captions))
            is_written = True
    if not is_written:
        writer.block("paragraph", ", ".join(captions))


def _levels(dimension: Element) -> dict[int, str]:
    """Returns the labels or numbers of a newer chart by their index. Levels go from the innermost
    outwards; a label of an outer one holds up to the next."""
    found: dict[int, str] = {}
    is_number = local(dimension) == "numdim"
    for depth, level in enumerate(one for one in dimension.walk() if local(one) == "lvl"):
        code = level.attributes.get("formatcode", "")
        points = {
            int(index): one_line(point.text())
            for point in level.children
            if isinstance(point, Element)
            and (index := point.attributes.get("idx", "")).isdecimal()
            and len(index) < 8
        }
        above = ""
        for at in sorted({*points, *found}):
            text = points.get(at, "")
            if depth:
                above = text or above
                found[at] = f"{above} {found.get(at, '')}".strip()
            else:
                found[at] = number_text(text, code) if is_number else text
    return found


def _points(part: Element | None, *, is_1904: bool = False) -> dict[int, str]:
    """Returns the texts or numbers that a chart keeps, by their index."""
    found: dict[int, str] = {}
    if part is None:
        return found
    is_number = False
    code = ""
    for each in part.walk():
        if local(each) in ("numref", "numlit"):
            is_number = True
        elif local(each) == "formatcode":
            code = each.text()
        elif local(each) == "pt":
            index = each.attributes.get("idx", "")
            value = child(each, "v")
            if value is not None and index.isdecimal() and len(index) < 8:
                text = one_line(value.text())
                text = number_text(text, code, is_1904=is_1904) if is_number else text
                at = int(index)
                found[at] = f"{text} {found[at]}" if at in found else text
    if not found and (value := child(part, "v")) is not None:
        found[0] = one_line(value.text())
    return found


def _items(diagram: Element) -> Iterator[str]:
    """Yields the texts of a diagram, each indented below the one that it is a part of."""
    texts: dict[str, str] = {}
    for part in diagram.walk():
        if local(part) == "pt" and part.attributes.get("type", "node") in ("node", "asst"):
            body = child(part, "t")
            lines = () if body is None else (one_line(line) for line in paragraphs(body))
            texts[part.attributes.get("modelid", "")] = " ".join(filter(None, lines))
    links = [
        part.attributes
        for part in diagram.walk()
        if local(part) == "cxn" and part.attributes.get("type", "parOf") == "parOf"
    ]
    below: dict[str, list[str]] = {}
    for link in sorted(links, key=_order):
        below.setdefault(link.get("srcid", ""), []).append(link.get("destid", ""))
    tops = [one for source, ids in below.items() if source not in texts for one in ids]
    stack = [(one, 0) for one in reversed([*tops, *texts])]
    while stack:
        one, depth = stack.pop()
        text = texts.pop(one, None)
        if text is not None:
            if text:
                yield f"{'  ' * min(depth, _DEPTH_MAX)}- {text}"
            stack.extend((each, depth + 1) for each in reversed(below.get(one, [])))


def _order(link: Mapping[str, str]) -> tuple[int, str]:
    """Returns the key by which the links from one text ascend."""
    number = link.get("srcord", "")
    return len(number), number


def paragraphs(part: Element) -> Iterator[str]:
    """Yields the texts of the paragraphs of a shape or a title."""
    return (text for _, text in paragraphs_by_level(part))


def paragraphs_by_level(part: Element) -> Iterator[tuple[int, str]]:
    """Yields the texts of the paragraphs of a shape, each with its level in a list, from 0."""
    for paragraph in part.walk():
        if paragraph.tag == "a:p":
            layout = paragraph.find("a:ppr")
            level = "" if layout is None else layout.attributes.get("lvl", "")
            text = "".join(
                " " if run.tag == "a:br" else run.text()
                for run in paragraph.walk()
                if run.tag in ("a:t", "a:br")
            )
            yield int(level) if level in _LEVELS else 0, one_line(text)


def _title(part: Element) -> str:
    """Returns the title of a chart or an axis, which may be that of a cell."""
    title = child(part, "title")
    return "" if title is None else _title_text(title)


def _title_text(title: Element) -> str:
    text = one_line(" ".join(paragraphs(title)))
    if text:
        return text
    tx = title if local(title) == "tx" else child(title, "tx")
    data = None if tx is None else child(tx, "txdata")
    return " ".join(_points(tx if data is None else data).values())

"""Charts and diagrams (SmartArt) of Word and PowerPoint to text: a table each, and a nested list.

A chart keeps a copy of the numbers that it shows, a diagram its texts and which of them are parts
of which. Their layout is not read, nor are the newer kinds of chart, such as a waterfall.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import chain

from ibidem.ingest.archive import Archive, resolved
from ibidem.ingest.extraction import Writer, one_line
from ibidem.ingest.html_tree import Element

TAGS = frozenset({"c:chart", "dgm:relids"})
"""The elements by which a document refers to a chart or a diagram."""
_DEPTH_MAX = 9
_TITLED = frozenset({"chart", "catax", "dateax", "valax"})
_DATE_FORMAT = re.compile(r"(?<![a-z])[mhs]*[dy][dmyhs]*(?![a-z])", re.IGNORECASE)
_NO_DATE = re.compile(r"\"[^\"]*\"|\[[^\]]*\]|\\.")
_DAY_ZERO = date(1899, 12, 30)
_DAYS_TO_1904 = 1462
"""Files of older programs for the Mac count from the first day of 1904."""
_DAY_MAX = 2_958_465
"""The last day of the year 9999."""


def write_drawing(
    writer: Writer, archive: Archive, name: str, links: dict[str, str], part: Element
) -> None:
    """Writes the chart or diagram to which an element refers.

    Args:
        name: the part of the archive that has the element.
        links: the targets of its relations.
    """
    key = "r:id" if part.tag == "c:chart" else "r:dm"
    target = resolved(name, links.get(part.attributes.get(key, ""), ""))
    if target not in archive:
        writer.warnings.append(f"drawing {target!r:.200} is not in the archive, left out")
    elif part.tag == "c:chart":
        _write_chart(writer, archive.xml(target))
    else:
        writer.block("list", "\n".join(_items(archive.xml(target))))


def _write_chart(writer: Writer, chart: Element) -> None:
    series = [part for part in chart.walk() if _local(part) == "ser"]
    is_1904 = any(
        _local(part) == "date1904" and part.attributes.get("val", "1") in ("1", "true")
        for part in chart.walk()
    )
    days = _DAYS_TO_1904 if is_1904 else 0
    titles: dict[str, list[str]] = {}
    for part in chart.walk():
        if _local(part) in _TITLED and (title := _title(part)):
            titles.setdefault(_local(part), []).append(title)
    rows: dict[tuple[int, str], dict[int, str]] = {}
    for column, one in enumerate(series):
        labels = _points(_child(one, "cat", "xval"), days)
        for at, value in _points(_child(one, "val", "yval"), days).items():
            rows.setdefault((at, labels.get(at, str(at + 1))), {})[column] = value
    names = [" ".join(_points(_child(one, "tx")).values()) for one in series]
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


def _points(part: Element | None, days: int = 0) -> dict[int, str]:
    """Returns the texts or numbers that a chart keeps, by their index. `days` is from the first
    day of most files to the day from which its dates are counted."""
    found: dict[int, str] = {}
    if part is None:
        return found
    is_number = is_date = False
    for each in part.walk():
        if _local(each) in ("numref", "numlit"):
            is_number = True
        elif _local(each) == "formatcode":
            is_date = _DATE_FORMAT.search(_NO_DATE.sub("", each.text())) is not None
        elif _local(each) == "pt":
            index = each.attributes.get("idx", "")
            value = _child(each, "v")
            if value is not None and index.isdecimal() and len(index) < 8:
                text = one_line(value.text())
                text = _number(text, days if is_date else None) if is_number else text
                at = int(index)
                found[at] = f"{text} {found[at]}" if at in found else text
    if not found and (value := _child(part, "v")) is not None:
        found[0] = one_line(value.text())
    return found


def _number(text: str, days: int | None) -> str:
    """Returns a number as it is shown, as a date if `days` are given; any other text unchanged."""
    try:
        number = float(text)
    except ValueError:
        return text
    if days is not None and 1 <= number + days <= _DAY_MAX:
        return (_DAY_ZERO + timedelta(days=int(number + days))).isoformat()
    return f"{number:.15g}"


def _items(diagram: Element) -> Iterator[str]:
    """Yields the texts of a diagram, each indented below the one that it is a part of."""
    texts: dict[str, str] = {}
    for part in diagram.walk():
        if _local(part) == "pt" and part.attributes.get("type", "node") in ("node", "asst"):
            body = _child(part, "t")
            lines = () if body is None else (one_line(line) for line in paragraphs(body))
            texts[part.attributes.get("modelid", "")] = " ".join(filter(None, lines))
    links = [
        part.attributes
        for part in diagram.walk()
        if _local(part) == "cxn" and part.attributes.get("type", "parOf") == "parOf"
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
    for paragraph in part.walk():
        if paragraph.tag == "a:p":
            yield one_line(
                "".join(
                    " " if run.tag == "a:br" else run.text()
                    for run in paragraph.walk()
                    if run.tag in ("a:t", "a:br")
                )
            )


def _title(part: Element) -> str:
    """Returns the title of a chart or an axis, which may be that of a cell."""
    title = _child(part, "title")
    if title is None:
        return ""
    text = one_line(" ".join(paragraphs(title)))
    return text or " ".join(_points(_child(title, "tx")).values())


def _child(part: Element, *names: str) -> Element | None:
    """Returns the first child of some name, without its prefix."""
    children = (one for one in part.children if isinstance(one, Element))
    return next((one for one in children if _local(one) in names), None)


def _local(part: Element) -> str:
    return part.tag.rpartition(":")[2]

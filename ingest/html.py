"""HTML to text: headings, paragraphs, lists, tables as rows, code, links.

The parts that a site repeats on every page are left out: scripts, styles, navigation, forms,
footers. If a page marks its own part (`main`), only that part is read. What is nothing but links
within the page, such as a table of contents, is left out too: the headings say the same.

No target of a link interrupts the text, since what is quoted and searched is what a reader of the
page sees. A target on the same site becomes one of the passage's `targets`; another one stands at
the end of its line or below the text, as the definition of a reference link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import takewhile

from ibidem.ingest.extraction import LINK_TEXT, Extraction, Writer, link_text, one_line
from ibidem.ingest.html_tree import Element, parse, words
from ibidem.ingest.sheet import Row, filled, title_above, with_one_header, write_rows
from ibidem.ingest.split import ITEMS_CHARS_MAX, heading_of
from ibidem.objects.record import record

LINK_CHARS_MAX = 500
COLUMNS_MAX = 1000
"""The columns that one cell may span, in any browser."""
_SPANNED = 20
_SPANNED_MIN = 10_000
"""The cells and characters that a table may have by the spans of its cells, for each that it has
without them, and in any case. The spans of one with more are ignored."""

_DROPPED = words(
    """
    button canvas colgroup dialog embed footer head iframe input link map menu meta nav
    noscript object option script select style svg template textarea
    """
)
_DROPPED_ROLES = frozenset(
    ("navigation", "search", "banner", "contentinfo", "complementary", "dialog", "menu", "toolbar")
)
_DROPPED_CLASSES = words(
    """
    headerlink breadcrumb breadcrumbs sphinxsidebar navbar toc toctree-wrapper
    linenos skip-link visually-hidden sr-only anchor-link md-nav navheader navfooter mainmenu
    submenu noprint no-print nosearch
    mw-editsection mw-jump-link mw-cite-backlink catlinks navbox
    """
)
_DROPPED_IDS = frozenset(("sitesub", "catlinks"))
_SIDEBAR = frozenset(("sidebar",))
"""Beside the text of a page it is the site's, within it one of the text's notes."""
_MATH = frozenset(("math",))
"""Formulas that are hidden behind a picture of them, as in MediaWiki."""
_HIDDEN = re.compile(r"(?:^|;)\s*display\s*:\s*none\b", re.IGNORECASE)
_ASIDES = words("admonition caution important note tip warning")
"""Classes of notes within a text: their titles are no headings of what comes after them."""
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LAYOUT = frozenset({"pre", "table", "blockquote", *_HEADINGS})
"""Elements that show that a list or table around them only places blocks on the page."""
_BLOCKS = words(
    """
    address article aside body center details div dl dd dt fieldset figcaption figure form
    header hgroup html li main p section summary tbody td tfoot th thead tr
    """
)
_ANCHORS = frozenset({"\u00b6", "\u00a7", "#", "\U0001f517"})
"""The texts of links from a heading to itself."""
_OWN = ("pre", "table", "ul", "ol", "dl", "dt", "dd", "div", "blockquote", "figure", "hr")
"""Elements that are written in a way of their own, or separate what is beside them."""
_CELLS = ("td", "th")
_INTEGER = re.compile(r"\s*(-?[0-9]{1,9})")
_EXPONENT = re.compile(r"\s*([-+\u2212]?[0-9]+|[a-z])\s*")
_NUMBER = re.compile(r"\s*([0-9]+)\s*")
_BREAKS = re.compile(r"(?<=[!-~])\u200b|\u200b(?=[!-~])|\u00ad")
"""Where a line may break within a name, which is no part of it. Without Latin letters beside it,
U+200B may separate words."""
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight)-([A-Za-z0-9+#_.-]+)")
_NO_LANGUAGES = frozenset({"default", "none", "text", "plaintext", "source"})
_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE
)
_SNIFFED_BYTES = 2048
_MARKS = re.compile("[\x1c-\x1f]")
"""Characters that mark links and line breaks here and have no meaning in a page."""
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_BULLETS = re.compile(r"(?:[\s\[\]]|^ *(?:-|[0-9]+\.)(?= ))*", re.MULTILINE)
_CONTENTS_TITLE = re.compile(r"\W*(?:table of )?contents\W*", re.IGNORECASE)
_LINE_END = re.compile(r"[.,:;!?)]*(?:\n|\Z)")


def extract(data: bytes) -> Extraction:
    """Returns the text of a page."""
    writer = Writer()
    title = write_html(writer, decode(data))
    if not writer.marks:
        writer.warnings.append("no text: the page is empty, or made by its scripts")
    return writer.finish(title)


def decode(data: bytes) -> str:
    """Returns a page as text: by its byte order mark, as UTF-8, by its `meta`, as windows-1252."""
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(name, "replace").removeprefix("\ufeff")
    declared = _CHARSET.search(data, 0, _SNIFFED_BYTES)
    for name in ("utf-8", declared[1].decode("ascii") if declared else "windows-1252"):
        try:
            return data.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("windows-1252", "replace")


def write_html(writer: Writer, source: str, level: int = 0) -> str | None:
    """Writes the text of a page, with its headings `level` levels deeper; returns its title."""
    root = parse(_MARKS.sub("", source))
    for each in root.walk():
        each.children = [
            _BREAKS.sub("", part) if isinstance(part, str) else part for part in each.children
        ]
    contents = _contents(root)
    _drop_sidebars(root)
    before = len(writer.marks)
    for content in contents:
        _Page(writer, level).page(content)
        if len(writer.marks) > before:
            break
    headings = [element for element in content.walk() if element.tag == "h1"]
    own = headings if len(headings) == 1 else []  # several are the parts of the page
    for element in (*own, root.find("title")):
        if element is not None and (text := one_line(_inline(element, links=False))):
            return text
    return None


def _contents(root: Element) -> list[Element]:
    """Returns the elements of a page to read: the first candidate that has text."""
    main = [element for element in root.walk() if _is_main(element)]
    articles = [element for element in root.walk() if element.tag == "article"]
    return [*main[:1], *(articles if len(articles) == 1 else []), root]


def _is_main(element: Element) -> bool:
    return element.tag == "main" or element.attributes.get("role") == "main"


def _drop_sidebars(element: Element) -> None:
    """Removes what stands beside the text of a page."""
    element.children = [
        part for part in element.children if isinstance(part, str) or not _has_class(part, _SIDEBAR)
    ]
    for part in element.children:
        if isinstance(part, Element) and part.tag != "article" and not _is_main(part):
            _drop_sidebars(part)


def _is_dropped(element: Element) -> bool:
    attributes = element.attributes
    return (
        element.tag in _DROPPED
        or "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") in _DROPPED_ROLES
        or attributes.get("id", "").lower() in _DROPPED_IDS
        or _has_class(element, _DROPPED_CLASSES)
        or (_HIDDEN.search(attributes.get("style", "")) is not None and not _has(element, _MATH))
    )


def _has_class(element: Element, names: frozenset[str]) -> bool:
    return not names.isdisjoint(element.attributes.get("class", "").lower().split())


class _Page:
    """A page being written: text is collected in a line until a block begins or ends."""

    def __init__(self, writer: Writer, level: int) -> None:
        self._writer = writer
        self._level = level
        self._line: list[str] = []
        self._term = ""
        """The term of a definition list, or the title of a note: it becomes part of the block that
        follows."""
        self._names: list[str] = []
        """The terms, as a heading has them."""
        self._marker = ""
        """The number of an item, before the text that it begins with."""
        self._quotes = 0
        """The number of quotations around a text."""
        self._is_aside = False
        self._language: str | None = None
        self._section: int | None = None
        """The level of the section that the last term of the list is the heading of."""

    def page(self, root: Element) -> None:
        self._parts(root)
        self._end_term()

    def _parts(self, element: Element) -> None:
        """Writes the content of an element as separate blocks."""
        self._flush()
        for child in element.children:
            self._part(child)
        self._flush()

    def _part(self, part: Element | str) -> None:
        if isinstance(part, str):
            self._line.append(part)
        elif _is_dropped(part):
            pass
        elif part.tag in _HEADINGS:
            self._flush()
            marker, self._marker = self._marker, ""
            self._end_term()
            text = marker + _inline(part, links=False)
            if self._is_aside:
                self._term = _lines(text) + "\n"
            else:
                self._writer.heading(_HEADINGS[part.tag] + self._level, text)
        elif part.tag in _OWN:
            self._flush()
            self._block_of(part)
        elif part.tag in _BLOCKS:
            self._parts(part)
        elif _has(part, _BLOCKS | _LAYOUT):
            for child in part.children:  # an inline element around blocks
                self._part(child)
        else:
            self._line.append(_inline(part))

    def _block_of(self, part: Element) -> None:
        match part.tag:
            case "pre":
                self._end_term()
                self._writer.code(_pre_text(part), _language(part) or self._language)
            case "table":
                self._table(part)
            case "ul" | "ol":
                self._list(part)
            case "blockquote":
                self._quote(part)
            case "dl":
                self._end_term()
                around, self._section = self._section, None
                self._parts(part)
                self._end_description()
                self._section = around
            case "dt":
                if not self._names:
                    self._end_description()
                self._term += self._quoted(_lines(_inline(part))) + "\n"
                self._names.append(one_line(_inline(part, links=False)))
            case "dd":
                self._description(part)
            case "figure":
                with self._writer.together():
                    self._parts(part)
            case "div":
                before = self._language, self._is_aside
                self._language = _language(part) or self._language
                is_aside = _has_class(part, _ASIDES)
                self._is_aside = self._is_aside or is_aside
                with self._writer.together() if is_aside else nullcontext():
                    self._parts(part)
                self._language, self._is_aside = before

    def _flush(self) -> None:
        text = _lines("".join(self._line))
        self._line.clear()
        if text:
            self._write("paragraph", text)

    def _end_term(self) -> None:
        self._flush()
        if self._term or self._marker:
            self._write("paragraph", "")

    def _write(self, kind: str, text: str) -> None:
        if self._term or not _is_contents(text):
            kind = "quote" if self._quotes and text else kind
            text = (self._term + self._quoted(self._marker + text)).rstrip(" ")
            if kind == "list":
                shown = "\n".join(_with_targets(line, is_item=True) for line in text.split("\n"))
            else:
                shown = _with_targets(text)
            self._writer.block(kind, shown, has_links=True)
        self._term, self._names, self._marker = "", [], ""

    def _description(self, element: Element) -> None:
        """Writes the description of a term; the term is the heading of a long one."""
        heading = heading_of(name := ", ".join(filter(None, self._names)))
        if not self._term or self._is_aside or not heading or not _is_long(element):
            with self._writer.together():
                self._parts(element)
                self._end_term()
            return
        self._section = max(self._writer.level, 1) + 1
        self._writer.heading(self._section, heading)
        if heading == name:
            self._term, self._names = "", []
        self._parts(element)
        self._end_term()

    def _end_description(self) -> None:
        self._end_term()
        if self._section is not None:
            self._writer.section_end(self._section)
            self._section = None

    def _list(self, element: Element) -> None:
        if _has(element, _LAYOUT):
            for part, marker in _marked(element):
                if isinstance(part, Element) and part.tag == "li":
                    self._item(part, f"{marker} " if element.tag == "ol" else "")
                else:
                    self._part(part)
            self._flush()
        elif lines := _items(element, 0):
            self._write("list", "\n".join(lines))

    def _item(self, item: Element, marker: str) -> None:
        """Writes an item, or a row, as one block."""
        self._flush()
        before = self._marker
        self._marker += marker
        with self._writer.together():
            self._parts(item)
        if self._marker == before + marker:  # without text
            self._marker = before

    def _each_row(self, element: Element) -> None:
        """Writes what each row below an element has as one block."""
        for part in element.children:
            if isinstance(part, str) or _is_dropped(part):
                self._part(part)
            elif part.tag in ("thead", "tbody", "tfoot"):
                self._each_row(part)
            elif part.tag == "tr":
                self._item(part, "")
            else:
                self._part(part)
        self._flush()

    def _table(self, element: Element) -> None:
        if _has(element, frozenset({"table"})):
            self._parts(element)
            return
        cells = _cells(element)
        if _has(element, _LAYOUT) or max(map(len, cells), default=0) < 2:
            self._each_row(element)
            return
        self._end_term()
        if loose := one_line(" ".join(_beside_cells(element))):
            self._write("paragraph", _with_targets(loose))
        caption = element.find("caption")
        title = "" if caption is None else _with_targets(_inline(caption), is_cell=True)
        rows = list(_grid(cells))
        lead = list(takewhile(lambda row: _is_line(cells[row.number]), rows))
        with self._writer.together():
            if lead:
                lines = [title, *(text for row in lead for text in row.cells.values())]
                title = title_above(lines)
                self._writer.lines(filter(None, lines), has_links=True)
            body = with_one_header(rows[len(lead) :])
            write_rows(self._writer, body, title, has_links=True)

    def _quote(self, element: Element) -> None:
        if _has(element, frozenset(_HEADINGS)):  # it only indents a part of the page
            self._parts(element)
            return
        if element.text().strip():  # what the quotation is the description of is no part of it
            self._term, self._marker = self._term + self._marker, ""
        self._quotes += 1
        if _has(element, _LAYOUT | {"ul", "ol"}):
            with self._writer.together():
                self._parts(element)
        elif text := _lines(_inline(element)):
            self._write("paragraph", text)
        self._quotes -= 1

    def _quoted(self, text: str) -> str:
        """Returns a text with the signs of the quotations around it before each line."""
        if not self._quotes or not text:
            return text
        return "\n".join(f"{'>' * self._quotes} {line}" for line in text.split("\n"))


def _is_long(element: Element) -> bool:
    return len(one_line(_inline(element))) > ITEMS_CHARS_MAX


def _is_contents(text: str) -> bool:
    """Returns whether a text is nothing but links within the page, or the title of such links."""
    if _CONTENTS_TITLE.fullmatch(text):
        return True
    links = LINK_TEXT.findall(text)
    return (
        bool(links)
        and all(target.startswith("#") for _, target in links)
        and _BULLETS.fullmatch(LINK_TEXT.sub("", text)) is not None
    )


def _with_targets(text: str, *, is_cell: bool = False, is_item: bool = False) -> str:
    """Returns a text with the targets of its links to other sites: after a link that ends its line,
    else below the text, and of an item indented, since a long list is cut at its items. A text that
    introduces the next block, and a cell, have them in their place."""
    definitions: dict[str, None] = {}
    is_inline = is_cell or text.endswith((":", "\uff1a"))

    def shown(match: re.Match[str]) -> str:
        label, target = match.groups()
        if target.startswith("#"):
            return label
        if not _ABSOLUTE.match(target):
            return link_text(label, target.partition("#")[0])
        if is_inline or "[" in label or _LINE_END.match(text, match.end()):
            return f"[{label}]({target})"
        definitions[f"[{label}]: {target}"] = None
        return f"[{label}]"

    whole = LINK_TEXT.sub(shown, text)
    if is_item:
        indent = " " * (len(text) - len(text.lstrip(" ")) + 2)
        return "\n".join((whole, *(f"{indent}{one}" for one in definitions)))
    return "\n".join((whole, *([""] if definitions else []), *definitions))


def _has(element: Element, tags: frozenset[str]) -> bool:
    """Whether an element contains one with one of these names."""
    return any(inner.tag in tags for inner in element.walk() if inner is not element)


def _marked(element: Element) -> Iterator[tuple[Element | str, str]]:
    """Yields the parts of a list that are shown, with a number for each item of an ordered one."""
    number = _integer(element, "start", 1)
    for part in element.children:
        if isinstance(part, Element) and _is_dropped(part):
            continue
        if isinstance(part, str) or part.tag in ("ul", "ol"):
            yield part, "-"
        else:
            number = _integer(part, "value", number)
            yield part, f"{number}." if element.tag == "ol" else "-"
            number += 1


def _items(element: Element, depth: int) -> list[str]:
    """Returns the items of a list as lines, with nested lists indented."""
    lines: list[str] = []
    for item, marker in _marked(element):
        if isinstance(item, str):
            if text := one_line(item):
                lines.append(f"{'  ' * depth}{marker} {text}")
            continue
        own: list[str] = []
        below: list[str] = []
        for child in item.children:
            if isinstance(child, Element) and child.tag in ("ul", "ol"):
                below += _items(child, depth + 1)
            else:
                own.append(_inline(child))
        text = one_line("".join(own))
        if item.tag in ("ul", "ol"):
            lines += _items(item, depth + 1)
        elif text:
            lines.append(f"{'  ' * depth}{marker} {text}")
        lines += below
    return lines


def _formula(element: Element) -> str:
    """Returns a formula as the page has it in TeX, else its signs in order."""
    tex = next(
        (
            one.text()
            for one in element.walk()
            if one.tag == "annotation" and "tex" in one.attributes.get("encoding", "").lower()
        ),
        element.attributes.get("alttext", ""),
    )
    written = one_line(tex)
    return f"${written}$" if written else one_line(" ".join(_signs(element)))


def _signs(element: Element) -> Iterator[str]:
    for part in element.children:
        if isinstance(part, str):
            yield part
        elif part.tag not in ("annotation", "annotation-xml"):
            yield from _signs(part)


@record
class _Cell:
    """A cell of a table."""

    text: str
    is_data: bool
    """Whether it is no part of a header."""
    height: int
    width: int


def _cells(table: Element) -> list[list[_Cell]]:
    """Returns the cells of each row, with spans that end within the table."""
    rows = list(_rows(table))
    is_marked = any(cell.tag == "th" for cell in rows[0]) if rows else False
    found = [
        [_cell(cell, len(rows) - at, is_marked=is_marked) for cell in row]
        for at, row in enumerate(rows)
    ]
    size = sum(1 + len(cell.text) for row in found for cell in row)
    spanned = sum(cell.height * (cell.width + len(cell.text)) for row in found for cell in row)
    if spanned > max(_SPANNED * size, _SPANNED_MIN):
        return [[replace(cell, height=1, width=1) for cell in row] for row in found]
    return found


def _rows(element: Element) -> Iterator[list[Element]]:
    """Yields the cells of each row below an element."""
    for part in element.children:
        if isinstance(part, str) or _is_dropped(part):
            continue
        if part.tag == "tr":
            cells = (cell for cell in part.children if isinstance(cell, Element))
            yield [cell for cell in cells if cell.tag in _CELLS and not _is_dropped(cell)]
        else:
            yield from _rows(part)


def _cell(cell: Element, height_max: int, *, is_marked: bool) -> _Cell:
    """Returns a cell. Where no header is marked, a number is what no header has."""
    text = one_line(_with_targets(_inline(cell), is_cell=True))
    is_number = any(map(str.isdecimal, text)) and not any(map(str.isalpha, text))
    is_data = cell.tag == "td" and (bool(text) if is_marked else is_number)
    height = _integer(cell, "rowspan", 1) or height_max  # 0 is all rows that follow
    width = _integer(cell, "colspan", 1)
    return _Cell(text, is_data, min(max(1, height), height_max), min(max(1, width), COLUMNS_MAX))


def _grid(rows: Sequence[Sequence[_Cell]]) -> Iterator[Row]:
    """Yields the rows of a table that have text as those of a sheet: a cell is right of those that
    rows above extend into its own."""
    last_rows: dict[int, int] = {}
    merged: dict[tuple[int, int], tuple[int, int]] = {}
    found: list[Row] = []
    for number, row in enumerate(rows):
        column = 0
        cells: dict[int, str] = {}
        for cell in row:
            while last_rows.get(column, -1) >= number:
                column += 1
            last, right = number + cell.height - 1, column + cell.width
            if last > number:
                last_rows.update(dict.fromkeys(range(column, right), last))
            if cell.text:
                cells[column] = cell.text
                merged[number, column] = last, right - 1
            column = right
        if cells:
            found.append(Row(number, cells, any(cell.is_data for cell in row)))
    return filled(found, merged)


def _is_line(row: Sequence[_Cell]) -> bool:
    """Whether a row is a text across the table."""
    return len(row) == 1 and row[0].height == 1


def _integer(element: Element, name: str, default: int) -> int:
    """Returns the number that an attribute begins with."""
    found = _INTEGER.match(element.attributes.get(name, ""))
    return int(found[1]) if found else default


def _beside_cells(element: Element) -> Iterator[str]:
    """Yields what a table has outside its cells and its caption, where nothing belongs."""
    for part in element.children:
        if isinstance(part, str):
            yield part
        elif part.tag in ("thead", "tbody", "tfoot", "tr"):
            yield from _beside_cells(part)
        elif part.tag != "caption" and part.tag not in _CELLS:
            yield _inline(part)


def _inline(part: Element | str, *, links: bool = True) -> str:
    """Returns inline content as text: code between backticks, links as `link_text` makes them."""
    if isinstance(part, str):
        return part
    if _is_dropped(part):
        return ""
    if part.tag == "br":
        return "\n\x1f"
    if part.tag == "img":
        return part.attributes.get("alt", "")
    if part.tag == "math":
        return _formula(part)
    text = "".join(_inline(child, links=links and part.tag != "a") for child in part.children)
    if part.tag in ("code", "kbd", "samp", "tt") and text.strip() and "`" not in text and links:
        return f"`{text}`"
    if part.tag == "sup":
        return _raised(part, text)
    if part.tag == "a":
        target = part.attributes.get("href", "").strip()
        shown = one_line(text)
        if shown in _ANCHORS:
            return ""
        if links and target and shown and not target.startswith(("javascript:", "data:")):
            if shown in (target, target.removeprefix("mailto:")):
                return text
            if len(target) <= LINK_CHARS_MAX and not re.search(r"[\s()<>]", target):
                return link_text(shown, target)
        return text
    return f" {text} " if part.tag in _BLOCKS else text


def _raised(part: Element, text: str) -> str:
    """Returns a superscript: an exponent behind `^`, the number of a note in brackets."""
    if part.find("a") is None:
        exponent = _EXPONENT.fullmatch(text)
        return text if exponent is None else f"^{exponent[1]}"
    number = _NUMBER.fullmatch(part.text())
    return text if number is None else f"[{number[1]}]"


def _lines(text: str) -> str:
    """Returns text with its line breaks (`br`) and no other, and single spaces."""
    return "\n".join(filter(None, (one_line(line) for line in text.split("\x1f")))).strip("\n")


def _pre_text(element: Element) -> str:
    pieces: list[str] = []
    stack: list[Element | str] = [element]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            pieces.append(part)
        elif part.tag == "br":
            pieces.append("\n")
        elif not _is_dropped(part):
            stack.extend(reversed(part.children))
    return "".join(pieces)


def _language(element: Element) -> str | None:
    inner = [child for child in element.children if isinstance(child, Element)]
    for each in (element, *inner[:1]):
        match = _LANGUAGE.search(each.attributes.get("class", ""))
        if match is not None and match[1] not in _NO_LANGUAGES:
            return match[1].lower()
    return None

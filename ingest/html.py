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
from contextlib import nullcontext
from itertools import takewhile

from ibidem.ingest.extraction import LINK_TEXT, Extraction, Writer, one_line
from ibidem.ingest.html_table import cells_of, is_line, table_rows, text_without_cells
from ibidem.ingest.html_text import (
    BLOCKS,
    HEADINGS,
    code_text,
    has_class,
    has_tag,
    inline_text,
    is_dropped,
    item_lines,
    marked_parts,
    text_lines,
    with_targets,
)
from ibidem.ingest.html_tree import Element, parse, words
from ibidem.ingest.sheet import title_above, with_one_header, write_rows
from ibidem.ingest.split import ITEMS_CHARS_MAX, heading_of

_SIDEBAR = frozenset(("sidebar",))
"""Beside the text of a page it is the site's, within it one of the text's notes."""
_ASIDES = words("admonition caution important note tip warning")
"""Classes of notes within a text: their titles are no headings of what comes after them."""
_LAYOUT = frozenset({"pre", "table", "blockquote", *HEADINGS})
"""Elements that show that a list or table around them only places blocks on the page."""
_OWN = ("pre", "table", "ul", "ol", "dl", "dt", "dd", "div", "blockquote", "figure", "hr")
"""Elements that are written in a way of their own, or separate what is beside them."""
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
_BULLETS = re.compile(r"(?:[\s\[\]]|^ *(?:-|[0-9]+\.)(?= ))*", re.MULTILINE)
_CONTENTS_TITLE = re.compile(r"\W*(?:table of )?contents\W*", re.IGNORECASE)


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
        if element is not None and (text := one_line(inline_text(element, links=False))):
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
        part for part in element.children if isinstance(part, str) or not has_class(part, _SIDEBAR)
    ]
    for part in element.children:
        if isinstance(part, Element) and part.tag != "article" and not _is_main(part):
            _drop_sidebars(part)


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
        elif is_dropped(part):
            pass
        elif part.tag in HEADINGS:
            self._flush()
            marker, self._marker = self._marker, ""
            self._end_term()
            text = marker + inline_text(part, links=False)
            if self._is_aside:
                self._term = text_lines(text) + "\n"
            else:
                self._writer.heading(HEADINGS[part.tag] + self._level, text)
        elif part.tag in _OWN:
            self._flush()
            self._block_of(part)
        elif part.tag in BLOCKS:
            self._parts(part)
        elif has_tag(part, BLOCKS | _LAYOUT):
            for child in part.children:  # an inline element around blocks
                self._part(child)
        else:
            self._line.append(inline_text(part))

    def _block_of(self, part: Element) -> None:
        match part.tag:
            case "pre":
                self._end_term()
                self._writer.code(code_text(part), _language(part) or self._language)
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
                self._term += self._quoted(text_lines(inline_text(part))) + "\n"
                self._names.append(one_line(inline_text(part, links=False)))
            case "dd":
                self._description(part)
            case "figure":
                with self._writer.together():
                    self._parts(part)
            case "div":
                before = self._language, self._is_aside
                self._language = _language(part) or self._language
                is_aside = has_class(part, _ASIDES)
                self._is_aside = self._is_aside or is_aside
                with self._writer.together() if is_aside else nullcontext():
                    self._parts(part)
                self._language, self._is_aside = before

    def _flush(self) -> None:
        text = text_lines("".join(self._line))
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
                shown = "\n".join(with_targets(line, is_item=True) for line in text.split("\n"))
            else:
                shown = with_targets(text)
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
        if has_tag(element, _LAYOUT):
            for part, marker in marked_parts(element):
                if isinstance(part, Element) and part.tag == "li":
                    self._item(part, f"{marker} " if element.tag == "ol" else "")
                else:
                    self._part(part)
            self._flush()
        elif lines := item_lines(element, 0):
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
            if isinstance(part, str) or is_dropped(part):
                self._part(part)
            elif part.tag in ("thead", "tbody", "tfoot"):
                self._each_row(part)
            elif part.tag == "tr":
                self._item(part, "")
            else:
                self._part(part)
        self._flush()

    def _table(self, element: Element) -> None:
        if has_tag(element, frozenset({"table"})):
            self._parts(element)
            return
        cells = cells_of(element)
        if has_tag(element, _LAYOUT) or max(map(len, cells), default=0) < 2:
            self._each_row(element)
            return
        self._end_term()
        if loose := one_line(" ".join(text_without_cells(element))):
            self._write("paragraph", with_targets(loose))
        caption = element.find("caption")
        title = "" if caption is None else with_targets(inline_text(caption), is_cell=True)
        rows = list(table_rows(cells))
        lead = list(takewhile(lambda row: is_line(cells[row.number]), rows))
        with self._writer.together():
            if lead:
                lines = [title, *(text for row in lead for text in row.cells.values())]
                title = title_above(lines)
                self._writer.lines(filter(None, lines), has_links=True)
            body = with_one_header(rows[len(lead) :])
            write_rows(self._writer, body, title, has_links=True)

    def _quote(self, element: Element) -> None:
        if has_tag(element, frozenset(HEADINGS)):  # it only indents a part of the page
            self._parts(element)
            return
        if element.text().strip():  # what the quotation is the description of is no part of it
            self._term, self._marker = self._term + self._marker, ""
        self._quotes += 1
        if has_tag(element, _LAYOUT | {"ul", "ol"}):
            with self._writer.together():
                self._parts(element)
        elif text := text_lines(inline_text(element)):
            self._write("paragraph", text)
        self._quotes -= 1

    def _quoted(self, text: str) -> str:
        """Returns a text with the signs of the quotations around it before each line."""
        if not self._quotes or not text:
            return text
        return "\n".join(f"{'>' * self._quotes} {line}" for line in text.split("\n"))


def _is_long(element: Element) -> bool:
    return len(one_line(inline_text(element))) > ITEMS_CHARS_MAX


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


def _language(element: Element) -> str | None:
    inner = [child for child in element.children if isinstance(child, Element)]
    for each in (element, *inner[:1]):
        match = _LANGUAGE.search(each.attributes.get("class", ""))
        if match is not None and match[1] not in _NO_LANGUAGES:
            return match[1].lower()
    return None

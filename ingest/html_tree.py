"""Parses HTML and XML to a tree, by a scanner that is the same on every machine.

The library's parser changes with Python, and a document's text must not. This one reads any text in
one pass and never fails: errors that a browser would repair are repaired in a simple way. Entities
that a document declares are never expanded, nothing is fetched, and nesting over `DEPTH_MAX` is
flattened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from html import unescape

from ibidem.objects.record import record

DEPTH_MAX = 100


def words(text: str) -> frozenset[str]:
    """Returns the words of a text, for tables of names."""
    return frozenset(text.split())


_TAG = re.compile(
    r"""<(/?)([A-Za-z][^\s/>]*)((?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')|=)*+)>""", re.ASCII
)
_ATTRIBUTE = re.compile(
    r"""([^\s=/"'>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""", re.ASCII
)
_VOID = words(
    """
    area base br col embed hr img input link meta param source track wbr
    """
)
_RAW = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "title")}
_BLOCKS = words(
    """
    address article aside blockquote div dl fieldset figure footer form h1 h2 h3 h4 h5 h6
    header hr main nav ol p pre section table ul
    """
)
_ENDED_BY: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    "td": (frozenset({"td", "th"}), frozenset({"table", "tr"})),
    "th": (frozenset({"td", "th"}), frozenset({"table", "tr"})),
    "thead": (frozenset({"thead", "tbody"}), frozenset({"table"})),
    "tbody": (frozenset({"thead", "tbody"}), frozenset({"table"})),
    "option": (frozenset({"option"}), frozenset({"select"})),
}
"""The open elements that a start tag closes, and the elements at which the search for them
stops."""


@record(frozen=False)
class Element:
    """An element with its text and child elements; names are in lower case."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """Yields this element and all below it, in the order of the source."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(
                child for child in reversed(element.children) if isinstance(child, Element)
            )

    def find(self, tag: str) -> Element | None:
        """Returns the first element of a name below this one."""
        return next((element for element in self.walk() if element.tag == tag), None)

    def text(self) -> str:
        """Returns all text in it, unchanged."""
        pieces: list[str] = []
        stack: list[Element | str] = [self]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                pieces.append(part)
            else:
                stack.extend(reversed(part.children))
        return "".join(pieces)


def local(part: Element) -> str:
    """Returns the name of an element without its prefix."""
    return part.tag.rpartition(":")[2]


def child(part: Element, *names: str) -> Element | None:
    """Returns the first child of some name, without its prefix."""
    children = (one for one in part.children if isinstance(one, Element))
    return next((one for one in children if local(one) in names), None)


def parse(source: str, *, xml: bool = False) -> Element:
    """Returns an unnamed root that contains all of `source`.

    Args:
        source: any text.
        xml: whether to read XML: every element is closed explicitly, and none is special.
    """
    tree = _Tree(xml)
    at = 0
    while at < len(source):
        less = source.find("<", at)
        if less < 0:
            tree.text(unescape(source[at:]))
            break
        if less > at:
            tree.text(unescape(source[at:less]))
        at = _markup(source, less, tree)
    return tree.root


def _markup(source: str, at: int, tree: _Tree) -> int:
    """Reads the markup that begins with `<` at offset `at`, and returns its end."""
    if source.startswith("<!--", at):
        return _after(source, "-->", at + 4)
    if source.startswith("<![CDATA[", at):
        stop = _after(source, "]]>", at)
        tree.text(source[at + 9 : stop].removesuffix("]]>"))
        return stop
    if source.startswith(("<!", "<?"), at):
        return _after(source, ">", at)
    match = _TAG.match(source, at)
    if match is None:
        if ">" not in source[at : at + 4096] and source.find(">", at) < 0:
            tree.text(unescape(source[at:]))
            return len(source)
        tree.text("<")
        return at + 1
    name = match[2].lower()
    if match[1]:
        tree.end(name)
        return match.end()
    attributes = {
        each[1].lower(): unescape(each[2] or each[3] or each[4] or "")
        for each in _ATTRIBUTE.finditer(match[3])
    }
    tree.start(name, attributes, closed=match[3].endswith("/"))
    if tree.xml or name not in _RAW:
        return match.end()
    closing = _RAW[name].search(source, match.end())
    stop = len(source) if closing is None else closing.start()
    tree.text(unescape(source[match.end() : stop]) if name == "title" else "")
    tree.end(name)
    return stop


def _after(source: str, end: str, at: int) -> int:
    index = source.find(end, at)
    return len(source) if index < 0 else index + len(end)


class _Tree:
    def __init__(self, xml: bool) -> None:
        self.xml = xml
        self.root = Element("")
        self._open = [self.root]

    def text(self, text: str) -> None:
        if text:
            self._open[-1].children.append(text)

    def start(self, name: str, attributes: dict[str, str], *, closed: bool) -> None:
        if not self.xml:
            if name in _BLOCKS:
                self._end_of(frozenset({"p"}), frozenset({"td", "th", "li", "dd", "div"}))
            if name in _ENDED_BY:
                self._end_of(*_ENDED_BY[name])
        element = Element(name, attributes)
        self._open[-1].children.append(element)
        leaf = closed if self.xml else name in _VOID
        if not leaf and len(self._open) < DEPTH_MAX:
            self._open.append(element)

    def end(self, name: str) -> None:
        for index in range(len(self._open) - 1, 0, -1):
            if self._open[index].tag == name:
                del self._open[index:]
                return

    def _end_of(self, names: frozenset[str], borders: frozenset[str]) -> None:
        for index in range(len(self._open) - 1, 0, -1):
            tag = self._open[index].tag
            if tag in names:
                del self._open[index:]
                return
            if tag in borders:
                return

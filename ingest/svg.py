"""SVG to text: what a picture says, without its paths.

The texts in it are lines, in the order of the source; so are its descriptions, and the HTML that
programs for diagrams put in their boxes. Most pictures have none, and are
documents without text.
"""

from __future__ import annotations

from collections.abc import Iterator

from ibidem.ingest.extraction import Extraction, Writer, one_line
from ibidem.ingest.html import decode
from ibidem.ingest.html_tree import Element, local, parse

_TEXTS = frozenset({"desc", "text", "foreignobject"})
_DROPPED = frozenset({"style", "script", "metadata"})


def extract(data: bytes) -> Extraction:
    """Returns the text of a picture."""
    root = parse(decode(data), xml=True)
    titles = (one for one in root.walk() if local(one) == "title")
    writer = Writer()
    writer.block("paragraph", "\n".join(dict.fromkeys(filter(None, _lines(root)))))
    return writer.finish(next((title.text() for title in titles), None))


def _lines(part: Element) -> Iterator[str]:
    for child in part.children:
        if isinstance(child, Element) and local(child) not in _DROPPED:
            if local(child) in _TEXTS:
                yield one_line(_text(child))
            else:
                yield from _lines(child)


def _text(part: Element) -> str:
    """Returns the text of an element, with a space before each part that has a place of its own."""
    pieces = []
    for child in part.children:
        if isinstance(child, str):
            pieces.append(child)
        elif local(child) not in _DROPPED:
            is_apart = local(child) != "tspan" or not child.attributes.keys().isdisjoint("xy")
            pieces.append(f"{' ' * is_apart}{_text(child)}")
    return "".join(pieces)

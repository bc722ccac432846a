"""EPUB to text: the chapters in the order of the book's spine, each read as HTML."""

from __future__ import annotations

from ibidem.ingest.archive import Archive, resolved
from ibidem.ingest.extraction import Extraction, Writer, one_line
from ibidem.ingest.html import decode, write_html
from ibidem.ingest.html_tree import Element
from ibidem.objects.errors import InvalidInputError

_CONTAINER = "META-INF/container.xml"
_PAGES = frozenset({"application/xhtml+xml", "text/html"})
_PROPS = {"dc:creator": "author", "dc:language": "text_language", "dc:date": "date"}


def extract(data: bytes) -> Extraction:
    """Returns the text of a book."""
    archive = Archive.open(data)
    root = archive.xml(_CONTAINER).find("rootfile")
    package_name = "" if root is None else root.attributes.get("full-path", "")
    package = archive.xml(package_name)
    items = {
        element.attributes.get("id", ""): element.attributes
        for element in package.walk()
        if _local(element) == "item"
    }
    writer = Writer()
    for reference in package.walk():
        if _local(reference) != "itemref":
            continue
        item = items.get(reference.attributes.get("idref", ""), {})
        if item.get("media-type") not in _PAGES or "nav" in item.get("properties", "").split():
            continue
        name = resolved(package_name, item.get("href", ""))
        if name in archive:
            write_html(writer, decode(archive.read(name)))
        else:
            writer.warnings.append(f"chapter {name!r:.200} is not in the archive, left out")
    if not writer.marks:
        raise InvalidInputError("no chapter with text")
    props = {
        prop: text
        for tag, prop in _PROPS.items()
        if (element := package.find(tag)) is not None and (text := one_line(element.text()))
    }
    title = package.find("dc:title")
    return writer.finish(None if title is None else title.text(), props)


def _local(element: Element) -> str:
    return element.tag.rpartition(":")[2]

"""Reads pages as a browser would, with the standard library's parser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass
class Tag:
    name: str
    attributes: dict[str, str | None]
    text: str = ""
    children: list[Tag] = field(default_factory=list)

    def all(self, name: str, /, **attributes: str) -> list[Tag]:
        """All elements below this one of a name, whose attributes have these values."""
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        own = [
            child
            for child in self.children
            if child.name == name
            and all(
                value in (child.attributes.get(key) or "").split() for key, value in wanted.items()
            )
        ]
        return own + [found for child in self.children for found in child.all(name, **attributes)]

    def one(self, name: str, /, **attributes: str) -> Tag:
        """The only element below this one of a name."""
        (found,) = self.all(name, **attributes)
        return found

    @property
    def words(self) -> str:
        """All text below this element."""
        return self.text + "".join(child.words for child in self.children)

    def walk(self) -> list[Tag]:
        return [self, *(found for child in self.children for found in child.walk())]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.top = Tag("", {})
        self.open = [self.top]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"{tag} has an attribute twice"
        found = Tag(tag, dict(attrs))
        self.open[-1].children.append(found)
        if tag not in VOID:
            self.open.append(found)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        child = Tag("#text", {}, data)
        self.open[-1].children.append(child)


def read(page: str) -> Tag:
    """The elements of a page; every element is closed, no attribute is given twice."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.top], f"<{reader.open[-1].name}> is not closed"
    return reader.top


def check_inert(page: Tag) -> None:
    """Nothing in a page runs, and no style is of an element: what the policy would block."""
    for tag in page.walk():
        assert tag.name not in {"iframe", "object", "embed", "base", "foreignobject"}, tag.name
        assert not [name for name in tag.attributes if name.startswith("on") or name == "style"]
        for name in ("href", "src", "action", "formaction", "xlink:href"):
            address = tag.attributes.get(name)
            assert address is None or address.startswith(("/", "#", "?")), address
        assert tag.name != "script" or (tag.attributes.get("src") and not tag.words)
    ids = [tag.attributes["id"] for tag in page.walk() if "id" in tag.attributes]
    assert len(ids) == len(set(ids)), "an id is there twice"

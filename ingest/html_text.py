"""The text of elements of a page: what is shown, words within a line, items of a list.

What a site repeats on every page, and what its style hides, is not shown. A link is written as
`link_text` makes it, until `with_targets` puts its target where it interrupts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from ibidem.ingest.extraction import LINK_TEXT, link_text, one_line
from ibidem.ingest.html_tree import Element, words

LINK_CHARS_MAX = 500
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
    headerlink breadcrumb breadcrumbs sphinxsidebar navbar nav-panel toc
    linenos skip-link visually-hidden sr-only anchor-link md-nav navheader navfooter mainmenu
    submenu noprint no-print nosearch
    mw-editsection mw-jump-link mw-cite-backlink catlinks navbox
    """
)
_MENU_CLASSES = frozenset(("header", "toctree-wrapper"))
"""Dropped if they are menus. A page of several documents has its text in a `toctree-wrapper`."""
HEADINGS = {f"h{level}": level for level in range(1, 7)}
"""The tags of headings, with their levels."""
_DROPPED_IDS = frozenset(("sitesub", "catlinks"))
_MATH = frozenset(("math",))
"""Formulas that are hidden behind a picture of them, as in MediaWiki."""
_HIDDEN = re.compile(r"(?:^|;)\s*display\s*:\s*none\b", re.IGNORECASE)
BLOCKS = words(
    """
    address article aside body center details div dl dd dt fieldset figcaption figure form
    header hgroup html li main p section summary tbody td tfoot th thead tr
    """
)
_ANCHORS = frozenset({"\u00b6", "\u00a7", "#", "\U0001f517"})
"""The texts of links from a heading to itself."""
_INTEGER = re.compile(r"\s*(-?[0-9]{1,9})")
_EXPONENT = re.compile(r"\s*([-+\u2212]?[0-9]+|[a-z])\s*")
_NUMBER = re.compile(r"\s*([0-9]+)\s*")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_LINE_END = re.compile(r"[.,:;!?)]*(?:\n|\Z)")


def is_dropped(element: Element) -> bool:
    """Returns whether an element is not shown, or is no part of the text of a page."""
    attributes = element.attributes
    return (
        element.tag in _DROPPED
        or "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") in _DROPPED_ROLES
        or attributes.get("id", "").lower() in _DROPPED_IDS
        or has_class(element, _DROPPED_CLASSES)
        or (has_class(element, _MENU_CLASSES) and _is_menu(element))
        or (_HIDDEN.search(attributes.get("style", "")) is not None and not has_tag(element, _MATH))
    )


def _is_menu(element: Element) -> bool:
    """Returns whether an element has no heading, and more text in links than outside."""
    outside = linked = 0
    stack = [(element, False)]
    while stack:
        part, is_link = stack.pop()
        if part.tag in HEADINGS:
            return False
        for child in part.children:
            if not isinstance(child, str):
                stack.append((child, is_link or child.tag == "a"))
            elif is_link:
                linked += len("".join(child.split()))
            else:
                outside += len("".join(child.split()))
    return linked > outside


def has_class(element: Element, names: frozenset[str]) -> bool:
    """Returns whether an element has one of these classes."""
    return not names.isdisjoint(element.attributes.get("class", "").lower().split())


def has_tag(element: Element, tags: frozenset[str]) -> bool:
    """Whether an element contains one with one of these names."""
    return any(inner.tag in tags for inner in element.walk() if inner is not element)


def with_targets(text: str, *, is_cell: bool = False, is_item: bool = False) -> str:
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


def marked_parts(element: Element) -> Iterator[tuple[Element | str, str]]:
    """Yields the parts of a list that are shown, with a number for each item of an ordered one."""
    number = integer_of(element, "start", 1)
    for part in element.children:
        if isinstance(part, Element) and is_dropped(part):
            continue
        if isinstance(part, str) or part.tag in ("ul", "ol"):
            yield part, "-"
        else:
            number = integer_of(part, "value", number)
            yield part, f"{number}." if element.tag == "ol" else "-"
            number += 1


def item_lines(element: Element, depth: int) -> list[str]:
    """Returns the items of a list as lines, with nested lists indented."""
    lines: list[str] = []
    for item, marker in marked_parts(element):
        if isinstance(item, str):
            if text := one_line(item):
                lines.append(f"{'  ' * depth}{marker} {text}")
            continue
        own: list[str] = []
        below: list[str] = []
        for child in item.children:
            if isinstance(child, Element) and child.tag in ("ul", "ol"):
                below += item_lines(child, depth + 1)
            else:
                own.append(inline_text(child))
        text = one_line("".join(own))
        if item.tag in ("ul", "ol"):
            lines += item_lines(item, depth + 1)
        elif text:
            lines.append(f"{'  ' * depth}{marker} {text}")
        lines += below
    return lines


def integer_of(element: Element, name: str, default: int) -> int:
    """Returns the number that an attribute begins with."""
    found = _INTEGER.match(element.attributes.get(name, ""))
    return int(found[1]) if found else default


def inline_text(part: Element | str, *, links: bool = True) -> str:
    """Returns inline content as text: code between backticks, links as `link_text` makes them."""
    if isinstance(part, str):
        return part
    if is_dropped(part):
        return ""
    if part.tag == "br":
        return "\n\x1f"
    if part.tag == "img":
        return part.attributes.get("alt", "")
    if part.tag == "math":
        return _formula(part)
    text = "".join(inline_text(child, links=links and part.tag != "a") for child in part.children)
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
            if shown in (target, unquote(target).removeprefix("mailto:")):
                return text
            if len(target) <= LINK_CHARS_MAX and not re.search(r"[\s()<>]", target):
                return link_text(shown, target)
        return text
    return f" {text} " if part.tag in BLOCKS else text


def _raised(part: Element, text: str) -> str:
    """Returns a superscript: an exponent behind `^`, the number of a note in brackets."""
    if part.find("a") is None:
        exponent = _EXPONENT.fullmatch(text)
        return text if exponent is None else f"^{exponent[1]}"
    number = _NUMBER.fullmatch(part.text())
    return text if number is None else f"[{number[1]}]"


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


def text_lines(text: str) -> str:
    """Returns text with its line breaks (`br`) and no other, and single spaces."""
    return "\n".join(filter(None, (one_line(line) for line in text.split("\x1f")))).strip("\n")


def _is_code(part: Element | str) -> bool:
    return isinstance(part, Element) and part.tag == "code"


def code_text(element: Element) -> str:
    """Returns the text of an element with its spaces and line breaks."""
    pieces: list[str] = []
    stack: list[Element | str] = [element]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            pieces.append(part)
        elif part.tag == "br":
            pieces.append("\n")
        elif not is_dropped(part):
            children = part.children
            for at in range(len(children) - 1, -1, -1):
                stack.append(children[at])
                if at and _is_code(children[at - 1]) and _is_code(children[at]):
                    stack.append("\n")  # versions of one sample, of which a page shows one
    return "".join(pieces)

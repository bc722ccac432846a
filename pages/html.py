"""What all pages are built from: documents, tables, links, and one way from elements to text.

Elements are those of htpy, which escapes every text and attribute. `render` is the only way to a
string; it also writes control characters and characters that change the direction of text as
escapes, so nothing from a repository can become markup, or pass for another text. No page has a
script or an inline style of an element: a document that stands alone carries its style sheet under
a content-security policy that allows this style sheet, by its hash, and nothing else.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from urllib.parse import quote, urlencode

import htpy as h
from markupsafe import Markup

from ibidem.objects.printable import moment, one_line, printable
from ibidem.objects.record import record

SHORT_CHARACTERS = 21
"""Characters of a CID where space is scarce; the first nine are the same in all of them."""


@record
class Links:
    """Where pages link to. Without a base nothing is linked, as in a document that stands alone."""

    base: str | None = None
    """What the path of every page begins with, such as `/view`."""
    fixed: tuple[tuple[str, str], ...] = ()
    """Query parameters of every link, such as the revision."""

    def to(self, path: str, **parameters: str | None) -> str | None:
        """Returns the address of a page; None if nothing is linked.

        >>> Links("/view", (("at", "main"),)).to("node/1f", limit="5")
        '/view/node/1f?at=main&limit=5'
        """
        if self.base is None:
            return None
        given = dict(self.fixed) | parameters
        query = urlencode([(name, value) for name, value in given.items() if value is not None])
        return f"{self.base}/{quote(path)}" + (f"?{query}" if query else "")

    def at(self, rev: object) -> Links:
        """Returns links to the same pages at a revision."""
        others = tuple(pair for pair in self.fixed if pair[0] != "at")
        return Links(self.base, (*others, ("at", str(rev))))


NOWHERE = Links()


def render(page: h.Renderable) -> str:
    """Returns elements as text, with every unsafe character of their texts as an escape."""
    return printable(str(page))


def document(
    title: str, *body: h.Node, note: h.Node = None, style: str | None = None, lang: str = "en"
) -> str:
    """Returns a whole HTML document.

    Args:
        title: shown by the browser and as the first heading.
        body: the content below the heading.
        note: a line above the heading, such as the navigation.
        style: the address of the style sheet; None to carry it, with a policy that forbids
            everything else, for a file that stands alone.
    """
    return "<!doctype html>\n" + render(
        h.html(lang=lang)[
            h.head[
                h.meta(charset="utf-8"),
                h.meta(name="viewport", content="width=device-width, initial-scale=1"),
                _own_style() if style is None else h.link(rel="stylesheet", href=style),
                h.title[f"{title} - Ibidem"],
            ],
            h.body[
                h.a(".skip", href="#content")["Skip to the content"],
                note,
                h.main("#content", tabindex="-1")[h.h1[title], body],
            ],
        ]
    )


@cache
def style_sheet() -> str:
    """Returns the style sheet of all pages."""
    return (files("ibidem.pages") / "style.css").read_text("utf-8")


def style_hash() -> str:
    """Returns the source expression of a content-security policy that allows the style sheet."""
    return f"'sha256-{b64encode(sha256(style_sheet().encode()).digest()).decode()}'"


def _own_style() -> h.Node:
    policy = f"default-src 'none'; style-src {style_hash()}"
    return [
        h.meta(http_equiv="Content-Security-Policy", content=policy),
        h.style[Markup(style_sheet())],  # noqa: S704  # of this package, nothing from a repository
    ]


def linked(href: str | None, *content: h.Node, current: bool = False) -> h.Element:
    """Returns a link, or its content alone where nothing is linked."""
    if href is None:
        return h.span[content]
    return h.a(href=href, aria_current="page" if current else None)[content]


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[h.Node]],
    *,
    row_classes: Iterable[str] | None = None,
) -> h.Element:
    """Returns a table whose first column names the rows, in a part of the page that scrolls.

    Args:
        row_classes: the class of each row, as many as there are rows.
    """
    listed = [tuple(row) for row in rows]
    classes = [""] * len(listed) if row_classes is None else list(row_classes)
    return h.div(".scrolls", role="region", tabindex="0", aria_label=caption)[
        h.table[
            h.caption[caption],
            h.thead[h.tr[(h.th(scope="col")[head] for head in heads)]],
            h.tbody[
                (
                    h.tr(class_=name or None)[
                        h.th(scope="row")[row[0]], (h.td[cell] for cell in row[1:])
                    ]
                    for name, row in zip(classes, listed, strict=True)
                )
            ],
        ]
    ]


def facts(rows: Iterable[tuple[str, h.Node]]) -> h.Element:
    """Returns names with their values; rows whose value is None are left out."""
    return h.dl(".facts")[((h.dt[name], h.dd[value]) for name, value in rows if value is not None)]


def tag(kind: str, text: str | None = None) -> h.Element:
    """Returns a word in a frame whose colour goes with it, such as `entered` or `removed`."""
    return h.span(class_=f"tag {kind}")[kind if text is None else text]


def code(text: str) -> h.Element:
    """Returns an identifier."""
    return h.code[one_line(text)]


def short(cid: object) -> str:
    """Returns the start of a CID, which still names it."""
    return str(cid)[:SHORT_CHARACTERS]


def date(microseconds: int) -> h.Element:
    """Returns a time in UTC."""
    text = moment(microseconds, seconds_only=True)
    return h.time(datetime=text)[text.replace("T", " ").replace("Z", " UTC")]


def number(value: float) -> str:
    """Returns a score in six digits."""
    return f"{value:.6g}"


def plural(count: int, noun: str) -> str:
    """Returns a count with its noun.

    >>> plural(1, "item"), plural(2000, "item")
    ('1 item', '2,000 items')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"

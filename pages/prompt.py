"""What a model is given as HTML: both texts, and the citations of the sources in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.pages.html import code, plural, table

if TYPE_CHECKING:
    from ibidem.retrieve.context.prompt import Citation, Prompt


def prompt(found: Prompt) -> h.Element:
    """Returns a prompt as a model gets it."""
    rows = [
        (one.marker, _source(one), code(str(one.pack)), f"{len(one.spans):,}")
        for one in found.citations
    ]
    return h.section("#context")[
        h.h2["As a model gets it"],
        h.p[f"{plural(found.tokens_used, 'token')}, {plural(len(rows), 'source')}"],
        h.h3["System"],
        h.pre(tabindex="0")[found.system],
        h.h3["User"],
        h.pre(tabindex="0")[found.user],
        table("Citations", ("Marker", "Source", "Pack", "Spans"), rows),
    ]


def _source(citation: Citation) -> str:
    first = citation.source or str(citation.document or "")
    return one_line(" > ".join((first, *citation.heading_path)))

"""A request for a page, and the page that answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import htpy as h

from ibidem import InvalidInputError, Repository, Revision, ViewerRepository, ViewerRevision
from ibidem.objects.record import record
from ibidem.pages.html import Links

AT = "HEAD"


@record
class Page:
    """A page without its frame."""

    title: str
    body: h.Node
    rest: Callable[[], h.Node] | None = None
    """Computes what takes longer; the browser shows the body meanwhile."""


@record
class Visit:
    """A request for a page, as its viewer may make it."""

    repository: Repository | ViewerRepository
    path: Mapping[str, str]
    """The variable parts of the path."""
    query: Mapping[str, str]

    @property
    def is_whole(self) -> bool:
        """Whether the viewer sees everything."""
        return isinstance(self.repository, Repository)

    @property
    def owned(self) -> Repository:
        """The repository, on pages that only its owner is shown."""
        assert isinstance(self.repository, Repository), "BUG: a page of the owner"
        return self.repository

    @property
    def at(self) -> str:
        """The revision of the page."""
        return self.text("at") or AT

    @property
    def links(self) -> Links:
        """Links that stay at the revision of the page."""
        return Links("", () if self.at == AT else (("at", self.at),))

    def revision(self, at: str | None = None) -> Revision | ViewerRevision:
        """Returns the graph at a revision, by default that of the page, as the viewer sees it."""
        if isinstance(self.repository, Repository):
            from ibidem import ALL

            return self.repository.at(at or self.at, viewer=ALL)
        return self.repository.at(at or self.at)

    def text(self, name: str) -> str:
        """Returns a field of the query without blanks around it; empty if it is missing."""
        return self.query.get(name, "").strip()

    def count(self, name: str, *, default: int, high: int) -> int:
        """Returns a number of the query.

        Raises:
            InvalidInputError: it is no number from 1 to `high`.
        """
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= high):
            raise InvalidInputError(f"{name}: got {text!r:.80}, expected 1 to {high}")
        return int(text)

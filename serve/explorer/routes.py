"""All pages of the explorer. Each has a row in `repo/viewer/exposure.py`."""

from __future__ import annotations

from collections.abc import Callable

from ibidem.objects.record import record
from ibidem.serve.explorer.ask import ask
from ibidem.serve.explorer.visit import Page, Visit


@record
class Route:
    """One page."""

    path: str
    name: str
    """Its row in `repo/viewer/exposure.py` is `view.NAME`."""
    answer: Callable[[Visit], Page]
    heading: str | None = None
    """Its name in the navigation; None for pages that are reached from others."""


ROUTES = (Route("/ask", "ask", ask, "Ask"),)

"""All pages of the explorer. Each has a row in `repo/viewer/exposure.py`."""

from __future__ import annotations

from collections.abc import Callable

from ibidem.objects.record import record
from ibidem.serve.explorer.ask import ask
from ibidem.serve.explorer.bisect import bisect
from ibidem.serve.explorer.compare import compare
from ibidem.serve.explorer.graph import graph
from ibidem.serve.explorer.health import health
from ibidem.serve.explorer.history import commit, history, operations
from ibidem.serve.explorer.node import document, node
from ibidem.serve.explorer.runs import run, runs, thread, threads
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


ROUTES = (
    Route("/ask", "ask", ask, "Ask"),
    Route("/compare", "compare", compare, "Compare"),
    Route("/bisect", "bisect", bisect),
    Route("/history", "history", history, "History"),
    Route("/operations", "operations", operations),
    Route("/commit/{cid}", "commit", commit),
    Route("/node/{id}", "node", node),
    Route("/document/{id}", "document", document),
    Route("/graph/{id}", "graph", graph),
    Route("/threads", "threads", threads, "Conversations"),
    Route("/thread/{id}", "thread", thread),
    Route("/runs", "runs", runs, "Runs"),
    Route("/run/{name:path}", "run", run),
    Route("/health", "health", health, "Health"),
)

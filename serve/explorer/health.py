"""Health: how large the repository is, its refs and conflicts, and a check of every byte."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.pages import health as health_page
from ibidem.pages.html import facts, linked
from ibidem.serve.explorer.visit import Page, Visit

if TYPE_CHECKING:
    from ibidem.repo.statistics import RepositoryStats


def health(visit: Visit) -> Page:
    """Returns the state of the repository; with `check`, what a sample of
    it says, with `full` all of it.
    """
    repository, links = visit.owned, visit.links
    maintenance = repository.maintenance
    stats = maintenance.stats(visit.at)
    branches = repository.branches()
    body = [
        health_page.sizes(stats),
        health_page.refs(branches, "branch", links=links),
        health_page.refs(repository.tags(), "tag", links=links),
        [h.p[one_line(str(error))] for error in branches.damaged],
        h.section[
            h.h2["Conflicts"],
            health_page.conflicts(
                repository.conflicts(visit.at, limit=health_page.CONFLICTS_SHOWN + 1), links=links
            ),
        ],
    ]

    def indexed() -> h.Node:
        found, total = maintenance.index_counts()
        return [h.h2["Index"], facts([("indexed nodes", f"{found:,} of {total:,}")])]

    rest: list[Callable[[], h.Node]] = [indexed]
    if visit.text("full"):
        rest += [partial(_logs, visit, stats), partial(_checked, visit, full=True)]
    else:
        rest += [partial(_checked, visit, full=False) if visit.text("check") else _offer]
    return Page("Health", body, tuple(rest))


def _offer() -> h.Node:
    return [
        h.h2["Checks"],
        h.ul[
            h.li[linked("/health?check=1", "Check a sample of the blocks, as repo doctor does")],
            h.li[linked("/health?full=1", "Check every block, and every vector")],
        ],
    ]


def _logs(visit: Visit, stats: RepositoryStats) -> h.Node:
    """Returns the sizes of the logs, and the vectors to compute; reads every node."""
    maintenance = visit.owned.maintenance
    logs = maintenance.log_stats()
    counts = [
        ("receipts", f"{logs.receipts.count:,}, {logs.receipts.size_bytes:,} bytes"),
        ("operations", f"{logs.operations.count:,}, {logs.operations.size_bytes:,} bytes"),
    ]
    stale = [
        (f"vectors of {model} to compute", f"{maintenance.missing_vectors(model, visit.at):,}")
        for model in stats.vector_counts.get("embeddings", {})
    ]
    return [h.h2["Logs and vectors"], facts([*counts, *stale])]


def _checked(visit: Visit, *, full: bool) -> h.Node:
    return [h.h2["Checks"], health_page.checks(visit.owned.maintenance.checkup(full=full))]

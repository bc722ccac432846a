"""Health: how large the repository is, its refs and conflicts, and a check of every byte."""

from __future__ import annotations

import htpy as h

from ibidem.pages import health as health_page
from ibidem.pages.html import facts, linked
from ibidem.serve.explorer.visit import Page, Visit


def health(visit: Visit) -> Page:
    """Returns the state of the repository; with `full`, after reading every block."""
    repository, links = visit.owned, visit.links
    maintenance = repository.maintenance
    stats = maintenance.stats(visit.at)
    body = [
        health_page.sizes(stats),
        health_page.refs(repository.branches(), "branch", links=links),
        health_page.refs(repository.tags(), "tag", links=links),
        h.section[
            h.h2["Conflicts"],
            health_page.conflicts(
                repository.conflicts(visit.at, limit=health_page.CONFLICTS_SHOWN + 1), links=links
            ),
        ],
    ]

    def checked() -> h.Node:
        indexed, total = maintenance.index_counts()
        counts = [("indexed nodes", f"{indexed:,} of {total:,}")]
        if not visit.text("full"):
            link = h.p[linked("/health?full=1", "Check every block, and every vector")]
            return [h.h2["Index and logs"], facts(counts), link]
        logs = maintenance.log_stats()
        counts += [
            ("receipts in the log", f"{logs.receipts.count:,}, {logs.receipts.size_bytes:,} bytes"),
            ("operations in the log", f"{logs.operations.count:,}"),
        ]
        stale = [
            (f"vectors of {model} to compute", f"{maintenance.missing_vectors(model, visit.at):,}")
            for model in stats.vector_counts.get("embeddings", {})
        ]
        return [
            h.h2["Index and logs"],
            facts([*counts, *stale]),
            h.h2["Every block"],
            health_page.check(maintenance.fsck()),
        ]

    return Page("Health", body, (checked,))

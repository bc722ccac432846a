"""The state of a repository as HTML: sizes, refs, conflicts, what checks found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.pages.html import NOWHERE, Links, code, facts, linked, plural, table, tag

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid
    from ibidem.repo.maintenance.checkup import Finding
    from ibidem.repo.merge.conflicts import OpenConflict
    from ibidem.repo.statistics import RepositoryStats

CONFLICTS_SHOWN, REFS_SHOWN = 100, 200
DETAIL_CHARACTERS = 2000
_TAGS = {"ok": "added", "note": "same", "failed": "error"}


def sizes(found: RepositoryStats) -> h.Element:
    """Returns how large a repository is."""
    vectors = [
        (f"{family} {name}", f"{count:,}")
        for family, counts in found.vector_counts.items()
        for name, count in counts.items()
    ]
    return facts(
        (
            ("branch", one_line(found.branch_name)),
            ("nodes", f"{found.node_count:,}"),
            ("hidden nodes", f"{found.tombstone_count:,}"),
            ("edges", f"{found.edge_count:,}"),
            *vectors,
            ("blocks", f"{found.block_count:,}"),
            ("size on disk", f"{found.store_bytes:,} bytes"),
        )
    )


def refs(found: Mapping[str, CommitCid], kind: str, *, links: Links = NOWHERE) -> h.Node:
    """Returns branches or tags with their commits."""
    rows = [
        (one_line(name), linked(links.to(f"commit/{cid}", at=None), code(str(cid))))
        for name, cid in list(found.items())[:REFS_SHOWN]
    ]
    return table(plural(len(found), kind).replace("branchs", "branches"), ("Name", "Commit"), rows)


def conflicts(found: Sequence[OpenConflict], *, links: Links = NOWHERE) -> h.Node:
    """Returns the first `CONFLICTS_SHOWN` conflicts that are open; one more says that there are
    more.
    """
    if not found:
        return h.p["No open conflicts."]
    more = len(found) > CONFLICTS_SHOWN
    rows = [
        (
            linked(links.to(f"node/{one.id}") if one.what == "node" else None, code(str(one.id))),
            one.what,
            one.reason,
            ", ".join(map(one_line, one.fields)),
        )
        for one in found[:CONFLICTS_SHOWN]
    ]
    return [
        table(
            "The first open conflicts" if more else plural(len(found), "open conflict"),
            ("Element", "Kind", "Why", "Fields"),
            rows,
        ),
        h.p["There are more: ", h.code["repo resolve"], " lists them all."] if more else None,
    ]


def checks(found: Iterable[Finding]) -> h.Node:
    """Returns what checks found, and first whether all of them passed."""
    listed = list(found)
    failed = sum(one.outcome == "failed" for one in listed)
    verdict = f"{plural(failed, 'check')} failed" if failed else "all checks passed"
    rows = [
        (
            one_line(one.check),
            tag(_TAGS[one.outcome], one.outcome),
            [
                one_line(one.detail, width=DETAIL_CHARACTERS),
                [h.br, h.small[one_line(one.hint)]] if one.hint else None,
            ],
        )
        for one in listed
    ]
    return [
        h.p(role="status")[
            tag("error" if failed else "added", "failed" if failed else "ok"), " ", verdict
        ],
        table("As repo doctor says it", ("Check", "Result", "Detail"), rows),
    ]

"""`repo index stats`: the numbers of what a repository and its index hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.render import output
from ibidem.cli.session import Session, at_option, common_options, pass_session

if TYPE_CHECKING:
    from ibidem.repo.statistics import LogSize


@click.command("stats")
@at_option
@common_options
@pass_session
def command(session: Session, *, at: str) -> None:
    """Show the numbers of nodes, edges, vectors, blocks and log entries

    \b
    Example:
      repo index stats --at main~10
    """
    with session.open() as repository:
        stats = repository.maintenance.stats(at)
        is_current = repository.core.search_index.current.is_remembered(repository.at(at).root_cid)
        labels = dict(sorted(repository.at(at).with_snapshot(lambda one: one.labels()).items()))
        index = repository.core.search_index.current.stats()
        logs = repository.maintenance.log_stats()
    head = None if stats.head is None else str(stats.head)
    if session.json:
        output.emit(
            "index-stats",
            {
                "commit": head,
                "node_count": stats.node_count,
                "edge_count": stats.edge_count,
                "tombstone_count": stats.tombstone_count,
                "labels": labels,
                **stats.vector_counts,
                "branch_count": stats.branch_count,
                "tag_count": stats.tag_count,
                "blocks": {"count": stats.block_count, "size_bytes": stats.store_bytes},
                "receipt_log": {
                    "count": logs.receipts.count,
                    "size_bytes": logs.receipts.size_bytes,
                    "size_bytes_max": logs.receipts.size_bytes_max,
                },
                "operation_log": {
                    "count": logs.operations.count,
                    "size_bytes": logs.operations.size_bytes,
                    "count_max": logs.operations.count_max,
                },
                "index": {
                    "is_current": is_current,
                    "snapshot_count": index.snapshot_count,
                    "size_bytes": index.size_bytes,
                    "families": [
                        {
                            "family": family.name,
                            "segment_count": family.segment_count,
                            "row_count": family.row_count,
                            "dead_row_count": family.dead_count,
                            "size_bytes": family.size_bytes,
                        }
                        for family in index.families
                    ],
                },
            },
        )
        return
    rows = [
        ("commit", head or "none yet"),
        ("nodes", f"{stats.node_count:,}"),
        *((f"  {output.one_line(label)}", f"{count:,}") for label, count in labels.items()),
        ("edges", f"{stats.edge_count:,}"),
        ("tombstones", f"{stats.tombstone_count:,}"),
        *(
            (f"{family} {output.one_line(name)}", f"{count:,}")
            for family, counts in stats.vector_counts.items()
            for name, count in counts.items()
        ),
        ("branches, tags", f"{stats.branch_count:,}, {stats.tag_count:,}"),
        ("blocks", f"{stats.block_count:,} in all revisions, {stats.store_bytes:,} bytes on disk"),
        ("receipt log", _receipts_line(logs.receipts)),
        ("operation log", _operations_line(logs.operations)),
        (
            "index",
            f"{output.plural(index.snapshot_count, 'snapshot')}, {index.size_bytes:,} bytes, "
            + ("current" if is_current else "was behind, brought up to date"),
        ),
        *(
            (
                f"  {output.one_line(family.name)}",
                ", ".join(
                    (
                        output.plural(family.segment_count, "segment"),
                        f"{output.plural(family.row_count, 'row')} ({family.dead_count:,} dead)",
                        f"{family.size_bytes:,} bytes",
                    )
                ),
            )
            for family in index.families
            if family.segment_count
        ),
    ]
    output.say(*output.pairs(rows))


def _receipts_line(log: LogSize) -> str:
    count = output.plural(log.count, "receipt")
    return f"{count}, {log.size_bytes:,} of at most {log.size_bytes_max:,} bytes"


def _operations_line(log: LogSize) -> str:
    count = output.plural(log.count, "operation")
    return f"{count}, {log.size_bytes:,} bytes; 'repo gc' keeps the newest {log.count_max:,}"

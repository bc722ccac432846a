"""`repo index stats`: the numbers of what a repository and its index hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.branch import refuse_damaged
from ibidem.cli.options.common import at_option, common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.statistics import LogSize
    from ibidem.repo.text_audit import TextAudit


@click.command("stats")
@click.option(
    "--texts",
    is_flag=True,
    help="Also read every text: which are short, long, or the same as another.",
)
@at_option
@common_options
@pass_session
def command(session: Session, *, texts: bool, at: str) -> None:
    """Show the numbers of nodes, edges, vectors, blocks and log entries

    \b
    Examples:
      repo index stats --at main~10
      repo index stats --texts
    """
    with session.open() as repository:
        stats = repository.maintenance.stats(at)
        branches = repository.branches()
        is_current = repository.core.search_index.current.is_remembered(repository.at(at).root_cid)
        labels = dict(sorted(repository.at(at).with_snapshot(lambda one: one.labels()).items()))
        index = repository.core.search_index.current.stats()
        logs = repository.maintenance.log_stats()
        audit = repository.maintenance.audit_texts(at) if texts else None
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
                **({} if audit is None else {"texts": _texts_json(audit)}),
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
        refuse_damaged(branches)
        return
    rows = [
        ("commit", head or "none yet"),
        ("nodes", f"{stats.node_count:,}"),
        *((f"  {output.one_line(label)}", f"{count:,}") for label, count in labels.items()),
        *([] if audit is None else _texts_rows(audit)),
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
    refuse_damaged(branches)


def _texts_json(audit: TextAudit) -> dict[str, Any]:
    return {
        "count": audit.text_count,
        "token_count": audit.token_count,
        "short": [str(one) for one in audit.short],
        "long": [str(one) for one in audit.long],
        "duplicates": [{"ids": [str(one) for one in group]} for group in audit.duplicates],
    }


def _texts_rows(audit: TextAudit) -> list[tuple[str, str]]:
    def shown(count: int, ids: Sequence[NodeId]) -> str:
        first = f", such as {ids[0]}" if ids else ""
        return f"{count:,}{first}"

    return [
        ("texts", f"{audit.text_count:,}, {output.plural(audit.token_count, 'token')}"),
        ("  short", shown(len(audit.short), audit.short)),
        ("  long", shown(len(audit.long), audit.long)),
        (
            "  duplicate",
            shown(audit.duplicate_count, audit.duplicates[0] if audit.duplicates else ()),
        ),
    ]


def _receipts_line(log: LogSize) -> str:
    count = output.plural(log.count, "receipt")
    return f"{count}, {log.size_bytes:,} of at most {log.size_bytes_max:,} bytes"


def _operations_line(log: LogSize) -> str:
    count = output.plural(log.count, "operation")
    return f"{count}, {log.size_bytes:,} bytes; 'repo gc' keeps the newest {log.count_max:,}"

"""Records and their relations, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.cli.render import output
from ibidem.cli.render.answer import named
from ibidem.objects.printable import moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ibidem.objects.cid import RootCid
    from ibidem.objects.commit import Commit
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.records.item import RecordGraph, RecordItem
    from ibidem.retrieve.records.record import Record


def records_lines(
    answer: Answer[RecordItem], names: Mapping[RootCid, str] | None = None
) -> list[str]:
    """Returns the records and the relations between them as lines for people; `names` are those of
    the repositories by root, for an answer over several."""
    lines: list[str] = []
    for one in answer.items:
        hops = output.plural(one.hop, "step") + " away"
        rank = f"score {one.score:.4f}" if one.is_root else hops
        label, text = output.one_line(one.node.ntype), output.one_line(one.node.summary or "")
        facts = output.faint(f"    {label} {one.id}, salience {one.salience:.3f}, {rank}")
        lines += [named(names or {}, one.root) + text, facts]
    edges = _graph_of(answer).edges
    return lines + [f"{edge.src} {output.one_line(edge.etype)} {edge.dst}" for edge in edges]


def skipped(answer: Answer[RecordItem]) -> dict[str, int]:
    """Returns how many records and relations each limit excluded."""
    edges_skipped = _graph_of(answer).edges_skipped
    return {"node_limit": answer.dropped_total, "edge_limit": edges_skipped}


def records_json(answer: Answer[RecordItem]) -> dict[str, Any]:
    """Returns the answer as JSON."""
    graph = _graph_of(answer)
    receipt = answer.receipt
    commit = None if receipt is None else receipt.commit
    notes = answer.query.notes
    return {
        "commit": None if commit is None else str(commit),
        "notes": None if notes is None else str(notes),
        "receipt": None if receipt is None else str(receipt.cid),
        "result": str(answer.cid),
        "nodes": [
            {
                "id": str(one.id),
                "cid": str(one.cid),
                "ntype": one.node.ntype,
                "text": one.node.summary,
                "hop": one.hop,
                "salience": one.salience,
                "score": one.score if one.is_root else None,
                "ranks": {name: lane.rank for name, lane in one.lanes.items()},
                **({} if one.root is None else {"root": str(one.root)}),
            }
            for one in answer.items
        ],
        "edges": [
            {"id": str(e.id), "etype": e.etype, "source": str(e.src), "target": str(e.dst)}
            for e in graph.edges
        ],
        "skipped": skipped(answer),
        "status": dict(answer.status),
        "selection": {
            "selected": [str(one) for one in graph.selection.selected],
            "top": graph.selection.top,
            "gap": graph.selection.gap,
            "needs_more": graph.selection.needs_more,
        },
        "withheld_count": len(graph.withheld),
        "warnings": [one.to_dict() for one in answer.warnings],
    }


def added_lines(record: Record, commit: Commit) -> list[str]:
    """Returns a record and the commit that added it as lines for people."""
    who = " for ".join(output.one_line(one) for one in (commit.agent, commit.task) if one)
    by = who or output.one_line(commit.author) or "nobody named"
    facts = f"    {record.type} {record.id}, {moment(commit.time)} by {by}"
    return [output.one_line(record.text), output.faint(facts)]


def added_json(record: Record, commit: Commit) -> dict[str, Any]:
    """Returns a record and who added it as JSON."""
    return {
        "id": str(record.id),
        "ntype": str(record.type),
        "text": record.text,
        "status": str(record.status),
        "time": commit.time,
        "author": commit.author,
        "agent": commit.agent,
        "task": commit.task,
    }


def _graph_of(answer: Answer[RecordItem]) -> RecordGraph:
    assert answer.graph is not None, "BUG: an answer of records without their graph"
    return answer.graph

"""Differences between two states, and between the answers at both, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.objects.block_json import block_json
from ibidem.objects.plain import fields_of

if TYPE_CHECKING:
    from ibidem.repo.history.compare import Cause, Comparison, Move, Placed
    from ibidem.repo.history.log import Change
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item


def change_json(change: Change) -> dict[str, Any]:
    """Returns one change as JSON."""
    return {
        "action": change.action,
        "family": change.family,
        "id": str(change.id),
        "name": change.name or None,
        "before": None if change.before is None else str(change.before),
        "after": None if change.after is None else str(change.after),
        "fields": list(change.fields),
        "properties": list(change.properties),
    }


def comparison_json(found: Comparison) -> dict[str, Any]:
    """Returns a question at two revisions as JSON."""
    return {
        "before": end_json(found.before),
        "after": end_json(found.after),
        "is_different": any(move.kind != "same" for move in found.moves),
        "items": [move_json(move) for move in found.moves],
        "causes": [cause_json(cause) for cause in found.causes],
        "evaluation_count": found.evaluations_count,
        "is_related": found.is_related,
    }


def end_json(result: Answer[Item]) -> dict[str, Any]:
    """Returns one of the compared answers as JSON."""
    receipt = result.receipt
    commit = None if receipt is None else receipt.commit
    return {
        "commit": None if commit is None else str(commit),
        "root": str(result.root),
        "result": str(result.cid),
        "receipt": None if receipt is None else str(receipt.cid),
        "tokens_used": result.tokens_used,
        "candidates_seen": result.candidates_seen,
    }


def move_json(move: Move) -> dict[str, Any]:
    """Returns the change of one item as JSON."""
    item = move.after or move.before
    assert item is not None, "BUG: an item of neither answer"
    return {
        "kind": str(move.kind),
        "id": str(move.id),
        "ntype": item.label,
        "title": item.title,
        "before": _placed_json(move.before, item),
        "after": _placed_json(move.after, item),
    }


def cause_json(cause: Cause) -> dict[str, Any]:
    """Returns a commit that changed an answer as JSON."""
    return {
        "commit": block_json(cause.commit),
        "commit_count": cause.commits_count,
        "moves": [{"kind": str(move.kind), "id": str(move.id)} for move in cause.moves],
        "changes": [change_json(change) for change in cause.changes],
        "change_count": cause.changes_count,
    }


def _placed_json(item: Placed | None, shown: Placed) -> dict[str, Any] | None:
    """Returns one end of a move as JSON, with the title and the type where `shown` has others."""
    if item is None:
        return None
    placed = fields_of(item, "rank", "cid", "score", "tokens")
    placed["lanes"] = {name: lane._asdict() for name, lane in item.lanes.items()}
    if item.title != shown.title:
        placed["title"] = item.title
    if item.label != shown.label:
        placed["ntype"] = item.label
    return placed

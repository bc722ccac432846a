"""The tools that read one state: `retrieve` and `read`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

import ibidem
from ibidem.adapters.mcp.access import FOR_READERS, HEAD, Access, Reply
from ibidem.adapters.mcp.page import (
    BUDGET_DEFAULT,
    Block,
    budget_error,
    frame_of,
    levels_of,
    longest_trust,
    most,
    one_line,
    tokens_of,
    trust_of,
    written,
)

if TYPE_CHECKING:
    from ibidem import Answer, Citation, Node, Pack, Revision, ViewerRevision

EDGES_LISTED_MAX = 20
_COUNT_MAX = 9_999_999
_ID = "0" * 32
_RECEIPT = "b" * 59


def retrieve(
    access: Access,
    *,
    query: str,
    token_budget: int = BUDGET_DEFAULT,
    at: str = HEAD,
    label: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    also: Sequence[str] = (),
    **times: str,
) -> Reply:
    """Returns the passages and facts that answer a question, with their receipt.

    Args:
        times: `created_after` and the others: when its nodes came into the branch or changed.
    """
    revision = access.at(at)
    moments = {name: _moment(name, text) for name, text in times.items()}
    options = filters(revision, label, where) | moments
    answer = revision.packs(
        query,
        queries=also,
        token_budget=token_budget,
        frame=frame_of(_head(2, _COUNT_MAX, _RECEIPT), _label("\u2026", _ID, longest_trust())),
        **FOR_READERS,
        **options,
    )
    members = _members(revision, answer)
    text = _sources_text(revision, answer, members)
    if tokens_of(text) > token_budget:
        raise budget_error(token_budget, tokens_of(text))
    return Reply(
        text,
        {
            **_state(revision),
            "result": str(answer.cid),
            "receipt": _receipt(answer),
            "tokens": tokens_of(text),
            "token_budget": token_budget,
            "omitted_count": answer.dropped_total,
            "warnings": [str(warning.code) for warning in answer.warnings],
            "sources": [
                _source(revision, pack, members, citation)
                for pack, citation in zip(answer, ibidem.citations_of(answer), strict=True)
            ],
        },
    )


def _moment(name: str, text: str) -> datetime:
    """Returns a time in the form of ISO 8601; one without a zone is of UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ibidem.InvalidInputError(
            f"{name}: got {text!r:.80}, expected a time such as 2026-01-31T12:00:00Z"
        ) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _sources_text(
    revision: Revision | ViewerRevision, answer: Answer[Pack], members: Mapping[ibidem.NodeId, Node]
) -> str:
    policy = revision.trust_policy
    blocks = []
    for pack in answer:
        nodes = [members[one.id] for one in pack.members if one.id in members]
        title = None if pack.source is None else one_line(pack.title)
        label = _label(title, pack.entry.id, trust_of(policy, nodes))
        blocks.append(Block(label, pack.text))
    if not blocks:
        least = answer.token_budget_min
        none = (
            "Nothing was found."
            if least is None
            else f"Nothing fits the budget; {least} tokens are enough."
        )
        return none + _omitted(answer.dropped_total)
    return written(_head(len(blocks), answer.dropped_total, _receipt(answer)), blocks)


def _label(title: str | None, node: object, trust: str) -> str:
    known = "" if title is None else f"{title}, "
    return f"{known}node {node}, {trust}"


def _head(sources: int, omitted: int, receipt: str | None) -> str:
    count = f"{sources} {'source' if sources == 1 else 'sources'}"
    cited = "" if receipt is None else f" Receipt {receipt}."
    return f"{count} found.{_omitted(omitted)}{cited}"


def _omitted(count: int) -> str:
    return f" {count} more left out." if count else ""


def filters(
    revision: Revision | ViewerRevision, label: Sequence[str], where: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Returns the options of a question: types, properties, and that facts hold at the time of the
    revision, so that a replaced one is not found."""
    found: dict[str, Any] = {"as_of": revision.moment()}
    if label:
        found["label"] = list(label)
    if where:
        found["where"] = dict(where)
    return found


def _source(
    revision: Revision | ViewerRevision,
    pack: Pack,
    members: Mapping[ibidem.NodeId, Node],
    citation: Citation,
) -> dict[str, Any]:
    nodes = [members[one.id] for one in pack.members if one.id in members]
    levels = levels_of(revision.trust_policy, nodes)
    known = [level for level in levels or () if level is not None]
    return {
        "marker": citation.marker,
        "id": str(pack.entry.id),
        "cid": str(pack.entry.cid),
        "score": pack.score,
        "document": None if pack.document is None else str(pack.document),
        "source": pack.source,
        "level": max(known) if known and levels and len(known) == len(levels) else None,
        "citation": citation.to_dict(),
    }


def _members(
    revision: Revision | ViewerRevision, answer: Answer[Pack]
) -> Mapping[ibidem.NodeId, Node]:
    """Returns the nodes that the packs consist of, where a trust policy gives them a level."""
    if revision.trust_policy is None:
        return {}
    packs = ((member.id for member in pack.members) for pack in answer)
    return revision.find_nodes(chain.from_iterable(packs))


def _receipt(answer: Answer[Pack]) -> str | None:
    return None if answer.receipt is None else str(answer.receipt.cid)


def read(
    access: Access,
    *,
    id: str,  # noqa: A002
    at: str = HEAD,
    start: int = 0,
    token_budget: int = BUDGET_DEFAULT,
) -> Reply:
    """Returns the text of a node from a character on, its properties and its edges."""
    revision = access.at(at)
    found = revision.node_id(id)
    node = revision.node(found)
    whole = text_of(revision, node)
    if start > len(whole):
        raise ibidem.InvalidInputError(
            f"start: got {start}, expected at most {len(whole)}, the length of the text"
        )
    edges = revision.edges_of(found, limit=EDGES_LISTED_MAX + 1)
    about = _about(node, [] if start else edges[:EDGES_LISTED_MAX]) if not start else ""
    label = f"node {node.id}, {trust_of(revision.trust_policy, [node])}"

    def page(characters: int) -> str:
        stop = start + characters
        rest = "" if stop == len(whole) else f" Read on from character {stop}."
        blocks = [Block(f"text of {label}", whole[start:stop])]
        if about:
            blocks.append(Block(f"properties and edges of {label}", about))
        return written(f"{one_line(node.ntype, 60)} {node.id}.{rest}", blocks)

    shown = most(len(whole) - start, lambda count: tokens_of(page(count)) <= token_budget)
    if shown < 0 or (shown == 0 and start < len(whole)):
        about = ""
        shown = most(len(whole) - start, lambda count: tokens_of(page(count)) <= token_budget)
    if shown < 0 or (shown == 0 and start < len(whole)):
        raise budget_error(token_budget, tokens_of(page(min(1, len(whole) - start))))
    text, stop = page(shown), start + shown
    levels = levels_of(revision.trust_policy, [node])
    return Reply(
        text,
        {
            **_state(revision),
            "id": str(node.id),
            "label": node.ntype,
            "level": None if levels is None else levels[0],
            "start": start,
            "next": None if stop == len(whole) else stop,
            "tokens": tokens_of(text),
            "edges": [
                {
                    "id": str(edge.id),
                    "type": edge.etype,
                    "source": str(edge.src),
                    "target": str(edge.dst),
                }
                for edge in edges[:EDGES_LISTED_MAX]
            ],
            "has_more_edges": len(edges) > EDGES_LISTED_MAX,
        },
    )


def text_of(revision: Revision | ViewerRevision, node: Node) -> str:
    """Returns the text of a node: of a document or section the whole source."""
    if node.children:
        return revision.document(node.id)
    parts = [node.context_sentence, node.summary]
    return "\n\n".join(part for part in parts if part)


def _about(node: Node, edges: Sequence[ibidem.Edge]) -> str:
    lines = [f"{name}: {json.dumps(value, default=str)}" for name, value in node.props.items()]
    for edge in edges:
        is_out = edge.src == node.id
        other, arrow = (edge.dst, "to") if is_out else (edge.src, "from")
        lines.append(f"edge {one_line(edge.etype)} {arrow} {other}")
    return "\n".join(lines)


def _state(revision: Revision | ViewerRevision) -> dict[str, Any]:
    commit = revision.commit_cid
    return {"root": str(revision.root_cid), "commit": None if commit is None else str(commit)}

"""The tools about the past: `history`, `compare` and `verify`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import ibidem
from ibidem.adapters.mcp.access import HEAD, Access, Reply
from ibidem.adapters.mcp.page import (
    BUDGET_DEFAULT,
    Block,
    clipped,
    fitting,
    one_line,
    tokens_of,
    trust_of,
)
from ibidem.adapters.mcp.questions import filters, text_of

if TYPE_CHECKING:
    from ibidem import Commit, NodeId

HISTORY_LIMIT = 10
COMPARE_LIMIT = 10


def history(
    access: Access,
    *,
    id: str | None = None,  # noqa: A002
    query: str | None = None,
    at: str = HEAD,
    since: str | None = None,
    limit: int = HISTORY_LIMIT,
    token_budget: int = BUDGET_DEFAULT,
) -> Reply:
    """Returns who changed a node, when and why, newest first, with its text then; without a node,
    the commits."""
    repository = access.owner
    node = _node(access, id, query, at)
    before = () if since is None else repository.history.log(since)
    known = {commit.cid for commit in before}
    newer = (one for one in repository.history.touching(at, node=node) if one.cid not in known)
    commits = list(islice(newer, limit + 1))
    shown_max = commits[:limit]
    blocks = [Block(*_change(access, commit, node)) for commit in shown_max]
    subject = "the repository" if node is None else f"node {node}"

    def head(count: int) -> str:
        has_more = count < len(shown_max) or len(commits) > limit
        more = " There are more." if has_more else ""
        return f"{count} {_plural(count, 'commit')} of {subject}, newest first.{more}"

    text, count = fitting(head, blocks, token_budget)
    return Reply(
        text,
        {
            "id": None if node is None else str(node),
            "tokens": tokens_of(text),
            "has_more": count < len(shown_max) or len(commits) > limit,
            "commits": [
                {
                    "cid": str(commit.cid),
                    "root": str(commit.root),
                    "author": commit.author,
                    "agent": commit.agent,
                    "task": commit.task,
                    "time": commit.time,
                }
                for commit in shown_max[:count]
            ],
        },
    )


def _node(access: Access, given: str | None, query: str | None, at: str) -> NodeId | None:
    if given is not None and query is not None:
        raise ibidem.InvalidInputError("id: got a query too, expected one of them")
    if given is not None:
        return access.at(at).node_id(given)
    if query is None:
        return None
    revision = access.at(at)
    answer = revision.retrieve(query, limit=1, **filters(revision, (), None))
    if not answer.items:
        raise ibidem.NotFoundError(f"query: nothing is found for {query!r:.80}")
    return answer.items[0].id


def _change(access: Access, commit: Commit, node: NodeId | None) -> tuple[str, str]:
    message = commit.message or "(no message)"
    label = _label(commit)
    if node is None:
        return f"{label}, trust: as its author", message
    revision = access.at(commit.cid)
    try:
        found = revision.node(node)
    except ibidem.NotFoundError:
        return f"{label}, trust: as its author", f"{message}\n\nThe node was removed."
    trust = trust_of(revision.trust_policy, [found])
    return f"{label}, {trust}", f"{message}\n\n{clipped(text_of(revision, found))}"


def _label(commit: Commit) -> str:
    by = f"commit {commit.cid} of {_day(commit.time)} by {one_line(commit.author or '?', 60)}"
    agent = f", agent {one_line(commit.agent, 60)}" if commit.agent else ""
    task = f", task {one_line(commit.task, 60)}" if commit.task else ""
    return f"{by}{agent}{task}"


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _day(time: int) -> str:
    try:
        return datetime.fromtimestamp(time / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"{time} us"


def compare(
    access: Access,
    *,
    query: str,
    before: str,
    after: str = HEAD,
    limit: int = COMPARE_LIMIT,
    label: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    token_budget: int = BUDGET_DEFAULT,
) -> Reply:
    """Returns how the answer to a question differs between two revisions, and which commits did
    it."""
    options = filters(access.at(after), label, where)
    if access.viewer is not None:
        options["viewer"] = access.viewer
    found = access.owner.history.compare(query, before=before, after=after, limit=limit, **options)
    moves = [move for move in found.moves if move.kind != "same"]
    states = [access.at(before), access.at(after)]
    nodes = [state.find_nodes([move.id for move in moves]) for state in states]
    blocks = []
    for move in moves:
        item = move.after or move.before
        assert item is not None, "BUG: an item of neither answer"
        ranks = [str(one.rank) if one else "none" for one in (move.before, move.after)]
        there = [one[move.id] for one in nodes if move.id in one]
        trust = trust_of(states[1].trust_policy, there)
        ranked = f"rank {ranks[0]} before and {ranks[1]} after, node {move.id}"
        blocks.append(Block(f"{move.kind}, {ranked}, {trust}", item.title))
    blocks += [
        Block(f"{_label(cause.commit)}, trust: as its author", cause.commit.message)
        for cause in reversed(found.causes)
    ]

    def head(count: int) -> str:
        omitted = "" if count == len(blocks) else f" {len(blocks) - count} blocks left out."
        causes = f"{len(found.causes)} {_plural(len(found.causes), 'commit')}"
        return f"{len(moves)} of {len(found.moves)} items differ, because of {causes}.{omitted}"

    text, _ = fitting(head, blocks, token_budget)
    return Reply(
        text,
        {
            "tokens": tokens_of(text),
            "before": {"root": str(found.before.root), "result": str(found.before.cid)},
            "after": {"root": str(found.after.root), "result": str(found.after.cid)},
            "moves": [
                {
                    "id": str(move.id),
                    "kind": str(move.kind),
                    "before": None if move.before is None else move.before.rank,
                    "after": None if move.after is None else move.after.rank,
                }
                for move in moves
            ],
            "causes": [
                {"commit": str(cause.commit.cid), "commit_count": cause.commits_count}
                for cause in found.causes
            ],
        },
    )


def verify(
    access: Access,
    *,
    receipt: str | None = None,
    citation: Mapping[str, Any] | None = None,
    quote: str | None = None,
) -> Reply:
    """Returns whether an answer can be repeated to the byte, a citation holds, a quote is in it."""
    if (receipt is None) == (citation is None):
        raise ibidem.InvalidInputError("receipt: expected either a receipt or a citation")
    if citation is not None:
        if quote is not None:
            raise ibidem.InvalidInputError("quote: got it with a citation, expected a receipt")
        holds = access.repository.verify_citation(
            ibidem.Citation.from_dict(citation), viewer=access.viewer
        )
        state = "as it is stored" if holds else "not what is stored"
        return Reply(f"The cited text is {state}.", _verdict(is_true=holds))
    try:
        answer = access.owner.receipts.replay(str(receipt))
    except ibidem.ReplayError as error:
        return Reply(f"Not verified: {error}", _verdict(is_true=False, kind=error.kind.value))
    text = f"The answer was computed again: the same {len(answer.items)} items to the byte."
    if quote is None:
        return Reply(text, {**_verdict(is_true=True), "result": str(answer.cid)})
    words = " ".join(quote.split())
    if not words:
        raise ibidem.InvalidInputError("quote: got no words, expected a text")
    markers = [
        f"[{number}]"
        for number, item in enumerate(answer.items, 1)
        if words in " ".join(item.rendered.split())
    ]
    where = f"in {', '.join(markers)}" if markers else "in none of its sources"
    return Reply(
        f"{text} The quote is {where}.",
        {**_verdict(is_true=bool(markers)), "result": str(answer.cid), "markers": markers},
    )


def _verdict(*, is_true: bool, kind: str | None = None) -> dict[str, Any]:
    return {"is_verified": is_true, "kind": kind, "result": None, "markers": []}

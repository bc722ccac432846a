"""What a server tells of a graph and its history without a question: branches, nodes, log, diff."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.objects.block_json import block_json, location_json
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.history.diff_json import change_json
from ibidem.repo.revspec import HEAD
from ibidem.repo.sync import wire
from ibidem.repo.sync.wire import CBOR
from ibidem.serve.exchange import Answer, Call, count_in, is_cid
from ibidem.serve.question import parsed, read_object, served, written

if TYPE_CHECKING:
    from ibidem.objects.cid import RootCid
    from ibidem.repo.retrieval.listing import Page

PAGE_NODES, PAGE_NODES_MAX = 100, 1000
PAGE_EDGES, PAGE_EDGES_MAX = 100, 1000
LOG_COMMITS, LOG_COMMITS_MAX = 100, 1000
DIFF_CHANGES, DIFF_CHANGES_MAX = 1000, 10_000
_HINT_WHERE = 'write a JSON object, such as {"source": "notes/a.md"}'


def branches(call: Call) -> Answer:
    """Returns the current branch, the commits of branches and tags, and why others cannot be
    read."""
    call.options()
    repository = call.served.repository
    head = repository.head
    found = repository.branches()
    body: dict[str, Any] = {
        "current": repository.current_branch,
        "head": None if head is None else str(head),
        "branches": {name: str(cid) for name, cid in found.items()},
        "tags": {name: str(cid) for name, cid in repository.tags().items()},
    }
    if found.damaged:
        body["damaged"] = [
            json.loads(wire.write_problem(error, wire.status_of(error))) for error in found.damaged
        ]
    return Answer(written(body))


def node(call: Call) -> Answer:
    """Returns a node with its source and one page of the edges that begin or end at it."""
    options = call.options("at", "limit", "after")
    at = options.get("at", HEAD)
    limit = count_in(options, "limit", default=PAGE_EDGES, high=PAGE_EDGES_MAX)
    revision = call.revision(at)
    found = revision.node(call.path["id"])
    if call.headers.get("accept") == CBOR:
        return Answer(found.encode(), CBOR, tag=str(found.cid), is_immutable=is_cid(at))
    location = revision.locate(found.id)
    edges = revision.edges_of(found.id, limit=limit + 1, after=options.get("after"))
    body = {
        "root": str(revision.root_cid),
        "node": block_json(found),
        "location": location_json(location),
        "edges": [block_json(edge) for edge in edges[:limit]],
        "next": str(edges[limit - 1].id) if len(edges) > limit else None,
    }
    return _tagged(body, is_immutable=is_cid(at))


def nodes(call: Call) -> Answer:
    """Returns one page of the nodes that match."""
    options = call.options("at", "label", "where", "order_by", "limit", "after")
    at = options.get("at", HEAD)
    revision = call.revision(at)
    where = options.get("where")
    page = revision.page(
        label=options.get("label"),
        where=None if where is None else parsed("where", where.encode(), hint=_HINT_WHERE),
        order_by=options.get("order_by"),
        limit=count_in(options, "limit", default=PAGE_NODES, high=PAGE_NODES_MAX),
        after=options.get("after"),
    )
    return _tagged(_page_json(revision.root_cid, page), is_immutable=is_cid(at))


def query(call: Call) -> Answer:
    """Returns one page of the nodes that match, by every condition of the library."""
    options = read_object(call.body, ("at", *served("query")))
    revision = call.revision(options.pop("at", HEAD))
    limit = options.setdefault("limit", PAGE_NODES)
    if type(limit) is not int or not 0 <= limit <= PAGE_NODES_MAX:
        raise InvalidInputError(f"limit: got {limit!r:.80}, expected 0 to {PAGE_NODES_MAX}")
    page = revision.page(**options)
    if call.headers.get("accept") == CBOR:
        blocks = [one.encode() for one in page.nodes]
        return Answer(codec.encode(_page_form(revision.root_cid, page, blocks)), CBOR)
    return Answer(written(_page_json(revision.root_cid, page)))


def _page_json(root: RootCid, page: Page) -> dict[str, Any]:
    return _page_form(root, page, [block_json(one) for one in page.nodes])


def _page_form(root: RootCid, page: Page, nodes: list[Any]) -> dict[str, Any]:
    return {
        "root": str(root),
        "nodes": nodes,
        "count": page.count,
        "next": page.next,
        "warnings": [one.to_dict() for one in page.warnings],
    }


def log(call: Call) -> Answer:
    """Returns the newest commits of a revision."""
    options = call.options("at", "limit")
    limit = count_in(options, "limit", default=LOG_COMMITS, high=LOG_COMMITS_MAX)
    at = options.get("at", HEAD)
    commits = list(islice(call.served.repository.history.log(at), limit))
    if call.headers.get("accept") == CBOR:
        return Answer(codec.encode([one.encode() for one in commits]), CBOR)
    body = {"commits": [block_json(one) for one in commits]}
    return _tagged(body, is_immutable=is_cid(at))


def diff(call: Call) -> Answer:
    """Returns what differs between two revisions."""
    options = call.options("before", "after", "limit")
    if "before" not in options:
        raise InvalidInputError("before: got nothing, expected a revision in the query")
    limit = count_in(options, "limit", default=DIFF_CHANGES, high=DIFF_CHANGES_MAX)
    before, after = options["before"], options.get("after", HEAD)
    changes = call.served.repository.history.diff(before, after)
    listed = list(islice(changes, limit + 1))
    body = {
        "changes": [change_json(one) for one in listed[:limit]],
        "is_complete": len(listed) <= limit,
    }
    return _tagged(body, is_immutable=is_cid(before) and is_cid(after))


def _tagged(body: dict[str, Any], *, is_immutable: bool) -> Answer:
    from blake3 import blake3

    data = written(body)
    return Answer(data, tag=blake3(data).hexdigest()[:32], is_immutable=is_immutable)

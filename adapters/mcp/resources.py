"""What can be read by its address: a node at a revision, a receipt, the state of the repository.

    ibidem://status
    ibidem://main/node/1a2b...
    ibidem://receipt/bafy...

A `/` in a branch is written as `%2F`.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote, unquote

import ibidem
from ibidem.adapters.mcp.access import Access
from ibidem.adapters.mcp.page import BUDGET_MAX
from ibidem.adapters.mcp.questions import read

STATUS = "ibidem://status"
NODE = "ibidem://{rev}/node/{id}"
RECEIPT = "ibidem://receipt/{cid}"
TEXT, JSON = "text/plain", "application/json"
COMPLETIONS_MAX = 100
_NODE = re.compile(r"ibidem://([^/]+)/node/([^/]+)")
_RECEIPT = re.compile(r"ibidem://receipt/([^/]+)")


def read_resource(access: Access, uri: str) -> tuple[str, str]:
    """Returns the media type and the text of a resource.

    Raises:
        NotFoundError: there is none of that address, or the tool that shows the same is not
            offered.
    """
    if uri == STATUS and access.may("resource.status"):
        return JSON, json.dumps(status(access))
    if access.offers("verify") and (match := _RECEIPT.fullmatch(uri)):
        return JSON, json.dumps(receipt(access, unquote(match[1])))
    if offers_nodes(access) and (match := _NODE.fullmatch(uri)):
        rev, node = map(unquote, match.groups())
        return TEXT, read(access, id=node, at=rev, token_budget=BUDGET_MAX).text
    raise ibidem.NotFoundError(
        f"resource: got {uri!r:.200}, expected {STATUS}, {NODE} or {RECEIPT}"
    )


def offers_nodes(access: Access) -> bool:
    """Returns whether a caller has the resource of nodes: with the tool that shows the same."""
    return access.offers("read") and access.may("resource.node")


def offers_receipts(access: Access) -> bool:
    """Returns whether a caller has the resource of receipts."""
    return access.offers("verify") and access.may("resource.receipt")


def status(access: Access) -> dict[str, Any]:
    """Returns the head, the branches and the tags, and why others cannot be read."""
    repository = access.repository
    head = repository.head
    branches = repository.branches()
    body: dict[str, Any] = {
        "branch": repository.current_branch,
        "commit": None if head is None else str(head),
        "branches": {name: str(cid) for name, cid in branches.items()},
        "tags": {name: str(cid) for name, cid in repository.tags().items()},
        "is_read_only": access.is_read_only,
    }
    if branches.damaged:
        body["damaged"] = [str(error) for error in branches.damaged]
    return body


def receipt(access: Access, cid: str) -> dict[str, Any]:
    """Returns what a receipt says: the root, the question, the ids and scores of the items."""
    name, recorded = access.owner.receipts.find(cid)
    if not isinstance(recorded, ibidem.Receipt):
        raise ibidem.InvalidInputError("receipt: it is sealed, expected one with its question")
    return {
        "receipt": str(name),
        "root": str(recorded.root),
        "commit": None if recorded.commit is None else str(recorded.commit),
        "query": recorded.query.text,
        "result": str(recorded.result),
        "items": [
            {"id": str(item.id), "cid": str(item.cid), "score": item.score}
            for item in recorded.items
        ],
    }


def completed(access: Access, argument: str, value: str) -> list[str]:
    """Returns the values of an argument that begin with a text, as they stand in an address."""
    if argument not in ("rev", "since"):
        return []
    names = ["HEAD", *access.repository.branches(), *access.repository.tags()]
    found = [name for name in names if name.startswith(value)]
    return [quote(name, safe="") if argument == "rev" else name for name in found][:COMPLETIONS_MAX]

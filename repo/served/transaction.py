"""A transaction on a server: changes are collected here, and sent as records in one request.

The request has a key of its own, so it may be sent again if its answer is lost, and is done once.
Ids are derived here as they are there: from a key, or from the content.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ibidem.objects.derive import content_node_id, edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.json_value import to_json
from ibidem.objects.node import Node, split_content
from ibidem.repo.argument_checks import check_content, check_id, check_mapping, check_names
from ibidem.repo.served.members import Behind, not_served, serves
from ibidem.repo.transaction.transaction import UNCHANGED, Transaction

if TYPE_CHECKING:
    import numpy.typing as npt

    from ibidem.objects.commit import Commit
    from ibidem.repo.served.client import Client

_PLACEHOLDER = NodeId(bytes(16))


@serves(Transaction, "commit")
class ServedTransaction(Behind, Transaction):
    """Collects changes; a context manager that sends them on exit, and drops them on an error."""

    def __init__(
        self,
        client: Client,
        commit_at: Callable[[str], Commit],
        fields: Mapping[str, Any],
        condition: Mapping[str, str],
    ) -> None:
        """Begins empty.

        Args:
            client: what sends it.
            commit_at: reads a commit.
            fields: of the commit.
            condition: headers that say which commit the branch must be at.
        """
        self._client, self._commit_at = client, commit_at
        self._fields = fields
        self._headers = {**condition, "Idempotency-Key": secrets.token_hex(16)}
        self._records: list[Mapping[str, Any]] = []
        self._is_open = True
        self.commit: Commit | None = None

    def _pending_count(self) -> int:
        return len(self._records)

    def _end(self, error: BaseException | None) -> None:
        if error is not None:
            self.rollback()
        elif self._is_open:
            self.publish()

    def publish(self) -> Commit | None:
        """Sends the changes and ends the transaction; returns the commit, None if nothing changed.

        Raises:
            ConflictError: kind `head-moved`: the branch is not at the commit of the condition.
        """
        self._check_open()
        self._is_open = False
        body = {**self._fields, "records": self._records}
        made = self._client.post("/v1/transactions", body, self._headers).json().get("commit")
        if isinstance(made, str):
            self.commit = self._commit_at(made)
        return self.commit

    def rollback(self) -> None:
        """Drops all changes and ends the transaction."""
        self._is_open = False

    def add_node(
        self,
        ntype: str,
        *,
        summary: str | None = None,
        context_sentence: str | None = None,
        content: bytes | str | None = None,
        props: Mapping[str, Any] | None = None,
        key: Any = None,
        namespace: str = "",
        id: NodeId | str | None = None,  # noqa: A002
        children: Sequence[Any] = (),
        tail: str = "",
        unique: bool = False,
        replace: bool = False,
    ) -> NodeId:
        """Collects a node and returns its id; as `Transaction.add_node`."""
        self._check_open()
        for name, value in (("id", id), ("children", children), ("tail", tail), ("unique", unique)):
            if value:
                raise not_served(f"Transaction.add_node({name}=…)")
        if replace and key is None:
            raise not_served("Transaction.add_node(replace=…) without a key")
        data = check_content(content)
        inline, _ = split_content(data)
        texts = (ntype, summary, context_sentence, check_mapping("props", props), inline)
        if key is None:
            found = content_node_id(Node(_PLACEHOLDER, *texts).to_map())
        else:
            found = Node(node_id(namespace, key), *texts, (namespace, key)).id
        fields = {"summary": summary, "context_sentence": context_sentence, "key": to_json(key)}
        record = {name: value for name, value in fields.items() if value is not None}
        if namespace:
            record["namespace"] = namespace
        if key is not None:
            record["replace"] = replace
        if data:
            record["content_base64"] = base64.b64encode(data).decode("ascii")
        self._collect("node", {"ntype": ntype, "props": to_json(props or {}), **record})
        return found

    def update_node(
        self,
        id: NodeId | str,  # noqa: A002
        *,
        ntype: str = UNCHANGED,
        summary: str | None = UNCHANGED,
        context_sentence: str | None = UNCHANGED,
        content: bytes | str | None = UNCHANGED,
        props: Mapping[str, Any] | None = UNCHANGED,
        set_props: Mapping[str, Any] | None = None,
        unset_props: Iterable[str] = (),
        children: Sequence[Any] = UNCHANGED,
        tail: str = UNCHANGED,
    ) -> None:
        """Collects new values of the given fields; the other fields and the id stay."""
        if children is not UNCHANGED:
            raise not_served("Transaction.update_node(children=…)")
        texts = {"ntype": ntype, "summary": summary, "context_sentence": context_sentence}
        values: dict[str, Any] = {**texts, "tail": tail}
        values = {name: value for name, value in values.items() if value is not UNCHANGED}
        if not content:
            values["content"] = None
        elif content is not UNCHANGED:
            values["content_base64"] = base64.b64encode(check_content(content)).decode("ascii")
        for name, given in (("props", props), ("set_props", set_props)):
            if given is not UNCHANGED and (name == "props" or given is not None):
                values[name] = _properties(name, given)
        if names := check_names("unset_props", unset_props):
            values["unset_props"] = names
        if values:
            self._collect("update", {"node": str(check_id("id", id, NodeId)), **values})

    def add_edge(
        self,
        src: NodeId | str,
        etype: str,
        dst: NodeId | str,
        *,
        weight: float = 1.0,
        props: Mapping[str, Any] | None = None,
        key: Any = None,
        replace: bool = False,
    ) -> EdgeId:
        """Collects an edge and returns its id; as `Transaction.add_edge`."""
        self._check_open()
        ends = check_id("src", src, NodeId), check_id("dst", dst, NodeId)
        found = edge_id(ends[0], etype, ends[1], key)
        # Raises for what no edge may have.
        Edge(found, etype, *ends, weight, check_mapping("props", props), key)
        record = {"source": str(ends[0]), "etype": etype, "target": str(ends[1])}
        more = {"weight": weight, "props": to_json(props or {}), "replace": replace}
        given = {} if key is None else {"key": to_json(key)}
        self._collect("edge", {**record, **more, **given})
        return found

    def remove_node(self, id: NodeId | str) -> None:  # noqa: A002
        """Collects the removal of a node with its edges and vectors."""
        self._collect("remove", {"node": str(check_id("id", id, NodeId))})

    def remove_edge(self, id: EdgeId | str) -> None:  # noqa: A002
        """Collects the removal of an edge."""
        self._collect("remove", {"edge": str(check_id("id", id, EdgeId))})

    def tombstone(self, id: NodeId | str, *, reason: str = "") -> None:  # noqa: A002
        """Collects a tombstone: the node is hidden from the new root on."""
        self._collect("tombstone", {"node": str(check_id("id", id, NodeId)), "reason": reason})

    def set_vector(
        self,
        id: NodeId | str,  # noqa: A002
        *,
        model: str,
        vector: npt.ArrayLike,
        of: bytes | None = None,
    ) -> None:
        """Collects the vector of a node under a model."""
        if of is not None:
            raise not_served("Transaction.set_vector(of=…)")
        values = np.asarray(vector, np.float32).tolist()
        node = str(check_id("id", id, NodeId))
        self._collect("vector", {"node": node, "model": model, "values": values})

    def _collect(self, form: str, record: Mapping[str, Any]) -> None:
        self._check_open()
        self._records.append({form: record})

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidInputError("transaction: it has ended")


def _properties(field: str, given: object) -> Any:
    """Returns properties as JSON; raises `InvalidInputError` for what no node may have."""
    found = check_mapping(field, given)
    Node(_PLACEHOLDER, "Node", props=found)
    return to_json(found)

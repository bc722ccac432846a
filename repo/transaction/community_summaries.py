"""Summaries of communities as nodes, which questions find as any others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from blake3 import blake3

from ibidem.objects.config import Config
from ibidem.retrieve.access.derived import derived
from ibidem.retrieve.access.policy import policy_of
from ibidem.retrieve.graph.partition import SUMMARY, Communities
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.objects.node import Node
    from ibidem.objects.root import Root


class Writer(Protocol):
    """The transaction that gets the nodes."""

    @property
    def base(self) -> Root:
        """The root that it begins on."""
        ...

    def node(self, id: NodeId | str) -> Node:  # noqa: A002
        """Returns a node."""
        ...

    def nodes(self, *, label: str | None = None) -> Iterator[Node]:
        """Yields the nodes of a label."""
        ...

    def remove_node(self, id: NodeId | str) -> None:  # noqa: A002
        """Stages the removal of a node."""
        ...

    def add_node(
        self,
        ntype: str,
        *,
        summary: str | None = None,
        props: Mapping[str, Any] | None = None,
        key: Any = None,
        replace: bool = False,
    ) -> NodeId:
        """Stages a node."""
        ...


def add_summaries(
    tx: Writer, found: Communities, *, name: str, sentences: int, method: str
) -> tuple[NodeId, ...]:
    """Stages a node for each community in place of those of the name; see
    `Transaction.add_summaries`."""
    checks.name("name", name)
    own = derived(policy_of(Config.from_map(tx.base.config)), found.labels)
    made: dict[NodeId, None] = {}
    for one in (one for level in found.levels for one in level):
        quotes = found.summary(one, sentences=sentences, method=method).sentences
        quoted = sorted({sentence.item for sentence in quotes})
        props = {
            **own.props,
            "name": name,
            "names": list(one.names),
            "division": one.level,
            "member_count": len(one),
            "sources": [tx.node(one.members[at]).cid for at in quoted],
        }
        digest = blake3(b"".join(sorted(id_.raw for id_ in one.members))).hexdigest()
        text = "\n".join([one.heading, *(sentence.text for sentence in quotes)])
        key = ["community", name, one.level, digest]
        made[tx.add_node(SUMMARY, summary=text, props=props, key=key, replace=True)] = None
    for node in list(tx.nodes(label=SUMMARY)):
        if node.props.get("name") == name and node.id not in made:
            tx.remove_node(node.id)
    return tuple(made)

"""Summaries of communities as nodes, which questions find as any others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from blake3 import blake3

from ibidem.objects.config import Config
from ibidem.retrieve.access.derived import derived
from ibidem.retrieve.access.policy import policy_of
from ibidem.retrieve.graph.partition import SUMMARY, Communities

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

    def read_ahead(self, ids: Iterable[NodeId | str]) -> None:
        """Reads nodes that are asked for next."""
        ...

    def node(self, id: NodeId | str) -> Node:  # noqa: A002
        """Returns a node."""
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
    tx: Writer, found: Communities, *, sentences: int, method: str
) -> tuple[NodeId, ...]:
    """Stages a node for each community; see `Transaction.add_summaries`."""
    policy = policy_of(Config.from_map(tx.base.config))
    made = []
    for one in (one for level in found.levels for one in level):
        tx.read_ahead(one.members)
        members = [tx.node(id_) for id_ in one.members]
        quotes = found.summary(one, sentences=sentences, method=method).sentences
        quoted = sorted({sentence.item for sentence in quotes})
        props = {
            **derived(policy, (node.props for node in members)).props,
            "names": list(one.names),
            "level_of_detail": one.level,
            "member_count": len(one),
            "sources": [members[at].cid for at in quoted],
        }
        digest = blake3(b"".join(sorted(id_.raw for id_ in one.members))).hexdigest()
        text = " ".join([f"{', '.join(one.names)}:", *(one.text for one in quotes)]).strip(": ")
        made.append(
            tx.add_node(SUMMARY, summary=text, props=props, key=["community", digest], replace=True)
        )
    return tuple(made)

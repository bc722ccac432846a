"""Paths of lanes that walk edges: how a walk led to an item, for its explanation.

Spec: retrieval 5.2.
"""

from __future__ import annotations

from typing import Any

from ibidem.objects.ids import NodeId
from ibidem.objects.plain import fields_of
from ibidem.objects.record import record


@record
class LanePath:
    """A path from a seed to an item: n + 1 nodes and the types of the n edges between them.

    >>> one, other = NodeId(bytes(16)), NodeId(bytes(15) + b"1")
    >>> print(LanePath((one, other), ("links_to",), (False,)))
    00000000000000000000000000000000 -links_to-> 00000000000000000000000000000031
    """

    nodes: tuple[NodeId, ...]
    etypes: tuple[str, ...]
    """Of several edges between two nodes, the first type in byte order."""
    incoming: tuple[bool, ...]
    """Whether the edge points back, from the later node to the earlier one."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the path as plain data."""
        return fields_of(self, "nodes", "etypes", "incoming")

    def __str__(self) -> str:
        text = str(self.nodes[0])
        for node, etype, is_back in zip(self.nodes[1:], self.etypes, self.incoming, strict=True):
            text += f" <-{etype}- {node}" if is_back else f" -{etype}-> {node}"
        return text

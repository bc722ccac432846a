"""How the nodes of a root are read: one by one or many at once, with their content."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ibidem.objects.cid import NodeCid
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.retrieve.tokens import HEURISTIC, TokenEstimator

Load = Callable[[NodeCid], Node]
LoadMany = Callable[[Sequence[NodeCid]], list[Node]]
Content = Callable[[Node], bytes | None]


def inline_content(node: Node) -> bytes | None:
    """Returns the content of a node that stores it in its own block, else None."""
    return node.content if isinstance(node.content, bytes) else None


@record
class NodeSource:
    """The source of a question's nodes, and the estimator that counts the tokens of their text."""

    load: Load
    """Reads a node."""
    content: Content = inline_content
    """Reads the whole content of a node, also if it is stored in raw blocks."""
    estimator: TokenEstimator = HEURISTIC
    """The estimator that the query names."""
    load_many: LoadMany | None = None
    """Reads many nodes at once; without it, they are read one by one."""

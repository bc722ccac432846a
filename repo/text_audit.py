"""Which texts of a revision serve a question badly: too short to say anything, too long to fit into
a context, or the same as another.

Only nodes that an answer shows as they are count: not documents and sections, whose texts are
titles, and not what is hidden. Every node is read once.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.objects.text import text_digest
from ibidem.repo.embed_nodes import texts_of
from ibidem.retrieve.query import checks
from ibidem.retrieve.tokens import HEURISTIC

if TYPE_CHECKING:
    from ibidem.repo.graph import Graph

SHORT_TOKENS = 8
LONG_TOKENS = 1000
"""The bounds by default: less than a sentence, and more than most budgets leave for one item."""
_CONTAINERS = frozenset(("Document", "Section"))


@record
class TextAudit:
    """The texts of one revision; nodes are in order of their ids."""

    text_count: int
    token_count: int
    """Of all texts, as the heuristic estimator counts."""
    short: tuple[NodeId, ...]
    long: tuple[NodeId, ...]
    duplicates: tuple[tuple[NodeId, ...], ...]
    """Groups of two or more nodes of one text, the largest first, then by the first id."""

    @property
    def duplicate_count(self) -> int:
        """How many texts stand there a second time or more often."""
        return sum(len(group) - 1 for group in self.duplicates)


def audit_texts(
    revision: Graph, *, short_tokens: int = SHORT_TOKENS, long_tokens: int = LONG_TOKENS
) -> TextAudit:
    """Returns the audit of the texts of a revision.

    Args:
        revision: what is read.
        short_tokens: texts with fewer tokens are short.
        long_tokens: texts with more tokens are long.

    Raises:
        InvalidInputError: a bound is not an integer from 0, or they are in the wrong order.
    """
    checks.count("short_tokens", short_tokens)
    checks.count("long_tokens", long_tokens, low=short_tokens)
    short, long = list[NodeId](), list[NodeId]()
    groups: dict[bytes, list[NodeId]] = defaultdict(list)
    token_count = 0
    for node, text in texts_of(revision):
        if not text or node.ntype in _CONTAINERS:
            continue
        tokens = HEURISTIC.estimate(text)
        token_count += tokens
        groups[text_digest(text)].append(node.id)
        if tokens < short_tokens:
            short.append(node.id)
        elif tokens > long_tokens:
            long.append(node.id)
    same = [tuple(group) for group in groups.values() if len(group) > 1]
    same.sort(key=lambda group: (-len(group), group[0].raw))
    return TextAudit(
        sum(map(len, groups.values())), token_count, tuple(short), tuple(long), tuple(same)
    )

"""What repeats an earlier one and is left out: a node of a ranking, or a pack, whose hits then go
to the earlier one.

The order decides which one stays. Everything is exact: texts, values and integers.

Spec: packs 4.1, retrieval 8.4.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from pyroaring import BitMap

from ibidem.objects import codec
from ibidem.objects.node import Node
from ibidem.retrieve.context.sequence import Spot
from ibidem.retrieve.query.dedupe import (
    NEAR,
    NONE,
    SAME_TEXT,
    SECTION,
    Dedupe,
)

_RUN_WORDS = 3

Key = Hashable
"""What two texts or nodes share if one repeats the other."""


class KeyIndex:
    """The keys of what stays, in order, by which later ones are found to repeat it."""

    def __init__(self, percent: int | None = None) -> None:
        """Takes the percentage from which two sets of runs are nearly the same text; without one,
        keys have to be equal."""
        self._percent = percent
        self._first: dict[Key, int] = {}
        self._owners: dict[tuple[str, ...], list[int]] = {}
        self._runs: list[frozenset[tuple[str, ...]]] = []

    def find(self, key: Key | None) -> int | None:
        """Returns the position of the first one that stays and is repeated; None if there is
        none."""
        if key is None:
            return None
        if self._percent is None:
            return self._first.get(key)
        assert isinstance(key, frozenset), "BUG: nearly the same texts are compared by runs"
        # A text that this one repeats lacks at most `missing_max` of its runs, so it has one of any
        # `missing_max + 1` of them: of the rarest, as the others may be in most texts.
        missing_max = (100 - self._percent) * len(key) // 100
        rarest = sorted(key, key=lambda run: len(self._owners.get(run, ())))[: missing_max + 1]
        for index in sorted({at for run in rarest for at in self._owners.get(run, ())}):
            both = len(key & self._runs[index])
            if 100 * both >= self._percent * (len(key) + len(self._runs[index]) - both):
                return index
        return None

    def add(self, key: Key | None) -> None:
        """Takes the key of the next one that stays."""
        at = len(self._runs)
        runs = key if isinstance(key, frozenset) else frozenset()
        for run in runs:
            self._owners.setdefault(run, []).append(at)
        if key is not None and not runs:
            self._first.setdefault(key, at)
        self._runs.append(runs)


def key_of(
    dedupe: Dedupe,
    hit: int,
    position: Spot | None,
    words: Callable[[], Sequence[str]],
    read: Callable[[int], Node],
    sections: BitMap,
) -> Key | None:
    """Returns what a later one must share with this one.

    Args:
        dedupe: the rule.
        hit: the ordinal of its node, of a pack that of its best hit.
        position: its position in a document, None if it has none.
        words: gives those of its text; see `folded`.
        read: reads a node.
        sections: all nodes that are sections.
    """
    if dedupe.by == NEAR:
        return frozenset(_runs(words()))
    if dedupe.by == SAME_TEXT:
        return " ".join(words())
    if dedupe.by == NONE:
        return None
    top = None if position is None else position.sequence.top
    if dedupe.property is not None:
        for props in (read(one).props for one in (hit, top) if one is not None):
            if dedupe.property in props:
                return codec.encode(props[dedupe.property])
        return None
    if position is not None and dedupe.by == SECTION:
        section = position.section(lambda one: read(one).summary or "", sections)
        return top if section is None else section.ordinal
    return top


def folded(texts: Iterable[str]) -> list[str]:
    """Returns the words of some texts, case apart."""
    return " ".join(texts).casefold().split()


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Returns the runs of three words of a text, or the whole text if it has fewer."""
    count = max(1, len(words) - _RUN_WORDS + 1)
    return {tuple(words[start : start + _RUN_WORDS]) for start in range(count)}

"""Which packs say what an earlier one says: they are left out, and their hits go to it.

    text       the same words, with the neighbours of a hit (the default)
    source     another pack of its document
    section    another pack of its section, or of its document where there is none
    near       at least so many percent of the runs of three words of both are in both
    property   the same value of a property of the best hit, else of its document: a rule of your
               own is a property that you write
    none       nothing is left out

The order of the groups decides which one stays. Everything is exact: texts, values and integers.

Spec: packs 4.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from ibidem.retrieve.context.group import Group

RUN_WORDS = 3


def distinct(groups: Iterable[Group], key: Callable[[Group], Hashable | None]) -> list[Group]:
    """Returns the groups without those that have the key of an earlier one; None is no key."""
    first: dict[Hashable, Group] = {}
    found: list[Group] = []
    for group in groups:
        value = key(group)
        earlier = group if value is None else first.setdefault(value, group)
        if earlier is group:
            found.append(group)
        else:
            earlier.join(group)
    return found


def distinct_nearly(
    groups: Iterable[Group], words: Callable[[Group], Sequence[str]], percent: int
) -> list[Group]:
    """Returns the groups without those whose text is nearly that of an earlier one that stays."""
    owners: dict[tuple[str, ...], list[int]] = {}
    sizes: list[int] = []
    found: list[Group] = []
    for group in groups:
        mine = runs(words(group))
        common = Counter(index for run in mine for index in owners.get(run, ()))
        for index in sorted(common):
            both = common[index]
            if 100 * both >= percent * (len(mine) + sizes[index] - both):
                found[index].join(group)
                break
        else:
            for run in mine:
                owners.setdefault(run, []).append(len(found))
            found.append(group)
            sizes.append(len(mine))
    return found


def runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Returns the runs of three words of a text, or the whole text if it has fewer."""
    count = max(1, len(words) - RUN_WORDS + 1)
    return {tuple(words[start : start + RUN_WORDS]) for start in range(count)}


def folded(texts: Iterable[str]) -> list[str]:
    """Returns the words of some texts, case apart."""
    return " ".join(texts).casefold().split()

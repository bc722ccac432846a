"""Negotiation: finds the commits that two repositories have in common, with few questions in few
rounds.

Spec: sync 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.repo.history.ancestry import commits_between

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.commit import Commit

Ask = Callable[[Sequence[CommitCid]], set[CommitCid]]
COMMITS_PER_ROUND = 256
ROUNDS_MAX = 8


def common_commits(
    source: Source, tips: Iterable[CommitCid], ask: Ask, *, hint: Iterable[CommitCid] = ()
) -> list[CommitCid]:
    """Returns commits that both sides have, ascending: those asked about that the other side has.

    Args:
        source: has the commits here.
        tips: the commits to start from, which are here.
        ask: returns which of some commits the other side has.
        hint: commits here that the other side is known to have.
    """
    starts = list(dict.fromkeys(tips))
    known = set(hint)
    first = [cid for cid in starts if cid not in known][:COMMITS_PER_ROUND]
    known |= ask(first) & set(first) if first else set()
    unknown = set(first) - known
    for _ in range(ROUNDS_MAX):
        open_commits = _open(commits_between(source, starts, known), unknown)
        if not open_commits:
            break
        batch = _chosen(open_commits)
        answered = ask(batch) & set(batch)
        known |= answered
        unknown |= set(batch) - answered
    return sorted(known)


def _open(commits: dict[CommitCid, Commit], unknown: set[CommitCid]) -> list[CommitCid]:
    """Returns the undecided commits, newest first; descendants of an unknown commit are unknown."""
    found: list[CommitCid] = []
    for cid, commit in commits.items():  # parents before children
        if cid in unknown or not unknown.isdisjoint(commit.parents):
            unknown.add(cid)
        else:
            found.append(cid)
    found.reverse()
    return found


def _chosen(commits: list[CommitCid]) -> list[CommitCid]:
    if len(commits) <= COMMITS_PER_ROUND:
        return commits
    half = COMMITS_PER_ROUND // 2
    positions = {1 << power for power in range(len(commits).bit_length() - 1)}
    positions |= {at * len(commits) // half for at in range(half)}
    return [commits[at] for at in sorted(positions)]

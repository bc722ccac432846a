"""Differences that `RootCheck` keeps: found once, and not more of them than memory is meant for."""

from __future__ import annotations

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid
from ibidem.objects.tree import EMPTY_TREE, diff, mutate
from ibidem.repo.root_check import RootCheck, refuse


def test_differences_of_many_trees_that_are_kept_have_a_bound() -> None:
    """Trees that share nearly all their blocks cost a sender little."""
    batch = WriteBatch()
    value = Cid.of(b"value")
    edits = {number.to_bytes(16): value for number in range(90)}
    trees = [
        mutate(EMPTY_TREE, {**edits, b"\xff" * 15 + bytes((at,)): value}, batch) for at in range(9)
    ]
    check = RootCheck(batch, refuse)
    check.changes_max, check.all_changes_max = 100, 250
    for _ in range(2):
        for tree in trees:
            expected = list(diff(batch, EMPTY_TREE, tree))
            assert list(check.changes(batch, EMPTY_TREE, tree)) == expected
    assert sum(map(len, check._changes.values())) == 2 * 91

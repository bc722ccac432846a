"""A node's level under a trust policy: of two, the stricter stands, and nobody need settle it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ibidem
from ibidem.objects.derive import node_id
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer, strictness

A = node_id("", "a")
ABSENT = None
POLICY = TrustPolicy(default_level=2)


def forked(before: int | None, ours: int | None, theirs: int | None) -> Repository:
    """Returns a repository whose branches give one node these levels, each with other words too."""
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
        tx.add_node("Doc", summary="the vault", props=levelled(before), key="a")
    repo.branch("side")
    for branch, level, field in (("main", ours, "here"), ("side", theirs, "there")):
        with repo.transaction(branch=branch) as tx:
            tx.update_node(A, props={**levelled(level), field: 1})
    return repo


def without_policy(*, on_side: TrustPolicy | None = None) -> Repository:
    """Returns a repository whose branches give one node another level each; a policy may come on
    one of them."""
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.add_node("Doc", props={"level": 1}, key="a")
    repo.branch("side")
    for branch, level, policy in (("main", 2, None), ("side", 3, on_side)):
        with repo.transaction(branch=branch) as tx:
            tx.update_node(A, set_props={"level": level})
            if policy is not None:
                tx.set_trust_policy(policy)
    return repo


def levelled(level: int | None) -> dict[str, int]:
    return {} if level is None else {"level": level}


def level_of(repo: Repository) -> int:
    return strictness(POLICY, repo.at(viewer=ALL).node(A).props)


@pytest.mark.parametrize(
    ("before", "ours", "theirs", "merged"),
    [
        (1, 4, 3, 4),
        (4, 1, 0, 1),
        (2, 1, 3, 3),
        (1, ABSENT, 0, 2),
        (1, ABSENT, 3, 3),
        (1, 3, 3, 3),
    ],
)
def test_of_two_levels_the_stricter_stands_without_a_conflict(
    before: int, ours: int | None, theirs: int | None, merged: int
) -> None:
    for one, other in ((ours, theirs), (theirs, ours)):
        repo = forked(before, one, other)
        found = repo.merge("side")
        assert (level_of(repo), found.conflicts, repo.conflicts()) == (merged, (), [])
        assert {"here", "there"} <= repo.at(viewer=ALL).node(A).props.keys()


def test_a_level_that_one_side_alone_changed_stands_even_where_it_is_lower() -> None:
    repo = forked(3, 1, 3)
    repo.merge("side")
    assert level_of(repo) == 1
    assert repo.at(viewer=Viewer(level=1, scopes=())).node(A).summary == "the vault"


def test_where_both_sides_put_a_node_saying_no_level_is_saying_the_default_one() -> None:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
    repo.branch("side")
    for branch, props in (("main", {"level": 1}), ("side", {})):
        with repo.transaction(branch=branch) as tx:
            tx.add_node("Doc", summary="the vault", props=props, key="a")
    repo.merge("side")
    assert (level_of(repo), repo.conflicts()) == (2, [])


def test_levels_that_are_equally_strict_are_as_any_other_property() -> None:
    repo = forked(1, ABSENT, 2)
    repo.merge("side")
    (found,) = repo.conflicts()
    assert (found.fields, level_of(repo)) == (("props.level",), 2)


def test_without_a_policy_a_property_called_level_is_as_any_other() -> None:
    repo = without_policy()
    repo.merge("side")
    assert repo.conflicts()[0].fields == ("props.level",)


def test_a_policy_that_comes_with_the_merge_counts() -> None:
    repo = without_policy(on_side=POLICY)
    repo.merge("side")
    assert (level_of(repo), repo.conflicts()) == (3, [])


def test_what_is_too_large_together_stands_as_the_stricter_side_has_it() -> None:
    for ours, theirs in ((3, 4), (4, 3)):
        repo = forked(1, ours, theirs)
        for branch in ("main", "side"):
            with repo.transaction(branch=branch) as tx:
                tx.update_node(A, set_props={branch: "x" * 600_000})
        repo.merge("side")
        assert level_of(repo) == 4
        assert repo.conflicts()[0].fields == ()


def test_a_writer_who_was_overtaken_does_not_lower_what_the_other_raised() -> None:
    repo = forked(1, 2, 2)
    slow = repo.transaction()
    with slow as tx:
        tx.update_node(A, set_props={"level": 0})
        with repo.transaction() as fast:
            fast.update_node(A, set_props={"level": 4})
    assert (level_of(repo), slow.conflicts) == (4, ())


@settings(max_examples=30, deadline=None)
@given(*(st.none() | st.integers(0, 4) for _ in range(3)))
def test_no_merge_shows_a_node_to_more_than_both_sides_unless_one_alone_decided(
    before: int | None, ours: int | None, theirs: int | None
) -> None:
    repo = forked(before, ours, theirs)
    repo.merge("side")
    levels = [strictness(POLICY, levelled(one)) for one in (ours, theirs)]
    if before in (ours, theirs):
        assert level_of(repo) == levels[before == ours]
    else:
        assert level_of(repo) == max(levels)

"""Two branches that both change the trust policy: the stricter stands, or nothing is merged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.errors import ConflictError, ErrorKind
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import TrustPolicy, policy_of

NAMES = TrustPolicy(level="secrecy")
OTHER_NAMES = TrustPolicy(level="rank")


def put(repo: Repository, policy: TrustPolicy | None, *, branch: str = "main") -> None:
    with repo.transaction(branch=branch) as tx:
        tx.set_trust_policy(policy)


def forked(
    before: TrustPolicy | None, ours: TrustPolicy | None, theirs: TrustPolicy | None
) -> Repository:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="the vault", key="a")
        tx.set_trust_policy(before)
    repo.branch("side")
    put(repo, ours)
    put(repo, theirs, branch="side")
    return repo


def policy(repo: Repository, rev: str = "main") -> TrustPolicy | None:
    return policy_of(repo.at(rev).config)


@pytest.mark.parametrize(
    ("before", "ours", "theirs", "merged"),
    [
        (
            TrustPolicy(),
            TrustPolicy(default_level=2),
            TrustPolicy(default_level=4),
            TrustPolicy(default_level=4),
        ),
        (
            TrustPolicy(anonymous_level=4),
            TrustPolicy(anonymous_level=2),
            TrustPolicy(anonymous_level=3),
            TrustPolicy(anonymous_level=2),
        ),
        (
            None,
            TrustPolicy(unscoped="deny"),
            TrustPolicy(default_level=3),
            TrustPolicy(unscoped="deny", default_level=3),
        ),
        (
            TrustPolicy(),
            NAMES,
            TrustPolicy(default_level=0),
            TrustPolicy(level="secrecy", default_level=0),
        ),
        (TrustPolicy(), None, TrustPolicy(default_level=3), TrustPolicy(default_level=3)),
        (TrustPolicy(), None, TrustPolicy(), None),
        (TrustPolicy(), NAMES, NAMES, NAMES),
    ],
)
def test_each_field_merges_and_of_two_values_the_stricter_stands(
    before: TrustPolicy | None,
    ours: TrustPolicy | None,
    theirs: TrustPolicy | None,
    merged: TrustPolicy | None,
) -> None:
    for one, other in ((ours, theirs), (theirs, ours)):
        repo = forked(before, one, other)
        repo.merge("side")
        assert policy(repo) == merged


CLASHES = [
    (TrustPolicy(), NAMES, OTHER_NAMES),
    (None, TrustPolicy(), TrustPolicy(scope="team")),
    (TrustPolicy(), TrustPolicy(level="x"), TrustPolicy(scope="x")),
]


def merges(repo: Repository) -> None:
    repo.merge("side")


def tries(repo: Repository) -> None:
    repo.merge("side", dry_run=True)


def rebases(repo: Repository) -> None:
    repo.rebase("side")


def picks(repo: Repository) -> None:
    repo.cherry_pick("side")


@pytest.mark.parametrize("act", [merges, tries, rebases, picks])
@pytest.mark.parametrize("clash", CLASHES)
def test_two_names_of_a_property_are_refused_and_nothing_changes(
    clash: tuple[TrustPolicy | None, TrustPolicy, TrustPolicy], act: Callable[[Repository], None]
) -> None:
    repo = forked(*clash)
    before = repo.head, repo.core.store.stats()
    with pytest.raises(ConflictError) as refused:
        act(repo)
    assert refused.value.kind is ErrorKind.CONFLICT
    assert "trust enable" in (refused.value.hint or "")
    assert all(repr(name) in str(refused.value) for side in clash[1:] for name in (side.level,))
    assert (repo.head, repo.core.store.stats()) == before
    # A rebase makes every commit again, so that what it goes on has to agree.
    branch, agreed = ("side", clash[1]) if act is rebases else ("main", clash[2])
    put(repo, agreed, branch=branch)
    act(repo)
    assert act is tries or policy(repo) == agreed


def test_a_writer_who_was_overtaken_by_another_policy_is_refused() -> None:
    for on_conflict in ("record", "raise"):
        repo = forked(TrustPolicy(), TrustPolicy(), TrustPolicy())
        slow = repo.transaction(on_conflict=on_conflict)
        slow.set_trust_policy(NAMES)
        put(repo, OTHER_NAMES)
        head = repo.head
        with pytest.raises(ConflictError) as refused:
            slow.publish()
        assert refused.value.kind is ErrorKind.CONFLICT
        assert (repo.head, policy(repo)) == (head, OTHER_NAMES)


def test_who_asked_to_be_refused_is_even_where_one_policy_is_stricter() -> None:
    repo = forked(TrustPolicy(), TrustPolicy(), TrustPolicy())
    slow, alike = (repo.transaction(on_conflict="raise") for _ in range(2))
    slow.set_trust_policy(TrustPolicy(default_level=2))
    alike.set_trust_policy(TrustPolicy(default_level=3))
    put(repo, TrustPolicy(default_level=3))
    with pytest.raises(ConflictError, match=r"config\.trust"):
        slow.publish()
    alike.publish()
    assert policy(repo) == TrustPolicy(default_level=3)


def test_a_pull_is_refused_and_goes_through_once_both_agree(tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "there") as there:
        put(there, TrustPolicy())
        with ibidem.clone(str(tmp_path / "there"), tmp_path / "here") as here:
            put(there, NAMES)
            put(here, OTHER_NAMES)
            head = here.head
            with pytest.raises(ConflictError):
                here.sync.pull()
            assert here.head == head
            put(here, NAMES)
            here.sync.pull()
            assert policy(here) == NAMES


def test_criss_cross_histories_that_disagree_again_are_refused_again() -> None:
    repo = forked(TrustPolicy(), NAMES, OTHER_NAMES)
    repo.branch("main-then", at="main")
    put(repo, OTHER_NAMES)
    repo.merge("side")
    put(repo, NAMES, branch="side")
    repo.merge("main-then", branch="side")
    assert (policy(repo), policy(repo, "side")) == (OTHER_NAMES, NAMES)
    with pytest.raises(ConflictError):
        repo.merge("side")
    put(repo, NAMES)
    repo.merge("side")
    assert policy(repo) == NAMES

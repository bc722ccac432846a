"""Several merges: the same to the byte whoever makes them, in whatever order they meet."""

from __future__ import annotations

from ibidem.repo.repository import Repository

from .conftest import A, B, C, on


def test_merges_are_the_same_to_the_byte_whoever_makes_them(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="theirs")
        tx.remove_node(B)
    with on(repo, "main") as tx:
        tx.update_node(A, summary="ours")
        tx.add_edge(C, "cites", B)
    repo.branch("one", at="main")
    repo.branch("two", at="side")
    one, two = repo.merge("side", branch="one").commit, repo.merge("main", branch="two").commit
    assert one is not None
    assert two is not None
    assert one.root == two.root


def test_criss_cross_histories_take_both_bases_into_account(repo: Repository) -> None:
    with on(repo, "main") as tx:
        tx.update_node(A, set_props={"p": 1})
    with on(repo, "side") as tx:
        tx.update_node(B, set_props={"p": 1})
    repo.branch("one", at="main")
    repo.branch("two", at="side")
    repo.merge("side", branch="one")
    repo.merge("main", branch="two")
    with on(repo, "one") as tx:
        tx.update_node(A, set_props={"p": 2})
    with on(repo, "two") as tx:
        tx.update_node(B, set_props={"p": 2})
    bases = repo.history.merge_bases("one", "two")
    assert set(bases) == {repo.resolve("main"), repo.resolve("side")}
    merged = repo.merge("two", branch="one")
    assert merged.conflicts == ()
    at = repo.at("one")
    assert (at.node(A).props["p"], at.node(B).props["p"]) == (2, 2)


def test_a_conflict_settled_apart_and_differently_is_a_conflict_again(repo: Repository) -> None:
    for branch in ("main", "side"):
        with on(repo, branch) as tx:
            tx.update_node(A, summary=branch)
    repo.branch("one", at="main")
    repo.branch("two", at="side")
    repo.merge("side", branch="one")
    repo.merge("main", branch="two")
    for branch in ("one", "two"):
        repo.switch(branch)
        repo.resolve_conflict(A, "ours")
    repo.switch("main")
    assert {repo.at(name).node(A).summary for name in ("one", "two")} == {"main", "side"}
    merged = repo.merge("two", branch="one")
    assert [found.fields for found in merged.conflicts] == [("summary",)]


def test_deep_criss_cross_is_bounded(repo: Repository) -> None:
    one, two = "main", "side"
    for number in range(1, 24):
        for branch, node in ((one, A), (two, B)):
            with on(repo, branch) as tx:
                tx.update_node(node, set_props={"p": number})
        first, second = repo.resolve(one), repo.resolve(two)
        repo.merge(second, branch=one)
        repo.merge(first, branch=two)
        assert len(repo.history.merge_bases(one, two)) == 2
    assert repo.merge(two, branch=one).conflicts == ()


def test_more_than_sixty_four_sides_are_counted_and_bounded(repo: Repository) -> None:
    begun = [repo.transaction(message=str(number)) for number in range(70)]
    for number, tx in enumerate(begun):
        tx.update_node(A, summary=f"writer {number}")
    for tx in begun:
        tx.publish()
    (found,) = repo.conflicts()
    assert len(found.conflict.sides) == 64
    assert len(list(repo.history.log())) == 71 - sum(tx.commit is None for tx in begun)
    repo.resolve_conflict(A, value={"summary": "settled"})
    assert repo.conflicts() == []

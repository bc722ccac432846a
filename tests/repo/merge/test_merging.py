"""Merging branches: what stands, what is recorded, and that nothing is lost or coined.

The first tests are the defects of a comparable program, each shown to be absent here.
"""

from __future__ import annotations

import itertools

import pytest

import ibidem
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree
from ibidem.repo.merge.branch import Outcome
from ibidem.repo.repository import Repository
from ibidem.repo.transaction import Transaction

A, B, C, D = (node_id("", key) for key in "abcd")


@pytest.fixture
def repo() -> Repository:
    repository = ibidem.init("memory:")
    with repository.transaction(message="base") as tx:
        for key in "abcd":
            tx.add_node("Doc", summary=f"{key} base", props={"p": 0, "q": 0}, key=key)
        tx.add_edge(A, "cites", B)
        tx.add_edge(C, "cites", D)
        for node in (A, B, C, D):
            tx.set_vector(node, model="m", vector=[1.0, 2.0])
            tx.set_sparse(node, vocab="v", indices=[1], weights=[1.0])
    repository.branch("side")
    return repository


def on(repo: Repository, branch: str) -> Transaction:
    """Begins a transaction on a branch."""
    return repo.transaction(branch=branch, message=f"on {branch}")


# -- defects of others -----------------------------------------------------------------------------


def test_one_sided_edits_stand_whichever_side_made_them(repo: Repository) -> None:
    for number in range(24):
        with on(repo, "side") as tx:
            tx.update_node(A, summary=f"side {number}")
        with on(repo, "main") as tx:
            tx.update_node(B, summary=f"main {number}")
        repo.merge("side")
        assert repo.at().node(A).summary == f"side {number}"
        assert repo.at().node(B).summary == f"main {number}"
        assert repo.conflicts() == []
        repo.merge("main", branch="side")


def test_what_one_side_removed_stays_removed(repo: Repository) -> None:
    edge = next(iter(repo.at().edges_of(C))).id
    with on(repo, "side") as tx:
        tx.remove_node(A)
        tx.remove_edge(edge)
    with on(repo, "main") as tx:
        tx.update_node(D, summary="edited")
    repo.merge("side")
    at = repo.at()
    assert A not in {node.id for node in at.nodes()}
    assert list(at.edges_of(C)) == []
    assert len(Tree(repo.store, at.root.vectors["m"])) == 3
    assert repo.conflicts() == []


def test_a_removal_against_an_edit_is_a_conflict_and_the_edit_stands(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.remove_node(A)
    with on(repo, "main") as tx:
        tx.update_node(A, summary="edited")
    repo.merge("side")
    (found,) = repo.conflicts()
    assert (found.id, found.reason) == (A, "changed and deleted")
    assert repo.at().node(A).summary == "edited"
    assert [edge.dst for edge in repo.at().edges_of(A)] == [B]


def test_no_vector_is_lost_and_vectors_rank_at_once(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.set_vector(A, model="n", vector=[1.0, 0.0, 0.0])
        tx.set_vector(B, model="m", vector=[2.0, 1.0])
    with on(repo, "main") as tx:
        new = tx.add_node("Doc", summary="e", key="e")
        tx.set_vector(new, model="m", vector=[0.0, 1.0])
    repo.merge("side")
    found = repo.retrieve(vector=("m", [0.0, 1.0]), limit=10)
    assert {item.node.id for item in found.items} == {A, B, C, D, new}
    assert repo.retrieve(vector=("n", [1.0, 0.0, 0.0])).items[0].node.id == A
    assert len(Tree(repo.store, repo.at().root.sparse["v"])) == 4


def test_a_second_model_of_a_node_does_not_displace_the_first(repo: Repository) -> None:
    for branch, model in (("side", "x"), ("main", "y")):
        with on(repo, branch) as tx:
            tx.set_vector(A, model=model, vector=[1.0])
    repo.merge("side")
    root = repo.at().root
    assert set(root.vectors) == {"m", "x", "y"}


def test_properties_merge_one_by_one(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, set_props={"p": 1})
    with on(repo, "main") as tx:
        tx.update_node(A, set_props={"q": 2}, summary="main")
    repo.merge("side")
    assert (dict(repo.at().node(A).props), repo.at().node(A).summary) == ({"p": 1, "q": 2}, "main")
    assert repo.conflicts() == []


def test_parallel_edges_are_told_apart(repo: Repository) -> None:
    for branch, key in (("side", 1), ("main", 2)):
        with on(repo, branch) as tx:
            tx.add_edge(A, "cites", C, key=key, weight=float(key))
    repo.merge("side")
    found = {edge.key: edge.weight for edge in repo.at().edges_of(A) if edge.dst == C}
    assert found == {1: 1.0, 2: 2.0}
    assert repo.conflicts() == []


def test_a_tombstone_beats_an_edit_and_a_removal(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.tombstone(A, reason="private")
        tx.tombstone(B)
    with on(repo, "main") as tx:
        tx.update_node(A, summary="edited")
        tx.remove_node(B)
    repo.merge("side")
    assert repo.conflicts() == []
    assert not {A, B} & {item.node.id for item in repo.retrieve("base edited").items}
    with repo.transaction() as tx:
        assert tx.is_tombstoned(A)
        assert tx.is_tombstoned(B)
        tx.untombstone(A)
    assert repo.at().node(A).summary == "edited"


def test_conflicts_are_settled_one_at_a_time(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="theirs")
        tx.update_node(B, summary="theirs")
    with on(repo, "main") as tx:
        tx.update_node(A, summary="ours", set_props={"p": 7})
        tx.update_node(B, summary="ours")
    repo.merge("side")
    assert [found.id for found in repo.conflicts()] == sorted((A, B))
    repo.resolve_conflict(A, "theirs")
    assert (repo.at().node(A).summary, repo.at().node(A).props["p"]) == ("theirs", 7)
    assert [found.id for found in repo.conflicts()] == [B]
    repo.resolve_conflict(B, "ours")
    assert repo.at().node(B).summary == "ours"
    assert repo.conflicts() == []


def test_a_dry_run_writes_nothing(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="theirs")
    with on(repo, "main") as tx:
        tx.update_node(A, summary="ours")
    before = (repo.head, repo.store.stats(), len(list(repo.operations())))
    would = repo.merge("side", is_dry_run=True)
    assert (repo.head, repo.store.stats(), len(list(repo.operations()))) == before
    assert would.outcome is Outcome.MERGED
    assert would.commit is None
    did = repo.merge("side")
    assert (would.changes, would.conflicts) == (did.changes, did.conflicts)


# -- outcomes --------------------------------------------------------------------------------------


def test_a_branch_without_commits_of_its_own_moves(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="side")
    merged = repo.merge("side", is_dry_run=True)
    assert merged.outcome is Outcome.FORWARDED
    merged = repo.merge("side")
    assert repo.head == repo.resolve("side")
    assert repo.merge("side").outcome is Outcome.UNCHANGED
    repo.undo()
    assert repo.head != repo.resolve("side")


def test_histories_with_nothing_in_common_merge(repo: Repository) -> None:
    other = ibidem.init("memory:")
    with other.transaction(message="elsewhere") as tx:
        tx.add_node("Doc", summary="z", key="z")
        tx.add_node("Doc", summary="another a", key="a")
    for cid in other.store.cids():
        repo.store.put({cid: other.store.get(cid)})
    assert other.head is not None
    assert repo.merge_bases("main", other.head) == ()
    repo.merge(other.head)
    assert len(list(repo.at().nodes())) == 5
    assert [found.id for found in repo.conflicts()] == [A]


def test_an_edge_to_a_node_that_the_other_side_removed_is_kept_aside(repo: Repository) -> None:
    with on(repo, "side") as tx:
        edge = tx.add_edge(C, "cites", A)
    with on(repo, "main") as tx:
        tx.remove_node(A)
    repo.merge("side")
    (found,) = repo.conflicts()
    assert (found.id, found.reason, found.value) == (edge, "connects a deleted node", None)
    result = repo.retrieve("c base", graph={"mode": "decay"})
    assert A not in {item.node.id for item in result.items}
    repo.resolve_conflict(edge, "theirs")
    assert repo.at().node(A).summary == "a base"
    assert edge in {each.id for each in repo.at().edges_of(C)}
    assert repo.conflicts() == []


@pytest.mark.parametrize(
    ("take", "summary"), [("ours", "ours"), ("theirs", None), ("base", "a base"), ("value", "ours")]
)
def test_an_edit_against_a_removal_is_settled(
    repo: Repository, take: str, summary: str | None
) -> None:
    with on(repo, "side") as tx:
        tx.remove_node(A)
    with on(repo, "main") as tx:
        tx.update_node(A, summary="ours")
    repo.merge("side")
    commit = repo.resolve_conflict(A, take)
    assert commit is not None
    assert repo.conflicts() == []
    nodes = {node.id: node for node in repo.at().nodes()}
    if take == "base":
        # Nothing but the fields in conflict is chosen; here the question is whether it is there.
        summary = "ours"
    assert (nodes[A].summary if A in nodes else None) == summary


def test_values_settle_and_unfit_ones_change_nothing(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="theirs", set_props={"p": 1})
    with on(repo, "main") as tx:
        tx.update_node(A, summary="ours", set_props={"p": 2})
    repo.merge("side")
    head = repo.head
    for wrong in ({"summary": 3}, {"ntype": None}, {"content": [1]}):
        with pytest.raises(InvalidInputError):
            repo.resolve_conflict(A, value=wrong)
    with pytest.raises(InvalidInputError):
        repo.resolve_conflict(A, "mine")
    with pytest.raises(NotFoundError):
        repo.resolve_conflict(B, "ours")
    assert repo.head == head
    value = {"summary": "both", "props.p": None, "content": "x" * 5000}
    repo.resolve_conflict(A, "ours", value=value)
    node = repo.at().node(A)
    assert (node.summary, dict(node.props)) == ("both", {"q": 0})
    assert repo.content_of(node) == b"x" * 5000


def test_an_answer_says_how_many_of_its_nodes_are_in_conflict(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="theirs")
    with on(repo, "main") as tx:
        tx.update_node(A, summary="ours")
    assert not repo.retrieve("ours theirs").warnings
    repo.merge("side")
    result = repo.retrieve("ours theirs")
    assert [(one.code, one.count) for one in result.warnings] == [("open_conflicts", 1)]
    assert not repo.retrieve("b base", label="Doc", limit=1).warnings
    assert repo.replay(result.receipt).to_bytes() == result.to_bytes()
    repo.resolve_conflict(A, "theirs")
    assert not repo.retrieve("theirs").warnings


def test_removing_what_is_in_conflict_settles_it(repo: Repository) -> None:
    for branch in ("side", "main"):
        with on(repo, branch) as tx:
            tx.update_node(A, summary=branch)
    repo.merge("side")
    with repo.transaction() as tx:
        tx.remove_node(A)
    assert repo.conflicts() == []


# -- several merges --------------------------------------------------------------------------------


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
    bases = repo.merge_bases("one", "two")
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
        assert len(repo.merge_bases(one, two)) == 2
    assert repo.merge(two, branch=one).conflicts == ()


# -- commits made again ----------------------------------------------------------------------------


def test_rebase_keeps_who_when_and_why_and_drops_what_is_there(repo: Repository) -> None:
    repo.switch("side")
    with repo.transaction(author="ada", message="one", time=5, agent="x", task="y") as tx:
        tx.update_node(A, summary="side")
    with repo.transaction(author="ada", message="same", time=6) as tx:
        tx.update_node(B, summary="same")
    with on(repo, "main") as tx:
        tx.update_node(B, summary="same")
    would = repo.rebase("main", is_dry_run=True)
    done = repo.rebase("main")
    assert would == done
    assert done.outcome is Outcome.REPLANTED
    assert [commit.message for commit in done.dropped] == ["same"]
    (commit,) = done.commits
    assert (commit.author, commit.time, commit.agent, commit.task) == ("ada", 5, "x", "y")
    assert commit.parents == (repo.resolve("main"),)
    assert repo.head == commit.cid
    repo.undo()
    assert [each.message for each in repo.log()][:2] == ["same", "one"]
    repo.redo()
    assert repo.rebase("main").outcome is Outcome.UNCHANGED


def test_rebase_refuses_a_merge_and_changes_nothing(repo: Repository) -> None:
    for branch, node in (("side", A), ("main", B)):
        with on(repo, branch) as tx:
            tx.update_node(node, summary=branch)
    repo.branch("third", at="main~1")
    with on(repo, "third") as tx:
        tx.update_node(C, summary="third")
    repo.merge("side")
    head = repo.head
    with pytest.raises(InvalidInputError, match="is a merge"):
        repo.rebase("third")
    assert repo.head == head


def test_cherry_pick_and_revert_undo_each_other(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="first")
    with on(repo, "side") as tx:
        tx.update_node(B, summary="second")
    before = repo.at().root_cid
    picked = repo.cherry_pick("side")
    assert [commit.message for commit in picked.commits] == ["on side"]
    assert (repo.at().node(A).summary, repo.at().node(B).summary) == ("a base", "second")
    assert repo.cherry_pick("side").outcome is Outcome.UNCHANGED
    reverted = repo.revert("HEAD", author="bob")
    assert reverted.commits[0].message == "revert on side"
    assert repo.at().root_cid == before


def test_a_revert_of_what_was_changed_since_is_a_conflict(repo: Repository) -> None:
    for number in range(2):
        with repo.transaction() as tx:
            tx.update_node(A, summary=f"edit {number}")
    done = repo.revert("HEAD~1")
    assert [found.fields for found in done.conflicts] == [("summary",)]
    repo.resolve_conflict(A, "theirs")
    assert repo.at().node(A).summary == "a base"


def test_the_first_commit_can_be_reverted(repo: Repository) -> None:
    done = repo.revert("HEAD")
    assert done.conflicts == ()
    assert list(repo.at().nodes()) == []


def test_more_than_sixty_four_sides_are_counted_and_bounded(repo: Repository) -> None:
    begun = [repo.transaction(message=str(number)) for number in range(70)]
    for number, tx in enumerate(begun):
        tx.update_node(A, summary=f"writer {number}")
    for tx in begun:
        tx.publish()
    (found,) = repo.conflicts()
    assert len(found.conflict.sides) == 64
    assert len(list(repo.log())) == 71 - sum(tx.commit is None for tx in begun)
    repo.resolve_conflict(A, value={"summary": "settled"})
    assert repo.conflicts() == []


def test_every_block_of_a_merge_is_needed(repo: Repository) -> None:
    from ibidem.objects.links import links

    for branch, node in itertools.product(("side", "main"), (A, B)):
        with on(repo, branch) as tx:
            tx.update_node(node, summary=branch)
    before = set(repo.store.cids())
    commit = repo.merge("side").commit
    assert commit is not None
    state = repo._operations.state()
    reached = {state.cid}
    waiting = [state.cid]
    while waiting:
        for link in links(repo.store.get(waiting.pop())):
            if link not in reached:
                reached.add(link)
                waiting.append(link)
    assert set(repo.store.cids()) - before - reached == set()
    assert Root.decode(repo.store.get(commit.root)).conflicts


def test_two_models_of_one_name_are_both_kept(repo: Repository) -> None:
    for branch, vector in (("side", [1.0, 0.0]), ("main", [1.0, 0.0, 0.0])):
        with on(repo, branch) as tx:
            tx.set_vector(A, model="new", vector=vector)
    repo.merge("side")
    models = repo.at().config.models
    (other,) = (name for name in models if name.startswith("new~"))
    assert {models["new"].dim, models[other].dim} == {2, 3}
    for name in ("new", other):
        ones = [1.0] * models[name].dim
        assert [item.node.id for item in repo.retrieve(vector=(name, ones)).items] == [A]


def test_what_together_is_too_large_for_a_block_is_a_conflict_about_the_whole(
    repo: Repository,
) -> None:
    for branch in ("side", "main"):
        with on(repo, branch) as tx:
            tx.update_node(A, set_props={branch: "x" * 600_000})
    repo.merge("side")
    (found,) = repo.conflicts()
    assert (found.fields, found.reason) == ((), "changed differently")
    stands = repo.at().node(A)
    other = "main" if "side" in stands.props else "side"
    repo.resolve_conflict(A, "ours" if other == "main" else "theirs")
    assert set(repo.at().node(A).props) == {"p", "q", other}


def test_an_answer_that_walks_edges_leaves_out_what_is_kept_aside(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.add_edge(C, "cites", A, weight=5.0)
    with on(repo, "main") as tx:
        tx.remove_node(A)
    repo.merge("side")
    assert [edge.dst for edge in repo.at().edges_of(C)] == [D]


def test_a_branch_merges_into_another_than_the_current_one(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="side")
    repo.branch("third")
    repo.merge("side", branch="third", author="ada", message="why", time=7)
    assert repo.resolve("third") == repo.resolve("side")
    with on(repo, "main") as tx:
        tx.update_node(B, summary="main")
    merged = repo.merge("main", branch="third", author="ada", message="why", time=7, agent="x")
    assert merged.commit is not None
    assert (merged.commit.author, merged.commit.time, merged.commit.agent) == ("ada", 7, "x")
    assert merged.commit.parents == (repo.resolve("side"), repo.resolve("main"))

"""Merging branches: what stands, what is recorded, and that nothing is lost or coined.

The first tests are the defects of a comparable program, each shown to be absent here.
"""

from __future__ import annotations

import itertools

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree
from ibidem.repo.merge.branch import Outcome
from ibidem.repo.repository import Repository

from .conftest import A, B, C, D, on

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
    assert len(Tree(repo.core.store, at.root.vectors["m"])) == 3
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
    assert len(Tree(repo.core.store, repo.at().root.sparse["v"])) == 4


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
    before = (repo.head, repo.core.store.stats(), len(list(repo.history.operations())))
    would = repo.merge("side", dry_run=True)
    assert (repo.head, repo.core.store.stats(), len(list(repo.history.operations()))) == before
    assert would.outcome is Outcome.MERGED
    assert would.commit is None
    did = repo.merge("side")
    assert (would.changes, would.conflicts) == (did.changes, did.conflicts)


# -- outcomes --------------------------------------------------------------------------------------


def test_a_branch_without_commits_of_its_own_moves(repo: Repository) -> None:
    with on(repo, "side") as tx:
        tx.update_node(A, summary="side")
    merged = repo.merge("side", dry_run=True)
    assert merged.outcome is Outcome.FORWARDED
    merged = repo.merge("side")
    assert repo.head == repo.resolve("side")
    assert repo.merge("side").outcome is Outcome.UNCHANGED
    repo.history.undo()
    assert repo.head != repo.resolve("side")


def test_histories_with_nothing_in_common_merge(repo: Repository) -> None:
    other = ibidem.init("memory:")
    with other.transaction(message="elsewhere") as tx:
        tx.add_node("Doc", summary="z", key="z")
        tx.add_node("Doc", summary="another a", key="a")
    for cid in other.core.store.cids():
        repo.core.store.put({cid: other.core.store.get(cid)})
    assert other.head is not None
    assert repo.history.merge_bases("main", other.head) == ()
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


def test_an_edge_whose_ends_are_back_stays_in_its_conflict_until_it_is_settled(
    repo: Repository,
) -> None:
    with on(repo, "side") as tx:
        edge = tx.add_edge(C, "cites", A)
    with on(repo, "main") as tx:
        tx.remove_node(A)
    repo.merge("side")
    with on(repo, "main") as tx:
        assert tx.add_node("Doc", key="a", summary="back") == A
    before = repo.conflicts()
    with on(repo, "side") as tx:
        tx.update_node(B, summary="side")
    repo.merge("side")
    assert repo.conflicts() == before
    assert edge not in {each.id for each in repo.at().edges_of(C)}
    repo.resolve_conflict(edge, "theirs")
    assert repo.at().node(A).summary == "back"
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
    assert repo.core.content_of(node) == b"x" * 5000


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
    assert repo.receipts.replay(result.receipt).to_bytes() == result.to_bytes()
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


def test_every_block_of_a_merge_is_needed(repo: Repository) -> None:
    from ibidem.objects.links import links

    for branch, node in itertools.product(("side", "main"), (A, B)):
        with on(repo, branch) as tx:
            tx.update_node(node, summary=branch)
    before = set(repo.core.store.cids())
    commit = repo.merge("side").commit
    assert commit is not None
    state = repo.core.operation_log.state()
    reached = {state.cid}
    waiting = [state.cid]
    while waiting:
        for link in links(repo.core.store.get(waiting.pop())):
            if link not in reached:
                reached.add(link)
                waiting.append(link)
    assert set(repo.core.store.cids()) - before - reached == set()
    assert Root.decode(repo.core.store.get(commit.root)).conflicts


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

"""Two versions of one document: settled for one side, its parts are those of that side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ibidem
from ibidem import TrustPolicy, Viewer
from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest_text
from ibidem.ingest.prune import remove_document
from ibidem.ingest.report import IngestReport
from ibidem.objects.child import Child
from ibidem.objects.errors import NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import own_size
from ibidem.objects.node import Node
from ibidem.objects.tree import Tree
from ibidem.repo.repository import Repository

PATH = "notes.md"
DOCUMENT = document_id(PATH)
BASE = "# T\n\none\n\ntwo\n"
OURS = "# T\n\none here\n\ntwo\n"
THEIRS = "# T\n\none there\n\ntwo there\n"
EDITS = {
    "one passage": (BASE, OURS, "# T\n\none there\n\ntwo\n"),
    "two passages": (BASE, OURS, THEIRS),
    "removed and changed": (BASE, "# T\n\ntwo\n", "# T\n\none there\n\ntwo\n"),
    "both added": (BASE, BASE + "\nhere\n", BASE + "\n## U\n\nthere\n\nand there\n"),
    "all of it": (BASE, "plain here\n", "# V\n\nplain\n\n# W\n\nthere\n"),
    "no base": ("", OURS, THEIRS),
}


def write(repo: Repository, text: str, *, branch: str = "main") -> None:
    with repo.transaction(branch=branch) as tx:
        ingest_text(tx, text, path=PATH)


def forked(base: str, ours: str, theirs: str) -> Repository:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="apart", key="a")
    if base:
        write(repo, base)
    repo.branch("side")
    write(repo, ours)
    write(repo, theirs, branch="side")
    return repo


def settle(repo: Repository, take: str) -> None:
    for conflict in repo.conflicts():
        repo.resolve_conflict(conflict.id, take)


def nodes(repo: Repository, rev: str = "main") -> dict[NodeId, Node]:
    return {node.id: node for node in repo.at(rev).nodes()}


def named(repo: Repository, summary: str, rev: str = "main") -> NodeId:
    return next(node.id for node in nodes(repo, rev).values() if node.summary == summary)


def missized(repo: Repository) -> list[NodeId]:
    """The parts whose parent says another size than they have."""
    found = nodes(repo)
    return [
        child.id
        for node in found.values()
        for child in node.children
        if (child.size_bytes, child.size_lines) != own_size(found[child.id])
    ]


def unlisted(repo: Repository) -> set[NodeId]:
    """The parts that no node lists."""
    found = nodes(repo)
    listed = {child.id for node in found.values() for child in node.children}
    parts = {node.id for node in found.values() if node.ntype in ("Section", "Passage")}
    return parts - listed


@pytest.mark.parametrize("case", EDITS)
@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_settled_for_a_side_the_graph_is_that_of_the_side(case: str, take: str) -> None:
    repo = forked(*EDITS[case])
    before = repo.at("main" if take == "ours" else "side").root
    repo.merge("side")
    settle(repo, take)
    assert repo.at().root.nodes == before.nodes
    assert repo.at().document(DOCUMENT) == EDITS[case][1 + (take == "theirs")]


@pytest.mark.parametrize("case", EDITS)
def test_until_it_is_settled_the_document_is_that_of_one_side(case: str) -> None:
    found = set()
    for sides in (EDITS[case][1:], EDITS[case][:0:-1]):
        repo = forked(EDITS[case][0], *sides)
        repo.merge("side")
        assert repo.conflicts()
        found.add(repo.at().document(DOCUMENT))
    assert len(found) == 1
    assert found < set(EDITS[case][1:])


def test_what_a_side_took_out_of_the_document_and_changed_nothing_else_stays_out() -> None:
    repo = forked(BASE, "# T\n\ntwo\n", BASE)
    with repo.transaction(branch="side") as tx:
        tx.update_node(named(repo, "two"), set_props={"read": True})
    repo.merge("side")
    assert repo.conflicts() == []
    assert repo.at().document(DOCUMENT) == "# T\n\ntwo\n"
    assert "one" not in {node.summary for node in nodes(repo).values()}


@pytest.mark.parametrize("take", ["ours", "theirs", "value"])
def test_changes_to_two_sections_are_both_there_and_places_are_right(take: str) -> None:
    base = "# T\n\none\n\n# U\n\ntwo\n\n# V\n\nthree\n"
    repo = forked(base, base.replace("one", "one here"), base.replace("two", "two\n\nthere"))
    repo.merge("side")
    settle(repo, take)
    text = repo.at().document(DOCUMENT)
    assert text == base.replace("one", "one here").replace("two", "two\n\nthere")
    place = repo.at().locate(named(repo, "three"))
    assert place is not None
    assert text.encode()[place.byte_start : place.byte_stop] == b"three"


def test_settled_for_the_base_the_document_is_that_of_the_base() -> None:
    repo = forked(BASE, OURS, THEIRS)
    before = repo.at("main~1").root
    repo.merge("side")
    settle(repo, "base")
    assert repo.at().root.nodes == before.nodes


def test_ingested_again_and_kept_only_what_it_says_is_left() -> None:
    repo = forked(BASE, OURS, THEIRS)
    repo.merge("side")
    text = "# T\n\none here\n\ntwo there\n"
    write(repo, text)
    settle(repo, "value")
    alone = forked("", text, text)
    assert repo.at().document(DOCUMENT) == text
    assert repo.at().root.nodes == alone.at().root.nodes


def test_kept_as_it_is_the_document_is_whole() -> None:
    repo = forked(BASE, OURS, THEIRS)
    repo.merge("side")
    settle(repo, "value")
    assert repo.at().document(DOCUMENT) in (OURS, THEIRS)
    assert unlisted(repo) == set()


def test_edges_and_vectors_go_and_come_with_their_parts() -> None:
    for take, rev in (("ours", "main"), ("theirs", "side")):
        repo = forked(BASE, BASE, BASE)
        two, one = named(repo, "two"), named(repo, "one")
        with repo.transaction() as tx:
            apart = next(tx.nodes(label="Doc")).id
            for part in (one, two):
                tx.add_edge(apart, "cites", part)
                tx.set_vector(part, model="m", vector=[1.0, 2.0])
                tx.set_sparse(part, vocab="v", indices=[1], weights=[1.0])
        repo.merge("main", branch="side")
        write(repo, OURS)
        write(repo, THEIRS, branch="side")
        with repo.transaction(branch=rev) as tx:
            for text in ("one here", "two there"):
                if text in {node.summary for node in tx.nodes(label="Passage")}:
                    tx.set_vector(named(repo, text, rev), model="m", vector=[1.0, 3.0])
                    tx.add_edge(apart, "cites", named(repo, text, rev))
        before = repo.at(rev).root
        repo.merge("side")
        settle(repo, take)
        after = repo.at().root
        assert (after.nodes, after.edges) == (before.nodes, before.edges)
        assert (after.vectors, after.sparse) == (before.vectors, before.sparse)


def test_the_parts_of_a_section_that_is_taken_away_go_with_it() -> None:
    base = "x\n\n# T\n\none\n\n# U\n\ntwo\n"
    repo = forked(base, "x\n\n# U\n\ntwo\n", base.replace("one", "oNe"))
    before = repo.at().root
    repo.merge("side")
    (found,) = repo.conflicts()
    assert found.reason == "changed and deleted"
    repo.resolve_conflict(found.id, "ours")
    assert repo.at().root.nodes == before.nodes


def test_a_writer_who_was_overtaken_can_have_its_version() -> None:
    repo = forked(BASE, BASE, BASE)
    slow = repo.transaction()
    with slow as tx:
        ingest_text(tx, THEIRS, path=PATH)
        write(repo, OURS)
    assert slow.conflicts
    settle(repo, "theirs")
    assert repo.at().document(DOCUMENT) == THEIRS
    assert unlisted(repo) == set()


def lists(repo: Repository, part: NodeId) -> None:
    with repo.transaction() as tx:
        tx.add_node("Album", key="album", children=[Child(part, "", 1, 0)])


def forgets(repo: Repository, part: NodeId) -> None:
    with repo.transaction() as tx:
        tx.tombstone(part)


@pytest.mark.parametrize("holds", [lists, forgets])
def test_a_part_that_something_else_holds_stays(
    holds: Callable[[Repository, NodeId], None],
) -> None:
    repo = forked(*EDITS["one passage"])
    repo.merge("side")
    part = named(repo, "one there")
    holds(repo, part)
    settle(repo, "ours")
    assert part in {NodeId(key) for key, _ in Tree(repo.core.store, repo.at().root.nodes).items()}


def test_a_part_with_a_conflict_of_its_own_waits_for_that() -> None:
    repo = forked(BASE, BASE, BASE)
    two = named(repo, "two")
    write(repo, OURS.replace("two", ""))
    write(repo, THEIRS.replace("two there", "two"), branch="side")
    with repo.transaction(branch="side") as tx:
        tx.update_node(two, set_props={"read": True})
    repo.merge("side")
    reasons = {found.id: found.reason for found in repo.conflicts()}
    assert reasons.pop(two) == "changed and deleted"
    for other in reasons:
        repo.resolve_conflict(other, "ours")
    assert unlisted(repo) == {two}
    repo.resolve_conflict(two, "ours")
    assert unlisted(repo) == set()


def test_what_was_forgotten_does_not_come_back() -> None:
    repo = forked(BASE, BASE, BASE)
    two = named(repo, "two")
    write(repo, OURS)
    write(repo, THEIRS, branch="side")
    with repo.transaction() as tx:
        tx.tombstone(two, reason="asked to")
    repo.merge("side")
    settle(repo, "ours")
    with pytest.raises(NotFoundError):
        repo.at().node(two)


def test_nodes_that_ingest_did_not_make_are_left_alone() -> None:
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        album = tx.add_node("Album", key="album")
    repo.branch("side")
    for branch in ("main", "side"):
        with repo.transaction(branch=branch) as tx:
            part = tx.add_node("Photo", summary=branch, key=branch)
            tx.update_node(album, children=[Child(part, "", 1, 0)])
    repo.merge("side")
    settle(repo, "ours")
    assert {node.summary for node in nodes(repo).values()} == {None, "main", "side"}


def test_settling_other_fields_leaves_the_parts_alone() -> None:
    repo = forked(BASE, BASE, BASE)
    for branch in ("main", "side"):
        with repo.transaction(branch=branch) as tx:
            tx.update_node(DOCUMENT, set_props={"owner": branch})
    repo.merge("side")
    before = nodes(repo).keys()
    settle(repo, "theirs")
    assert nodes(repo).keys() == before
    assert repo.at().node(DOCUMENT).props["owner"] == "side"


PASSAGES = st.lists(st.sampled_from(["red", "green", "blue", "## A", "## B", "# C"]), max_size=6)


@settings(max_examples=25, deadline=None)
@given(PASSAGES, PASSAGES, PASSAGES, st.sampled_from(["ours", "theirs", "value"]))
def test_a_document_is_whole_and_all_settled_alike_nothing_else_is_left(
    base: list[str], ours: list[str], theirs: list[str], take: str
) -> None:
    texts = ["\n\n".join([f"start {n}", *lines]) for n, lines in enumerate((base, ours, theirs))]
    repo = forked(*texts)
    repo.merge("side")
    assert repo.at().document(DOCUMENT)
    kept = {found.id for found in repo.conflicts() if found.conflict.deleted}
    settle(repo, take)
    assert repo.conflicts() == []
    assert repo.at().document(DOCUMENT)
    assert missized(repo) == []
    assert unlisted(repo) <= kept


def in_conflict(repo: Repository, query: str, **options: Any) -> list[int | None]:
    """Returns the counts of items in conflict that the answers of each kind warn of."""
    answers = (repo.retrieve(query, **options), repo.packs(query, **options))
    for one in answers:
        assert one.items
        assert repo.receipts.replay(one.receipt).to_bytes() == one.to_bytes()
    return [each.count for one in answers for each in one.warnings if each.code == "open_conflicts"]


def test_an_answer_warns_of_passages_that_only_one_version_has() -> None:
    """Retrieval 9.3-d."""
    repo = forked("# T\n\none\n\ntwo\n", "# T\n\nour one\n\ntwo\n", "# T\n\nother one\n\ntwo\n")
    assert in_conflict(repo, "one") == []
    repo.merge("side")
    assert in_conflict(repo, "one") == [2, 2]
    assert in_conflict(repo, "two") == []
    settle(repo, "theirs")
    assert in_conflict(repo, "one") == []


def test_an_answer_warns_of_the_passages_of_a_section_that_only_one_version_has() -> None:
    """Retrieval 9.3-d."""
    repo = forked(*EDITS["both added"])
    repo.merge("side")
    assert in_conflict(repo, "here") == [1, 1]
    assert in_conflict(repo, "there") == [2, 2]
    assert in_conflict(repo, "two") == []


def test_an_answer_warns_of_all_of_a_document_that_one_side_removed() -> None:
    """Retrieval 9.3-d."""
    repo = forked(BASE, OURS, BASE)
    with repo.transaction(branch="side") as tx:
        remove_document(tx, PATH, IngestReport())
    repo.merge("side")
    assert in_conflict(repo, "one two") == [2, 2]


def test_an_answer_warns_of_no_conflict_about_a_document_that_the_caller_does_not_see() -> None:
    """Retrieval 9.3-d and trust 3-a."""
    repo = forked("one\n", "our one\n", "other one\n")
    repo.merge("side")
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        for node in repo.at().nodes():
            is_document = node.ntype == "Document"
            tx.update_node(node.id, set_props={"level": 4 if is_document else 0, "scope": "a"})
    for level, counts in ((4, [2, 2]), (1, [])):
        assert in_conflict(repo, "one", viewer=Viewer(level, ("a",))) == counts

"""Links of passages that one side edited, to documents that the other renamed or removed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ibidem
from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest_text
from ibidem.ingest.prune import remove_document
from ibidem.ingest.report import IngestReport
from ibidem.objects.edge import LINKS_TO
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.repo.repository import Repository

TARGET = "# B\n\nThe other page.\n\n## More\n\nIts end.\n"
LINKS = 20


def page(word: str) -> str:
    return "\n\n".join(f"{word} {number}: [b](b.md)" for number in range(LINKS)) + "\n"


def write(repo: Repository, branch: str = "main", **texts: str) -> None:
    with repo.transaction(branch=branch) as tx:
        for name, text in texts.items():
            ingest_text(tx, text, path=f"{name}.md")


def remove(repo: Repository, name: str, branch: str = "main") -> None:
    with repo.transaction(branch=branch) as tx:
        remove_document(tx, f"{name}.md", IngestReport(), moved_to=None)


def forked() -> Repository:
    """On main the page is edited, on the side its target is renamed."""
    repo = ibidem.init("memory:")
    write(repo, a=page("See"), b=TARGET)
    repo.branch("side")
    write(repo, a=page("Read"))
    write(repo, "side", c=TARGET)
    remove(repo, "b", "side")
    return repo


def links(repo: Repository, rev: str) -> int:
    return sum(edge.etype == LINKS_TO for edge in repo.at(rev).edges())


def parts(repo: Repository, document: NodeId) -> dict[NodeId, Node]:
    """The document at the head, and all below it."""
    found: dict[NodeId, Node] = {}
    waiting = [document]
    while waiting:
        node = repo.at().node(waiting.pop())
        found[node.id] = node
        waiting.extend(child.id for child in node.children)
    return found


@pytest.mark.parametrize("first", ["main", "side"])
def test_a_link_to_what_the_other_side_renamed_is_no_conflict(first: str) -> None:
    repo = forked()
    repo.switch(first)
    repo.merge("side" if first == "main" else "main")
    assert repo.conflicts() == []
    assert links(repo, first) == 0
    assert repo.at(first).document(document_id("a.md")) == page("Read")


def as_one_commit(repo: Repository) -> None:
    repo.switch("side")
    repo.cherry_pick("main")


def rebased(repo: Repository) -> None:
    repo.switch("main")
    repo.rebase("side")


def reverted(repo: Repository) -> None:
    """The page is taken back to its former text when its target is gone."""
    repo.switch("main")
    remove(repo, "b")
    repo.revert("main~1")


@pytest.mark.parametrize("again", [as_one_commit, rebased, reverted])
def test_a_change_that_is_made_again_or_taken_back_leaves_no_conflict_about_links(
    again: Callable[[Repository], None],
) -> None:
    repo = forked()
    again(repo)
    assert repo.conflicts() == []
    assert links(repo, "HEAD") == 0


@pytest.mark.parametrize("take", ["value", "theirs"])
@pytest.mark.parametrize("is_removed", [True, False])
def test_an_edge_that_is_kept_brings_its_document_back_whole(take: str, is_removed: bool) -> None:
    repo = forked()
    if is_removed:
        remove(repo, "c", "side")
    target = document_id("b.md")
    repo.switch("main")
    before = parts(repo, target)
    passage = next(edge.src for edge in repo.at("main").edges())
    with repo.transaction(branch="main") as tx:
        tx.set_vector(target, model="m", vector=[1.0, 2.0])
        tx.add_edge(passage, "cites", target)
    repo.switch("side")
    repo.merge("main")
    (conflict,) = repo.conflicts()
    repo.resolve_conflict(conflict.id, take)
    assert repo.conflicts() == []
    assert repo.at().document(target) == TARGET
    assert parts(repo, target) == before
    assert repo.at().vector(target, "m") is not None
    found = sorted(edge.etype for edge in repo.at().edges() if edge.dst == target)
    assert found == ["cites", *[LINKS_TO] * LINKS]
    assert repo.maintenance.fsck().is_clean

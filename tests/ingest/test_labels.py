"""The level and scope of a document are those of its sections and passages."""

from __future__ import annotations

from typing import Any

import pytest

import ibidem
from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest_text
from ibidem.ingest.labels import label_documents
from ibidem.ingest.prune import remove_document
from ibidem.ingest.report import IngestReport
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.node import Node
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer

PATH = "secret.md"
BODY = "# Vault\n\nThe code is 4711.\n\n## Door\n\nThe door is blue.\n"
CELLAR = "# Cellar\n\nThe wine is old.\n"
LOW = Viewer(level="low", scopes=())


def head(**front: object) -> str:
    return "".join(["---\n", *(f"{name}: {value}\n" for name, value in front.items()), "---\n"])


def repository(policy: TrustPolicy | None = None) -> Repository:
    repo = ibidem.init("memory:")
    if policy is not None:
        with repo.transaction() as tx:
            tx.set_trust_policy(policy)
    return repo


def write(repo: Repository, text: str, *, path: str = PATH, branch: str = "main") -> IngestReport:
    with repo.transaction(branch=branch) as tx:
        return ingest_text(tx, text, path=path)


def nodes(repo: Repository, *, viewer: Viewer = ALL) -> list[Node]:
    has_policy = "trust" in repo.at(viewer=ALL).config.extra
    return list(repo.at(viewer=viewer if has_policy else None).nodes(include_tombstoned=True))


def labels(repo: Repository, *names: str) -> set[tuple[Any, ...]]:
    """Returns the labels of all nodes, as many values as there are names."""
    return {tuple(node.props.get(name) for name in names) for node in nodes(repo)}


def passage(repo: Repository, text: str) -> Node:
    return next(node for node in nodes(repo) if text in (node.summary or ""))


@pytest.mark.parametrize(
    "policy", [None, TrustPolicy(), TrustPolicy(level="secrecy", scope="team")]
)
def test_the_parts_of_a_document_follow_it(policy: TrustPolicy | None) -> None:
    """Trust 1-g."""
    repo = repository(policy)
    names = (policy or TrustPolicy()).names
    for level, scope in ((3, "east"), (2, "east"), (2, "west"), (0, "west")):
        write(repo, head(**dict(zip(names, (level, scope), strict=True))) + BODY)
        assert labels(repo, *names) == {(level, scope)}
    report = write(repo, BODY)
    assert labels(repo, *names) == {(None, None)}
    assert (report.documents_changed, report.nodes_changed) == (1, len(nodes(repo)))
    assert not write(repo, BODY).nodes_changed


def test_nothing_of_a_hidden_document_is_visible() -> None:
    repo = repository(TrustPolicy())
    write(
        repo, "# Gate\n\nThe gate opens at nine, see [it](secret.md) and Vault.\n", path="gate.md"
    )
    alone = repo.as_viewer(LOW, author="bob")
    before = (
        alone.retrieve("code gate door Vault").to_dict(),
        alone.prompt("code of the Vault").text,
    )
    report = write(repo, head(level=3) + BODY)
    assert report.warnings == []
    viewer = repo.as_viewer(LOW, author="bob")
    answer = viewer.retrieve("code gate door Vault").to_dict()
    assert [item["score"] for item in answer["items"]] == [
        item["score"] for item in before[0]["items"]
    ]
    assert viewer.prompt("code of the Vault").text == before[1]
    assert len(nodes(repo, viewer=LOW)) == 3
    graph = {"mode": "ppr"}
    text = repr(viewer.retrieve("code", graph=graph, mentions=True).to_dict())
    assert "4711" not in text
    assert "Door" not in text


def test_a_part_with_a_label_of_its_own_keeps_it() -> None:
    repo = repository(TrustPolicy())
    write(repo, head(level=1) + BODY)
    own = passage(repo, "4711").id
    with repo.transaction() as tx:
        tx.set_labels(own, {"level": 4})
    for level in (2, 3):
        write(repo, head(level=level) + BODY)
        assert repo.at(viewer=ALL).node(own).props["level"] == 4
        assert passage(repo, "blue").props["level"] == level
    write(repo, BODY)
    assert repo.at(viewer=ALL).node(own).props["level"] == 4
    assert "level" not in passage(repo, "blue").props


def test_a_level_that_another_writer_gave_a_document_is_that_of_its_new_parts() -> None:
    repo = repository(TrustPolicy())
    write(repo, BODY)
    with repo.transaction() as tx:
        tx.update_node(document_id(PATH), set_props={"level": 3})
    write(repo, BODY.replace("4711", "0815"))
    assert labels(repo, "level") == {(3,)}


def test_a_document_whose_level_is_refused_leaves_no_text() -> None:
    repo = repository(TrustPolicy())
    with repo.transaction() as tx:
        with pytest.raises(InvalidInputError, match=r"props\.level: got 'beginner'"):
            ingest_text(tx, head(level="beginner") + BODY, path=PATH)
        tx.add_node("Fact", summary="other")
    assert [node.summary for node in nodes(repo)] == ["other"]


def test_a_forgotten_passage_follows_its_document_too() -> None:
    repo = repository(TrustPolicy())
    write(repo, BODY)
    with repo.transaction() as tx:
        tx.tombstone(passage(repo, "4711").id)
        tx.tombstone(passage(repo, "blue").id)
    write(repo, head(level=3) + BODY.replace("The door is blue.\n", ""))
    assert labels(repo, "level") == {(3,)}


def test_a_move_takes_the_labels_along() -> None:
    repo = repository(TrustPolicy())
    write(repo, head(level=2) + BODY)
    with repo.transaction() as tx:
        tx.set_labels(passage(repo, "4711").id, {"level": 4, "scope": "east"})
    with repo.transaction() as tx:
        ingest_text(tx, head(level=2) + BODY, path="moved.md")
        remove_document(tx, PATH, IngestReport(), moved_to="moved.md")
    assert passage(repo, "4711").props["level"] == 4
    assert passage(repo, "4711").props["scope"] == "east"
    assert passage(repo, "blue").props["level"] == 2


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, None), (None, 2)])
def test_a_document_that_is_edited_and_moved_has_its_new_level(
    before: int | None, after: int | None
) -> None:
    """Trust 1-g."""
    repo = repository(TrustPolicy())
    heads = {level: "" if level is None else head(level=level) for level in (before, after)}
    write(repo, heads[before] + BODY)
    with repo.transaction() as tx:
        ingest_text(tx, heads[after] + BODY + "\nA new line.\n", path="moved.md")
        remove_document(tx, PATH, IngestReport(), moved_to="moved.md")
    assert labels(repo, "level") == {(after,)}


def test_a_level_that_another_writer_gave_a_document_moves_to_its_new_parts_too() -> None:
    """Trust 1-g."""
    repo = repository(TrustPolicy())
    write(repo, BODY)
    with repo.transaction() as tx:
        tx.set_labels(document_id(PATH), {"level": 3})
    with repo.transaction() as tx:
        ingest_text(tx, BODY + "\nA new line.\n", path="moved.md")
        remove_document(tx, PATH, IngestReport(), moved_to="moved.md")
    assert passage(repo, "A new line")
    assert labels(repo, "level") == {(3,)}


@pytest.mark.parametrize("given", [{"level": 3}, {"secrecy": 3, "x": 1}, {1: 2}, None, [4]])
def test_a_label_that_the_policy_does_not_name_is_refused(given: Any) -> None:
    repo = repository(TrustPolicy(level="secrecy"))
    write(repo, head(secrecy=3) + BODY)
    with repo.transaction() as tx:
        for id_ in (document_id(PATH), passage(repo, "4711").id):
            with pytest.raises(
                InvalidInputError,
                match=r"^labels: got .*, expected a mapping from 'secrecy' and 'scope'",
            ):
                tx.set_labels(id_, given)
    assert labels(repo, "secrecy") == {(3,)}


def test_a_refused_label_leaves_all_parts_as_they_were() -> None:
    repo = repository()
    write(repo, BODY)
    with repo.transaction() as tx:
        tx.set_labels(passage(repo, "blue").id, {"scope": 7})
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
    with repo.transaction() as tx:
        tx.add_node("Fact", summary="other")
        with pytest.raises(InvalidInputError, match=r"props\.scope: got 7"):
            tx.set_labels(document_id(PATH), {"level": 3})
    assert labels(repo, "level") == {(None,)}


def test_what_a_branch_adds_to_a_document_that_the_other_hides_is_hidden() -> None:
    """Merge 3-k."""
    for is_ours in (True, False):
        repo = repository(TrustPolicy())
        write(repo, BODY)
        repo.branch("side")
        branches = ("main", "side") if is_ours else ("side", "main")
        write(repo, head(level=3) + BODY, branch=branches[0])
        write(repo, BODY.replace("blue", "now red") + "\nA new line.\n", branch=branches[1])
        assert repo.merge("side").conflicts == ()
        assert labels(repo, "level") == {(3,)}
        assert passage(repo, "now red")
        assert nodes(repo, viewer=LOW) == []


@pytest.mark.parametrize("take", ["ours", "theirs", "base"])
def test_what_comes_back_when_a_conflict_is_resolved_is_as_secret_as_its_document(
    take: str,
) -> None:
    repo = repository(TrustPolicy())
    write(repo, BODY)
    repo.branch("side")
    write(repo, head(level=3) + BODY.replace("4711", "ours"))
    write(repo, BODY.replace("4711", "theirs"), branch="side")
    assert repo.merge("side").conflicts
    for conflict in repo.conflicts():
        repo.resolve_conflict(conflict.id, take)
    assert passage(repo, {"base": "4711"}.get(take, take))
    assert labels(repo, "level") == {(3,)}


@pytest.mark.parametrize("take", ["ours", "theirs"])
@pytest.mark.parametrize("text", [BODY, BODY.replace("4711", "0815")])
def test_parts_follow_when_the_scope_of_their_document_is_resolved(take: str, text: str) -> None:
    """Merge 5-f."""
    repo = repository(TrustPolicy())
    write(repo, BODY)
    repo.branch("side")
    write(repo, head(scope="west") + BODY)
    write(repo, head(scope="east") + text, branch="side")
    assert repo.merge("side").conflicts
    for conflict in repo.conflicts():
        repo.resolve_conflict(conflict.id, take)
    assert labels(repo, "scope") == {({"ours": "west", "theirs": "east"}[take],)}


def in_conflict() -> Repository:
    """A repository with two documents of one path, neither in the history of the other."""
    repo = repository(TrustPolicy())
    repo.branch("side")
    write(repo, BODY)
    write(repo, CELLAR, branch="side")
    assert repo.merge("side").conflicts
    return repo


@pytest.mark.parametrize("text", [None, BODY, CELLAR])
def test_what_only_a_side_of_a_conflict_lists_has_the_labels_of_the_document(
    text: str | None,
) -> None:
    """Trust 1-g."""
    repo = in_conflict()
    count = len(nodes(repo))
    if text is None:
        with repo.transaction() as tx:
            tx.set_labels(document_id(PATH), {"level": 3})
    else:
        count -= write(repo, head(level=3) + text).nodes_removed
    assert labels(repo, "level") == {(3,)}
    assert len(nodes(repo)) == count


def summaries(repo: Repository) -> set[str | None]:
    return {node.summary for node in nodes(repo) if node.ntype == "Passage"}


def test_nothing_is_left_of_what_a_conflict_lists_when_a_text_replaces_it() -> None:
    repo = in_conflict()
    write(repo, "# Cellar\n\nIt is dry.\n\n# Vault\n\nIt is empty.\n")
    assert summaries(repo) == {"It is dry.", "It is empty."}
    repo = repository(TrustPolicy())
    write(repo, BODY)
    repo.branch("side")
    write(repo, BODY + "\nIt is heavy.\n")
    write(repo, BODY + "\nIt is light.\n", branch="side")
    assert repo.merge("side").conflicts
    write(repo, CELLAR)
    assert summaries(repo) == {"The wine is old."}
    assert repo.conflicts() == []


def test_nothing_is_left_of_a_document_in_conflict_that_is_removed() -> None:
    repo = in_conflict()
    with repo.transaction() as tx:
        remove_document(tx, PATH, IngestReport())
    assert nodes(repo) == []


@pytest.mark.parametrize("is_ours", [True, False])
def test_what_is_in_conflict_on_one_branch_is_as_secret_as_the_other_makes_it(
    is_ours: bool,
) -> None:
    """Merge 3-k."""
    repo = in_conflict()
    write(repo, head(level=3) + CELLAR, branch="side")
    if not is_ours:
        repo.switch("side")
    repo.merge("side" if is_ours else "main")
    assert passage(repo, "wine")
    assert passage(repo, "4711")
    assert labels(repo, "level") == {(3,)}


def test_documents_get_the_labels_that_a_new_policy_names() -> None:
    repo = repository()
    write(repo, head(secrecy=3) + BODY)
    assert labels(repo, "secrecy") == {(3,), (None,)}
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy(level="secrecy"))
        label_documents(tx)
    assert labels(repo, "secrecy") == {(3,)}


def test_labels_of_a_document_are_given_to_its_parts_at_once() -> None:
    repo = repository(TrustPolicy())
    write(repo, BODY)
    with repo.transaction() as tx:
        tx.tombstone(passage(repo, "blue").id)
    for level in (3, 4, 2):
        with repo.transaction() as tx:
            tx.set_labels(document_id(PATH), {"level": level})
        assert labels(repo, "level") == {(level,)}
        with repo.transaction() as tx:
            tx.set_labels(passage(repo, "4711").id, {"level": 1})
            tx.set_labels(document_id(PATH), {"level": 0, "scope": "east"})
        assert passage(repo, "4711").props == {"format": "paragraph", "level": 1, "scope": "east"}
        assert passage(repo, "blue").props["level"] == 0
        with repo.transaction() as tx:
            tx.set_labels(passage(repo, "4711").id, {"level": 0, "scope": "east"})
            tx.set_labels(document_id(PATH), {})
        assert labels(repo, "level", "scope") == {(None, None)}

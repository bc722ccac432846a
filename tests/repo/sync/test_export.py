"""Files: what is in them, what is not, and what becomes of them elsewhere.

The defects of an earlier design that these show we do not have are named in their docstrings:
sections 6.6 and 8.1 of the study.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.cid import Cid
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.tree import Tree
from ibidem.repo.repository import Repository
from ibidem.repo.sync.car import CarReader, write_car
from ibidem.repo.sync.messages import Bundle, Opened
from ibidem.repo.sync.report import Move
from ibidem.retrieve.access.policy import TrustPolicy, Viewer

from .conftest import filled


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init(clock=lambda: 1_000_000) as repository:
        filled(repository)
        yield repository


def exported(repo: Repository, **options: object) -> bytes:
    file = io.BytesIO()
    repo.sync.export(file, **options)
    return file.getvalue()


def part(repo: Repository, **options: object) -> bytes:
    file = io.BytesIO()
    repo.sync.export_part(file, **options)
    return file.getvalue()


def bundle_in(data: bytes) -> Bundle:
    opened = Opened(io.BytesIO(data))
    for _ in opened.blocks():
        pass
    return opened.message(Bundle)


def imported(data: bytes, into: Repository | None = None) -> Repository:
    repository = ibidem.init(clock=lambda: 2_000_000) if into is None else into
    repository.sync.load(io.BytesIO(data))
    assert repository.maintenance.fsck().faults == ()
    return repository


def test_the_same_state_gives_the_same_bytes_however_it_came_about(repo: Repository):
    data = exported(repo)
    assert exported(repo) == data
    assert exported(imported(data)) == data


def test_a_file_holds_what_the_refs_reach_and_nothing_else(repo: Repository):
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="on a branch that is given up")
    repo.history.undo()
    with repo.stage.transaction() as tx:
        tx.add_node("Doc", summary="on the stage")
    repo.receipts.keep(repo.retrieve("retry").receipt)
    data = exported(repo)
    assert b"given up" not in data
    assert b"on the stage" not in data
    kinds = {block[:40] for _, block in CarReader(io.BytesIO(data)) if b"foperation" in block}
    assert not kinds
    assert set(bundle_in(data).refs) == {"heads/main"}


def test_forgotten_nodes_stay_forgotten_after_export_and_import(repo: Repository):
    """8.1 no. 9: tombstones were in no CAR, so what was forgotten came back."""
    copy = imported(exported(repo))
    assert len(list(copy.at().nodes())) == len(list(repo.at().nodes()))
    assert (
        copy.retrieve("retry", limit=50).to_bytes() == repo.retrieve("retry", limit=50).to_bytes()
    )


def test_importing_into_a_repository_in_use_merges(repo: Repository):
    """8.1 no. 8: after that, a repository could not be opened any more."""
    data = exported(repo)
    with ibidem.init() as other:
        with other.transaction() as tx:
            tx.add_node("Doc", summary="retry of our own")
        before = other.head
        report = other.sync.load(io.BytesIO(data))
        assert [move.how for move in report.moves] == [Move.MERGED]
        assert before in other.commit_at().parents
        assert len(list(other.at().nodes())) == len(list(repo.at().nodes())) + 1
        assert other.retrieve("retry of our own").items
        assert other.maintenance.fsck().faults == ()
        again = other.sync.load(io.BytesIO(data))
        assert [move.how for move in again.moves] == [Move.UNCHANGED]


def test_a_part_is_whole_and_leaks_nothing(repo: Repository):
    """8.1 no. 10: a scrubbed export could not be read, and its vectors leaked."""
    data = part(repo, label="Fact")
    copy = imported(data)
    facts = [node for node in repo.at().nodes() if node.ntype == "Fact"]
    assert [node.cid for node in copy.at().nodes()] == [node.cid for node in facts]
    assert copy.retrieve("retry", limit=50).items
    root = copy.at().root
    for tree in (*root.vectors.values(), *root.sparse.values()):
        assert set(Tree(copy.core.store, tree)) <= {node.id.raw for node in facts}
    kept = {node.id for node in facts}
    for node in repo.at().nodes(include_tombstoned=True):
        if node.id not in kept:
            assert (node.summary or "").encode() not in data
            assert node.cid.raw not in data


def test_a_part_takes_along_what_was_forgotten_without_its_words(repo: Repository):
    every = repo.at().nodes(include_tombstoned=True)
    hidden = next(node for node in every if "r 4 " in (node.summary or ""))
    data = part(repo, label=hidden.ntype)
    assert hidden.cid.raw not in data
    with ibidem.init() as other:
        with other.transaction() as tx:
            tx.add_node(hidden.ntype, summary="kept here", id=hidden.id)
        imported(data, other)
        assert hidden.id not in {node.id for node in other.at().nodes()}


def test_a_part_as_a_caller_sees_it(repo: Repository):
    with ibidem.init() as trusted:
        with trusted.transaction() as tx:
            tx.set_trust_policy(TrustPolicy())
        with trusted.transaction() as tx:
            tx.add_node("Doc", summary="open to all", props={"level": 0})
            tx.add_node("Doc", summary="not for others", props={"level": 4})
        data = part(trusted, viewer=Viewer(level=0, scopes=()))
        assert b"open to all" in data
        assert b"not for others" not in data
        with pytest.raises(InvalidInputError) as error:
            part(trusted)
        assert error.value.kind is ErrorKind.VIEWER_REQUIRED


def test_a_part_of_the_same_state_is_the_same_file(repo: Repository):
    assert part(repo, label="Fact") == part(imported(exported(repo)), label="Fact")


def test_what_comes_after_a_revision_needs_what_is_behind_it(repo: Repository):
    base = exported(repo)
    start = repo.head
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="later")
    data = exported(repo, since=start)
    assert len(data) < len(base) / 3
    assert bundle_in(data).requires == (start,)
    with ibidem.init() as empty:
        with pytest.raises(NotFoundError):
            empty.sync.load(io.BytesIO(data))
        assert empty.head is None
    copy = imported(data, imported(base))
    assert copy.head == repo.head


def test_only_some_branches(repo: Repository):
    repo.branch("draft")
    repo.tag("v1")
    assert set(bundle_in(exported(repo)).refs) == {"heads/draft", "heads/main", "tags/v1"}
    assert set(bundle_in(exported(repo, branches=["draft"])).refs) == {"heads/draft"}
    assert bundle_in(exported(repo, branches=["draft"])).head == "heads/draft"


def test_an_empty_repository_is_a_file_too():
    with ibidem.init() as empty:
        copy = imported(exported(empty))
        assert copy.head is None


def test_a_plain_car_with_one_commit_needs_the_name_of_a_branch(repo: Repository):
    head = repo.head
    assert head is not None
    blocks = dict(CarReader(io.BytesIO(exported(repo))))
    plain = {cid: block for cid, block in blocks.items() if b"fbundle" not in block}
    file = io.BytesIO()
    write_car(file, [Cid(head.raw)], sorted(plain.items()))
    with ibidem.init() as other:
        with pytest.raises(InvalidInputError):
            other.sync.load(io.BytesIO(file.getvalue()))
        other.sync.load(io.BytesIO(file.getvalue()), branch="from-file")
        assert other.branches() == {"from-file": head}
        assert other.current_branch == "from-file"
        with pytest.raises(InvalidInputError):
            other.sync.load(io.BytesIO(exported(repo)), branch="x")


def test_the_current_branch_of_one_in_use_stays(repo: Repository):
    with ibidem.init() as other:
        with other.transaction() as tx:
            tx.add_node("Doc", summary="x")
        repo.branch("draft")
        repo.switch("draft")
        imported(exported(repo), other)
        assert other.current_branch == "main"
        assert "draft" in other.branches()


def test_a_file_appears_whole_under_its_name(repo: Repository, tmp_path: Path):
    repo.sync.export(tmp_path / "a.car")
    assert [path.name for path in tmp_path.iterdir()] == ["a.car"]
    assert (tmp_path / "a.car").read_bytes() == exported(repo)
    with pytest.raises(InvalidInputError):
        repo.sync.export(tmp_path / "a.car")


def test_importing_a_file_after_its_commits_went_on_changes_nothing(repo: Repository):
    """A replayed file is no way back."""
    data = exported(repo)
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="later")
    head = repo.head
    report = repo.sync.load(io.BytesIO(data))
    assert [move.how for move in report.moves] == [Move.UNCHANGED]
    assert repo.head == head

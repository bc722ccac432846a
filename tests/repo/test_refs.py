"""Branches and tags, and the names that they may have."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import ibidem
from ibidem.adapters.mcp import resources
from ibidem.adapters.mcp.access import Access
from ibidem.cli.main import cli
from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo.refs import check_name
from ibidem.repo.repository import Repository
from ibidem.serve.server import Server

GOOD = ["main", "a", "0", "feature/retries", "v1.0", "a-b_c.d/e", "x" * 255, "2026-01-01", "con"]

PARTS = ["", ".", "..", "-x", ".x", "x.", "x..y", "x.lock", "A", "é", "ä", "x y", "x\n", "\x00"]
PARTS += ["~", "^", ":", "?", "*", "[", "\\", "@{", "@", "%2e%2e", "x\u202ey", "x\u200by", "CON"]
PARTS += [
    "\t",
    "\x7f",
    "\x1b[31m",
    "_x",
    "x\u0301",
    "ﬁ",
    "İ",
    "\ud800",
    "\U000e0041",
    "{",
    "'",
    '"',
]
BAD = [*PARTS, *(f"{one}/x" for one in PARTS), *(f"x/{one}" for one in PARTS)]
BAD += [
    f"x{one}" for one in PARTS if one not in ("", "..", "x.", "-x", "_x", ".x", "x..y", "x.lock")
]
BAD += [
    "heads/x",
    "tags/x",
    "refs/x",
    "x" * 256,
    "/x",
    "x/",
    "x//y",
    "bafyr4ia",
    "bafkr4iabc",
    "HEAD",
    "a/b/",
]


def test_there_are_enough_hostile_names() -> None:
    assert len(set(BAD)) >= 100


@pytest.mark.parametrize("name", GOOD)
def test_good_names_are_taken(name: str) -> None:
    assert check_name("branch", name) == name


@pytest.mark.parametrize("name", [*sorted(set(BAD)), None, 7, b"main", ["main"]])
def test_hostile_names_are_refused(name: object) -> None:
    with pytest.raises(InvalidInputError, match="branch"):
        check_name("branch", name)


@pytest.fixture
def commit(repo: Repository) -> CommitCid:
    with repo.transaction() as tx:
        tx.add_node("Doc", key="a")
    assert tx.commit is not None
    return tx.commit.cid


def test_every_call_checks_the_name(repo: Repository, commit: CommitCid) -> None:
    calls: list[Callable[[str], object]] = [repo.branch, repo.tag, repo.switch]
    calls += [repo.delete_branch, repo.delete_tag]
    for call, name in itertools.product(calls, ("../x", "A", "")):
        with pytest.raises(InvalidInputError):
            call(name)
    with pytest.raises(InvalidInputError):
        repo.transaction(branch="../x")
    assert repo.branches() == {"main": commit}


def test_branches_grow_apart(repo: Repository, commit: CommitCid) -> None:
    assert repo.branch("side") == commit
    repo.switch("side")
    assert repo.current_branch == "side"
    with repo.transaction() as tx:
        tx.add_node("Doc", key="b")
    assert tx.commit is not None
    assert repo.branches() == {"main": commit, "side": tx.commit.cid}
    repo.switch("main")
    assert repo.head == commit


def test_tags_stay(repo: Repository, commit: CommitCid) -> None:
    repo.tag("v1")
    with repo.transaction() as tx:
        tx.add_node("Doc", key="b")
    assert repo.tags() == {"v1": commit}
    with pytest.raises(InvalidInputError, match="exists"):
        repo.tag("v1")
    repo.delete_tag("v1")
    assert repo.tags() == {}


def test_what_does_not_exist_is_not_found(repo: Repository, commit: CommitCid) -> None:
    for call in (repo.switch, repo.delete_branch, repo.delete_tag):
        with pytest.raises(NotFoundError) as caught:
            call("absent")
        assert caught.value.kind is ErrorKind.REVISION_NOT_FOUND
    with pytest.raises(NotFoundError):
        repo.transaction(branch="absent")


def test_the_current_branch_is_not_deleted(repo: Repository, commit: CommitCid) -> None:
    with pytest.raises(InvalidInputError, match="current"):
        repo.delete_branch("main")
    repo.branch("side")
    repo.delete_branch("side")
    assert list(repo.branches()) == ["main"]


def test_switching_to_the_current_branch_is_no_operation(
    repo: Repository, commit: CommitCid
) -> None:
    before = len(list(repo.history.operations()))
    repo.switch("main")
    assert len(list(repo.history.operations())) == before


def grown(repo: Repository, text: str) -> CommitCid:
    with repo.transaction(message=text) as tx:
        tx.add_node("Doc", key=text)
    assert tx.commit is not None
    return tx.commit.cid


def test_a_ref_of_ones_own_moves_where_it_is_set(repo: Repository, commit: CommitCid) -> None:
    assert repo.set_ref("deploy/prod") == commit
    head = grown(repo, "next")
    assert repo.refs() == {"deploy/prod": commit}
    assert repo.at("refs/deploy/prod").commit_cid == commit
    assert repo.set_ref("deploy/prod", at="main") == head
    assert repo.at("refs/deploy/prod~1").commit_cid == commit
    repo.history.undo()
    assert repo.refs() == {"deploy/prod": commit}
    repo.delete_ref("deploy/prod")
    assert repo.refs() == {}
    with pytest.raises(NotFoundError, match="ref"):
        repo.delete_ref("deploy/prod")
    for make in (repo.branch, repo.tag, repo.set_ref):
        with pytest.raises(InvalidInputError, match="full name"):
            make("refs/x")


def test_refs_of_ones_own_are_copied_on_request(disk_repo: Repository, tmp_path: Path) -> None:
    first = grown(disk_repo, "first")
    disk_repo.set_ref("deploy/prod")
    with ibidem.clone(tmp_path, tmp_path / "copy") as there:
        assert there.refs() == {}
        there.sync.fetch(include=["refs"])
        assert there.refs() == {"deploy/prod": first}
        head = grown(disk_repo, "next")
        disk_repo.set_ref("deploy/prod")
        there.sync.pull(include=["refs"])
        assert there.refs() == {"deploy/prod": head}
        there.set_ref("deploy/test", at=first)
        there.sync.push("origin", ["refs/deploy/test"])
    assert disk_repo.refs() == {"deploy/prod": head, "deploy/test": first}


def test_pruned_history_takes_refs_of_ones_own_along(repo: Repository, commit: CommitCid) -> None:
    grown(repo, "next")
    repo.set_ref("here")
    repo.set_ref("there", at=commit)
    repo.history.prune("main")
    assert repo.refs() == {"here": repo.head, "there": commit}


@pytest.mark.parametrize("has_moved", [False, True])
def test_a_damaged_ref_is_named_and_leaves_the_others_usable(
    tmp_path: Path, has_moved: bool
) -> None:
    with ibidem.init(tmp_path / "kb") as repo:
        with repo.transaction() as tx:
            tx.add_node("Note", key=1)
        repo.branch("side")
        repo.branch("other")
        repo.tag("first")
        if has_moved:
            with repo.transaction(branch="side") as tx:
                tx.add_node("Note", key=2)
        ref = repo.core.operation_log.ref("heads/side")
        assert ref is not None
        flip(tmp_path / "kb", ref.encode())
    name = "heads/side" if has_moved else str(ref.cid)
    with ibidem.open(tmp_path / "kb") as repo:
        assert list(repo.branches()) == ["main", "other"]
        assert list(repo.tags()) == ["first"]
        (error,) = repo.branches().damaged
        assert type(error) is CorruptError
        assert error.kind is ErrorKind.HASH_MISMATCH
        assert str(error).startswith(f"ref {name}: ")
        with repo.transaction(branch="other") as tx:
            tx.add_node("Note", key=3)
        repo.branch("new", at="other")
        repo.switch("other")
        assert not repo.maintenance.verify_index()
        with pytest.raises(CorruptError):
            repo.at("side")
        fault, *_ = repo.maintenance.fsck().faults
        assert (fault.where, fault.cid) == (f"ref {name}", ref.cid)
        history = [one for one in repo.maintenance.checkup() if one.check == "history"]
        assert [one.outcome for one in history] == ["failed"]
    done = CliRunner().invoke(cli, ["branch", "-R", str(tmp_path / "kb")])
    assert [line.split()[-2] for line in done.stdout.splitlines()] == ["main", "new", "other"]
    assert f"ref {name}: " in done.stderr
    done = CliRunner().invoke(cli, ["index", "stats", "-R", str(tmp_path / "kb")])
    assert "branches, tags" in done.stdout
    assert f"ref {name}: " in done.stderr
    token = "x" * 40
    with ibidem.open(tmp_path / "kb") as repo, Server(repo, token=token, port=0) as server:
        server.start()
        with ibidem.open(server.url, token=token) as there:
            assert list(there.branches()) == ["main", "new", "other"]
            (error,) = there.branches().damaged
            assert (type(error), error.kind) == (CorruptError, ErrorKind.HASH_MISMATCH)
            assert f"ref {name}: " in str(error)
    with ibidem.open(tmp_path / "kb") as repo:
        (problem,) = resources.status(Access(repo, author="ada"))["damaged"]
    assert f"ref {name}: " in problem


def flip(folder: Path, block: bytes) -> None:
    """Changes a bit in every copy of a block in the store's file."""
    (path,) = folder.rglob("data.mdb")
    data = path.read_bytes()
    assert block in data
    path.write_bytes(data.replace(block, block[:-1] + bytes((block[-1] ^ 1,))))

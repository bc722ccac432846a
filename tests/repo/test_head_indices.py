"""The index of every branch and tag is kept, so that switching among them indexes nothing twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import ibidem
from ibidem.index.retention import LINES_MAX, SNAPSHOTS_MAX
from ibidem.index.tuning import Tuning
from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.errors import (
    CorruptError,
    ErasedError,
    FormatError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.tree import Tree
from ibidem.objects.view import Ref, View
from ibidem.repo import refs
from ibidem.repo.maintenance.head_index import IndexState
from ibidem.repo.repository import Repository
from ibidem.repo.state import State

from .settings import set_local

BRANCHES = 50
NAMES = tuple(f"branch-{number:02}" for number in range(BRANCHES))


def add(repo: Repository, text: str) -> None:
    with repo.transaction() as tx:
        node = tx.add_node("Doc", summary=text, props={"text": text})
        tx.add_edge(node, "says", node)
        tx.set_vector(node, model="m", vector=[2.0, 1.0])
        tx.set_sparse(node, vocab="v", indices=[7], weights=[1.0])


def branched(repo: Repository, names: tuple[str, ...]) -> None:
    """Adds nodes that all branches have, and one to each of them."""
    with repo.transaction() as tx:
        for number in range(200):
            node = tx.add_node("Doc", summary=f"text {number} of all branches", props={"n": number})
            tx.set_vector(node, model="m", vector=[1.0, number])
            tx.set_sparse(node, vocab="v", indices=[number], weights=[1.0])
        tx.add_node("Doc", summary="a summary of all branches")
    for number, name in enumerate(names):
        repo.branch(name, at="main")
        repo.switch(name)
        add(repo, f"a summary of branch {number}")


def answers(repo: Repository, names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        repo.switch(name)
        found[name] = repo.retrieve("summary").to_json()
    return found


def files(path: Path) -> dict[str, tuple[int, int]]:
    """Returns inode and time of every segment and manifest."""
    folder = path / ".ibidem" / "index"
    return {
        str(file.relative_to(folder)): (file.stat().st_ino, file.stat().st_mtime_ns)
        for part in ("segments", "snapshots")
        for file in (folder / part).iterdir()
    }


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    with ibidem.init(tmp_path) as opened:
        branched(opened, NAMES[:4])
        opened.switch("main")
        answers(opened, (*NAMES[:4], "main"))
        yield opened


def states(repo: Repository) -> dict[str, IndexState]:
    return {one.name.partition("/")[2]: one.state for one in repo.maintenance.index_heads()}


@pytest.mark.parametrize("count", [20, pytest.param(BRANCHES, marks=pytest.mark.slow)])
def test_a_second_round_of_switching_among_50_branches_writes_nothing(
    tmp_path: Path, count: int
) -> None:
    names = NAMES[:count]
    with ibidem.init(tmp_path) as repo:
        branched(repo, names)
        first = answers(repo, names)
        assert len(set(first.values())) == count
    before = files(tmp_path)
    with ibidem.open(tmp_path) as repo:
        assert answers(repo, names[::-1]) == first
        index = repo.core.search_index.current
        assert index.write_count == 0
        assert files(tmp_path) == before
        assert repo.maintenance.verify_index(None) == ()  # each equals one made anew
        assert repo.maintenance.drop_index() > 0
        assert {one.state for one in repo.maintenance.index_heads()} == {IndexState.MISSING}
        assert answers(repo, names[::9]) == {name: first[name] for name in names[::9]}


def test_what_a_head_needs_and_what_it_alone_needs(repo: Repository) -> None:
    rows = {one.name: one for one in repo.maintenance.index_heads()}
    assert set(rows) == {"heads/main", *(f"heads/{name}" for name in NAMES[:4])}
    for row in rows.values():
        assert row.state is IndexState.CURRENT
        assert 0 < row.own_bytes < row.size_bytes  # the nodes of all branches are shared
    one = rows[f"heads/{NAMES[0]}"]
    assert repo.maintenance.drop_index([NAMES[0]]) == one.own_bytes
    assert states(repo)[NAMES[0]] is IndexState.STALE  # main is the commit before
    repo.maintenance.build_index([NAMES[0]])
    assert set(states(repo).values()) == {IndexState.CURRENT}


def test_heads_with_one_root_share_one_index(repo: Repository) -> None:
    repo.tag("v1", at="main")
    repo.maintenance.drop_index(["v1"])
    found = states(repo)
    assert (found["main"], found["v1"]) == (IndexState.MISSING, IndexState.MISSING)
    repo.maintenance.build_index()
    assert set(states(repo).values()) == {IndexState.CURRENT}


def test_the_tip_of_a_tag_stays_however_many_commits_follow(repo: Repository) -> None:
    repo.tag("v1", at="main")
    for number in range(20):
        add(repo, f"a later summary {number}")
        repo.retrieve("summary")
    assert states(repo)["v1"] is IndexState.CURRENT
    writes = repo.core.search_index.current.write_count
    assert len(repo.at("v1").retrieve("summary").items) == 1
    assert repo.core.search_index.current.write_count == writes
    repo.delete_tag("v1")
    add(repo, "one more")
    repo.retrieve("summary")
    assert len(repo.core.search_index.current.remembered()) <= 16 + 5


def test_beyond_the_budget_the_least_recently_used_head_goes_first(repo: Repository) -> None:
    rows = {one.name: one for one in repo.maintenance.index_heads()}
    order = ("main", NAMES[2], NAMES[0], NAMES[3])
    answers(repo, order)  # the last used is the current one
    for budget_count in (3, 2, 1):
        needed = [rows[f"heads/{name}"].own_bytes for name in order[::-1][1 : budget_count + 1]]
        set_local(repo, index_budget=sum(needed) + 400)
        add(repo, f"a summary {budget_count}")
        repo.retrieve("summary")  # writes, so what is too much goes
        found = states(repo)
        kept = {name for name, state in found.items() if state is IndexState.CURRENT}
        assert NAMES[3] in kept, "the current head"
        assert kept - {NAMES[3]} <= set(order[::-1][1 : budget_count + 1])
        others = [one for one in repo.maintenance.index_heads() if one.name != f"heads/{NAMES[3]}"]
        assert sum(one.own_bytes for one in others) <= sum(needed) + 400
    set_local(repo, index_budget=0)
    add(repo, "a last summary")
    assert states(repo)[NAMES[3]] is IndexState.CURRENT
    assert repo.core.search_index.current.remembered() == [repo.at().root_cid]


def test_every_commit_is_indexed_if_the_repository_is_configured_so(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        add(repo, "a first summary")
    (tmp_path / ".ibidem/local").mkdir(exist_ok=True)
    file = tmp_path / ".ibidem/local/settings.json"
    file.write_text(json.dumps({"index_build": "commit", "index_budget": 0}))
    with ibidem.open(tmp_path) as repo:
        for number in range(2):
            add(repo, f"a summary {number}")
            assert set(states(repo).values()) == {IndexState.CURRENT}
        assert len(repo.core.search_index.current.remembered()) == 1  # the budget is read too
        assert len(repo.retrieve("summary").items) == 3
    file.write_text('{"index_build": "sometimes", "index_budget": -1}')
    with ibidem.open(tmp_path) as repo:  # values that are not allowed count as not given
        add(repo, "one more")
        assert set(states(repo).values()) == {IndexState.STALE}


def test_a_head_that_is_not_there_changes_nothing(repo: Repository) -> None:
    before = states(repo)
    for act in (repo.maintenance.build_index, repo.maintenance.drop_index):
        with pytest.raises(NotFoundError, match="no branch or tag 'nowhere'"):
            act(["main", "nowhere"])
        with pytest.raises(InvalidInputError, match="expected a list of names"):
            act("main")
    assert states(repo) == before


def test_damage_of_one_head_is_found_and_costs_no_answer(repo: Repository, tmp_path: Path) -> None:
    repo.switch(NAMES[0])
    expected = repo.retrieve("summary").to_json()
    root = repo.at().root_cid
    repo.close()
    file = tmp_path / ".ibidem/index/snapshots" / str(root)
    file.write_bytes(file.read_bytes()[:-1])
    (tmp_path / ".ibidem/index/uses").write_bytes(b"\xff\x00torn")
    with ibidem.open(tmp_path) as opened:
        assert states(opened)[NAMES[0]] is IndexState.STALE
        assert opened.retrieve("summary").to_json() == expected
        assert opened.maintenance.verify_index(None) == ()


def test_a_head_that_cannot_be_read_does_not_keep_the_others_from_being_checked(
    repo: Repository,
) -> None:
    repo.tag("v1", at="main")
    second = repo.at(NAMES[1])
    commit = repo.branches()[NAMES[0]]
    repo.core.store.delete([commit, second.root_cid])
    repo.maintenance.drop_index()
    with pytest.raises(NotFoundError, match=str(second.root_cid)):
        repo.maintenance.build_index()
    built = {name for name, state in states(repo).items() if state is IndexState.CURRENT}
    assert built == {"main", "v1", *NAMES[2:4]}
    hint = "run 'repo doctor' to see what else is missing"
    assert repo.maintenance.verify_index(None) == (
        f"heads/{NAMES[0]}: block {commit} is not in this store; {hint}",
        f"heads/{NAMES[1]}: block {second.root_cid} is not in this store; {hint}",
    )


@pytest.mark.parametrize("kind", ["commit", "root"])
def test_a_head_of_a_newer_program_does_not_keep_the_others_from_being_used(
    repo: Repository, kind: str
) -> None:
    newer = add_head_of_a_newer_program(repo, "newer", kind)
    hint = "upgrade: a newer release of ibidem may read it"
    set_local(repo, index_budget=0)  # so the heads are looked up
    assert repo.retrieve("summary").items
    set_local(repo, index_budget=1 << 30)
    repo.maintenance.drop_index()
    if kind == "commit":  # which names no root
        repo.maintenance.build_index()
        assert states(repo)["newer"] is IndexState.DAMAGED
    else:
        with pytest.raises(FormatError, match=f"heads/newer: {kind}.v: got version 9") as caught:
            repo.maintenance.build_index()
        assert caught.value.hint is not None
        assert caught.value.hint.startswith(f"{hint}; not built: heads/newer;")
    others = {name: state for name, state in states(repo).items() if name != "newer"}
    assert set(others.values()) == {IndexState.CURRENT}
    assert repo.maintenance.verify_index(None) == (
        f"heads/newer: {kind}.v: got version 9, expected one of [1]; {hint}",
    )
    assert repo.branches()["newer"] == newer


def add_head_of_a_newer_program(repo: Repository, name: str, kind: str) -> CommitCid:
    """Adds a branch whose commit, or the root of whose commit, has a version of the future."""
    store = repo.core.store
    assert repo.head is not None
    commit = codec.decode(store.get(repo.head))
    blocks: dict[Cid, bytes] = {}
    if kind == "root":
        root = codec.encode({**codec.decode(store.get(commit["root"])), "v": 9})
        commit["root"] = RootCid.of(root)
        blocks[commit["root"]] = root
    else:
        commit["v"] = 9
    target = CommitCid.of(codec.encode(commit))
    store.put({**blocks, target: codec.encode(commit)})

    def make(state: State, buffer: WriteBatch) -> View:
        return replace(state.view, refs=refs.changed(state.view, {f"heads/{name}": target}, buffer))

    repo.core.operation_log.change(make, author="", time=None, description="newer")
    return target


def test_a_tag_of_which_something_was_erased_has_no_index(repo: Repository) -> None:
    repo.tag("v1", at="main")
    node = next(iter(repo.at("main").nodes()))
    repo.maintenance.erase(node.id)
    repo.maintenance.build_index()
    assert {name for name, state in states(repo).items() if state is not IndexState.CURRENT} == {
        "v1"
    }
    assert repo.maintenance.verify_index(None) == ()
    for call in (repo.maintenance.build_index, repo.maintenance.verify_index):
        with pytest.raises(ErasedError):
            call(["v1"])


def test_what_is_kept_beside_an_index_counts_when_it_is_written(repo: Repository) -> None:
    assert len(repo.core.search_index.current.remembered()) > 2
    set_local(repo, index_budget=0)
    repo.at(NAMES[0]).communities()
    left = set(repo.core.search_index.current.remembered())
    assert left == {repo.at().root_cid, repo.at(NAMES[0]).root_cid}
    assert repo.maintenance.verify_index() == ()


def test_what_is_kept_beside_an_index_that_was_closed_removes_no_head(tmp_path: Path) -> None:
    names = NAMES[: SNAPSHOTS_MAX + 2]
    with ibidem.init(tmp_path) as repo:
        repo.core.search_index.tuning = Tuning(steps_unwritten=0)
        repo.add("a summary of all branches")
        for name in names:
            repo.branch(name)
            repo.switch(name)
            repo.add(f"a summary of {name}")
            assert repo.retrieve("summary").items
        held = repo.at(names[0])
        assert held.retrieve("summary").items
        repo.maintenance.drop_index(names[1:2])
        held.communities()
        assert len(repo.core.search_index.current.remembered()) == len(names) - 1


@pytest.mark.parametrize("is_ref", [False, True])
@pytest.mark.parametrize("damaged", [NAMES[0], "main"])
def test_a_damaged_ref_or_commit_of_another_branch_prevents_no_answer(
    repo: Repository, monkeypatch: pytest.MonkeyPatch, damaged: str, is_ref: bool
) -> None:
    assert repo.folder is not None
    wanted = repo.at(NAMES[1]).retrieve("summary")
    repo.maintenance.drop_index()
    with ibidem.open(repo.folder.parent) as other:
        set_local(other, index_budget=0)  # so the heads are looked up
        gone, get = other.core.branches()[damaged], other.core.store.get
        if is_ref:
            entries = Tree(other.core.store, other.core.operation_log.state().view.refs).items()
            gone = next(cid for _, cid in entries if Ref.decode(get(cid)).target == gone)

        def read(cid: Cid) -> bytes:
            if cid == gone:
                raise CorruptError("block: the bytes do not have the hash")
            return get(cid)

        monkeypatch.setattr(other.core.store, "get", read)
        other.at(NAMES[2]).retrieve("summary")
        assert other.at(NAMES[1]).retrieve("summary") == wanted


def test_a_revision_is_asked_whose_refs_were_collected(repo: Repository) -> None:
    assert repo.folder is not None
    with ibidem.open(repo.folder.parent) as other:
        set_local(other, index_budget=0)  # so the heads are looked up
        held = [other.at(name) for name in NAMES[:2]]
        repo.maintenance.drop_index()
        add(repo, "one more summary")
        repo.branch("newer", at="main")
        repo.maintenance.gc(keep_operations=1)
        for revision in held:
            assert len(revision.retrieve("summary").items) == 2


def test_the_order_of_use_stays_short_without_a_write(repo: Repository, tmp_path: Path) -> None:
    file = tmp_path / ".ibidem" / "index" / "uses"
    index = repo.core.search_index.current
    roots = [repo.at(name).root_cid for name in NAMES[:2]]
    for _ in range(LINES_MAX):
        for root in roots:
            index.snapshot(root)
    assert len(file.read_bytes().splitlines()) <= LINES_MAX + 2 * 5 + 1
    assert [one.root for one in index.snapshots()][:2] == roots[::-1]

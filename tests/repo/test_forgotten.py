"""What was forgotten stays forgotten: tombstones and erasures over every operation on a history."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

import ibidem
from ibidem.objects.cid import CommitCid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.tree import Tree
from ibidem.repo.merge.branch import Outcome
from ibidem.repo.repository import Repository

SECRET = "the secret that nobody may know"


@pytest.fixture
def repo() -> Repository:
    """Two nodes at the head; `X` is the one to forget."""
    repo = ibidem.init(clock=lambda: 0)
    edit(repo, x="one", y="one")
    return repo


X, Y = node_id("", "x"), node_id("", "y")


def edit(repo: Repository, **summaries: str) -> CommitCid:
    with repo.transaction(message="edit") as tx:
        for key, summary in summaries.items():
            tx.add_node("Doc", summary=summary, key=key, replace=True)
    assert tx.commit is not None
    return tx.commit.cid


def hide(repo: Repository, id_: NodeId = X, *, reason: str = "wrong", **summaries: str) -> None:
    with repo.transaction(message="hide") as tx:
        tx.tombstone(id_, reason=reason)
        for key, summary in summaries.items():
            tx.add_node("Doc", summary=summary, key=key, replace=True)


def show(repo: Repository, id_: NodeId = X) -> None:
    with repo.transaction(message="show") as tx:
        tx.untombstone(id_)


def seen(repo: Repository) -> dict[str, str | None]:
    return {str(node.key[1]): node.summary for node in repo.at().nodes() if node.key}


# -- tombstones ------------------------------------------------------------------------------------


def test_a_revert_keeps_the_tombstone_and_takes_the_rest_back(repo: Repository) -> None:
    hide(repo, y="two")
    done = repo.revert("HEAD")
    assert done.outcome is Outcome.APPLIED
    assert done.kept == (X,)
    assert seen(repo) == {"y": "one"}
    assert repo.at().tombstone(X) == "wrong"
    show(repo)
    assert seen(repo) == {"x": "one", "y": "one"}


def test_a_revert_of_nothing_but_a_tombstone_changes_nothing(repo: Repository) -> None:
    hide(repo)
    head = repo.head
    done = repo.revert("HEAD")
    assert (done.outcome, done.kept, repo.head) == (Outcome.UNCHANGED, (X,), head)


def test_a_revert_of_what_added_a_node_and_its_tombstone_lets_nobody_add_it_again(
    repo: Repository,
) -> None:
    with repo.transaction() as tx:
        added = tx.add_node("Doc", key="z")
        tx.tombstone(added)
    assert repo.revert("HEAD").kept == (added,)
    with pytest.raises(InvalidInputError) as caught:
        edit(repo, z="again")
    assert caught.value.kind is ErrorKind.FORGOTTEN
    assert repo.maintenance.fsck().is_clean


def test_an_undo_keeps_the_tombstone_and_says_so(repo: Repository) -> None:
    before = repo.head
    hide(repo, y="two")
    hidden = repo.head
    done = repo.history.undo(author="ada")
    assert done.kept == (X,)
    assert seen(repo) == {"y": "one"}
    commit = repo.commit_at()
    assert (commit.parents, commit.author, commit.message) == (
        (before,),
        "ada",
        "undo commit on heads/main",
    )
    assert repo.history.redo().kept == ()
    assert repo.head == hidden
    assert seen(repo) == {"y": "two"}


def test_an_undo_of_all_lets_nobody_add_it_again(repo: Repository) -> None:
    hide(repo)
    repo.history.undo()
    assert repo.history.undo().kept == (X,)
    assert seen(repo) == {}
    with pytest.raises(InvalidInputError) as caught:
        edit(repo, x="again")
    assert caught.value.kind is ErrorKind.FORGOTTEN
    assert repo.maintenance.fsck().is_clean
    repo.history.redo()
    repo.history.redo()
    assert seen(repo) == {"y": "one"}
    with repo.transaction() as tx:
        tx.untombstone(X)
    assert seen(repo) == {"x": "one", "y": "one"}


def test_an_undo_that_deletes_a_branch_and_its_redo_keep_the_tombstone(repo: Repository) -> None:
    repo.branch("side")
    repo.switch("side")
    hide(repo)
    for _ in range(3):
        repo.history.undo()
    assert "side" not in repo.branches()
    for _ in range(2):
        repo.history.redo()
    assert repo.current_branch == "side"
    assert seen(repo) == {"y": "one"}


def test_a_redo_of_an_untombstone_shows_it_again(repo: Repository) -> None:
    hide(repo)
    show(repo)
    assert repo.history.undo().kept == ()
    assert seen(repo) == {"y": "one"}
    repo.history.redo()
    assert seen(repo) == {"x": "one", "y": "one"}


def test_an_undo_signs_the_commit_that_keeps_a_tombstone(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        repo.keys.ring.generate("ada")
        repo.keys.sign_with("ada")
        edit(repo, x="one")
        hide(repo)
        repo.history.undo()
        assert repo.commit_at().signature is not None


def test_a_cherry_pick_of_an_untombstone_shows_nothing(repo: Repository) -> None:
    hide(repo)
    show(repo)
    shown = repo.head
    hide(repo)
    done = repo.cherry_pick(shown)
    assert (done.outcome, done.kept) == (Outcome.UNCHANGED, (X,))
    assert seen(repo) == {"y": "one"}


def test_a_rebase_keeps_what_was_forgotten_below(repo: Repository) -> None:
    """The branch forgot and showed the node too; of the other tombstone it knew nothing."""
    repo.branch("side")
    repo.switch("side")
    hide(repo)
    show(repo)
    edit(repo, y="two")
    repo.switch("main")
    hide(repo, z="one")
    repo.switch("side")
    would = repo.rebase("main", dry_run=True)
    done = repo.rebase("main")
    assert would == done
    assert done.kept == (X,)
    assert seen(repo) == {"y": "two", "z": "one"}


def test_a_rebase_and_a_merge_take_an_untombstone_along(repo: Repository) -> None:
    hide(repo)
    for name in ("rebased", "merged"):
        repo.branch(name)
        repo.switch(name)
        show(repo)
        repo.switch("main")
    edit(repo, y="two")
    repo.switch("rebased")
    assert repo.rebase("main").kept == ()
    assert seen(repo) == {"x": "one", "y": "two"}
    repo.switch("main")
    repo.merge("merged")
    assert seen(repo) == {"x": "one", "y": "two"}


# -- erasures --------------------------------------------------------------------------------------


def with_erased() -> tuple[Repository, dict[str, CommitCid]]:
    """A repository where `X` was erased, and commits of its history by what they did."""
    repo = ibidem.init(clock=lambda: 0)
    made = {"base": edit(repo, y="one")}
    repo.branch("side")
    with repo.transaction(message="add") as tx:
        tx.add_node("Doc", summary=SECRET, key="x")
        tx.add_node("Doc", summary="two", key="y", replace=True)
        tx.add_edge(Y, "to", X)
        for id_ in (X, Y):
            tx.set_vector(id_, model="m", vector=[1.0, 2.0], of=bytes(32))
    made["add"] = repo.head
    with repo.transaction(message="change") as tx:
        tx.update_node(X, summary=f"{SECRET} too")
        tx.update_node(Y, summary="three")
    made["change"] = repo.head
    repo.maintenance.erase(X, reason="asked")
    made["erase"] = repo.head
    edit(repo, z="one")
    return repo, made


def is_whole_without(repo: Repository) -> None:
    """Every branch answers, and none has what was erased."""
    for name in repo.branches():
        at = repo.at(name)
        assert X not in {node.id for node in at.nodes(include_tombstoned=True)}
        list(at.edges())
        at.retrieve("one two three", vector=("m", [1.0, 2.0]) if at.root.vectors else None)
    assert all(SECRET.encode() not in repo.core.store.get(cid) for cid in repo.core.store.cids())
    assert repo.maintenance.fsck().is_clean


WAYS: dict[str, Callable[[Repository, dict[str, CommitCid]], object]] = {
    "revert of the erasure": lambda repo, made: repo.revert(made["erase"]),
    "revert of what came before": lambda repo, made: repo.revert(made["change"]),
    "cherry-pick where it never was": lambda repo, made: (
        repo.switch("side"),
        repo.cherry_pick(made["add"]),
        repo.cherry_pick(made["change"]),
    ),
    "merge forward": lambda repo, made: (repo.switch("side"), repo.merge(made["change"])),
    "merge": lambda repo, made: (
        repo.switch("side"),
        edit(repo, w="one"),
        repo.merge(made["change"]),
        repo.merge("main"),
    ),
    "rebase onto it": lambda repo, made: (
        repo.switch("side"),
        edit(repo, w="one"),
        repo.rebase(made["change"]),
    ),
    "rebase of nothing onto it": lambda repo, made: (
        repo.switch("side"),
        repo.rebase(made["add"]),
    ),
    "rebase of what had it": lambda repo, made: (
        repo.branch("old", at=made["change"]),
        repo.switch("old"),
        repo.rebase("main"),
    ),
    "squash and prune": lambda repo, made: (
        repo.history.squash(made["base"]),
        repo.history.prune(made["base"]),
    ),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_no_way_of_moving_a_branch_brings_an_erased_node_back_or_breaks_on_it(
    way: Callable[[Repository, dict[str, CommitCid]], object],
) -> None:
    repo, made = with_erased()
    way(repo, made)
    is_whole_without(repo)


def test_a_merge_with_a_branch_that_removed_it_keeps_the_tombstone_of_an_erased_node(
    repo: Repository,
) -> None:
    repo.branch("side")
    repo.switch("side")
    with repo.transaction() as tx:
        tx.remove_node(X)
    repo.switch("main")
    repo.maintenance.erase(X, reason="asked")
    repo.merge("side")
    assert repo.at().tombstone(X) == "asked"


@pytest.mark.parametrize("way", ["created", "forwarded", "joined"])
def test_a_copy_that_still_has_an_erased_node_does_not_bring_it_back(
    tmp_path: Path, way: str
) -> None:
    with ibidem.init(tmp_path / "ours") as ours, ibidem.init(tmp_path / "theirs") as theirs:
        edit(ours, y="one")
        theirs.sync.load(exported(ours))
        edit(theirs, x=SECRET, y="two")
        ours.sync.load(exported(theirs))
        ours.maintenance.erase(X)
        ours.branch("side", at="main~2")
        ours.switch("side")
        ours.delete_branch("main")
        if way != "created":
            ours.branch("main")
        if way == "joined":
            ours.switch("main")
            edit(ours, z="one")
        with theirs.transaction() as tx:
            tx.add_edge(Y, "unknown to the erasure", X)
        ours.sync.load(exported(theirs))
        if way != "joined":
            ours.switch("main")
        assert seen(ours).items() >= {"y": "two"}.items()
        is_whole_without(ours)


def exported(repo: Repository) -> io.BytesIO:
    stream = io.BytesIO()
    repo.sync.export(stream)
    stream.seek(0)
    return stream


# -- any history -----------------------------------------------------------------------------------

KEYS = 3
BRANCHES = ("main", "one", "two")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                *("edit", "hide", "show", "undo", "redo", "revert", "pick", "rebase", "merge"),
                *("squash", "prune", "switch", "remove", "send", "take", "stage", "erase"),
                *("hide", "undo", "edit"),
            )
        ),
        st.integers(0, 63),
        st.integers(0, 63),
    ),
    max_size=30,
)


class History:
    """A repository and a copy of it, and when what was forgotten and shown in them.

    Each tombstone has a reason of its own, so that one is told from another on the same node.
    """

    def __init__(self) -> None:
        self.repos = (ibidem.init(clock=lambda: 0), ibidem.init(clock=lambda: 0))
        self.repo = self.repos[0]
        self.now = 0
        self.shown: dict[NodeId, int] = {}
        """When `untombstone` was called last."""
        self.erased: set[NodeId] = set()
        self.hidden: dict[tuple[int, str], dict[NodeId, int]] = {}
        """By copy and branch: the tombstones that stood there last, with when they were put."""
        self.commits: list[CommitCid] = []
        for key in range(KEYS):
            edit(self.repo, **{str(key): "begin"})
        for name in BRANCHES[1:]:
            self.repo.branch(name)
        self.check()

    def step(self, name: str, first: int, second: int) -> None:
        self.now += 1
        self.repo = self.repos[first % 5 == 4]
        key = str(second % KEYS)
        id_ = node_id("", key)
        branch = BRANCHES[second % len(BRANCHES)]
        commit = self.commits[second * 7 % len(self.commits)]
        run = {
            "edit": lambda: edit(self.repo, **{key: f"edit {self.now}"}),
            "hide": lambda: hide(self.repo, id_, reason=str(self.now), side=str(self.now)),
            "show": lambda: self.show(id_),
            "stage": lambda: self.stage(key, id_),
            "remove": lambda: self.remove(id_),
            "undo": lambda: self.repo.history.undo(),
            "redo": lambda: self.repo.history.redo(),
            "revert": lambda: self.repo.revert(commit),
            "pick": lambda: self.repo.cherry_pick(commit),
            "rebase": lambda: self.repo.rebase(branch),
            "merge": lambda: self.repo.merge(branch if second % 2 else commit),
            "squash": lambda: self.repo.history.squash("HEAD~2"),
            "prune": lambda: self.repo.history.prune("HEAD~1"),
            "switch": lambda: self.repo.switch(branch),
            "send": lambda: self.repos[1].sync.load(exported(self.repos[0])),
            "take": lambda: self.repos[0].sync.load(exported(self.repos[1])),
            "erase": lambda: self.erase(id_) if second > 60 else None,
        }[name]
        try:
            run()
        except IbidemError as error:  # refused, as an undo of nothing is
            if error.kind is ErrorKind.ERASED:
                raise
        self.check(name)

    def show(self, id_: NodeId) -> None:
        show(self.repo, id_)
        self.shown[id_] = self.now

    def stage(self, key: str, id_: NodeId) -> None:
        with self.repo.stage.transaction() as tx:
            tx.add_node("Doc", summary=f"staged {self.now}", key=key, replace=True)
        hide(self.repo, id_, reason=str(self.now))
        self.repo.stage.commit()

    def remove(self, id_: NodeId) -> None:
        with self.repo.transaction() as tx:
            tx.remove_node(id_)

    def erase(self, id_: NodeId) -> None:
        for repo in self.repos:
            repo.stage.clear()
        self.repos[0].maintenance.erase(id_, reason=str(self.now))
        self.erased.add(id_)

    def check(self, name: str = "begin") -> None:
        for number, repo in enumerate(self.repos):
            for branch, cid in repo.branches().items():
                if cid not in self.commits:
                    self.commits.append(cid)
                at = repo.at(cid)
                found = {
                    NodeId(key): int(at.tombstone(NodeId(key)) or 0)
                    for key, _ in Tree(repo.core.store, at.root.tombstones).items()
                }
                before = self.hidden.get((number, branch), {})
                for id_ in before.keys() - found.keys():
                    assert self.shown.get(id_, -1) > before[id_], f"{name} shows {id_}"
                self.hidden[number, branch] = found
                for node in at.nodes():
                    assert node.id not in found
                    assert number or node.id not in self.erased


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_no_history_shows_what_was_forgotten_unless_untombstone_was_called_since(
    steps: list[tuple[str, int, int]],
) -> None:
    history = History()
    for step in steps:
        history.step(*step)
    assert history.repos[0].maintenance.fsck().is_clean
    assert history.repos[1].maintenance.fsck().is_clean

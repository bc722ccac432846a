"""What is asked of a repository that gives something up meanwhile is asked of what is left."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ibidem.objects.cid import CommitCid
from ibidem.objects.tree import Tree
from ibidem.objects.view import View
from ibidem.repo.repository import Repository
from ibidem.repo.sync import local_remote
from ibidem.repo.sync.have_set import HaveSet
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.store.protocol import Store


@pytest.fixture
def given_up(
    pair: tuple[Repository, Repository], monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[CommitCid]]:
    """A branch of the remote, deleted and collected as soon as its refs were read."""
    _, theirs = pair
    theirs.branch("aside")
    with theirs.transaction(branch="aside", message="aside") as tx:
        tx.add_node("Doc", summary="to be given up")
    gone: list[CommitCid] = []

    def read(store: Store, view: View) -> HaveSet:
        known = HaveSet(store, view)
        if not gone:
            gone.append(theirs.branches()["aside"])
            theirs.delete_branch("aside")
            theirs.maintenance.gc(keep_operations=1)
            assert not theirs.core.store.has(gone[0])
        return known

    monkeypatch.setattr(local_remote, "HaveSet", read)
    yield gone
    assert gone


def test_a_fetch_of_one_branch_is_not_stopped_by_another(
    pair: tuple[Repository, Repository], given_up: list[CommitCid]
) -> None:
    _, theirs = pair
    main = theirs.branches()["main"]
    cids = {cid for cid, _ in LocalRemote(theirs.core).pack([main], [])}
    nodes = Tree(theirs.core.store, theirs.at("main").root.nodes)
    assert {main, *(cid for _, cid in nodes.items())} <= {type(main)(cid.raw) for cid in cids}


def test_what_is_known_is_what_is_left(
    pair: tuple[Repository, Repository], given_up: list[CommitCid]
) -> None:
    _, theirs = pair
    asked = [theirs.branches()["main"], theirs.branches()["aside"]]
    assert LocalRemote(theirs.core).known(asked) == {asked[0]}

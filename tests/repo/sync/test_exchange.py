"""Fetch, push and pull: both sides end up with the same, and nothing is lost on the way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.errors import ConflictError, ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.tree import verify
from ibidem.repo.events import Event
from ibidem.repo.repository import Repository
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.report import Move

from .exchanging import Pair, answer, edit, how, key_id


def test_fetch_remembers_the_branches_of_a_remote_and_moves_none_here(pair: Pair):
    ours, _theirs = pair
    report = ours.sync.fetch()
    assert how(report) == {"remotes/origin/heads/main": Move.CREATED}
    assert ours.branches() == {}
    assert ours.sync.fetch().block_count == 0


def test_pull_gives_the_same_answers_to_the_byte(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    assert ours.head == theirs.head
    assert answer(ours) == answer(theirs)
    assert ours.maintenance.fsck().faults == ()


def test_pull_of_what_is_here_changes_nothing(pair: Pair):
    ours, _ = pair
    ours.sync.pull()
    before = len(list(ours.history.operations()))
    report = ours.sync.pull()
    assert how(report)["heads/main"] is Move.UNCHANGED
    assert len(list(ours.history.operations())) == before


def test_push_forwards_the_branch_of_the_remote(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    edit(ours, "changed here")
    report = ours.sync.push()
    assert how(report) == {"heads/main": Move.FORWARDED}
    assert theirs.head == ours.head
    assert answer(theirs) == answer(ours)
    assert theirs.maintenance.fsck().faults == ()


def test_push_of_a_small_change_moves_few_blocks(pair: Pair):
    ours, _theirs = pair
    ours.sync.pull()
    edit(ours, "changed here")
    assert ours.sync.push().block_count <= 6


def test_push_onto_a_branch_that_went_on_is_refused_until_pulled(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    edit(ours, "changed here", key=7)
    edit(theirs, "changed there", key=8)
    before = theirs.head
    with pytest.raises(ConflictError) as error:
        ours.sync.push()
    assert error.value.kind is ErrorKind.NOT_FAST_FORWARD
    assert theirs.head == before
    assert how(ours.sync.pull())["heads/main"] is Move.MERGED
    ours.sync.push()
    assert theirs.head == ours.head
    summaries = {node.summary for node in theirs.at().nodes()}
    assert {"changed here", "changed there"} <= summaries
    assert theirs.at().commit is not None
    assert len(theirs.at().commit.parents) == 2


def test_a_merge_of_the_same_property_leaves_a_conflict_and_a_usable_head(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    edit(ours, "changed here")
    edit(theirs, "changed there")
    report = ours.sync.pull()
    assert report.conflict_count == 1
    assert answer(ours)
    ours.sync.push()
    assert answer(ours) == answer(theirs)
    assert theirs.maintenance.fsck().faults == ()


def test_conflicts_travel(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    ours.sync.pull()
    edit(ours, "changed here")
    edit(theirs, "changed there")
    ours.sync.pull()
    with ibidem.clone(tmp_path / "ours", tmp_path / "copy") as copy:
        assert copy.at().root_cid == ours.at().root_cid
        assert copy.maintenance.fsck().faults == ()


def test_force_needs_the_remote_to_stand_where_it_was_seen(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    edit(theirs, "changed there")
    edit(ours, "changed here")
    with pytest.raises(ConflictError) as error:
        ours.sync.push(force=True)
    assert error.value.kind is ErrorKind.HEAD_MOVED
    ours.sync.fetch()
    assert how(ours.sync.push(force=True)) == {"heads/main": Move.FORCED}
    assert theirs.head == ours.head


def test_force_takes_the_word_of_the_caller_for_where_the_remote_stands(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    edit(theirs, "changed there")
    edit(ours, "changed here")
    ours.sync.push(force=True, expect={"heads/main": theirs.head})
    assert theirs.head == ours.head


def test_a_remote_that_was_rolled_back_is_refused_unless_forced(pair: Pair):
    ours, theirs = pair
    edit(theirs, "later")
    ours.sync.pull()
    theirs.history.undo()
    seen = ours.head
    with pytest.raises(ConflictError) as error:
        ours.sync.fetch()
    assert error.value.kind is ErrorKind.NOT_FAST_FORWARD
    assert "rolled back" in str(error.value)
    assert ours.head == seen
    assert how(ours.sync.fetch(force=True)) == {"remotes/origin/heads/main": Move.FORCED}


def test_a_push_that_was_decided_on_an_older_state_is_refused(pair: Pair):
    """The ref went on and came back: its target is as before, its count is not."""
    from ibidem.repo.sync.local_remote import LocalRemote
    from ibidem.repo.sync.messages import Push, Update

    ours, theirs = pair
    ours.sync.pull()
    tip = LocalRemote(theirs.core).refs(["heads/"]).refs["heads/main"]
    edit(theirs, "a")
    back = LocalRemote(theirs.core).refs(["heads/"]).refs["heads/main"]
    ours.sync.push(force=True, expect={"heads/main": back.target})
    assert theirs.head == tip.target
    with pytest.raises(ConflictError) as error:
        LocalRemote(theirs.core).push(Push({"heads/main": Update(None, tip, force=True)}), ())
    assert error.value.kind is ErrorKind.HEAD_MOVED


def test_a_branch_is_deleted_there_only_by_force(pair: Pair):
    ours, theirs = pair
    theirs.branch("old")
    ours.sync.fetch()
    with pytest.raises(ConflictError):
        ours.sync.push(delete=["old"])
    ours.sync.push(delete=["old"], force=True)
    assert "old" not in theirs.branches()
    with pytest.raises(NotFoundError):
        ours.sync.push(delete=["old"], force=True)


def test_the_current_branch_of_the_remote_is_not_deleted(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    with pytest.raises(InvalidInputError):
        ours.sync.push(delete=["main"], force=True)
    assert "main" in theirs.branches()


def test_what_a_copy_builds_on_must_still_be_here_when_it_is_published(pair: Pair):
    from ibidem.repo.sync.receive import intake
    from ibidem.repo.sync.report import RefMove

    ours, theirs = pair
    ours.sync.pull()
    base = ours.head
    edit(theirs, "later")
    target = theirs.head
    assert target is not None
    assert base is not None
    blocks = LocalRemote(theirs.core).pack([target], [base])
    with intake(ours.core, blocks, [target]) as found:
        ours.history.undo()
        ours.history.undo()
        with pytest.raises(ConflictError) as error:
            found.publish(
                lambda *_: [RefMove("heads/x", None, target, Move.CREATED)],
                author="",
                time=None,
                description="x",
            )
    assert error.value.kind is ErrorKind.HEAD_MOVED
    assert target not in ours.branches().values()


def test_tags_travel_and_never_move(pair: Pair):
    ours, theirs = pair
    theirs.tag("v1")
    ours.sync.pull()
    assert ours.tags() == theirs.tags()
    edit(ours, "changed")
    ours.delete_tag("v1")
    ours.tag("v1")
    assert how(ours.sync.fetch())["tags/v1"] is Move.KEPT
    with pytest.raises(ConflictError):
        ours.sync.push(names=["tags/v1"])


def test_push_of_several_refs_is_all_or_nothing(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    edit(theirs, "changed there")
    edit(ours, "changed here")
    ours.branch("other")
    with pytest.raises(ConflictError):
        ours.sync.push(names=["main", "other"])
    assert "other" not in theirs.branches()


def test_what_was_forgotten_stays_forgotten(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    hidden = next(iter(theirs.core.graph()._tree(("tombstones", "")).keys()))
    ours.sync.pull()
    theirs.sync.export(tmp_path / "all.car")
    with (
        ibidem.clone(tmp_path / "theirs", tmp_path / "clone") as clone,
        ibidem.init(tmp_path / "imported") as imported,
        ibidem.init(tmp_path / "pushed") as pushed,
    ):
        imported.sync.load(tmp_path / "all.car")
        from ibidem.repo.sync.remotes import address_of

        ours.sync.remotes.add("pushed", address_of(str(tmp_path / "pushed")))
        ours.sync.push("pushed")
        for copy in (ours, clone, imported, pushed):
            assert hidden not in {node.id.raw for node in copy.at().nodes()}
            assert "number 4 " not in str(copy.retrieve("retry number 4", limit=30).to_bytes())
            assert answer(copy) == answer(theirs)


def test_what_was_forgotten_here_stays_forgotten_when_an_edit_comes(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    node = key_id(7)
    with ours.transaction() as tx:
        tx.tombstone(node, reason="private")
    edit(theirs, "an edit of what is forgotten", key=7)
    ours.sync.pull()
    assert node not in {found.id for found in ours.at().nodes()}
    ours.sync.push()
    assert node not in {found.id for found in theirs.at().nodes()}


def test_histories_with_nothing_in_common_are_joined(pair: Pair):
    ours, theirs = pair
    with ours.transaction() as tx:
        tx.add_node("Doc", summary="something else")
    report = ours.sync.pull()
    assert how(report)["heads/main"] is Move.MERGED
    assert len(list(ours.at().nodes())) == len(list(theirs.at().nodes())) + 1
    assert answer(ours)


def test_runs_receipts_and_notes_travel_when_asked(pair: Pair, tmp_path: Path):
    ours, theirs = pair
    kept = theirs.receipts.keep(theirs.retrieve("retry").receipt)
    with theirs.runs.start("nightly") as run:
        run.retrieve("queue")
    assert theirs.receipts.list()
    ours.sync.pull()
    assert not ours.receipts.list()
    ours.sync.pull(include=["receipts", "runs"])
    assert [one.cid for one in ours.receipts.list()] == [kept]
    assert [run.name for run in ours.runs.list()] == [run.name for run in theirs.runs.list()]
    assert ours.receipts.replay(kept).to_bytes() == theirs.receipts.replay(kept).to_bytes()
    assert ours.maintenance.fsck().faults == ()


def test_trees_that_arrive_are_the_ones_that_building_gives(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    edit(theirs, "later")
    ours.sync.pull()
    root = ours.at().root
    for tree in (root.nodes, root.edges, *root.vectors.values()):
        verify(ours.core.store, tree)


def test_undo_takes_a_pull_back_but_for_its_tombstones(pair: Pair):
    ours, _ = pair
    ours.sync.pull()
    pulled = ours.head
    (hidden,) = ours.history.undo().kept
    assert list(ours.at().nodes()) == []
    with ours.transaction() as tx:
        assert tx.is_tombstoned(hidden)
    ours.history.redo()
    assert ours.head == pulled


def test_an_unknown_remote_is_named(pair: Pair):
    with pytest.raises(NotFoundError):
        pair[0].sync.fetch("elsewhere")


def test_notes_of_both_sides_are_joined(pair: Pair):
    ours, theirs = pair
    ours.sync.pull()
    ours.notes.space().add([Event("vote", (key_id(1),), value=1.0)], author="ann")
    theirs.notes.space().add([Event("vote", (key_id(1),), value=-1.0)], author="bob")
    ours.sync.fetch(include=["notes"])
    assert len(ours.notes.space().log().events) == 1
    report = ours.sync.pull(include=["notes"])
    assert how(report)["notes/memory"] is Move.MERGED
    ours.sync.push(names=["notes/memory"])
    for repo in pair:
        assert {event.author for event in repo.notes.space().log().events} == {"ann", "bob"}


def test_two_pushes_at_once_lose_nothing(pair: Pair, tmp_path: Path):
    """To different branches both arrive; to the same branch one does, and the other is told."""
    _, theirs = pair
    copies = [ibidem.clone(tmp_path / "theirs", tmp_path / f"copy{n}") for n in range(4)]
    for number, copy in enumerate(copies):
        copy.branch(f"own{number}")
        with copy.transaction() as tx:
            tx.add_node("Doc", summary=f"from {number}")
        copy.switch(f"own{number}")
        with copy.transaction() as tx:
            tx.add_node("Doc", summary=f"on own {number}")
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda pushed: pushed[1].sync.push(names=[f"own{pushed[0]}"]), enumerate(copies)
            )
        )
        assert {f"own{number}" for number in range(4)} <= set(theirs.branches())
        done = list(pool.map(lambda copy: pushed_or_refused(copy), copies))
    assert done.count(True) == 1
    assert theirs.head == copies[done.index(True)].resolve("main")
    assert theirs.maintenance.fsck().faults == ()
    for copy in copies:
        copy.close()


def pushed_or_refused(copy: Repository) -> bool:
    try:
        copy.sync.push(names=["main"])
    except ConflictError:
        return False
    return True

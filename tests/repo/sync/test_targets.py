"""A ref points to what its name says; one that does not is refused, named, and can be dropped."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, ReceiptCid, StepCid
from ibidem.objects.errors import CorruptError, IbidemError, NotFoundError
from ibidem.objects.view import target_class
from ibidem.repo import refs
from ibidem.repo.maintenance.report import FaultKind
from ibidem.repo.repository import Repository
from ibidem.repo.state import State
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.messages import Bundle, Push, Tip, Update, container
from ibidem.repo.sync.remotes import address_of

from .conftest import filled
from .forging import Blocks, Forge, point, state

RECEIPT = "receipts/" + "a" * 59
NAMES = ["heads/evil", "tags/evil", "notes/evil", "runs/evil/1", RECEIPT]


def recorded(repo: Repository) -> dict[str, Cid]:
    """Records a run and keeps a receipt; returns one target of each kind, by kind."""
    with repo.runs.start("good") as run:
        found = run.retrieve("retry")
    kept = repo.receipts.keep(found.receipt)
    head = repo.head
    assert head is not None
    return {"commit": head, "step": repo.runs.open("good").tip, "receipt": kept}


def kind_of(name: str) -> str:
    return {CommitCid: "commit", StepCid: "step", ReceiptCid: "receipt"}[target_class(name)]


def drop(repo: Repository, name: str) -> None:
    prefix, _, rest = name.partition("/")
    if prefix == "runs":
        repo.runs.drop(rest)
    elif prefix == "receipts":
        repo.receipts.drop(rest)
    elif prefix == "heads":
        repo.delete_branch(rest)
    elif prefix == "tags":
        repo.delete_tag(rest)
    else:

        def make(state: State, buffer: WriteBatch):
            return replace(state.view, refs=refs.changed(state.view, {name: None}, buffer))

        repo.core.operation_log.change(make, author="", time=0, description="drop")


def file_of(refs_of: dict[str, Cid], blocks: Blocks) -> io.BytesIO:
    tips = {name: Tip(target_class(name)(cid.raw), 0) for name, cid in refs_of.items()}
    return io.BytesIO(b"".join(container(Bundle(tips, "heads/main"), sorted(blocks.items()))))


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_whose_ref_points_to_what_its_name_does_not_say_is_refused(name: str):
    """Whether the block is new, or lies here for another ref."""
    with ibidem.init(clock=lambda: 0) as theirs, ibidem.init(clock=lambda: 0) as ours:
        filled(theirs, 6)
        targets = recorded(theirs)
        blocks = {cid: theirs.core.store.get(cid) for cid in theirs.core.store.cids()}
        for round_ in range(2):
            for kind, target in targets.items():
                if kind == kind_of(name):
                    continue
                before = state(ours)
                with pytest.raises(CorruptError, match=f"points to the {kind} .*, expected a"):
                    ours.sync.load(file_of({name: target}, blocks))
                update = Update(target_class(name)(target.raw), None)
                with pytest.raises(CorruptError, match=f"points to the {kind} .*, expected a"):
                    LocalRemote(ours.core).push(Push({name: update}), sorted(blocks.items()))
                assert state(ours) == before
            if not round_:
                ours.sync.load(io.BytesIO(exported(theirs)))


@pytest.mark.parametrize("name", NAMES)
def test_a_block_that_two_refs_point_to_must_suit_both_names(name: str, tmp_path: Path):
    """In a fetch and a clone too, which ask for each block once."""
    with ibidem.init(clock=lambda: 0) as theirs:
        filled(theirs, 6)
        targets = recorded(theirs)
        blocks = {cid: theirs.core.store.get(cid) for cid in theirs.core.store.cids()}
    rightly = {"commit": "heads/main", "step": "runs/good/1", "receipt": f"receipts/{'b' * 59}"}
    refused = [kind for kind in targets if kind != kind_of(name)]
    for kind in refused:
        file = tmp_path / f"{kind}.car"
        sent = {name: targets[kind], rightly[kind]: targets[kind]}
        file.write_bytes(file_of(sent, blocks).getvalue())
        with ibidem.init(clock=lambda: 0) as ours:
            ours.sync.remotes.add("evil", address_of(file))
            before = state(ours)
            with pytest.raises(CorruptError, match=f"points to the {kind} .*, expected a"):
                ours.sync.fetch("evil", include=["notes", "runs", "receipts"])
            assert state(ours) == before
        with pytest.raises(CorruptError, match=f"points to the {kind} .*, expected a"):
            ibidem.clone(file, tmp_path / "copy", include=["notes", "runs", "receipts"])
        assert not (tmp_path / "copy").exists()


def test_a_ref_to_a_node_is_refused(repo: Repository):
    forge = Forge()
    node = forge.node("a")
    for name in NAMES:
        before = state(repo)
        with pytest.raises(IbidemError):
            repo.sync.load(file_of({name: node.cid}, forge.blocks))
        assert state(repo) == before


def exported(repo: Repository) -> bytes:
    file = io.BytesIO()
    repo.sync.export(file, include=["notes", "runs", "receipts"])
    return file.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_fsck_names_a_ref_that_points_to_what_its_name_does_not_say(repo: Repository, name: str):
    for kind, target in recorded(repo).items():
        if kind == kind_of(name):
            continue
        point(repo, name, target)
        faults = [fault for fault in repo.maintenance.fsck().faults if fault.kind is FaultKind.REF]
        assert [fault.where for fault in faults] == [f"ref {name}"]
        assert f"points to the {kind}" in faults[0].detail
        drop(repo, name)
        repo.maintenance.gc()
        assert repo.maintenance.fsck().faults == ()


@pytest.mark.parametrize("name", ["runs/evil/1", RECEIPT])
def test_a_run_or_receipt_that_is_none_does_not_hide_the_others_and_can_be_dropped(
    repo: Repository, name: str
):
    targets = recorded(repo)
    point(repo, name, targets["commit"])
    good = next(run for run in repo.runs.list() if run.name == "good/1")
    assert good.step_count == 3
    assert targets["receipt"] in {kept.cid for kept in repo.receipts.list()}
    if name.startswith("runs/"):
        evil = next(run for run in repo.runs.list() if run.name == "evil/1")
        assert "expected 'step'" in (evil.failure or "")
    repo.maintenance.gc()
    with ibidem.init(clock=lambda: 0) as other:
        other.sync.load(io.BytesIO(exported(repo)))
        assert other.maintenance.fsck().faults == ()
        assert [run.name for run in other.runs.list()] == ["good/1"]
    drop(repo, name)
    report = repo.maintenance.gc()
    assert report.operation_count
    assert repo.maintenance.fsck().faults == ()
    file = io.BytesIO()
    repo.sync.export(file, full=True)


def test_what_only_a_dropped_ref_of_another_kind_held_is_collected(repo: Repository):
    forge = Forge()
    commit = forge.commit(forge.root())
    repo.core.store.put(forge.blocks)
    point(repo, "runs/evil/1", commit)
    repo.maintenance.gc()
    assert repo.core.store.has(commit)
    repo.runs.drop("evil/1")
    repo.maintenance.gc()
    assert not repo.core.store.has(commit)
    assert repo.maintenance.fsck().faults == ()


def test_a_collection_gives_up_no_operation_where_every_ref_is_right(repo: Repository):
    recorded(repo)
    repo.tag("v1")
    repo.delete_tag("v1")
    count = len(list(repo.history.operations()))
    assert repo.maintenance.gc().operation_count == 0
    assert len(list(repo.history.operations())) == count


def test_a_ref_of_another_kind_lets_nothing_of_its_own_count_as_known(repo: Repository):
    """Else a push could build on what no ref rightly leads to."""
    forge = Forge()
    commit = forge.commit(forge.root())
    repo.core.store.put(forge.blocks)
    point(repo, "runs/evil/1", commit)
    with pytest.raises(NotFoundError):
        LocalRemote(repo.core).pack([commit], [])
    update = Update(commit, None)
    with pytest.raises(NotFoundError):
        LocalRemote(repo.core).push(Push({"heads/evil": update}), ())


def test_a_full_copy_of_a_repository_with_such_a_ref_is_refused_where_it_is_made(
    repo: Repository,
):
    point(repo, "runs/evil/1", recorded(repo)["commit"])
    with pytest.raises(CorruptError, match=r"runs/evil/1.*expected a step"):
        repo.sync.export(io.BytesIO(), full=True)

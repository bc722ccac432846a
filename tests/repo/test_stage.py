"""The stage: added over several processes, committed once."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.derive import node_id
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.repo.state import STAGE_CELL


def stage(repo: Repository, key: str, summary: str = "") -> None:
    with repo.stage.transaction() as tx:
        tx.add_node("Doc", summary=summary, key=key, replace=True)


def test_what_is_staged_is_committed_once(disk_repo: Repository, tmp_path: Path) -> None:
    stage(disk_repo, "a")
    with ibidem.open(tmp_path) as other:
        stage(other, "b")
        with other.stage.transaction() as tx:
            tx.add_edge(node_id("", "a"), "t", node_id("", "b"))
    assert disk_repo.head is None
    assert [change.family for change in disk_repo.stage.changes()] == ["edges", "nodes", "nodes"]
    commit = disk_repo.stage.commit(author="ada", message="both")
    assert commit is not None
    assert disk_repo.head == commit.cid
    assert len(list(disk_repo.at().nodes())) == 2
    assert list(disk_repo.stage.changes()) == []
    assert disk_repo.stage.commit() is None
    assert len(list(disk_repo.history.operations())) == 2


def test_staging_makes_no_operation_and_undoing_it_empties_the_stage(repo: Repository) -> None:
    stage(repo, "a")
    with repo.stage.transaction() as tx:
        tx.remove_node(node_id("", "a"))
    assert repo.core.store.cell("stage") is None
    assert len(list(repo.history.operations())) == 1


def test_a_stage_is_laid_on_a_branch_that_moved(repo: Repository) -> None:
    stage(repo, "a")
    with repo.transaction() as tx:
        tx.add_node("Doc", key="b")
    commit = repo.stage.commit()
    assert commit is not None
    assert tx.commit is not None
    assert commit.parents == (tx.commit.cid,)
    assert len(list(repo.at().nodes())) == 2


def test_a_stage_that_clashes_with_the_branch_is_merged_and_recorded(repo: Repository) -> None:
    stage(repo, "a", "staged")
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="committed", key="a")
    assert repo.stage.commit() is not None
    assert repo.core.store.cell("stage") is None
    assert [found.fields for found in repo.conflicts()] == [("summary",)]


def test_a_stage_that_the_branch_already_has_ends_empty(repo: Repository) -> None:
    stage(repo, "a", "same")
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="same", key="a")
    assert repo.stage.commit() is None
    assert repo.core.store.cell("stage") is None
    assert len(list(repo.history.log())) == 1


def test_two_stagings_at_once_add_up_and_record_what_clashes(repo: Repository) -> None:
    with repo.stage.transaction() as tx:
        tx.add_node("Doc", key="a")
        stage(repo, "b")
    assert len(list(repo.stage.changes())) == 2
    tx = repo.stage.transaction()
    tx.update_node(node_id("", "a"), summary="1")
    stage(repo, "a", "2")
    tx.publish()
    repo.stage.commit()
    assert [found.fields for found in repo.conflicts()] == [("summary",)]


def test_a_dangling_reference_is_refused_when_it_is_staged(repo: Repository) -> None:
    with pytest.raises(InvalidInputError) as caught, repo.stage.transaction() as tx:
        tx.add_edge(node_id("", "a"), "t", node_id("", "b"))
    assert caught.value.kind is ErrorKind.DANGLING_REFERENCE
    assert repo.core.store.cell("stage") is None


@pytest.mark.parametrize("field", ["root", "base", "commit"])
@pytest.mark.parametrize("value", [None, 1, "root", b"root"])
def test_a_stage_that_names_no_link_is_damage(
    repo: Repository, field: str, value: codec.Value
) -> None:
    with repo.transaction() as tx:
        tx.add_node("Doc", key="a")
    stage(repo, "b")
    cell = repo.core.store.cell(STAGE_CELL)
    assert cell is not None
    fields = codec.decode(cell)
    assert isinstance(fields, dict)
    damaged = codec.encode({**fields, field: value})
    repo.core.store.publish({}, {STAGE_CELL: (cell, damaged)})
    if field == "commit" and value is None:
        return  # begun before the first commit
    with pytest.raises(CorruptError, match="stage"):
        list(repo.stage.changes())


def test_models_that_were_staged_are_committed(repo: Repository) -> None:
    with repo.stage.transaction() as tx:
        tx.set_vector(tx.add_node("Doc", key="a"), model="m", vector=[1.0, 2.0])
    repo.stage.commit()
    assert repo.at().config.models["m"].dim == 2

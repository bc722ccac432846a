"""Every way in makes every check: each is given each kind of bad value, and refuses it in the words
in which `repo fsck` names it. A new check, and a new way in, is a line here."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.child import Child
from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.config import Config, Model
from ibidem.objects.conflict import Conflict
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.errors import CorruptError, IbidemError
from ibidem.objects.node import Node
from ibidem.objects.step import Step
from ibidem.objects.tree.block import encode
from ibidem.objects.vector import Sparse, Vector
from ibidem.objects.view import target_class
from ibidem.repo.events import EVENT, Event
from ibidem.repo.repository import Repository
from ibidem.repo.sync import fetch_push
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.messages import Push, Update, container
from ibidem.repo.sync.receive import receive_container

from .conftest import filled
from .exchanging import key_id
from .forging import Forge, point, put, state

ASKED = ("notes", "runs", "receipts")
BRANCH, NOTES, RUN = "heads/evil", "notes/evil", "runs/evil"
Bad = Callable[[Repository, Forge], tuple[str, Cid]]


# -- what no repository has -----------------------------------------------------------------------


def graph(forge: Forge, *nodes: Node, **trees: Any) -> tuple[str, Cid]:
    for node in nodes:
        put(forge.blocks, node.encode())
    tree = forge.tree(sorted((node.id.raw, Cid(node.cid.raw)) for node in nodes))
    return BRANCH, forge.commit(forge.root(nodes=tree, **trees))


def node_under_another_key(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    node = forge.node("a")
    tree = forge.tree([(node_id("", "b").raw, node.cid)])
    return BRANCH, forge.commit(forge.root(nodes=tree))


def value_of_another_kind(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    node = forge.node("a")
    return graph(forge, node, tombstones=forge.tree([(node.id.raw, node.cid)]))


def edge_without_a_node(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    node, gone = forge.node("a"), node_id("", "gone")
    edge = Edge(edge_id(node.id, "t", gone), "t", node.id, gone)
    put(forge.blocks, edge.encode())
    return graph(forge, node, edges=forge.tree([(edge.id.raw, edge.cid)]))


def vector_without_a_node(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    cid = put(forge.blocks, Vector.from_array(np.ones(3, np.float32), of=bytes(32)).encode())
    tree = forge.tree([(node_id("", "gone").raw, cid)])
    config = Config(models={"m": Model(3)}).to_map()
    return graph(forge, forge.node("a"), vectors={"m": tree}, config=config)


def vector_of_another_length(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    node = forge.node("a")
    cid = put(forge.blocks, Vector.from_array(np.ones(3, np.float32), of=bytes(32)).encode())
    tree, config = forge.tree([(node.id.raw, cid)]), Config(models={"m": Model(4)}).to_map()
    return graph(forge, node, vectors={"m": tree}, config=config)


def sparse_vector_without_a_node(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    cid = put(forge.blocks, Sparse.from_arrays([1], [0.5], of=bytes(32)).encode())
    return graph(forge, forge.node("a"), sparse={"v": forge.tree([(node_id("", "gone").raw, cid)])})


def conflict_of_nothing(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    absent = forge.node("absent")
    conflict = Conflict("node", (Cid(absent.cid.raw),), deleted=True)
    put(forge.blocks, conflict.encode())
    return graph(forge, forge.node("a"), conflicts=forge.tree([(absent.id.raw, conflict.cid)]))


def configuration_of_another_form(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    return graph(forge, forge.node("a"), config={"models": 7})


def policy_that_readers_need_not_know(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    return graph(forge, forge.node("a"), config={"trust": {"levels": ["low", "high"]}})


def node_that_contains_itself(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    one, other = forge.node("a"), forge.node("b")
    return graph(
        forge,
        replace(one, children=(Child(other.id, "", 1, 0),)),
        replace(other, children=(Child(one.id, "", 1, 0),)),
    )


def tree_in_another_form(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    """A needless level above the leaf."""
    node = forge.node("a")
    leaf = forge.tree([(node.id.raw, node.cid)])
    block = encode(1, node.id.raw, leaf.raw, (1).to_bytes(8, "big"))
    return BRANCH, forge.commit(forge.root(nodes=TreeCid(put(forge.blocks, block).raw)))


def branch_that_is_a_node(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    return BRANCH, forge.node("a").cid


def run_that_is_a_commit(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    return RUN, graph(forge, forge.node("a"))[1]


def step_of_another_shape(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    step = Step(action="retrieve", index=0, time=0, request=codec.encode({"text": "x"}))
    return RUN, put(forge.blocks, step.encode())


def receipt_that_nobody_can_read(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    found = theirs.retrieve("queue").receipt
    assert found is not None
    cid = put(forge.blocks, codec.encode({**codec.decode(found.encode()), "query": {}}))
    return f"receipts/{cid}", cid


def note_that_is_no_event(theirs: Repository, forge: Forge) -> tuple[str, Cid]:
    props = {"kind": "vote", "targets": [key_id(1).raw], "author": "eve", "time": 1, "value": 2.0}
    return NOTES, graph(forge, Node(key_id(99), EVENT, props=props))[1]


CHECKS = [
    node_under_another_key,
    value_of_another_kind,
    edge_without_a_node,
    vector_without_a_node,
    vector_of_another_length,
    sparse_vector_without_a_node,
    conflict_of_nothing,
    configuration_of_another_form,
    policy_that_readers_need_not_know,
    node_that_contains_itself,
    tree_in_another_form,
    branch_that_is_a_node,
    run_that_is_a_commit,
    step_of_another_shape,
    receipt_that_nobody_can_read,
    note_that_is_no_event,
]


# -- ways in --------------------------------------------------------------------------------------


def pushed(theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid) -> None:
    cid = target_class(name)(target.raw)
    fetch_push.push(theirs.core, LocalRemote(ours.core), None, {name: cid})


def served(theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid) -> None:
    """As a server takes a push in."""
    blocks = sorted((cid, theirs.core.store.get(cid)) for cid in theirs.core.store.cids())
    push = Push({name: Update(target_class(name)(target.raw), None)})
    receive_container(ours.core, io.BytesIO(b"".join(container(push, blocks))))


def fetched(theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid) -> None:
    ours.sync.fetch(include=ASKED)


def pulled(theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid) -> None:
    ours.sync.pull(include=ASKED)


def imported(theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid) -> None:
    theirs.sync.export(folder / "bundle", include=ASKED)
    ours.sync.load(folder / "bundle")


def imported_as_a_run(
    theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid
) -> None:
    theirs.sync.export(folder / "bundle", include=ASKED)
    ours.runs.load(folder / "bundle")


def cloned(theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid) -> None:
    ibidem.clone(folder / "theirs", folder / "new", include=ASKED)


def cloned_of_a_file(
    theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid
) -> None:
    theirs.sync.export(folder / "bundle", include=ASKED)
    ibidem.clone(folder / "bundle", folder / "new", include=ASKED)


def restored(theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid) -> None:
    theirs.sync.export(folder / "bundle", full=True)
    ibidem.clone(folder / "bundle", folder / "new")


def restored_where_it_was_undone(
    theirs: Repository, ours: Repository, folder: Path, name: str, target: Cid
) -> None:
    """Only an older view has it, which an undo may bring back."""
    theirs.history.undo()
    restored(theirs, ours, folder, name, target)


WAYS = [
    pushed,
    served,
    fetched,
    pulled,
    imported,
    imported_as_a_run,
    cloned,
    cloned_of_a_file,
    restored,
    restored_where_it_was_undone,
]


OF_REFS = [branch_that_is_a_node, run_that_is_a_commit]
"""What nobody offers who says where its refs stand: only who is told of it can refuse it."""
OFFERED = [fetched, pulled, imported, imported_as_a_run, cloned, cloned_of_a_file]


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[tuple[Repository, Repository, Path]]:
    """`ours`, which was cloned of `theirs` while all of it was right."""
    with ibidem.init(tmp_path / "theirs") as theirs:
        filled(theirs, 6)
        theirs.notes.space().add([Event("vote", (key_id(1),), value=1.0)], author="ann")
        with theirs.runs.start("agent") as run:
            run.event("tool", "said")
        with ibidem.clone(tmp_path / "theirs", tmp_path / "ours", include=ASKED) as ours:
            yield theirs, ours, tmp_path


@pytest.mark.parametrize(
    ("check", "way"),
    [
        # Fast: each check on three ways, each way with several checks.
        pytest.param(check, way, marks=() if (at + 3 * by) % len(WAYS) < 3 else pytest.mark.slow)
        for at, way in enumerate(WAYS)
        for by, check in enumerate(CHECKS)
    ],
)
def test_every_way_in_makes_every_check(
    sides: tuple[Repository, Repository, Path],
    check: Bad,
    way: Callable[[Repository, Repository, Path, str, Cid], None],
) -> None:
    theirs, ours, folder = sides
    forge = Forge()
    name, target = check(theirs, forge)
    theirs.core.store.put(forge.blocks)
    point(theirs, name, target)
    said = {fault.detail for fault in theirs.maintenance.fsck().faults}
    assert said
    before = state(ours)
    if check in OF_REFS and way in OFFERED:
        way(theirs, ours, folder, name, target)
        for made in (ours, *([ibidem.open(folder / "new")] if (folder / "new").exists() else [])):
            assert name not in made.core.operation_log.targets("")
            assert f"remotes/origin/{name}" not in made.core.operation_log.targets("")
            assert made.maintenance.fsck().is_clean
        return
    with pytest.raises(IbidemError) as error:
        way(theirs, ours, folder, name, target)
    assert isinstance(error.value, CorruptError), error.value
    assert any(detail in str(error.value) for detail in said), (str(error.value), said)
    assert state(ours) == before
    assert not (folder / "new").exists()
    assert ours.maintenance.fsck().is_clean

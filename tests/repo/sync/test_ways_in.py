"""Every way by which something from elsewhere comes to stand at a ref is held to the same rules."""

from __future__ import annotations

import ast
import io
from collections.abc import Callable
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.cid import CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree
from ibidem.repo.events import EVENT, Event
from ibidem.repo.repository import Repository
from ibidem.repo.sync import fetch_push
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.messages import Push, Update, container
from ibidem.repo.sync.receive import receive_container

from .conftest import filled
from .exchanging import key_id
from .forging import Forge, point, state

REF = "notes/memory"
SYNC = Path(__file__).resolve().parents[3] / "repo" / "sync"


def no_event() -> Node:
    """A node that an event is like, but for what it is about."""
    props = {"kind": "vote", "targets": [key_id(1).raw], "author": "eve", "time": 1, "value": 1.0}
    return Node(key_id(99), EVENT, props={**props, "about": 0.0})


def spoil(repo: Repository) -> CommitCid:
    """Adds what is no event to the notes, without asking anybody."""
    head = repo.notes.space().head
    assert head is not None
    node, forge = no_event(), Forge()
    root = Root.decode(repo.core.store.get(Commit.decode(repo.core.store.get(head)).root))
    entries = {**dict(Tree(repo.core.store, root.nodes).items()), node.id.raw: node.cid}
    nodes = forge.tree(sorted(entries.items()))
    commit = forge.commit(forge.root(nodes=nodes), head)
    repo.core.store.put({**forge.blocks, node.cid: node.encode()})
    point(repo, REF, commit)
    return commit


@pytest.fixture
def spoiled(tmp_path: Path):
    """`ours`, whose remote `origin` is `theirs`, which has notes that are none."""
    with ibidem.init(tmp_path / "theirs") as theirs:
        filled(theirs, 6)
        theirs.notes.space().add([Event("vote", (key_id(1),), value=1.0)], author="ann")
        with theirs.runs.start("agent") as run:
            run.event("tool", "said")
        with ibidem.clone(tmp_path / "theirs", tmp_path / "ours", include=["notes"]) as ours:
            ours.notes.space().add([Event("vote", (key_id(2),), value=1.0)], author="bob")
            spoil(theirs)
            yield ours, theirs, tmp_path


def pushed(ours: Repository, theirs: Repository, folder: Path) -> None:
    target = theirs.notes.space().head
    fetch_push.push(theirs.core, LocalRemote(ours.core), None, {"notes/other": target})


def pushed_as_a_file(ours: Repository, theirs: Repository, folder: Path) -> None:
    """As a server takes it in."""
    target = theirs.notes.space().head
    assert target is not None
    blocks = sorted((cid, theirs.core.store.get(cid)) for cid in theirs.core.store.cids())
    push = Push({"notes/other": Update(target, None)})
    receive_container(ours.core, io.BytesIO(b"".join(container(push, blocks))))


def fetched(ours: Repository, theirs: Repository, folder: Path) -> None:
    ours.sync.fetch(include=["notes"])


def pulled(ours: Repository, theirs: Repository, folder: Path) -> None:
    ours.sync.pull(include=["notes"])


def merged(ours: Repository, theirs: Repository, folder: Path) -> None:
    """Of what was there before anybody looked at it."""
    ours.core.store.put({cid: theirs.core.store.get(cid) for cid in theirs.core.store.cids()})
    target = theirs.notes.space().head
    assert target is not None
    point(ours, "remotes/origin/" + REF, target)
    assert [fault.needed_by for fault in ours.maintenance.fsck().faults] == [
        "remotes/origin/" + REF
    ]
    before = state(ours)
    try:
        ours.sync.pull(include=["notes"])
    finally:
        assert ours.notes.space().log().damaged == ()
        assert state(ours) == before


def imported(ours: Repository, theirs: Repository, folder: Path) -> None:
    theirs.sync.export(folder / "bundle", include=["notes"])
    ours.sync.load(folder / "bundle")


def imported_as_a_run(ours: Repository, theirs: Repository, folder: Path) -> None:
    theirs.sync.export(folder / "bundle", include=["notes", "runs"])
    ours.runs.load(folder / "bundle")


def cloned(ours: Repository, theirs: Repository, folder: Path) -> None:
    ibidem.clone(folder / "theirs", folder / "new", include=["notes"])


def cloned_of_a_file(ours: Repository, theirs: Repository, folder: Path) -> None:
    theirs.sync.export(folder / "bundle", include=["notes"])
    ibidem.clone(folder / "bundle", folder / "new", include=["notes"])


def restored(ours: Repository, theirs: Repository, folder: Path) -> None:
    theirs.sync.export(folder / "bundle", full=True)
    ibidem.clone(folder / "bundle", folder / "new")


WAYS = [
    pushed,
    pushed_as_a_file,
    fetched,
    pulled,
    merged,
    imported,
    imported_as_a_run,
    cloned,
    cloned_of_a_file,
    restored,
]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_event_comes_to_no_notes(
    spoiled: tuple[Repository, Repository, Path],
    way: Callable[[Repository, Repository, Path], None],
):
    ours, theirs, folder = spoiled
    assert [fault.needed_by for fault in theirs.maintenance.fsck().faults] == [REF]
    before = state(ours)
    with pytest.raises(CorruptError, match=r"about: got 0\.0, expected a CID"):
        way(ours, theirs, folder)
    assert not (folder / "new").exists()
    if way is not merged:
        assert state(ours) == before
        assert ours.maintenance.fsck().is_clean


def test_whatever_moves_refs_to_what_came_from_elsewhere_asks_first():
    """A new way in is one more place that writes refs, and is to be named here."""
    found = {}
    for path in sorted(SYNC.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                called = {
                    ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)
                }
                if called & {"refs.changed", "store.publish"}:
                    asked = called & {"check_moves", "check_notes"}
                    found[f"{path.stem}.{node.name}"] = sorted(asked)
    inner = {name: asked for name, asked in found.items() if not name.endswith(".make")}
    assert inner == {
        "backup.restore": ["check_notes"],
        "fetch_push._remember": [],  # what was sent: it stands at a ref here
        "integrate.pull_into": ["check_moves"],
        "receive.publish": ["check_moves"],
    }

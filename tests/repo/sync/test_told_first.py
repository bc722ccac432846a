"""An offline copy that comes back is told what was erased before any block moves; and by no way in
does an erased text come back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.cid import Cid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError, NotFoundError
from ibidem.repo.repository import Repository
from ibidem.repo.signing.keyring import TrustedKey
from ibidem.repo.sync import fetch_push
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.messages import Bundle, Opened, Push, Update, container
from ibidem.repo.sync.remote import Blocks
from ibidem.repo.sync.remotes import address_of
from ibidem.repo.sync.report import RefMove

from .forging import state

Pair = tuple[Repository, Repository]
SECRET = "a text that only one node has said"
LATER = "what the offline copy has said since"
NODE = node_id("", "secret")
SOURCE = str(Path(__file__).parents[3] / "src")


def says(repo: Repository, summary: str, key: str) -> None:
    with repo.transaction(author="ada") as tx:
        tx.add_node("Doc", summary=summary, content=summary.encode() * 200, key=key, replace=True)


def places(folder: Path) -> list[str]:
    return [
        str(path)
        for path in (folder / ".ibidem").rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """`back`, which was offline when `home` erased what both had."""
    with ibidem.init(tmp_path / "home") as home:
        says(home, "harmless", "other")
        says(home, SECRET, "secret")
        with ibidem.clone(tmp_path / "home", tmp_path / "back", include=["runs"]) as back:
            with back.runs.start("desk") as run:
                run.retrieve("node harmless")
            says(back, LATER, "mine")
            back.sync.export(tmp_path / "old.car", include=["runs"])
            back.sync.export(tmp_path / "full.car", full=True)
            back.runs.open("desk").export(tmp_path / "run.car")
            yield back, home


def erase(pair: Pair, *, is_authorised: bool) -> None:
    back, home = pair
    key = home.keys.ring.generate("ada")
    if is_authorised:
        back.keys.ring.add(TrustedKey("ada", key.public, may_erase=True))
    home.maintenance.erase(NODE, reason="asked")


class Watched(LocalRemote):
    """Notes what is asked of it, in which order, and every block that moves."""

    def __init__(self, repository: Repository, *, is_broken: bool = False) -> None:
        super().__init__(repository.core)
        self.calls: list[str] = []
        self.moved: dict[Cid, bytes] = {}
        self._erasures = {Cid(one.cid.raw) for one in repository.maintenance.erasures()}
        self._is_broken = is_broken

    def fetch(self, want: Sequence[Cid], have: Sequence[Cid]) -> AbstractContextManager[Blocks]:
        is_told = bool(want) and set(want) <= self._erasures
        self.calls.append("erasures" if is_told else "fetch")
        if self._is_broken and not is_told:
            raise OSError("the line is cut")
        return super().fetch(want, have)

    def push(self, push: Push, blocks: Blocks) -> list[RefMove]:
        self.calls.append("push")
        self.moved = dict(blocks)
        return super().push(push, sorted(self.moved.items()))


def test_a_push_is_told_first_and_sends_nothing_of_it(pair: Pair, tmp_path: Path) -> None:
    erase(pair, is_authorised=True)
    back, home = pair
    back.branch("mine")
    there = Watched(home)
    fetch_push.push(back.core, there, "origin", {"heads/mine": back.head})
    assert there.calls == ["erasures", "push"]
    assert not any(SECRET.encode() in block for block in there.moved.values())
    assert places(tmp_path / "back") == places(tmp_path / "home") == []
    assert {node.summary for node in home.at("mine").nodes()} == {"harmless", LATER}
    assert home.maintenance.fsck().is_clean
    assert back.maintenance.fsck().is_clean


def test_a_push_whose_older_history_has_the_node_moves_no_block(pair: Pair) -> None:
    """Its state has left the node out, but a commit before has a version that nobody has named."""
    erase(pair, is_authorised=False)
    back, home = pair
    says(back, f"{SECRET}, edited where it was offline", "secret")
    with back.transaction() as tx:
        tx.remove_node(NODE)
    there, before = Watched(home), home.core.view
    with pytest.raises(InvalidInputError, match="its history has a version") as error:
        fetch_push.push(back.core, there, "origin", {"heads/mine": back.head})
    assert error.value.kind is ErrorKind.FORGOTTEN
    assert there.calls == ["erasures"]
    assert there.moved == {}
    assert home.core.view == before
    back.history.squash("main~3", message="without it")
    fetch_push.push(back.core, there, "origin", {"heads/mine": back.head})
    assert not any(SECRET.encode() in block for block in there.moved.values())
    assert home.maintenance.fsck().is_clean


def test_a_push_of_a_copy_that_does_not_authorise_it_moves_no_block(pair: Pair) -> None:
    erase(pair, is_authorised=False)
    back, home = pair
    there, before = Watched(home), home.core.view
    for force in (False, True):
        with pytest.raises(InvalidInputError, match="pull first") as error:
            fetch_push.push(back.core, there, "origin", {"heads/mine": back.head}, force=force)
        assert error.value.kind is ErrorKind.FORGOTTEN
    assert set(there.calls) == {"erasures"}
    assert home.core.view == before
    back.sync.pull()
    report = back.sync.push()
    assert (report.erasure_count, report.refused_erasure_count) == (0, 1)
    assert {node.summary for node in home.at().nodes()} == {"harmless", LATER}
    assert home.maintenance.fsck().is_clean


def test_a_remote_refuses_a_state_that_has_it_from_a_copy_that_does_not_ask(pair: Pair) -> None:
    erase(pair, is_authorised=False)
    back, home = pair
    there, before = LocalRemote(home.core), home.core.view
    blocks = sorted((cid, back.core.store.get(cid)) for cid in back.core.store.cids())
    assert back.head is not None
    with pytest.raises(InvalidInputError) as error:
        there.push(Push({"heads/mine": Update(back.head, None)}), blocks)
    assert error.value.kind is ErrorKind.FORGOTTEN
    assert home.core.view == before


@pytest.mark.parametrize("is_broken", [False, True], ids=["whole", "cut off"])
def test_a_fetch_is_told_first_and_keeps_to_it_where_the_rest_fails(
    pair: Pair, tmp_path: Path, is_broken: bool
) -> None:
    erase(pair, is_authorised=True)
    back, home = pair
    says(home, "news", "news")
    there = Watched(home, is_broken=is_broken)
    with suppress(OSError):
        _, sent = fetch_push.fetch(back.core, there, "origin")
        assert not is_broken
        sent.carry_out(back.core)
    assert there.calls == ["erasures", "fetch"]
    assert places(tmp_path / "back") == []
    assert back.maintenance.fsck().is_clean


def test_a_refused_fetch_leaves_what_its_erasures_alone_leave(pair: Pair, tmp_path: Path) -> None:
    erase(pair, is_authorised=True)
    _, home = pair
    says(home, "news", "news")
    home.sync.export(tmp_path / "whole.car")
    with (tmp_path / "whole.car").open("rb") as file:
        opened = Opened(file)
        blocks = list(opened.blocks())
        whole = opened.message(Bundle)
    gone = [(cid, block) for cid, block in blocks if cid in whole.erasures]
    lacking = [(cid, block) for cid, block in blocks if b"news" not in block]
    assert len(lacking) < len(blocks)
    states = []
    for name, sent, refs in (("alone", gone, {}), ("lacking", lacking, whole.refs)):
        file = tmp_path / f"{name}.car"
        file.write_bytes(b"".join(container(replace(whole, refs=refs), sent)))
        shutil.copytree(tmp_path / "back", tmp_path / name)
        with ibidem.open(tmp_path / name, clock=lambda: 2_000_000_000_000_000) as repo:
            repo.sync.remotes.add(name, address_of(file))
            if name == "alone":
                assert repo.sync.fetch(name).erasure_count == 1
            else:
                with pytest.raises(NotFoundError):
                    repo.sync.fetch(name)
            assert places(tmp_path / name) == []
            states.append(state(repo))
    assert states[0] == states[1]


# -- ways back ------------------------------------------------------------------------------------


def pushed(back: Repository, home: Repository, folder: Path) -> None:
    back.sync.push(names=["main"])


def pushed_by_force(back: Repository, home: Repository, folder: Path) -> None:
    back.sync.fetch()
    back.sync.push(names=["main"], force=True)


def pushed_as_another_branch(back: Repository, home: Repository, folder: Path) -> None:
    back.branch("other")
    back.sync.push(names=["other"])


def pushed_with_a_run(back: Repository, home: Repository, folder: Path) -> None:
    back.sync.push(names=["runs/desk"])


def pulled(back: Repository, home: Repository, folder: Path) -> None:
    home.sync.remotes.add("back", address_of(str(folder / "back")))
    home.sync.pull("back", include=["runs"])


def fetched(back: Repository, home: Repository, folder: Path) -> None:
    home.sync.remotes.add("back", address_of(str(folder / "back")))
    moves = home.sync.fetch("back", include=["runs"]).moves
    home.merge(next(move.after for move in moves if move.name == "remotes/back/heads/main"))


def fetched_of_a_file(back: Repository, home: Repository, folder: Path) -> None:
    home.sync.remotes.add("old", address_of(str(folder / "old.car")))
    home.sync.pull("old", include=["runs"])


def imported(back: Repository, home: Repository, folder: Path) -> None:
    home.sync.load(folder / "old.car")


def imported_as_a_full_copy(back: Repository, home: Repository, folder: Path) -> None:
    home.sync.load(folder / "full.car")


def imported_as_a_run(back: Repository, home: Repository, folder: Path) -> None:
    home.runs.load(folder / "run.car")


def cloned_of_old(back: Repository, home: Repository, folder: Path) -> None:
    """Another copy is begun of the one that was offline, and comes home."""
    with ibidem.clone(folder / "back", folder / "new") as new:
        new.sync.remotes.add("home", address_of(str(folder / "home")))
        new.sync.push("home", names=["main"])


def put_as_blocks(back: Repository, home: Repository, folder: Path) -> None:
    home.core.store.put({cid: back.core.store.get(cid) for cid in back.core.store.cids()})


def undone(back: Repository, home: Repository, folder: Path) -> None:
    home.history.undo()


def added_again(back: Repository, home: Repository, folder: Path) -> None:
    says(home, SECRET, "secret")


def staged_by_another_process(back: Repository, home: Repository, folder: Path) -> None:
    program = """
import sys, ibidem
with ibidem.open(sys.argv[1]) as repo:
    with repo.stage.transaction() as tx:
        tx.add_node("Doc", summary=sys.argv[2], content=sys.argv[2].encode() * 200, key="secret")
    repo.stage.commit()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder / "home"), SECRET],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "forgotten" in done.stderr


WAYS = [
    pushed,
    pushed_by_force,
    pushed_as_another_branch,
    pushed_with_a_run,
    pulled,
    fetched,
    fetched_of_a_file,
    imported,
    imported_as_a_full_copy,
    imported_as_a_run,
    cloned_of_old,
    put_as_blocks,
    undone,
    added_again,
    staged_by_another_process,
]


@pytest.mark.parametrize("is_authorised", [True, False], ids=["told", "not authorised"])
@pytest.mark.parametrize("way", WAYS)
def test_it_comes_back_by_no_way(
    pair: Pair,
    tmp_path: Path,
    way: Callable[[Repository, Repository, Path], None],
    is_authorised: bool,
) -> None:
    erase(pair, is_authorised=is_authorised)
    back, home = pair
    with suppress(IbidemError):
        way(back, home, tmp_path)
    assert places(tmp_path / "home") == []
    assert home.maintenance.fsck().is_clean
    for branch in home.branches():
        assert NODE not in {node.id for node in home.at(branch).nodes()}
        assert not any(SECRET in item.rendered for item in home.at(branch).retrieve(SECRET))

"""A version that this program does not have is refused by one error at every door: it names the
field, the value and the versions that are known, and says to upgrade. [8-a; retrieval 10-d,
10-f] [10-f]
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.exits import UNSUPPORTED
from ibidem.cli.main import cli
from ibidem.objects.config import Config
from ibidem.objects.errors import ErrorKind, FormatError
from ibidem.repo.repository import Repository
from ibidem.repo.sync.clone import clone

from . import two
from .test_versions import QUESTIONS, clock, fill, keep_all, key

HINT = "upgrade: a newer release of ibidem may read it"
FORMAT = "node.v: got version 2, expected one of [1]"
SEMANTICS = "got version 2, expected one of [1]"


@pytest.fixture
def newer_format(tmp_path: Path) -> Path:
    """A repository whose last commit has nodes of format 2."""
    with ibidem.init(tmp_path / "format", clock=clock()) as repo:
        fill(repo, range(4))
        with two.versions_two(), two.writing_two():
            fill(repo, range(4, 8))
    return tmp_path / "format"


@pytest.fixture
def newer_semantics(tmp_path: Path) -> Path:
    """A repository whose last root names semantics 2, with receipts of both."""
    with ibidem.init(tmp_path / "semantics", clock=clock()) as repo, two.versions_two():
        fill(repo, range(4))
        repo.branch("old")
        keep_all(repo)
        with repo.transaction(author="ada", message="semantics 2") as tx:
            tx.set_semantics(2)
        keep_all(repo)
    return tmp_path / "semantics"


def refused(call: Callable[[], Any], message: str, kind: ErrorKind) -> None:
    with pytest.raises(FormatError) as caught:
        call()
    assert message in str(caught.value)
    assert (caught.value.kind, caught.value.hint) == (kind, HINT)


FORMAT_DOORS: dict[str, Callable[[Repository, Path], Any]] = {
    "node": lambda repo, _: repo.at().node(key(5)),
    "nodes": lambda repo, _: list(repo.at().nodes()),
    "retrieve": lambda repo, _: repo.retrieve("retry"),
    "update": lambda repo, _: _update(repo),
    "export": lambda repo, to: repo.sync.export(to / "copy.car"),
    "clone": lambda repo, to: clone(to / "format", to / "copy"),
    "gc": lambda repo, _: repo.maintenance.gc(),
}


def _update(repo: Repository) -> None:
    with repo.transaction(message="edit") as tx:
        tx.update_node(key(5), summary="x")


@pytest.mark.parametrize("door", FORMAT_DOORS)
def test_a_format_that_is_not_known_is_refused(
    newer_format: Path, tmp_path: Path, door: str
) -> None:
    with ibidem.open(newer_format) as repo:
        before = repo.core.store.cells()
        refused(lambda: FORMAT_DOORS[door](repo, tmp_path), FORMAT, ErrorKind.UNSUPPORTED_FORMAT)
        assert repo.core.store.cells() == before
        assert repo.at("HEAD~1").retrieve("retry").items


def test_fsck_names_each_block_of_a_format_that_is_not_known(newer_format: Path) -> None:
    with ibidem.open(newer_format) as repo:
        faults = repo.maintenance.fsck().faults
    assert {fault.kind for fault in faults} == {"unknown"}
    assert all(FORMAT in fault.detail for fault in faults)
    assert len(faults) == 4


def test_a_push_of_a_format_that_is_not_known_changes_nothing(
    newer_format: Path, tmp_path: Path
) -> None:
    with ibidem.init(tmp_path / "target", clock=clock()) as target:
        before = target.core.store.cells()
    with two.versions_two(), ibidem.open(newer_format) as repo:
        repo.sync.export(tmp_path / "newer.car")
    with ibidem.open(tmp_path / "target") as target:
        refused(
            lambda: target.sync.load(tmp_path / "newer.car"), FORMAT, ErrorKind.UNSUPPORTED_FORMAT
        )
        assert target.core.store.cells() == before


def test_questions_by_rules_that_are_not_known_are_refused(newer_semantics: Path) -> None:
    with ibidem.open(newer_semantics) as repo:
        for ask in (
            lambda: repo.retrieve("retry"),
            lambda: repo.packs("retry"),
            lambda: repo.at().query(label="Doc"),
        ):
            refused(ask, f"config.semantics: {SEMANTICS}", ErrorKind.UNSUPPORTED_SEMANTICS)
        kept = repo.receipts.list()
        known = [one for one in kept if one.receipt is not None]
        assert len(known) == len(kept) - len(known) == len(QUESTIONS)
        for one in kept:
            if one in known:
                repo.receipts.replay(one.cid)
            else:
                assert f"receipt.semantics: {SEMANTICS}" in str(one.failure)
                refused(
                    lambda cid=one.cid: repo.receipts.replay(cid),
                    f"receipt.semantics: {SEMANTICS}",
                    ErrorKind.UNSUPPORTED_SEMANTICS,
                )


def test_a_repository_by_rules_that_are_not_known_is_not_begun(tmp_path: Path) -> None:
    refused(
        lambda: ibidem.init(tmp_path / "new", config=Config(semantics=2)),
        f"config.semantics: {SEMANTICS}",
        ErrorKind.UNSUPPORTED_SEMANTICS,
    )
    assert not (tmp_path / "new").exists()


def test_roots_and_receipts_by_rules_that_are_not_known_are_kept_copied_and_merged(
    newer_semantics: Path, tmp_path: Path
) -> None:
    """Nothing of that asks a question."""
    with clone(newer_semantics, tmp_path / "copy", include=("receipts",)) as copy:
        assert copy.maintenance.fsck(deep=True).is_clean
        copy.maintenance.gc(keep_operations=1)
        with copy.transaction(message="beside") as tx:
            tx.add_node("Doc", summary="beside", key="beside")
        copy.branch("side", at="HEAD~2")
        with copy.transaction(message="more", branch="side") as tx:
            tx.add_node("Doc", summary="more", key="more")
        copy.merge("side")
        assert copy.at().config.semantics == 2
        with two.versions_two():
            assert len(two.replayed(copy)) == 2 * len(QUESTIONS)


@pytest.mark.parametrize("command", [("retrieve", "retry"), ("fsck",), ("gc",)])
def test_commands_say_so(newer_format: Path, command: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, ["-R", str(newer_format), *command])
    said = done.output
    assert FORMAT in said, said
    assert done.exit_code == (UNSUPPORTED if command != ("fsck",) else done.exit_code)
    assert done.exit_code

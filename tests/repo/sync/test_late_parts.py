"""What another copy had added to a document goes with it when the document is erased."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ibidem
from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.location import PASSAGE
from ibidem.repo.repository import Repository
from ibidem.repo.signing.keyring import TrustedKey

PLAN, DIARY = document_id("plan.md"), document_id("diary.md")
OLD = "# Plan\n\nThe first paragraph of the plan.\n\n## Part\n\nThe second paragraph of it.\n"
LATE = "A passage that came late to it."
NEW = f"{OLD}\n{LATE}\n\n## Late section\n\n{LATE[:-1]} as well.\n"

Pair = tuple[Repository, Repository]


def ingest(repo: Repository, text: str, path: str = "plan.md") -> None:
    with repo.transaction(author="ada", message=path) as tx:
        ingest_text(tx, text, path=path)


def summaries(repo: Repository) -> set[str]:
    return {node.summary for node in repo.at().nodes() if node.summary is not None}


def files_with(folder: Path, text: str) -> list[str]:
    return [
        str(path)
        for path in (folder / ".ibidem").rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    ]


def trust(repo: Repository, other: Repository, name: str) -> None:
    public = other.keys.ring.private(name).public
    repo.keys.ring.add(TrustedKey(name, public, may_erase=True))


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """A copy, and `home`, each with a key; `home` is to erase what the copy goes on editing."""
    with ibidem.init(tmp_path / "home") as home:
        ingest(home, OLD)
        ingest(home, "# Gate\n\nGreen.\n", "gate.md")
        home.keys.ring.generate("ada")
        with ibidem.clone(tmp_path / "home", tmp_path / "copy") as copy:
            copy.keys.ring.generate("bob")
            yield copy, home


def pulled(copy: Repository, home: Repository, folder: Path) -> None:
    copy.sync.pull()


def fetched(copy: Repository, home: Repository, folder: Path) -> None:
    copy.sync.fetch()


def loaded(copy: Repository, home: Repository, folder: Path) -> None:
    home.sync.export(folder / "home.car")
    copy.sync.load(folder / "home.car")


def accepted(copy: Repository, home: Repository, folder: Path) -> None:
    copy.maintenance.accept_erasures(home.maintenance.erasures())


@pytest.mark.parametrize("way", [pulled, fetched, loaded, accepted])
def test_late_parts_go_with_their_document(
    pair: Pair, tmp_path: Path, way: Callable[[Repository, Repository, Path], None]
) -> None:
    """[8-f] They are recorded, so neither an old commit nor another branch brings them back."""
    copy, home = pair
    trust(copy, home, "ada")
    trust(home, copy, "bob")
    ingest(copy, NEW)
    late = copy.head
    copy.branch("other")
    with copy.transaction(message="unrelated") as tx:
        tx.add_node("Doc", summary="unrelated")
    home.maintenance.erase(PLAN, reason="asked")
    way(copy, home, tmp_path)
    left = {"Gate", "Green.", "gate.md", "unrelated"}
    assert summaries(copy) <= left
    assert not files_with(tmp_path / "copy", LATE[:-1])
    for bring_back in (copy.cherry_pick, copy.revert, copy.merge):
        bring_back(late)
        assert summaries(copy) <= left
    copy.switch("other")
    assert summaries(copy) <= left
    copy.switch("main")
    copy.sync.pull()
    copy.sync.push()
    assert home.head == copy.head
    assert set(home.maintenance.erasures()) == set(copy.maintenance.erasures())
    for repo in pair:
        assert repo.maintenance.fsck().is_clean


def test_copies_that_erase_their_late_parts_have_one_root(pair: Pair, tmp_path: Path) -> None:
    """[8-f] Each part has the reason of its own document, whatever was erased with it."""
    copy, home = pair
    trust(copy, home, "ada")
    ingest(copy, "# Diary\n\nToday.\n", "diary.md")
    copy.sync.push()
    home.maintenance.erase(PLAN, reason="the plan")
    home.maintenance.erase(DIARY, reason="the diary")
    ingest(copy, NEW)
    ingest(copy, "# Diary\n\nToday.\n\nToday, later.\n", "diary.md")
    with ibidem.clone(tmp_path / "copy", tmp_path / "twin") as twin:
        trust(twin, home, "ada")
        twin.sync.remotes.add("home", copy.sync.remotes.get("origin"))
        copy.sync.pull()
        twin.sync.pull("home")
        assert twin.at().root_cid == copy.at().root_cid
        reasons = {each.node: each.reason for each in twin.maintenance.erasures()}
        assert reasons == {each.node: each.reason for each in copy.maintenance.erasures()}
    assert all(copy.at().tombstone(node) == reason for node, reason in reasons.items())
    assert reasons[PLAN] == "the plan"
    assert reasons[DIARY] == "the diary"
    assert sorted(reasons.values()).count("the diary") == 4  # with two passages and the heading


def test_a_part_of_an_erased_document_is_refused(pair: Pair, tmp_path: Path) -> None:
    """[8-g] A copy that did not carry out the erasure sends none, though no commit of it has the
    document any more."""
    copy, home = pair
    ingest(copy, NEW)
    home.maintenance.erase(PLAN, reason="asked")
    copy.sync.pull()
    assert LATE in summaries(copy)
    copy.history.squash(home.head, message="without the document")
    copy.sync.export(tmp_path / "copy.car")
    before = home.core.view

    def added() -> None:
        with home.transaction() as tx:
            tx.add_node("Passage", summary=LATE, key=[PLAN.raw, "late"], namespace=PASSAGE)

    for call in (copy.sync.push, lambda: home.sync.load(tmp_path / "copy.car"), added):
        with pytest.raises(InvalidInputError) as error:
            call()
        assert error.value.kind is ErrorKind.FORGOTTEN
    assert home.core.view == before
    assert not files_with(tmp_path / "home", LATE[:-1])

"""An erasure beside other writers and erasures: nothing of it is left."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.embed.cache import VectorCache
from ibidem.index.derived import DerivedFiles
from ibidem.index.families import merge_scheduler
from ibidem.index.families.merge_scheduler import MergeScheduler
from ibidem.index.families.snapshot_parts import SnapshotParts
from ibidem.index.index import Index
from ibidem.index.snapshot import Snapshot
from ibidem.index.snapshot_registry import SnapshotRegistry
from ibidem.index.tuning import Tuning
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import ErasedError, ErrorKind, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo import slow_log
from ibidem.repo.core import Core
from ibidem.repo.erasure import destroy as destroying
from ibidem.repo.erasure import erase as erasing
from ibidem.repo.operation_log import OperationLog
from ibidem.repo.receipts.log import ReceiptLog
from ibidem.repo.repository import Repository
from ibidem.repo.slow_log import slow_questions
from ibidem.repo.state import ERASING_CELL
from ibidem.repo.sync.remotes import address_of
from ibidem.retrieve.answer.answer import Answer
from ibidem.store.files import folder_lock

from .conftest import SECRET
from .secret import NEEDLES, add_secret, places_of

SOURCE = str(Path(__file__).parents[3] / "src")


@pytest.mark.parametrize("step", ["drop_derived", "close"])
def test_what_another_erases_meanwhile_is_destroyed_before_the_mark_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The other publishes, before or after what is left is looked for, and is killed then."""
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret = add_secret(repo)
        with repo.transaction() as tx:
            mine = tx.add_node("Doc", summary="another one that has to go")
        repo.retrieve(SECRET)

        def erased_by_other() -> None:
            monkeypatch.undo()
            with monkeypatch.context() as patch:
                patch.setattr(erasing, "finish", lambda *_: True)
                other.maintenance.erase(secret)

        if step == "close":
            closed = destroying._is_closed
            monkeypatch.setattr(
                destroying, "_is_closed", lambda *given: erased_by_other() or closed(*given)
            )
        else:
            monkeypatch.setattr(
                Core, "drop_derived", lambda self: erased_by_other() or self.drop_derived()
            )
        repo.maintenance.erase(mine)
        assert repo.core.store.cell(ERASING_CELL) is None
        assert repo.maintenance.fsck().is_clean
    assert places_of(tmp_path, *NEEDLES) == []


def erase_before_put(monkeypatch: pytest.MonkeyPatch, other: Repository, secret: NodeId) -> None:
    """Has `other` erase a node once, just before segments that are missing are put again."""
    put_missing = SnapshotRegistry._put_missing

    def put(found: SnapshotRegistry, state: SnapshotParts) -> None:
        monkeypatch.undo()
        other.maintenance.erase(secret)
        put_missing(found, state)

    monkeypatch.setattr(SnapshotRegistry, "_put_missing", put)


def test_who_wrote_an_index_meanwhile_takes_it_away_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The erasure is done when segments are there and their manifest is not: they are put again."""
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret = add_secret(repo)

        erase_before_put(monkeypatch, other, secret)
        assert repo.retrieve("harmless").items
        assert places_of(tmp_path, *NEEDLES) == []
        assert not repo.retrieve(SECRET).items
        assert repo.maintenance.fsck().is_clean


def test_a_list_of_indexes_that_wrote_one_meanwhile_takes_it_away_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_missing = SnapshotRegistry._put_missing
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret = add_secret(repo)
        assert repo.retrieve("harmless").items
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="another")

        erase_before_put(monkeypatch, other, secret)
        repo.maintenance.index_heads()
        assert SnapshotRegistry._put_missing is put_missing, "it wrote the last index"
        assert places_of(tmp_path, *NEEDLES) == []


def test_who_writes_an_index_that_another_thread_has_left_takes_it_away_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = Index.snapshot
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret = add_secret(repo)
        assert repo.retrieve("harmless").items
        repo.core.search_index.followed_blocks_max = 0
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="another")

        def late(index: Index, root: RootCid, *, near: Sequence[RootCid] = ()) -> Snapshot:
            monkeypatch.undo()
            other.maintenance.erase(secret)
            assert repo.core.search_index.current is not index, "as another thread asks for it"
            return snapshot(index, root, near=near)

        monkeypatch.setattr(Index, "snapshot", late)
        assert repo.retrieve("harmless").items
        assert places_of(tmp_path, *NEEDLES) == []


def test_who_kept_communities_meanwhile_takes_them_away_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The erasure is done when they are written: nobody looks for them after it."""
    kept = DerivedFiles.put
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        with repo.transaction() as tx:
            secret = tx.add_node("Fact", summary="Ada wrote to Byron about engines.")
            tx.add_node("Fact", summary="Byron answered Ada in verse.")
            tx.add_node("Fact", summary="Engines of Ada were never built.")

        def put(found: DerivedFiles, root: str, name: str, data: bytes) -> int:
            monkeypatch.undo()
            other.maintenance.erase(secret)
            return kept(found, root, name, data)

        monkeypatch.setattr(DerivedFiles, "put", put)
        assert len(repo.at().communities()) == 1
        assert not list(tmp_path.rglob("derived/*"))
        assert repo.maintenance.fsck().is_clean


def test_a_revision_from_before_an_erasure_makes_no_index_that_quotes_it(tmp_path: Path) -> None:
    """It is asked for the first time when all is destroyed."""
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret = add_secret(repo)
        before = repo.at()
        other.maintenance.erase(secret)
        with pytest.raises(ErasedError):
            before.retrieve("harmless")
        assert places_of(tmp_path, *NEEDLES) == []
        assert repo.retrieve("harmless").items
        assert not repo.retrieve(SECRET).items
        assert repo.maintenance.fsck().is_clean


def test_a_transaction_from_before_an_erasure_does_not_bring_it_back(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret = add_secret(repo)
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="beside it", key="beside")
            tx.update_node(secret, summary=f"{SECRET}, and more")
            other.maintenance.erase(secret)
        assert {node.summary for node in repo.at().nodes()} == {"harmless", "beside it"}
        assert repo.maintenance.fsck().is_clean
    assert places_of(tmp_path, *NEEDLES) == []


def test_a_transaction_need_not_read_what_was_erased_meanwhile(repo: Repository) -> None:
    """It keeps a node that another one removed, so it looks which edges went with that node."""
    with repo.transaction() as tx:
        secret, kept, other = (tx.add_node("Doc", key=key) for key in ("secret", "kept", "other"))
        for node in (kept, other):
            tx.add_edge(secret, "near", node)
    with repo.transaction() as tx:
        tx.update_node(kept, summary="changed")
        tx.update_node(secret, summary=f"{SECRET}, and more")
        tx.set_vector(other, model="m", vector=[1.0])
        tx.set_vector(secret, model="m", vector=[1.0])
        with repo.transaction() as another:
            another.remove_node(kept)
        repo.maintenance.erase(secret)
    assert {node.id for node in repo.at().nodes()} == {kept, other}
    assert repo.at().edges_of(other) == []
    assert repo.maintenance.fsck().is_clean


@pytest.mark.parametrize("is_merged", [False, True])
def test_a_transaction_from_before_an_erasure_does_not_add_it_again(
    repo: Repository, is_merged: bool
) -> None:
    with repo.transaction() as tx:
        other = tx.add_node("Doc", key="other")
        secret = tx.add_node("Doc", summary=SECRET, key="secret")
    with repo.transaction() as tx:
        tx.remove_node(secret)
    tx = repo.transaction()
    tx.add_node("Doc", summary="again", key="secret")
    tx.add_edge(secret, "near", other)
    if is_merged:
        tx.update_node(other, summary="changed")
        with repo.transaction() as another:
            another.add_node("Doc", key="other", summary="changed too", replace=True)
    repo.maintenance.erase(secret)
    with pytest.raises(InvalidInputError) as caught:
        tx.publish()
    assert caught.value.kind is ErrorKind.FORGOTTEN
    assert [node.id for node in repo.at().nodes()] == [other]


def test_parts_that_a_transaction_adds_to_a_document_do_not_outlive_it(tmp_path: Path) -> None:
    text = "# Vault\n\nThe vault opens at seven and a half.\n"
    document = node_id("document", "vault.md")
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        with repo.transaction() as tx:
            ingest_text(tx, text, path="vault.md")
        with repo.transaction() as tx:
            ingest_text(tx, f"{text}\n{SECRET}\n", path="vault.md")
            ingest_text(tx, "# Gate\n\nThe gate is green.\n", path="gate.md")
            other.maintenance.erase(document)
        assert [item.node.summary for item in repo.retrieve("vault gate")] == ["The gate is green."]
        assert repo.maintenance.fsck().is_clean
    assert places_of(tmp_path, SECRET.encode()) == []


def test_a_merge_that_ends_after_all_else_brings_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Callable[[], None]] = []

    def end_all(self: MergeScheduler) -> None:
        while waiting:
            waiting.pop()()

    monkeypatch.setattr(
        merge_scheduler, "_start", lambda job, *given: waiting.append(lambda: job.run(*given))
    )
    monkeypatch.setattr(MergeScheduler, "wait", end_all)
    with ibidem.init(tmp_path) as repo:
        repo.core.search_index.tuning = Tuning(
            fresh_rows=1, tail_rows=3, tier_parts=2, step_rows_max=1, patience=99, steps_before=0
        )
        secret = add_secret(repo)
        while not waiting:
            with repo.transaction() as tx:
                for _ in range(3):
                    tx.add_node("Doc", summary="harmless", unique=True)
            assert repo.retrieve("harmless").items
        repo.maintenance.erase(secret)
        end_all(MergeScheduler())
        assert places_of(tmp_path, *NEEDLES) == []


@pytest.mark.parametrize("is_part", [False, True])
def test_a_commit_that_comes_between_is_seen(repo: Repository, is_part: bool) -> None:
    """The new version of the other writer, or its new part, is erased with the rest."""
    text, path = "# Vault\n\nThe vault opens at seven and a half.\n", "vault.md"
    if is_part:
        secret = node_id("document", path)
        with repo.transaction() as tx:
            ingest_text(tx, text, path=path)
    else:
        secret = add_secret(repo)
    other = Repository(Core(repo.core.store, None, lambda: 1))
    find, calls = erasing.find_copies, []

    def found(*arguments: object) -> object:
        copies = find(*arguments)  # type: ignore[arg-type]
        if not calls:
            calls.append(1)
            with other.transaction() as tx:
                if is_part:
                    ingest_text(tx, f"{text}\n{SECRET}\n", path=path)
                else:
                    tx.update_node(secret, summary=f"{SECRET} again")
        return copies

    erasing.find_copies = found  # type: ignore[assignment]
    try:
        repo.maintenance.erase(secret)
    finally:
        erasing.find_copies = find
    assert repo.maintenance.fsck().is_clean
    assert all(SECRET.encode() not in repo.core.store.get(cid) for cid in repo.core.store.cids())


def test_what_another_stages_meanwhile_has_to_be_settled_first(repo: Repository) -> None:
    secret = add_secret(repo)
    other = Repository(Core(repo.core.store, None, lambda: 1))
    find = erasing.find_copies

    def found(*arguments: object) -> object:
        copies = find(*arguments)  # type: ignore[arg-type]
        if not list(repo.stage.changes()):
            with other.stage.transaction() as tx:
                tx.update_node(secret, summary=f"{SECRET} again")
        return copies

    erasing.find_copies = found  # type: ignore[assignment]
    try:
        with pytest.raises(InvalidInputError, match="stage: it changes what is to be erased"):
            repo.maintenance.erase(secret)
    finally:
        erasing.find_copies = find
    assert repo.at().node(secret)


LONG_LIVED = """
import sys, ibidem
repo = ibidem.open(sys.argv[1])
with repo.transaction() as tx:
    tx.update_node(tx.add_node("Doc", summary="mine", key="mine"), summary=sys.argv[2] * 9)
repo.retrieve("mine")
with repo.transaction() as tx:
    tx.remove_node(next(node.id for node in tx.nodes() if node.key == ("", "mine")))
repo.retrieve(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(10):
    with repo.transaction() as tx:
        tx.add_node("Doc", summary=f"after {number}")
    repo.retrieve("after harmless")
print("done", flush=True)
"""


def test_a_process_that_knew_it_does_not_bring_it_back(tmp_path: Path) -> None:
    """Its index, its snapshots and its page buffers hold what is erased now."""
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        child = subprocess.Popen(
            [sys.executable, "-c", LONG_LIVED, str(tmp_path), SECRET],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": SOURCE},
        )
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        mine = next(
            NodeId(key)
            for key, _ in ibidem.objects.tree.Tree(
                repo.core.store, repo.at("HEAD~1").root.nodes
            ).items()
            if repo.at("HEAD~1").node(NodeId(key)).key == ("", "mine")
        )
        repo.maintenance.erase([secret, mine])
        child.stdin.write("go\n")
        child.stdin.flush()
        assert child.stdout.readline() == "done\n"
        child.stdin.close()
        assert child.wait(300) == 0
        child.stdout.close()
        assert places_of(tmp_path, *NEEDLES) == []
        assert repo.maintenance.fsck().is_clean


def test_settings_that_say_the_same_stay_and_are_named(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        local = tmp_path / ".ibidem" / "local"
        repo.sync.remotes.add("hill", address_of(f"/srv/{SECRET}"))
        repo.sync.remotes.add("sea", address_of("/srv/sea"))
        (local / "serve-token").write_text(SECRET)
        (local / "last.json").write_text(f'{{"said": "{SECRET}"}}')
        (local / "other.json").write_text("{}")
        before = repo.sync.remotes.all()
        report = repo.maintenance.erase(add_secret(repo))
        assert repo.sync.remotes.all() == before
        assert report.settings == ("local/remotes.json", "local/serve-token")
        assert sorted(path.name for path in local.glob("*.json")) == ["other.json", "remotes.json"]
        assert repo.maintenance.fsck().is_clean
        repo.sync.remotes.remove("hill")
        (local / "serve-token").unlink()
        assert repo.maintenance.erase(report.nodes[0]).settings == ()


def test_a_local_file_is_not_removed_while_its_owner_writes_it(tmp_path: Path) -> None:
    """The owner has read what it is about to replace, which the erasure does not see."""
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        local = tmp_path / ".ibidem" / "local"
        log = local / "last.json"
        local.mkdir(exist_ok=True)
        log.write_text(SECRET)
        with folder_lock(local):
            thread = threading.Thread(target=repo.maintenance.erase, args=(secret,))
            thread.start()
            thread.join(1.0)
            assert thread.is_alive()
            assert log.exists()
            log.write_text("{}")
        thread.join(30.0)
        assert not thread.is_alive()
        assert log.read_text() == "{}"
        assert not places_of(tmp_path, *NEEDLES)


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_receipt_of_an_answer_from_before_an_erasure_is_not_appended_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_pinned: bool
) -> None:
    """Another process has its answer, and is about to append the receipt."""
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret = add_secret(repo)
        other.retrieve("something else")
        asks = other.at() if is_pinned else other
        append = ReceiptLog.append

        def appended(log: ReceiptLog, block: bytes, *, generation: int = 0) -> None:
            monkeypatch.undo()
            repo.maintenance.erase(secret)
            append(log, block, generation=generation)

        monkeypatch.setattr(ReceiptLog, "append", appended)
        answer = asks.retrieve(SECRET)
        assert answer.items
        assert places_of(tmp_path, *NEEDLES) == []
        assert other.retrieve("after it").receipt is not None
        log = ReceiptLog(tmp_path / ".ibidem" / "receipts")
        assert len(list(log.blocks())) == 2


def test_a_slow_question_from_before_an_erasure_is_not_written_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has its answer, and is about to record that it was slow."""
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret = add_secret(repo)
        repo.receipts.log_questions("always")
        file = tmp_path / ".ibidem" / "local" / "settings.json"
        file.write_text('{"log_questions": "always", "slow_milliseconds": 0}')
        operation = slow_log._operation

        def erased_meanwhile(answer: Answer[Any]) -> str:
            monkeypatch.undo()
            repo.maintenance.erase(secret)
            return operation(answer)

        monkeypatch.setattr(slow_log, "_operation", erased_meanwhile)
        assert other.retrieve(SECRET).items
        assert places_of(tmp_path, *NEEDLES) == []
        assert [line.get("question") for line in slow_questions(repo.folder)] == [None]
        other.retrieve("after it")
        *_, last = slow_questions(repo.folder)
        assert last["question"] == "after it"


def test_packs_made_while_an_erasure_is_carried_out_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything has been swept, and the blocks are still there."""
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret, _ = repo.add(SECRET), repo.add("harmless")
        commit = other.head
        discard = VectorCache.discard

        def still_readable(cache: VectorCache, texts: Iterable[bytes]) -> None:
            monkeypatch.undo()
            assert SECRET in other.at(commit).packs(SECRET).text
            other.packs("harmless")
            discard(cache, texts)

        monkeypatch.setattr(VectorCache, "discard", still_readable)
        repo.maintenance.erase(secret)
        with pytest.raises(ErasedError):
            other.at(commit).packs(SECRET)
        for _ in range(2):
            other.packs("harmless")
        assert other.core.answer_cache.hit_count == 1


def test_an_index_that_another_process_sweeps_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is gone when its folder is listed."""
    scandir, folder = os.scandir, tmp_path / ".ibidem" / "receipts" / "old"

    def swept(path: str | Path) -> object:
        if path in (folder, str(folder)):
            folder.rmdir()
        return scandir(path)

    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        folder.mkdir(parents=True)
        monkeypatch.setattr(os, "scandir", swept)
        repo.maintenance.erase(secret)
        assert not folder.exists()
        assert places_of(tmp_path, *NEEDLES) == []


@pytest.mark.parametrize("create", [Repository.branch, Repository.tag, Repository.set_ref])
def test_a_ref_that_is_created_meanwhile_is_where_the_erasure_moved_the_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, create: Callable[..., CommitCid]
) -> None:
    publish = OperationLog.publish
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        secret = add_secret(repo)

        def published(log: OperationLog, *given: Any, **options: Any) -> Any:
            monkeypatch.undo()
            other.maintenance.erase(secret)
            return publish(log, *given, **options)

        monkeypatch.setattr(OperationLog, "publish", published)
        assert repo.at(create(repo, "new")).retrieve("harmless").items

"""Making, opening and asking a repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.config import Config
from ibidem.objects.derive import node_id, ref_key
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    InvalidInputError,
    NotFoundError,
    ReplayError,
    StorageError,
)
from ibidem.objects.location import Location
from ibidem.objects.tree import mutate
from ibidem.repo import refs
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.store.lmdb import store as lmdb_store
from ibidem.store.memory import MemoryStore


def test_a_new_repository_is_a_folder_that_appears_whole(tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "deep" / "notes", author="ada") as repo:
        assert (repo.head, repo.current_branch) == (None, "main")
        assert next(repo.history.operations()).author == "ada"
    folder = tmp_path / "deep" / "notes" / ".ibidem"
    assert json.loads((folder / "format").read_text()) == {"version": 1}
    assert sorted(path.name for path in folder.parent.iterdir()) == [".ibidem"]


def test_a_second_init_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo, repo.transaction() as tx:
        tx.add_node("Doc", key="a")
    with pytest.raises(InvalidInputError, match="exists"):
        ibidem.init(tmp_path)
    with ibidem.open(tmp_path) as repo:
        assert len(list(repo.at().nodes())) == 1


@pytest.mark.parametrize("is_folder_there", [False, True])
def test_a_path_without_a_repository_is_not_found(tmp_path: Path, is_folder_there: bool) -> None:
    if is_folder_there:
        (tmp_path / ".ibidem").mkdir()
    with pytest.raises(NotFoundError) as caught:
        ibidem.open(tmp_path)
    assert caught.value.kind is ErrorKind.REPOSITORY_NOT_FOUND
    assert caught.value.hint


@pytest.mark.parametrize("content", ["", "[]", "{}", "\x00", '{"version"'])
def test_a_damaged_format_file_is_damage_and_no_missing_repository(
    tmp_path: Path, content: str
) -> None:
    ibidem.init(tmp_path).close()
    (tmp_path / ".ibidem" / "format").write_text(content)
    with pytest.raises(CorruptError, match="format"):
        ibidem.open(tmp_path)


def test_a_newer_layout_is_refused(tmp_path: Path) -> None:
    ibidem.init(tmp_path).close()
    (tmp_path / ".ibidem" / "format").write_text('{"version": 2}')
    with pytest.raises(FormatError):
        ibidem.open(tmp_path)


def test_the_configuration_is_in_every_root() -> None:
    config = Config(fields=("summary",), extra={"mine": 1})
    with ibidem.init("memory:", config=config) as repo:
        assert repo.at().config == config
        with repo.transaction() as tx:
            tx.add_node("Doc")
        assert repo.at().config == config
    with pytest.raises(InvalidInputError):
        ibidem.init("memory:", config={"fields": []})  # type: ignore[arg-type]


def test_importing_and_opening_stay_light(tmp_path: Path) -> None:
    program = "import sys, ibidem; assert 'numpy' not in sys.modules; ibidem.Repository"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_a_medium_that_is_refused_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmdb_store, "mount_table", lambda: [f"host:/x {tmp_path} nfs4 rw"])
    with pytest.raises(StorageError, match="nfs4"):
        ibidem.init(tmp_path / "notes")
    assert not (tmp_path / "notes").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_folder_that_may_not_be_read_is_a_storage_error(tmp_path: Path) -> None:
    ibidem.init(tmp_path).close()
    (tmp_path / ".ibidem").chmod(0)
    with pytest.raises(StorageError):
        ibidem.open(tmp_path)


def test_a_damaged_head_is_noticed(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.add_node("Doc", key="a")
    operation = next(repo.history.operations())
    store = repo.core.store
    assert isinstance(store, MemoryStore)
    for cid in (operation.cid, operation.view):
        whole = store._blocks[cid]
        for at in range(len(whole)):
            store._blocks[cid] = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
            with pytest.raises(CorruptError):
                Repository(Core(store, None, lambda: 0)).current_branch  # noqa: B018  reading it is the test
        store._blocks[cid] = whole
    assert Repository(Core(store, None, lambda: 0)).head is not None


def test_a_ref_under_the_key_of_another_is_noticed(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.add_node("Doc", key="a")
    view = repo.core.operation_log.state().view
    buffer = WriteBatch(repo.core.store)
    ref = refs.read(buffer, view, "heads/main")
    assert ref is not None
    tree = mutate(view.refs, {ref_key("tags/v1"): ref.cid}, buffer)
    with pytest.raises(CorruptError):
        refs.read(buffer, replace(view, refs=tree), "tags/v1")


@pytest.fixture(params=["memory", "disk"])
def library(request: pytest.FixtureRequest, repo: Repository, disk_repo: Repository) -> Repository:
    chosen = repo if request.param == "memory" else disk_repo
    with chosen.transaction() as tx:
        for number, word in enumerate(["retries", "backoff", "jitter", "queue"]):
            node = tx.add_node("Passage", summary=f"about {word}", props={"n": number}, key=word)
            tx.set_vector(node, model="m", vector=np.eye(4, dtype=np.float32)[number])
    return chosen


def test_an_empty_repository_answers_with_nothing(repo: Repository) -> None:
    assert repo.retrieve("anything").items == ()
    assert repo.query(label="Doc") == []


def test_retrieving_by_text_vector_label_and_properties(library: Repository) -> None:
    jitter = node_id("", "jitter")
    assert [item.id for item in library.retrieve("jitter").items] == [jitter]
    assert library.retrieve(vector=("m", [0, 0, 1, 0])).items[0].id == jitter
    assert [node.id for node in library.query(label="Passage", where={"n": 2})] == [jitter]
    assert len(library.query()) == len(library.query(label="Passage")) == 4
    assert len(library.query(limit=3)) == 3
    fluent = library.retriever().text("jitter").label("Passage").where(n=2).limit(5)
    assert (
        fluent.execute().to_bytes()
        == library.retrieve("jitter", label=["Passage"], where={"n": 2}, limit=5).to_bytes()
    )


def test_an_edited_node_stays_retrievable_and_the_past_answers_as_before(
    library: Repository,
) -> None:
    before = library.retrieve("jitter")
    with library.transaction() as tx:
        tx.update_node(node_id("", "jitter"), summary="about randomness")
    assert library.retrieve("jitter").items == ()
    assert library.retrieve("randomness").items[0].id == node_id("", "jitter")
    assert library.at("main~1").retrieve("jitter").to_bytes() == before.to_bytes()


def test_a_receipt_replays_to_the_same_bytes(library: Repository) -> None:
    result = library.retrieve("jitter", token_budget=100)
    receipt = result.receipt
    assert receipt is not None
    with library.transaction() as tx:
        tx.remove_node(node_id("", "jitter"))
    for named in (receipt, receipt.cid, str(receipt.cid), str(receipt.cid)[:24]):
        assert library.receipts.replay(named).to_bytes() == result.to_bytes()


def test_a_receipt_of_another_answer_is_a_mismatch(library: Repository, tmp_path: Path) -> None:
    receipt = library.retrieve("jitter").receipt
    other = library.retrieve("backoff").receipt
    assert receipt is not None
    assert other is not None
    with pytest.raises(ReplayError, match="item 1") as caught:
        library.receipts.replay(replace(receipt, result=other.result, items=other.items))
    assert caught.value.kind is ErrorKind.REPLAY_MISMATCH
    with ibidem.init("memory:") as elsewhere, pytest.raises(ReplayError) as caught:
        elsewhere.receipts.replay(receipt)
    assert caught.value.kind is ErrorKind.NOT_FOUND
    for bad in ("bafyr4i", 7, None):
        with pytest.raises(InvalidInputError):
            library.receipts.replay(bad)  # type: ignore[arg-type]


def test_the_index_is_disposable(library: Repository) -> None:
    before = library.retrieve("jitter").to_bytes()
    library.maintenance.reindex()
    assert library.retrieve("jitter").to_bytes() == before
    assert library.maintenance.index_counts() == (4, 4)


def test_two_processes_answer_with_the_same_bytes(disk_repo: Repository, tmp_path: Path) -> None:
    with disk_repo.transaction() as tx:
        tx.add_node("Doc", summary="retries with jitter", key="a")
    here = disk_repo.retrieve("jitter").to_bytes().hex()
    program = (
        "import sys, ibidem\n"
        "with ibidem.open(sys.argv[1]) as repo: print(repo.retrieve('jitter').to_bytes().hex())"
    )
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == here


def test_a_passage_knows_its_place_by_its_parents(repo: Repository) -> None:
    with repo.transaction() as tx:
        passage = tx.add_node("Passage", summary="two\nlines", key="p")
        document = tx.add_node(
            "Document",
            props={"source": "a.md"},
            children=[Child(passage, "first\n", 9, 1)],
            tail="\n",
            key="d",
        )
    at = repo.at()
    assert at.document(document) == "first\ntwo\nlines\n"
    assert at.locate(passage) == Location(document, "a.md", (), 6, 15, 2, 4)
    with repo.transaction() as tx:
        alone = tx.add_node("Passage", key="alone")
    assert repo.at().locate(alone) is None


def test_diff_names_fields_and_properties(repo: Repository) -> None:
    with repo.transaction() as tx:
        a = tx.add_node("Doc", summary="s", props={"x": 1, "y": 1}, key="a")
        b = tx.add_node("Doc", key="b")
        e = tx.add_edge(a, "t", b)
        tx.set_vector(a, model="m", vector=[1.0])
    with repo.transaction() as tx:
        tx.update_node(a, summary="t", set_props={"x": True, "z": 1})
        tx.update_edge(e, weight=2.0)
        tx.set_vector(a, model="m", vector=[2.0])
        tx.tombstone(b)
        tx.add_node("Doc", key="c")
    found = {(c.family, c.id): c for c in repo.history.diff("main~1")}
    assert {key[0] for key in found} == {"nodes", "edges", "vectors", "tombstones"}
    change = found["nodes", a]
    assert (change.action, change.fields, change.properties) == (
        "changed",
        ("props", "summary"),
        ("x", "z"),
    )
    assert found["edges", e].fields == ("weight",)
    assert (found["vectors", a].name, found["vectors", a].action) == ("m", "changed")
    assert found["tombstones", b].action == "added"
    back = {(c.family, c.id): c.action for c in repo.history.diff("main", "main~1")}
    assert back["tombstones", b] == "removed"
    assert list(repo.history.diff("main", "HEAD")) == []


def test_stats_count_the_head(library: Repository) -> None:
    stats = library.maintenance.stats()
    assert (stats.node_count, stats.edge_count, stats.vector_counts["vectors"]) == (4, 0, {"m": 4})
    assert (stats.branch_count, stats.tag_count) == (1, 0)
    assert stats.head == library.head


def test_objects_say_what_they_are(repo: Repository, tmp_path: Path) -> None:
    assert repr(repo) == "<Repository in memory>"
    assert repr(repo.at()) == f"<Revision no commit, root {repo.at().root_cid}>"
    with ibidem.init(tmp_path) as stored:
        with stored.transaction() as tx:
            tx.add_node("Note", summary="a")
        assert repr(stored) == f"<Repository {tmp_path / '.ibidem'}>"
        assert str(stored.head) in repr(stored.at())
    assert {"init", "open", "clone"} <= set(dir(ibidem))


def test_the_likely_mistakes_are_told_what_would_do(repo: Repository) -> None:
    with repo.transaction() as tx:
        node = tx.add_node("Note", summary="a")
    with pytest.raises(InvalidInputError, match="expected a NodeId or its 32 hexadecimal digits"):
        repo.at().node(node.raw)
    with pytest.raises(InvalidInputError, match=r"graph: got 'ppr', .* \{'mode': 'ppr'\}"):
        repo.retrieve("a", graph="ppr")
    with pytest.raises(InvalidInputError, match="label: got 3, expected a text or several"):
        repo.retrieve("a", label=3)
    with pytest.raises(InvalidInputError, match="no embedder is in use for 'x' or any other"):
        repo.retrieve("a", model="x")

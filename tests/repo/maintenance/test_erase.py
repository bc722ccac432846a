"""What is erased is nowhere: not in a branch, not in a file; and it comes back by no way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import BlobCid, Cid, CommitCid, ConflictCid
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import (
    ErasedError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
    ReplayError,
)
from ibidem.objects.fields import CONTENT, EDGE, NODE, TABLES, TEXT
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import CONFLICTS
from ibidem.objects.table import Field, Table, Type
from ibidem.objects.text import text_digest
from ibidem.objects.tree import build
from ibidem.objects.tree.columns import Block
from ibidem.repo.erasure import find_copies
from ibidem.repo.erasure.guard import Erased
from ibidem.repo.maintenance.cleaned import cleaned_commit, entries_of_erased
from ibidem.repo.maintenance.folder import fsck_folder
from ibidem.repo.repository import Repository
from ibidem.store.testing import RecordingStore

from .conftest import SECRET, fill
from .secret import NEEDLES, add_secret, places_of, said_in_fields


def test_no_byte_of_it_is_in_any_file(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        fill(repo)
        secret = add_secret(repo)
        repo.branch("other")
        with repo.transaction() as tx:
            tx.update_node(secret, summary=f"still about {SECRET}")
        for rev in ("HEAD", "HEAD~1", "other"):
            assert repo.at(rev).retrieve(SECRET).items
        repo.core.vector_cache.add(bytes(32), {text_digest(SECRET): np.full(4, 0.123456789, "<f4")})
        assert places_of(tmp_path, *NEEDLES)
        report = repo.maintenance.erase(secret, reason="asked", author="ada")
        assert report.elsewhere == ()
        assert sorted(report.commits) == ["heads/main", "heads/other"]
        repo.retrieve("summary harmless")
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="later")
        repo.retrieve("later")
        assert places_of(tmp_path, *NEEDLES) == []
    assert fsck_folder(tmp_path).is_clean
    assert fsck_folder(tmp_path).erased_count > 3
    assert places_of(tmp_path, *NEEDLES) == []


@pytest.mark.parametrize("name", said_in_fields(SECRET))
def test_what_quotes_any_field_of_it_goes_too(tmp_path: Path, name: str) -> None:
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="harmless", key="harmless")
            secret = tx.add_node("Doc", **{"key": "k", name: said_in_fields(SECRET)[name]})
        with repo.runs.start("desk") as run:
            run.event("model", "what is it?", lambda: f"they say {SECRET}")
        assert places_of(tmp_path, SECRET.encode())
        repo.maintenance.erase(secret)
        assert places_of(tmp_path, SECRET.encode()) == []


def test_a_field_that_is_new_in_the_table_is_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = Type(texts=lambda value: (word.encode() for word in value))
    table = Table("node", *NODE.fields, Field("words", words, optional=True))
    monkeypatch.setattr(find_copies, "NODE", table)
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            secret = tx._add(
                Node(node_id("", "k"), "Doc", key=("", "k"), extra={"words": {SECRET: 1}}),
                {},
                may_replace=False,
            )
        with repo.runs.start("desk") as run:
            run.event("model", "what is it?", lambda: f"they say {SECRET}")
        assert places_of(tmp_path, SECRET.encode())
        repo.maintenance.erase(secret)
        assert places_of(tmp_path, SECRET.encode()) == []
        assert repo.maintenance.fsck().is_clean


@pytest.mark.parametrize("is_record", [True, False], ids=["record", "other"])
def test_a_kind_that_is_new_in_the_tables_is_found(
    repo: Repository, monkeypatch: pytest.MonkeyPatch, is_record: bool
) -> None:
    table = Table("memo", Field("said", TEXT), is_record=is_record)
    monkeypatch.setitem(TABLES, "memo", table)
    secret = add_secret(repo)
    block = codec.encode({"kind": "memo", "said": f"they say {SECRET}", "v": 1})
    memo = Cid.of(block)
    repo.core.store.put({memo: block})
    report = repo.maintenance.erase(secret)
    assert repo.core.store.has(memo) is not is_record
    assert report.elsewhere == (() if is_record else (("memo", memo),))


def test_texts_of_an_edge_and_of_a_block_with_parts_are_found(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an edge links to belongs to its nodes, as the content of a node does."""
    table = Table("edge", *EDGE.fields, Field("quote", CONTENT, optional=True, link=True))
    monkeypatch.setitem(TABLES, "edge", table)
    secret = add_secret(repo)
    part = f"{SECRET}, said somewhere else".encode()
    raw = BlobCid.of(part)
    edge = Edge(edge_id(secret, "t", secret), "t", secret, secret, extra={"quote": [raw]})
    repo.core.store.put({raw: part, edge.cid: edge.encode()})
    repo.maintenance.erase(secret)
    assert not repo.core.store.has(raw)
    assert not repo.core.store.has(edge.cid)


def test_cached_embeddings_of_its_texts_go(tmp_path: Path) -> None:
    from ibidem.objects.text import node_text

    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        node = repo.at().node(secret)
        digest = text_digest(node_text(node, repo.at().config.fields, repo.core.content_of(node)))
        other = text_digest("other")
        vector = np.full(4, 0.25, np.float32)
        repo.core.vector_cache.add(bytes(32), {digest: vector, other: vector})
        repo.maintenance.erase(secret)
        assert list(repo.core.vector_cache.find(bytes(32), 4, [digest, other])) == [other]
        assert repo.maintenance.fsck().is_clean


def test_old_heads_say_erased_and_new_ones_never_knew(repo: Repository) -> None:
    secret = add_secret(repo)
    old = repo.head
    result = repo.retrieve(SECRET)
    assert result.receipt is not None
    repo.maintenance.erase(secret, reason="asked")
    assert not repo.retrieve(SECRET).items
    assert repo.retrieve("harmless").items
    for ask in (
        lambda: repo.at(old).node(secret),
        lambda: repo.at(old).retrieve("harmless"),
        lambda: repo.at(old).query(),
    ):
        with pytest.raises(ErasedError) as caught:
            ask()
        assert caught.value.kind is ErrorKind.ERASED
    with pytest.raises(ReplayError) as replayed:
        repo.receipts.replay(result.receipt)
    assert replayed.value.kind is ErrorKind.ERASED
    with pytest.raises(NotFoundError):
        repo.at().node(secret)


def test_an_old_head_answers_as_if_it_had_been_invisible_where_that_is_allowed(
    repo: Repository,
) -> None:
    secret = add_secret(repo)
    old = repo.head
    repo.maintenance.erase(secret, reason="asked")
    partial = repo.at(old, allow_erased=True)
    assert {erasure.node for erasure in partial.erasures} == {secret}
    assert [item.node.summary for item in partial.retrieve("harmless").items] == ["harmless"]
    assert not partial.retrieve(SECRET).items
    assert len(partial.query()) == 1
    assert repo.at(allow_erased=True).erasures == ()


def test_an_old_head_without_what_was_erased_is_read_in_batches(repo: Repository) -> None:
    secret = add_secret(repo)
    with repo.transaction() as tx:
        for number in range(300):
            tx.add_node("Doc", summary=f"harmless {number}")
    old = repo.head
    repo.maintenance.erase(secret)
    store = repo.core.store = RecordingStore(repo.core.store)  # type: ignore[assignment]
    assert repo.at(old, allow_erased=True).retrieve("harmless").items
    assert store.read_count < 100


def test_it_comes_back_by_no_way(repo: Repository) -> None:
    secret = add_secret(repo)
    old = repo.head
    assert old is not None
    blocks = {cid: repo.core.store.get(cid) for cid in repo.core.store.cids()}
    node = repo.at().node(secret)
    repo.maintenance.erase(secret)
    ways = [
        lambda: add_secret(repo),
        lambda: repo.core.store.put({node.cid: blocks[node.cid]}),
        # Another version, which no erasure names, is refused by its id.
        lambda: repo.core.store.put({(other := replace(node, summary="x")).cid: other.encode()}),
    ]
    for way in ways:
        with pytest.raises(InvalidInputError) as caught:
            way()
        assert caught.value.kind is ErrorKind.FORGOTTEN
    with pytest.raises(InvalidInputError):
        repo.history.undo()
    with repo.transaction() as tx:
        tx.untombstone(secret) if tx.is_tombstoned(secret) else None
    with pytest.raises(InvalidInputError):
        add_secret(repo)
    repo.branch("old", at=old)
    with pytest.raises(NotFoundError):
        repo.at("old").node(secret)
    assert not repo.core.store.has(node.cid)
    assert repo.maintenance.fsck().is_clean


def test_later_changes_can_still_be_undone(repo: Repository) -> None:
    secret = add_secret(repo)
    repo.maintenance.erase(secret)
    before = repo.head
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="later")
    repo.history.undo()
    assert repo.head == before
    with pytest.raises(InvalidInputError, match="erased"):
        repo.history.undo()


def test_a_merge_with_an_old_branch_does_not_bring_it_back(repo: Repository) -> None:
    secret = add_secret(repo)
    old = repo.head
    repo.maintenance.erase(secret)
    repo.branch("old", at=old)
    repo.switch("old")
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="on the old branch")
    repo.switch("main")
    repo.merge("old")
    assert not repo.at().find_nodes([secret])
    assert not repo.retrieve(SECRET).items
    assert repo.retrieve("on the old branch").items
    assert repo.maintenance.fsck().is_clean


def test_a_branch_at_an_old_commit_leaves_it_out(repo: Repository) -> None:
    """[10-b] A tag names the old commit itself, as those from before the erasure do."""
    with repo.transaction(message="old") as tx:
        gone = tx.add_node("Doc", summary="unusual phrase", key="gone")
        tx.add_node("Doc", summary="another phrase", key="stays")
    old = repo.head
    repo.maintenance.erase(gone, reason="asked")
    made = repo.branch("old", at=old, author="ada")
    assert repo.commit_at("old").parents == (old,)
    assert (repo.resolve("old"), repo.commit_at("old").author) == (made, "ada")
    assert [item.node.summary for item in repo.at("old").retrieve("phrase")] == ["another phrase"]
    assert repo.branch("same", at="old") == made
    assert repo.tag("v1", at=old) == old
    with pytest.raises(ErasedError):
        repo.at("v1").retrieve("phrase")
    assert repo.maintenance.fsck().is_clean


def test_what_other_nodes_share_stays_and_is_named(repo: Repository) -> None:
    shared = b"z" * 5000
    with repo.transaction() as tx:
        one = tx.add_node("Doc", summary="one", content=shared, key="one")
        two = tx.add_node("Doc", summary="two", content=shared, key="two")
        of = bytes(32)
        for node in (one, two):
            tx.set_vector(node, model="m", vector=np.ones(3), of=of)
    report = repo.maintenance.erase(one)
    assert len(report.shared) == 2
    assert repo.core.content_of(repo.at().node(two)) == shared
    assert repo.maintenance.fsck().is_clean


def test_who_says_the_same_is_named(repo: Repository) -> None:
    secret = add_secret(repo)
    with repo.transaction(message=f"about {SECRET}") as tx:
        tx.add_node("Doc", summary=f"I heard {SECRET}", key="gossip")
    report = repo.maintenance.erase(secret)
    assert {kind for kind, _ in report.elsewhere} == {"node", "commit"}


def test_a_name_that_says_the_same_is_named(repo: Repository) -> None:
    said = "ada-lives-at-hill-road"
    with repo.transaction() as tx:
        secret = tx.add_node("Doc", context_sentence=said, key="secret")
    repo.branch(said)
    repo.tag(said)
    with repo.runs.start(said) as run:
        run.event("look", "there")
    repo.notes.space(said).reinforce(secret)
    report = repo.maintenance.erase(secret)
    named = {repo.core.store.get(cid) for kind, cid in report.elsewhere if kind == "ref"}
    for prefix in ("heads/", "tags/", "runs/", "notes/"):
        assert any((prefix + said).encode() in block for block in named), prefix


def test_what_names_the_document_of_a_passage_does_not_quote_the_passage(repo: Repository) -> None:
    text = "# Mill\n\nThe mill calculates.\n\n# Weather\n\nIt rains in spring.\n"
    with repo.transaction() as tx:
        ingest_text(tx, text, path="mill.md")
    (document,) = repo.at().query(label="Document")
    (mill,) = (node for node in repo.at().query(label="Passage") if "mill" in (node.summary or ""))
    with repo.runs.start("desk") as run:
        run.event("look", {"at": document.id.raw}, lambda: "so be it")
    report = repo.maintenance.erase(mill.id)
    assert report.elsewhere == ()
    assert len(repo.runs.open("desk").lines()) == 3


def harbors(count: int = 60) -> str:
    rows = "".join(f"| the mill {n} | pier {n * 7} of the east |\n" for n in range(count))
    return f"| {SECRET} | harbor |\n|---|---|\n{rows}"


def test_passages_with_the_header_of_an_erased_table_are_named(repo: Repository) -> None:
    """They are other nodes, with rows that nobody asked to destroy."""
    with repo.transaction() as tx:
        ingest_text(tx, harbors(), path="a.md")
        ingest_text(tx, "| a | b |\n|---|---|\n| c | d |", path="b.md")
    found = list(repo.at().query(label="Passage"))
    (first,) = (one for one in found if SECRET in (one.summary or ""))
    carriers = {one.cid for one in found if SECRET in (one.context_sentence or "")}
    assert len(carriers) > 2
    report = repo.maintenance.erase(first.id)
    assert {cid for kind, cid in report.elsewhere if kind == "node"} == carriers
    with repo.transaction() as tx:
        ingest_text(tx, harbors().partition("\n")[2], path="c.md")
    assert repo.maintenance.fsck().is_clean


def test_an_erased_document_takes_every_copy_of_a_header_with_it(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        fill(repo)
        with repo.transaction() as tx:
            ingest_text(tx, harbors(), path="a.md")
        with repo.transaction() as tx:
            ingest_text(tx, harbors().replace(SECRET, "station"), path="a.md")
        assert repo.at("HEAD~1").packs(SECRET).items
        assert places_of(tmp_path, SECRET.lower().encode())
        (document,) = (one for one in repo.at().query(label="Document") if one.key[1] == "a.md")
        report = repo.maintenance.erase(document.id)
        assert report.elsewhere == ()
    assert places_of(tmp_path, SECRET.lower().encode(), b"the mill 3") == []


def test_a_key_as_long_as_an_id_is_a_text_where_no_node_has_that_id(repo: Repository) -> None:
    name = b"sixteen bytes ok"
    with repo.transaction() as tx:
        one = tx.add_node("Doc", summary="one", key=name)
        tx.add_node("Doc", summary="two", props={"of": name}, key="two")
    assert [kind for kind, _ in repo.maintenance.erase(one).elsewhere] == ["node"]


def test_recorded_runs_that_quote_it_are_destroyed(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        secret = add_secret(repo)
        with repo.runs.start("desk") as run:
            run.event("model", "what is it?", lambda: f"they say {SECRET} " * 300)
        repo.maintenance.erase(secret)
        assert places_of(tmp_path, *NEEDLES[:2]) == []
        assert repo.maintenance.fsck().is_clean


def test_notes_and_conflicts_at_the_heads_let_go_of_it(repo: Repository) -> None:
    secret = add_secret(repo)
    repo.branch("side")
    for branch, text in (("main", "ours"), ("side", "theirs")):
        with repo.transaction(branch=branch) as tx:
            tx.update_node(secret, summary=f"{text} {SECRET}")
    repo.merge("side")
    assert repo.at().root.conflicts != repo.at("HEAD~1").root.conflicts
    repo.maintenance.erase(secret)
    assert repo.maintenance.fsck().is_clean
    assert not repo.retrieve(SECRET).items


def test_a_stage_that_touches_it_has_to_be_settled_first(repo: Repository) -> None:
    secret = add_secret(repo)
    with repo.stage.transaction() as tx:
        tx.update_node(secret, summary="staged")
    with pytest.raises(InvalidInputError, match="stage"):
        repo.maintenance.erase(secret)
    repo.stage.clear()
    with repo.stage.transaction() as tx:
        tx.add_node("Doc", summary="something else")
    repo.maintenance.erase(secret)
    assert repo.stage.commit() is not None
    assert repo.retrieve("something else").items
    assert repo.maintenance.fsck().is_clean


@pytest.mark.parametrize("ids", [[], [NodeId(bytes(16))]])
def test_bad_ids_change_nothing(repo: Repository, ids: list[NodeId]) -> None:
    add_secret(repo)
    before = repo.core.view.cid
    with pytest.raises((InvalidInputError, NotFoundError)):
        repo.maintenance.erase(ids)
    assert repo.core.view.cid == before


def test_a_conflict_that_is_erased_itself_need_not_be_read(repo: Repository) -> None:
    """A copy may come with an erasure that names the block of a conflict, and without the block."""
    with repo.transaction() as tx:
        node = tx.add_node("Doc", summary="kept")
    lost = ConflictCid.of(b"a block that is nowhere")
    erasure = Erasure(node_id("", "gone"), (lost,))
    buffer = WriteBatch(repo.core.store)
    root = replace(repo.at().root, conflicts=build([(node.raw, lost)], buffer))
    erased = Erased((erasure,), {lost.raw: erasure}, {erasure.node.raw: erasure})
    assert entries_of_erased(buffer, root, erased).trees[CONFLICTS] == {node.raw: None}


def test_a_document_goes_with_all_parts_that_it_ever_had(tmp_path: Path) -> None:
    old, new = "The vault opens at seven and a half.", "The vault opens at nine and a half."
    with ibidem.init(tmp_path) as repo:
        for text in (old, new):
            with repo.transaction() as tx:
                ingest_text(tx, f"# Vault\n\n{text}\n", path="vault.md")
                ingest_text(tx, "# Gate\n\nThe gate is green.\n", path="gate.md")
        document = node_id("document", "vault.md")
        report = repo.maintenance.erase(document, reason="asked")
        assert document in report.nodes
        assert len(report.nodes) == 4  # the document, its section and two versions of its passage
        (tip,) = report.commits.values()
        assert repo.commit_at(tip).message.endswith(" and 1 more")
        assert [item.node.summary for item in repo.retrieve("vault gate")] == ["The gate is green."]
    assert not places_of(tmp_path, old.encode(), new.encode())


def test_texts_are_prepared_once_for_all_receipts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms = find_copies._forms
    counts: list[int] = []

    def counted(text: bytes) -> Iterator[bytes]:
        counts[-1] += 1
        return forms(text)

    monkeypatch.setattr(find_copies, "_forms", counted)
    for question_count in (1, 9):
        counts.append(0)
        with ibidem.init(tmp_path / str(question_count)) as repo:
            secret = add_secret(repo)
            for number in range(question_count):
                repo.retrieve(f"harmless {number}")
            repo.maintenance.erase(secret)
    assert counts[0] == counts[1]


@pytest.mark.parametrize("has_edges", [False, True])
def test_all_nodes_are_looked_up_at_once(repo: Repository, has_edges: bool) -> None:
    with repo.transaction() as tx:
        ids = [tx.add_node("Doc", key=number) for number in range(1000)]
        edges = [tx.add_edge(id_, "near", ids[0]) for id_ in ids]
        for id_ in ids:
            tx.set_vector(id_, model="m", vector=[1.0])
    graph, store = repo.core.graph(), RecordingStore(repo.core.store)
    one = Erasure(ids[0], (Cid(graph.root_cid.raw),), "", "", 1)
    erased = Erased(nodes=dict.fromkeys((id_.raw for id_ in ids), one))
    known = [edge.raw for edge in edges] if has_edges else None
    edits = entries_of_erased(store, graph.root, erased, edges=known)  # type: ignore[arg-type]
    assert {len(found) for found in edits.trees.values() if found} == {len(ids)}
    assert store.read_count < 50


def test_a_leaf_of_a_tree_is_searched_once_for_all_nodes(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with repo.transaction() as tx:
        ids = [tx.add_node("Doc", key=number) for number in range(200)]
    place = Block.place
    counts: list[int] = []

    def counted(self: Block, key: bytes) -> int:
        counts[-1] += 1
        return place(self, key)

    monkeypatch.setattr(Block, "place", counted)
    for some in (ids[:1], ids):
        counts.append(0)
        find_copies.find_copies(repo.core.store, set(some))
    assert counts[0] == counts[1]


def test_branches_at_one_commit_are_moved_to_one_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ibidem.init(tmp_path) as repo:
        fill(repo)
        secret = add_secret(repo)
        for number in range(12):
            repo.branch(f"b{number}")
        with repo.transaction(branch="b3") as tx:
            tx.add_node("Doc", summary="only here")
        cleaned: list[Cid] = []

        def counted(buffer: WriteBatch, cid: CommitCid, *arguments: Any, **options: Any) -> Cid:
            cleaned.append(cid)
            return cleaned_commit(buffer, cid, *arguments, **options)

        monkeypatch.setattr("ibidem.repo.erasure.erase.cleaned_commit", counted)
        report = repo.maintenance.erase(secret)
        assert len(report.commits) >= 13
        assert len(cleaned) == len(set(cleaned))
        moved = {report.commits[f"heads/b{number}"] for number in range(12)}
        assert len(moved) == 2
        assert repo.maintenance.fsck().is_clean

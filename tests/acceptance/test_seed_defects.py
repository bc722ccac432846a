"""The defects that were found in the systems this project learned from, and that it must not have.

One test a defect that concerns what is built here. The reference behind each name says where the
defect was seen: "mnem" is the Rust original.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.ingest.ingest import ingest
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError
from ibidem.repo.repository import Repository


def one_hot(axis: int, dim: int = 8, tilt: float = 0.0) -> np.ndarray:
    out = np.full(dim, tilt, np.float32)
    out[axis] = 1.0
    return out


@pytest.fixture
def repo() -> Repository:
    return ibidem.init()


def test_a_label_filter_does_not_starve_behind_nearer_nodes(repo: Repository) -> None:
    """mnem 8.1 row 4: filters ran after the first 256 hits; 400 nearer nodes emptied the answer."""
    with repo.transaction(author="t", message="m") as tx:
        for number in range(400):
            node = tx.add_node("A", summary=f"near {number}")
            tx.set_vector(node, model="m", vector=one_hot(0, tilt=number / 1e6))
        for number in range(20):
            node = tx.add_node("B", summary=f"far {number}")
            tx.set_vector(node, model="m", vector=one_hot(1, tilt=number / 1e6))
    result = repo.retrieve(vector=("m", one_hot(0)), label="B", limit=10)
    assert [item.node.ntype for item in result.items] == ["B"] * 10
    assert result.candidates_seen == 20


def test_equal_property_values_are_all_found(repo: Repository) -> None:
    """mnem 8.1 row 5: the property index held one node a value."""
    with repo.transaction(author="t", message="m") as tx:
        for number in range(5):
            tx.add_node("Person", summary=f"p{number}", props={"city": "Berlin"})
    assert len(repo.query(label="Person", where={"city": "Berlin"})) == 5


def test_a_second_model_keeps_the_first_models_vector(repo: Repository) -> None:
    """mnem 8.1 row 6: writing a second model replaced the bucket that held the first."""
    with repo.transaction(author="t", message="one") as tx:
        node = tx.add_node("N", summary="kept")
        tx.set_vector(node, model="a", vector=one_hot(0))
    with repo.transaction(author="t", message="two") as tx:
        tx.set_vector(node, model="b", vector=one_hot(1, dim=4))
    with repo.transaction(author="t", message="three") as tx:
        tx.add_node("N", summary="later")
    for model, dim in (("a", 8), ("b", 4)):
        result = repo.retrieve(vector=(model, one_hot(0, dim=dim)))
        assert [item.node.id for item in result.items] == [node]


def test_an_edited_node_keeps_its_vector_and_says_that_it_is_stale(repo: Repository) -> None:
    """mnem 8.1 row 7: vectors were keyed by content, so that every edit orphaned one silently."""
    with repo.transaction(author="t", message="one") as tx:
        node = tx.add_node("N", summary="before")
        tx.set_vector(node, model="a", vector=one_hot(0))
    with repo.transaction(author="t", message="two") as tx:
        tx.update_node(node, summary="after")
    result = repo.retrieve(vector=("a", one_hot(0)))
    assert [item.node.summary for item in result.items] == ["after"]
    assert [str(warning.code) for warning in result.warnings] == ["stale_vectors"]
    assert [item.node.id for item in repo.retrieve("after").items] == [node]


def test_a_removed_node_takes_its_edges_with_it(repo: Repository) -> None:
    """mnem 8.1 row 21: a missing index left dangling edges behind."""
    with repo.transaction(author="t", message="one") as tx:
        a, b = tx.add_node("N", summary="a"), tx.add_node("N", summary="b")
        tx.add_edge(a, "to", b)
        tx.add_edge(b, "back", a)
    with repo.transaction(author="t", message="two") as tx:
        tx.remove_node(a)
    assert repo.maintenance.stats().edge_count == 0


def test_the_same_fact_twice_is_one_node(repo: Repository) -> None:
    """mnem product 9.1: ids were random, so a fact that was told twice was two nodes."""
    for message in ("one", "two"):
        with repo.transaction(author="t", message=message) as tx:
            tx.add_node("N", summary="the same")
    assert tx.commit is None
    assert repo.maintenance.stats().node_count == 1


def test_ingest_again_changes_nothing_and_gives_the_same_root_elsewhere(tmp_path: Path) -> None:
    """mnem 8.1 row 19: the content hash was written and never read; all ids were random."""
    (tmp_path / "a.md").write_text("# A\n\none\n\ntwo\n", "utf-8")
    roots = set()
    for _ in range(2):
        with ibidem.init() as repo:
            with repo.transaction(author="t", message="one") as tx:
                ingest(tx, [tmp_path])
            with repo.transaction(author="t", message="two") as again:
                ingest(again, [tmp_path])
            assert again.commit is None
            roots.add(repo.commit_at("main").root)
    assert len(roots) == 1


def test_the_end_of_a_long_passage_is_found_and_rendered(tmp_path: Path, repo: Repository) -> None:
    """mnem 8.1 row 18: a chunk was cut to 200 bytes for search and for display."""
    words = " ".join(f"word{number}" for number in range(300))
    (tmp_path / "long.md").write_text(f"# T\n\n{words} zanzibar\n", "utf-8")
    with repo.transaction(author="t", message="m") as tx:
        ingest(tx, [tmp_path])
    best = repo.retrieve("zanzibar").items[0]
    assert best.node.ntype == "Passage"
    assert "zanzibar" in best.rendered


def test_a_commit_of_nothing_publishes_nothing(repo: Repository) -> None:
    """mnem 3.2: every commit rewrote every tree, changed or not."""
    before = len(list(repo.history.operations()))
    with repo.transaction(author="t", message="m"):
        pass
    assert len(list(repo.history.operations())) == before


def test_text_that_matches_nothing_gives_nothing(repo: Repository) -> None:
    """mnem 4.11: without an embedder, noise vectors ranked everything."""
    with repo.transaction(author="t", message="m") as tx:
        tx.add_node("N", summary="alpha")
    assert repo.retrieve("omega").items == ()


def test_an_unknown_model_is_an_error_that_names_both(repo: Repository) -> None:
    """mnem product 3: a wrong model name gave an empty answer."""
    with repo.transaction(author="t", message="m") as tx:
        tx.set_vector(tx.add_node("N", summary="x"), model="right", vector=one_hot(0))
    with pytest.raises(InvalidInputError, match=r"wrong.*right") as caught:
        repo.retrieve(vector=("wrong", one_hot(0)))
    assert caught.value.kind is ErrorKind.UNKNOWN_MODEL
    with pytest.raises(InvalidInputError, match=r"3.*8") as caught:
        repo.retrieve(vector=("right", one_hot(0, dim=3)))
    assert caught.value.kind is ErrorKind.DIMENSION_MISMATCH


def test_text_in_a_field_cannot_forge_another_field(repo: Repository) -> None:
    """mnem 4.9: line feeds were not escaped, so that text could forge lines."""
    with repo.transaction(author="t", message="m") as tx:
        tx.add_node("N", summary="honest\n\nsecret: yes", props={"a": "b\n\nsecret: yes"})
    rendered = repo.retrieve("honest", metadata=True).items[0].rendered
    head, _, text = rendered.partition("\n\n")
    fields = [line for line in head.splitlines() if line[:1] != " "]
    assert [line.split(":")[0] for line in fields] == ["ntype", "id", "a"]
    assert text == repo.retrieve("honest").items[0].rendered == "honest\n\nsecret: yes"


def test_an_edge_to_nothing_is_refused_and_changes_nothing(repo: Repository) -> None:
    """mnem product 2.1: edges and nodes could get out of step."""
    with repo.transaction(author="t", message="one") as tx:
        a = tx.add_node("N", summary="a")
    head = repo.head
    other = ibidem.init()
    with other.transaction(author="t", message="x") as tx:
        stranger = tx.add_node("N", summary="elsewhere")
    with (
        pytest.raises(IbidemError) as caught,
        repo.transaction(author="t", message="two") as tx,
    ):
        tx.add_edge(a, "to", stranger)
    assert caught.value.kind is ErrorKind.DANGLING_REFERENCE
    assert repo.head == head


def test_a_default_limit_exists(repo: Repository) -> None:
    """mnem product 9.1 row 13: without a limit 256 nodes came back."""
    with repo.transaction(author="t", message="m") as tx:
        for number in range(50):
            tx.add_node("N", summary=f"same words {number}")
    assert len(repo.retrieve("same words").items) == 10
    assert len(repo.retrieve("same words", limit=None).items) == 50


def test_a_second_opener_reads_while_the_first_is_open(tmp_path: Path) -> None:
    """mnem 1.4: a second opener failed at once."""
    with ibidem.init(tmp_path) as first:
        with first.transaction(author="t", message="m") as tx:
            tx.add_node("N", summary="alpha")
        with ibidem.open(tmp_path) as second:
            assert len(second.retrieve("alpha").items) == 1


def test_dropped_candidates_have_reasons(repo: Repository) -> None:
    """mnem 4.10: one counter mixed what the budget and what the limit left out."""
    with repo.transaction(author="t", message="m") as tx:
        for number in range(6):
            tx.add_node("N", summary=f"word {'long ' * 40 * (number % 2)}{number}")
    result = repo.retrieve("word", limit=2, token_budget=60)
    assert result.tokens_used <= 60
    assert set(result.dropped_counts) <= {"limit", "budget"}
    assert sum(result.dropped_counts.values()) == result.candidates_seen - len(result.items)

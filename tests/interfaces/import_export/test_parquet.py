"""Parquet and Arrow: our tables hold the whole graph, others are taken by their columns."""

from __future__ import annotations

import numpy as np
import pytest

import ibidem
from ibidem.adapters import exporting, importing
from ibidem.errors import ErrorKind, IbidemError, InvalidInputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ipc = pytest.importorskip("pyarrow.ipc")


@pytest.fixture
def repo():
    repo = ibidem.init("memory:")
    with repo.transaction(author="ada", time=1) as tx:
        one = tx.add_node(
            "T", summary="one", key=b"\x00", props={"f": 1.0, "b": b"x"}, content="long " * 5000
        )
        two = tx.add_node("U", summary="two")
        gone = tx.add_node("T", summary="gone")
        tx.add_edge(one, "cites", two, weight=0.5, props={"z": [1, None]}, key="q")
        tx.set_vector(one, model="m", vector=[1, 2, 3])
        tx.set_vector(two, model="half", vector=np.array([1, 2], dtype=np.float16), of=b"x" * 32)
        tx.set_sparse(one, vocab="v", indices=[3, 1], weights=[0.5, 0.25])
        tx.ingest(text="# A\n\nhello\n", path="a.md")
        tx.tombstone(gone, reason="wrong")
    return repo


def test_the_root_is_the_same_and_the_bytes_too(repo, tmp_path):
    report = exporting.export(repo, tmp_path / "a.parquet", include_tombstoned=True)
    other = ibidem.init("memory:")
    importing.load(other, tmp_path / "a.parquet")
    assert other.at().root_cid == repo.at().root_cid == report.root
    exporting.export(other, tmp_path / "b.parquet", include_tombstoned=True)
    files = sorted(one.name for one in (tmp_path / "a.parquet").iterdir())
    assert files == ["edges.parquet", "nodes.parquet", "sparse.parquet", "tombstones.parquet"]
    for name in files:
        first, second = (tmp_path / folder / name for folder in ("a.parquet", "b.parquet"))
        assert first.read_bytes() == second.read_bytes()


def test_other_programs_read_the_columns(repo, tmp_path):
    exporting.export(repo, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet" / "nodes.parquet")
    rows = {row["summary"]: row for row in table.to_pylist()}
    assert rows["one"]["vector:m"] == [1, 2, 3]
    assert rows["one"]["label"] == "T"
    assert "gone" not in rows


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_any_table_with_texts_and_vectors(tmp_path, form):
    table = pa.table(
        {
            "id": ["a", "b"],
            "text": ["one", "x" * 5000],
            "year": [1, None],
            "embedding": pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
        }
    )
    file = tmp_path / f"notes.{form}"
    if form == "parquet":
        pq.write_table(table, file)
    else:
        with ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    repo = ibidem.init("memory:")
    with pytest.raises(InvalidInputError, match="model: the input does not name the model"):
        importing.load(repo, file)
    report = importing.load(repo, file, model="m")
    assert (report.nodes_added, report.vector_count) == (2, 1)
    one = repo.at().node(ibidem.node_id("parquet", ["notes", "a"]))
    assert (one.ntype, one.summary, dict(one.props)) == (
        ("notes", "one", {"external_id": "a", "year": 1})
    )
    two = repo.at().node(ibidem.node_id("parquet", ["notes", "b"]))
    assert (two.summary, repo.at().content(two.id)) == (None, b"x" * 5000)
    assert repo.at().vector(one.id, "m").to_array().tolist() == [1, 2]
    assert importing.load(repo, file, model="m").commits == ()


def test_a_folder_with_edges(tmp_path):
    pq.write_table(
        pa.table({"source": [1], "target": [2], "type": ["knows"], "weight": [0.5]}),
        tmp_path / "a.parquet",
    )
    pq.write_table(
        pa.table({"id": [1, 2], "label": ["P", "Q"], "name": ["x", "y"]}), tmp_path / "b.parquet"
    )
    repo = ibidem.init("memory:")
    report = importing.load(repo, tmp_path)
    assert (report.nodes_added, report.edge_count, report.omitted) == (2, 1, {})
    (edge,) = repo.at().edges()
    assert (edge.etype, edge.weight, dict(edge.props)) == ("knows", 0.5, {})


def test_damaged_files_are_errors_of_ours(repo, tmp_path):
    exporting.export(repo, tmp_path / "a.parquet")
    file = tmp_path / "a.parquet" / "nodes.parquet"
    data = file.read_bytes()
    other = ibidem.init("memory:")
    for damaged in (data[:-20], data[: len(data) // 2], b"PAR1" + b"\0" * 100 + b"PAR1"):
        file.write_bytes(damaged)
        with pytest.raises(IbidemError):
            importing.load(other, tmp_path / "a.parquet")
        assert other.head is None


def test_a_missing_library_is_named(repo, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidInputError) as caught:
        exporting.export(repo, tmp_path / "a.parquet")
    assert (caught.value.kind, caught.value.hint) == (
        (ErrorKind.MISSING_PACKAGE, "pip install 'ibidem[parquet]'")
    )
    assert not (tmp_path / "a.parquet").exists()

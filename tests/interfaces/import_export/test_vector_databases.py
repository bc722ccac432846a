"""Databases that Chroma, LanceDB and Qdrant wrote, read from their folders."""

from __future__ import annotations

import hashlib
import warnings

import pytest

import ibidem
from ibidem.adapters import importing
from ibidem.errors import IbidemError, InvalidInputError

pytestmark = pytest.mark.slow
COUNT = 1300
"""More than one page of every library."""


def vector(number):
    return [float(number), 1.0, 2.0]


def digests(folder):
    return {
        one.relative_to(folder): hashlib.sha256(one.read_bytes()).digest()
        for one in sorted(folder.rglob("*"))
        if one.is_file()
    }


@pytest.fixture
def chroma(tmp_path):
    chromadb = pytest.importorskip("chromadb")
    config = pytest.importorskip("chromadb.config")
    folder = tmp_path / "chroma"
    client = chromadb.PersistentClient(
        path=str(folder), settings=config.Settings(anonymized_telemetry=False)
    )
    found = client.create_collection(
        "notes", embedding_function=None, metadata={"hnsw:space": "ip"}
    )
    numbers = range(COUNT)
    found.add(
        ids=[f"i{number}" for number in numbers],
        documents=[f"text {number}" for number in numbers],
        metadatas=[
            {"number": number, "half": number / 2, "even": number % 2 == 0} for number in numbers
        ],
        embeddings=[vector(number) for number in numbers],
    )
    client.create_collection("empty", embedding_function=None)
    client.close()
    return folder


@pytest.fixture
def lancedb(tmp_path):
    lancedb = pytest.importorskip("lancedb")
    folder = tmp_path / "lance"
    lancedb.connect(str(folder)).create_table(
        "notes",
        [
            {
                "id": f"i{number}",
                "text": f"text {number}",
                "number": number,
                "half": number / 2,
                "even": number % 2 == 0,
                "vector": vector(number),
            }
            for number in range(COUNT)
        ],
    )
    return folder


@pytest.fixture
def qdrant(tmp_path):
    qdrant = pytest.importorskip("qdrant_client")
    models = qdrant.models
    folder = tmp_path / "qdrant"
    client = qdrant.QdrantClient(path=str(folder))
    form = models.VectorParams(size=3, distance=models.Distance.DOT)
    client.create_collection("notes", vectors_config=form)
    points = [
        models.PointStruct(
            id=number,
            vector=vector(number),
            payload={
                "text": f"text {number}",
                "number": number,
                "half": number / 2,
                "even": number % 2 == 0,
            },
        )
        for number in range(COUNT)
    ]
    client.upsert("notes", points)
    client.create_collection(
        "named",
        vectors_config={
            "a": models.VectorParams(size=2, distance=models.Distance.COSINE),
            "many": models.VectorParams(
                size=2,
                distance=models.Distance.COSINE,
                multivector_config=models.MultiVectorConfig(
                    comparator=models.MultiVectorComparator.MAX_SIM
                ),
            ),
        },
        sparse_vectors_config={"s": models.SparseVectorParams()},
    )
    sparse = models.SparseVector(indices=[3, 1], values=[0.5, 0.25])
    client.upsert(
        "named",
        [
            models.PointStruct(
                id="6e3f2a52-9b1c-4a5e-8d77-2f5f7f0d9a11",
                vector={"a": [1.0, 2.0], "s": sparse, "many": [[1.0, 2.0], [3.0, 4.0]]},
                payload={"document": "named"},
            )
        ],
    )
    client.close()
    return folder


@pytest.mark.parametrize("name", ["chroma", "lancedb", "qdrant"])
def test_texts_properties_and_vectors(request, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = request.getfixturevalue(name)
        before = digests(folder)
        repo = ibidem.init("memory:")
        with pytest.raises(InvalidInputError, match="does not name the model of its vectors"):
            importing.load(repo, folder)
        assert repo.head is None
        report = importing.load(repo, folder, model="m")
        again = importing.load(repo, folder, model="m")
    assert digests(folder) == before
    assert report.format == name
    assert again.commits == ()
    nodes = repo.query(label="notes", limit=None)
    assert len(nodes) == COUNT
    for node in nodes:
        number = node.props["number"]
        assert node.summary == f"text {number}"
        assert (node.props["half"], node.props["even"]) == (number / 2, number % 2 == 0)
        external = number if name == "qdrant" else f"i{number}"
        assert node.props["external_id"] == external
        assert node.id == ibidem.node_id(name, ["notes", external])
    vectors = {
        id_: one.to_array().tolist() for model, id_, one in repo.at().vectors() if model == "m"
    }
    assert vectors == {node.id: vector(node.props["number"]) for node in nodes}
    metric = repo.at().config.models["m"].metric
    assert metric == ("cosine" if name == "lancedb" else "dot")
    best = repo.retrieve("text 7", limit=1).items[0]
    assert best.node.props["number"] == 7


def test_named_and_sparse_vectors_of_qdrant(qdrant):
    repo = ibidem.init("memory:")
    report = importing.load(repo, qdrant, model="m")
    assert report.omitted == {"vector of several vectors": 1}
    (node,) = repo.query(label="named")
    assert node.summary == "named"
    assert repo.at().vector(node.id, "a").to_array().tolist() == [1, 2]
    indices, weights = repo.at().sparse(node.id, "s").to_arrays()
    assert (indices.tolist(), weights.tolist()) == ([1, 3], [0.25, 0.5])


@pytest.mark.parametrize("name", ["chroma", "lancedb", "qdrant"])
def test_damaged_folders_are_errors_of_ours(request, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = request.getfixturevalue(name)
        repo = ibidem.init("memory:")
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix in (".sqlite3", ".sqlite", ".lance"):
                file.write_bytes(b"\0" * 100)
        with pytest.raises(IbidemError):
            importing.load(repo, folder, model="m", format=name)
        with pytest.raises(IbidemError):
            importing.load(repo, folder.parent, model="m", format=name)
    assert repo.head is None

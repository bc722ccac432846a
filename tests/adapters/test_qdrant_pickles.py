"""A folder of Qdrant holds pickles: points are taken from them, and nothing is run."""

from __future__ import annotations

import os
import pickle
import sqlite3
import sys
import types

import pytest

import ibidem
from ibidem.adapters import importing
from ibidem.errors import InvalidInputError

MODULE = "qdrant_client.http.models.models"


class PointStruct:
    """Pickled as pydantic does it."""

    __module__ = MODULE
    __qualname__ = "PointStruct"

    def __init__(self, **fields):
        self.fields = fields

    def __getstate__(self):
        return {"__dict__": self.fields, "__pydantic_fields_set__": {"id"}}


class Harmful:
    def __reduce__(self):
        return os.system, ("touch harm",)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    module = types.ModuleType(MODULE)
    module.PointStruct = PointStruct
    for name in ("qdrant_client", "qdrant_client.http", "qdrant_client.http.models"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, MODULE, module)
    monkeypatch.chdir(tmp_path)

    def make(*points):
        place = tmp_path / "qdrant" / "collection" / "notes"
        place.mkdir(parents=True)
        (tmp_path / "qdrant" / "meta.json").write_text('{"collections": {"notes": {}}}')
        connection = sqlite3.connect(place / "storage.sqlite")
        connection.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        for number, point in enumerate(points):
            data = point if isinstance(point, bytes) else pickle.dumps(point)
            connection.execute("INSERT INTO points VALUES (?, ?)", (str(number), data))
        connection.commit()
        connection.close()
        return tmp_path / "qdrant"

    return make


def test_points_are_taken(folder):
    repo = ibidem.init("memory:")
    point = PointStruct(id=7, vector=[1.0, 2.0], payload={"text": "tea", "n": 1})
    report = importing.load(repo, folder(point), model="m")
    assert (report.format, report.nodes_added, report.vector_count) == ("qdrant", 1, 1)
    (node,) = repo.at().nodes()
    assert (node.summary, dict(node.props)) == ("tea", {"n": 1, "external_id": 7})


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        (Harmful(), "got an object of posix.system, expected a point"),
        (PointStruct(id=1, vector=None, payload={"x": Harmful()}), "posix.system"),
        (b"not a pickle", "point 0: not a pickle"),
        (["a list"], "point: got list, expected a point"),
        (PointStruct(id=None, vector=None, payload=None), "point 0: id: got None"),
        (PointStruct(id=1, vector=None, payload=[1]), "point 0: payload: got"),
    ],
)
def test_anything_else_is_refused_and_not_run(folder, point, expected, tmp_path):
    repo = ibidem.init("memory:")
    with pytest.raises(InvalidInputError) as caught:
        importing.load(repo, folder(point), model="m")
    assert expected in str(caught.value)
    assert repo.head is None
    assert not (tmp_path / "harm").exists()

"""Repositories that mnem wrote, read from its file."""

from __future__ import annotations

import pytest

import ibidem
from ibidem.adapters import importing
from ibidem.errors import IbidemError

pymnem = pytest.importorskip("pymnem")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("mnem") / "graph.redb"
    repo = pymnem.Repo.open_or_init(str(path))
    with repo.transaction("ada", "seed") as tx:
        for number in range(1000):
            content = b"c" * 200_000 if number == 5 else None
            props = {"number": number, "half": number / 2, "even": number % 2 == 0, "text": "é"}
            tx.add_node("Doc", summary=f"text {number}", props=props, content=content)
            if number % 2 == 0:
                tx.add_embedding_f32("m", [float(number), 1.0, 2.0])
    note = repo.commit_node("ada", "more", "Note", "draft", {"a": 1}, b"bytes")
    repo.update_node("ada", "change", note, summary="final")
    repo.delete_node("ada", "delete", repo.commit_node("ada", "more", "Note", "wrong"))
    expected = {one["node_id"]: one for one in repo.query(limit=10_000)}
    del repo
    return path, expected


def test_what_mnem_has_is_there(file):
    path, expected = file
    repo = ibidem.init("memory:")
    before = path.read_bytes()
    report = importing.load(repo, path)
    assert report.format == "mnem"
    assert (report.nodes_added, report.vector_count) == (1001, 500)
    assert path.read_bytes() == before
    found = {str(node.id): node for node in repo.at().nodes()}
    assert found.keys() == {id_.replace("-", "") for id_ in expected}
    for id_, one in expected.items():
        node = found[id_.replace("-", "")]
        assert (node.summary, dict(node.props)) == (one["summary"], one["props"])
        if node.props.get("number") == 5:
            assert repo.at().content(node.id) == b"c" * 200_000
        if node.props.get("even"):
            vector = repo.at().vector(node.id, "m").to_array()
            assert vector.tolist() == [float(node.props["number"]), 1, 2]
    assert importing.load(repo, path).commits == ()


def test_a_damaged_file_is_an_error_of_ours(file, tmp_path):
    data = file[0].read_bytes()
    damaged = tmp_path / "damaged.redb"
    stopped = 0
    for start in range(9, len(data), 9973):
        damaged.write_bytes(data[:start] + bytes([data[start] ^ 0xFF]) + data[start + 1 :])
        try:
            importing.load(ibidem.init("memory:"), damaged, dry_run=True)
        except IbidemError:
            stopped += 1
    assert stopped
    for size in (5, 100, 5000, len(data) // 2):
        damaged.write_bytes(data[:size])
        with pytest.raises(IbidemError):
            importing.load(ibidem.init("memory:"), damaged, format="mnem")

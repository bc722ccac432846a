"""JSON lines hold the whole graph: what is exported and imported has the same root."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ibidem
from ibidem.adapters import exporting, importing
from ibidem.errors import ErrorKind, InvalidInputError, NotFoundError


@pytest.fixture
def repo():
    repo = ibidem.init("memory:")
    with repo.transaction(author="ada", message="everything", time=1) as tx:
        one = tx.add_node(
            "T",
            summary="one",
            context_sentence="of two",
            key=["k", b"\x00\xff"],
            namespace="n",
            props={"float": 1.0, "int": 1, "bytes": b"hi", "map": {"/": "x"}, "root": tx.base.cid},
            content="long " * 5000,
        )
        two = tx.add_node("U", summary="two", content=b"\x80" * 9000)
        gone = tx.add_node("T", summary="gone", content=b"\x80" * 9000)
        tx.add_edge(one, "cites", two, weight=0.5, props={"z": [1, None, True]}, key="q")
        tx.add_edge(one, "cites", gone)
        tx.set_vector(one, model="m", vector=[1, 2, 3])
        tx.set_vector(two, model="half", vector=np.array([1, 2], dtype=np.float16))
        tx.set_vector(two, model="bytes", vector=np.array([1, -2], dtype=np.int8))
        tx.set_sparse(one, vocab="v", indices=[3, 1], weights=[0.5, 0.25])
        tx.conversations.append("thread", [("user", "hello"), ("assistant", "ho")], time=1)
        tx.ingest(text="# A\n\nhello\n\n## B\n\nworld\n", path="a.md")
        tx.tombstone(gone, reason="wrong")
    return repo


def lines(repo, **options):
    stream = io.BytesIO()
    report = exporting.export(repo, stream, format="ndjson", **options)
    return stream.getvalue(), report


def imported(tmp_path, data, **options):
    file = tmp_path / "graph.ndjson"
    file.write_bytes(data)
    other = ibidem.init("memory:")
    return other, importing.load(other, file, **options)


@pytest.mark.parametrize("batch", [None, 3])
def test_the_root_is_the_same(repo, tmp_path, batch):
    data, exported = lines(repo, include_tombstoned=True)
    assert (exported.root, exported.omitted) == (repo.at().root_cid, {})
    other, report = imported(tmp_path, data, batch=batch)
    assert other.at().root_cid == repo.at().root_cid
    assert lines(other, include_tombstoned=True)[0] == data
    assert report.nodes_added == exported.node_count
    assert len(report.commits) == (1 if batch is None else 7)


def test_what_was_forgotten_stays_out(repo, tmp_path):
    data, exported = lines(repo)
    assert b"gone" not in data
    assert exported.omitted == {
        "edge of a node that was forgotten": 1,
        "node that was forgotten": 1,
    }
    other, _ = imported(tmp_path, data)
    assert [node.id for node in other.at().nodes()] == [node.id for node in repo.at().nodes()]


def test_the_same_input_twice_changes_nothing(repo, tmp_path):
    data, exported = lines(repo, include_tombstoned=True)
    other, _ = imported(tmp_path, data)
    head = other.head
    again = importing.load(other, tmp_path / "graph.ndjson")
    assert (other.head, again.commits, again.nodes_added) == (head, (), 0)
    assert again.nodes_unchanged == exported.node_count - 1
    assert again.omitted == {"node that was forgotten here": 1}


def test_a_dry_run_counts_the_same_and_changes_nothing(repo, tmp_path):
    data, _ = lines(repo)
    other, dry = imported(tmp_path, data, dry_run=True)
    assert other.head is None
    report = importing.load(other, tmp_path / "graph.ndjson")
    assert dry.to_dict() | {"is_dry_run": False, "commits": list(map(str, report.commits))} == (
        report.to_dict()
    )


def test_an_import_that_was_interrupted_goes_on(repo, tmp_path):
    data, _ = lines(repo)
    broken = data.replace(b'"vector"', b'"wector"', 1)
    file = tmp_path / "broken.ndjson"
    file.write_bytes(broken)
    other = ibidem.init("memory:")
    with pytest.raises(InvalidInputError, match=r"broken.ndjson: line \d+: json: got 'wector'"):
        importing.load(other, file, batch=4)
    assert other.head is not None
    whole = tmp_path / "whole.ndjson"
    whole.write_bytes(data)
    report = importing.load(other, whole, batch=4)
    assert 0 < report.nodes_added < report.nodes_added + report.nodes_unchanged
    assert lines(other)[0] == data


def test_bad_input_names_file_and_line_and_changes_nothing(tmp_path):
    good = {"node": {"ntype": "T", "summary": "one", "name": "one"}}
    for bad, expected in (
        (b"{", "line 2: json:"),
        (b'{"node":{}}', "line 2: node.ntype: missing"),
        (b'{"node":{"ntype":"T","props":{"a":{"/":"x"}}}}', "line 2: node.props.a: cid: got 'x'"),
        (b'{"vector":{"node":"two","model":"m","values":[1]}}', "line 2: vector.node: got 'two'"),
        (b'{"node":{"ntype":"T","id":"xyz"}}', "line 2: "),
    ):
        with pytest.raises(InvalidInputError) as caught:
            imported(tmp_path, json.dumps(good).encode() + b"\n" + bad)
        assert f"graph.ndjson: {expected}" in str(caught.value)
    other = ibidem.init("memory:")
    with pytest.raises(InvalidInputError):
        importing.load(other, tmp_path / "graph.ndjson")
    assert other.head is None


def test_an_edge_to_nothing_is_counted(tmp_path):
    edge = {"edge": {"source": "0" * 32, "etype": "e", "target": "1" * 32}}
    _, report = imported(tmp_path, json.dumps(edge).encode())
    assert report.omitted == {"edge to or from a node that is not there": 1}


def test_limits_and_arguments(repo, tmp_path):
    data, _ = lines(repo)
    with pytest.raises(InvalidInputError) as caught:
        imported(tmp_path, data, limits=importing.ImportLimits(record_count_max=3))
    assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED
    file = tmp_path / "graph.ndjson"
    with pytest.raises(NotFoundError):
        importing.load(repo, tmp_path / "nothing.ndjson")
    with pytest.raises(InvalidInputError, match="format: got 'x'"):
        importing.load(repo, file, format="x")
    with pytest.raises(InvalidInputError, match="batch: got 0"):
        importing.load(repo, file, batch=0)
    with pytest.raises(InvalidInputError, match="exists already"):
        exporting.export(repo, file)
    with pytest.raises(InvalidInputError, match="format: got None"):
        exporting.export(repo, tmp_path / "graph")


def test_another_configuration_is_named(repo, tmp_path):
    data, _ = lines(repo)
    file = tmp_path / "graph.ndjson"
    file.write_bytes(data)
    other = ibidem.init("memory:", config=ibidem.Config(fields=("summary",)))
    with other.transaction() as tx:
        tx.configure(related=True)
    report = importing.load(other, file)
    assert report.omitted == {"setting that is another here: fields": 1}


def test_a_restricted_viewer_exports_what_he_sees_and_imports_nothing(tmp_path):
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.set_trust_policy(ibidem.TrustPolicy())
        low = tx.add_node("Fact", summary="open", props={"level": 1})
        high = tx.add_node("Fact", summary="secret", props={"level": 3})
        tx.add_edge(low, "knows", high)
        for node in (low, high):
            tx.set_vector(node, model="m", vector=[1, 2])
    viewer = ibidem.Viewer(level="low", scopes=())
    data, report = lines(repo, viewer=viewer)
    assert (report.node_count, report.edge_count, report.vector_count) == (1, 0, 1)
    assert b"secret" not in data
    restricted = repo.as_viewer(viewer)
    assert lines(restricted)[0] == data
    file = tmp_path / "graph.ndjson"
    file.write_bytes(data)
    with pytest.raises(InvalidInputError) as caught:
        importing.load(restricted, file)
    assert caught.value.kind is ErrorKind.NOT_PERMITTED


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), 1 << 63)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["/", "bytes", "map", "a", ""]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_any_value_is_read_as_it_was_written(value, key):
    key = "k" if key is None else key
    given_ = ibidem.NodeRecord(None, "T", None, None, {"value": value}, namespace="n", key=key)
    assert ibidem.parse_record(ibidem.format_record(given_)) == given_


def test_a_thread_with_a_forgotten_message_is_exported(tmp_path):
    repo = ibidem.init("memory:")
    repo.conversations.append("thread", [("user", "first"), ("user", "second")], time=1)
    first = repo.conversations.messages("thread")[0]
    with repo.transaction() as tx:
        tx.tombstone(first.id)
    data, _ = lines(repo)
    assert b"first" not in data
    other, _ = imported(tmp_path, data)
    assert [one.text for one in other.conversations.messages("thread")] == ["second"]
    assert other.maintenance.fsck().faults == ()

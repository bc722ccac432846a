"""One line of JSON lines: every form, and every way to refuse one with its field named."""

import base64
import contextlib
import io
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ibidem
from ibidem.ingest import ndjson
from ibidem.ingest.ndjson import LINE_BYTES_MAX, read_lines
from ibidem.ingest.record import (
    EdgeRecord,
    NodeRecord,
    RemoveRecord,
    SparseRecord,
    TombstoneRecord,
    UpdateRecord,
    format_record,
    is_record_line,
    parse_record,
)
from ibidem.ingest.report import IngestReport
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import EdgeId, NodeId

HEX = "0123456789abcdef" * 2


def parse(value):
    return parse_record(json.dumps(value).encode())


def test_a_node_line_is_read():
    record = parse(
        {
            "node": {
                "name": "a",
                "ntype": "T",
                "summary": "s",
                "props": {"n": [1, 2.5, None]},
                "content": "é",
                "key": ["k", 1],
                "namespace": "ns",
                "context_sentence": "c",
            }
        }
    )
    assert record == NodeRecord(
        "a", "T", "s", "c", {"n": [1, 2.5, None]}, "é".encode(), "ns", ["k", 1]
    )
    assert parse({"node": {"ntype": "T", "content_base64": "AAE="}}).content == b"\0\1"


def test_references_are_names_ids_or_keys():
    edge = parse({"edge": {"source": "a", "etype": "cites", "target": HEX, "weight": 2}})
    assert edge == EdgeRecord("a", "cites", NodeId.parse(HEX), 2.0, {}, None)
    edge = parse(
        {
            "edge": {
                "source": {"namespace": "document", "key": "a.md"},
                "etype": "x",
                "target": {"key": 1},
            }
        }
    )
    assert (edge.source, edge.target) == (node_id("document", "a.md"), node_id("", 1))


def test_vectors_are_read_from_numbers_and_from_bytes():
    data = base64.b64encode(np.array([1, 2.5], dtype="<f4").tobytes()).decode()
    for body in ({"values": [1, 2.5]}, {"base64_f32": data}):
        record = parse({"vector": {"node": "a", "model": "m", **body}})
        assert record.values.dtype == np.float32
        assert record.values.tolist() == [1.0, 2.5]


def test_the_other_forms_are_read():
    assert parse(
        {"sparse": {"node": "a", "vocab": "v", "indices": [1, 7], "weights": [0.5, 1]}}
    ) == SparseRecord("a", "v", (1, 7), (0.5, 1.0))
    assert parse({"remove": {"edge": HEX}}) == RemoveRecord(None, EdgeId.parse(HEX))
    assert parse({"remove": {"node": "a"}}) == RemoveRecord("a", None)
    values = {"summary": None, "content": b"long", "set_props": {"x": b"1"}, "unset_props": ("y",)}
    body = {"node": "a", "summary": None, "content": "long", "unset_props": ["y"]}
    given = {"update": {**body, "set_props": {"x": {"/": {"bytes": "MQ"}}}}}
    assert parse(given) == UpdateRecord("a", values)
    assert parse_record(format_record(parse(given))) == parse(given)
    cleared = parse({"update": {"node": "a", "content": None, "tail": ""}})
    assert cleared == UpdateRecord("a", {"content": None, "tail": ""})
    assert parse_record(format_record(cleared)) == cleared
    assert parse_record(format_record(UpdateRecord("a", {"content": b"", "tail": ""}))) == cleared
    assert parse({"tombstone": {"node": "a", "reason": "r"}}) == TombstoneRecord("a", "r")


NODE = '{"node": {"ntype": "T", "props": {"x": %s}}}'


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "column"),
        ("[]", "json: got"),
        ('{"node": {}, "edge": {}}', "json: got"),
        ('{"nod": {}}', "'nod'"),
        ("{}", "json: got"),
        ('{"node": 1}', "node: got 1"),
        ('{"node": {}}', "node.ntype: missing"),
        ('{"node": {"ntype": ""}}', "node.ntype"),
        ('{"node": {"ntype": 1}}', "node.ntype"),
        ('{"node": {"ntype": "T", "sumary": 1}}', "unknown field 'sumary'"),
        ('{"node": {"ntype": "T", "ntype": "U"}}', "'ntype' stands twice"),
        (NODE % '{"a": 1, "a": 1}', "'a' stands twice"),
        (NODE % "NaN", "NaN"),
        (NODE % "-Infinity", "-Infinity"),
        (NODE % "1e999", "node.props.x"),
        (NODE % "-0.0", "without a sign"),
        (NODE % '"\\ud800"', "lone surrogates"),
        (NODE % '{"\\udfff": 1}', "lone surrogates"),
        (NODE % "[1, 36893488147419103232]", "node.props.x[1]"),
        (NODE % ("[" * 70 + "]" * 70), "60 levels"),
        (NODE % ("9" * 5000), "digits"),
        ("[" * 200_000, "json: nested"),
        ('{"node": {"ntype": "T", "content": "a", "content_base64": "AA=="}}', "either"),
        ('{"node": {"ntype": "T", "content_base64": "A"}}', "node.content_base64"),
        ('{"node": {"ntype": "T", "key": null}}', "node.key"),
        ('{"node": {"ntype": "T", "namespace": "n"}}', "node.namespace"),
        ('{"node": {"ntype": "T", "namespace": "document", "key": "a.md"}}', "node.namespace"),
        ('{"node": {"ntype": "T", "name": "' + HEX + '"}}', "node.name"),
        ('{"edge": {"source": "a", "target": "b"}}', "edge.etype: missing"),
        ('{"edge": {"source": 1, "etype": "e", "target": "b"}}', "edge.source"),
        ('{"edge": {"source": "a", "etype": "e", "target": "b", "weight": true}}', "edge.weight"),
        (
            '{"edge": {"source": "a", "etype": "e", "target": {"key": 1, "x": 2}}}',
            "edge.target: unknown field",
        ),
        ('{"update": {"node": "a"}}', "a field to change"),
        ('{"update": {"summary": "x"}}', "update.node: missing"),
        ('{"update": {"node": "a", "ntype": null}}', "update.ntype"),
        ('{"update": {"node": "a", "unset_props": [1]}}', "update.unset_props[0]"),
        ('{"update": {"node": "a", "set_props": 1}}', "update.set_props"),
        ('{"vector": {"node": "a", "model": "m"}}', "either"),
        ('{"vector": {"node": "a", "model": "m", "values": []}}', "vector"),
        ('{"vector": {"node": "a", "model": "m", "values": [1, "2"]}}', "vector.values[1]"),
        ('{"vector": {"node": "a", "model": "m", "values": [1e300]}}', "vector.values[0]"),
        ('{"vector": {"node": "a", "model": "m", "base64_f32": "AAA="}}', "divisible by 4"),
        ('{"vector": {"node": "a", "model": "m", "base64_f32": "AADAfw=="}}', "finite"),
        ('{"vector": {"node": "a", "model": "m", "values": 5}}', "a list"),
        ('{"vector": {"node": "a", "model": "m", "values": [true]}}', "vector.values[0]"),
        (
            '{"sparse": {"node": "a", "vocab": "v", "indices": [2, 1], "weights": [1, 1]}}',
            "sparse.indices[1]",
        ),
        (
            '{"sparse": {"node": "a", "vocab": "v", "indices": [1, 1], "weights": [1, 1]}}',
            "sparse.indices[1]",
        ),
        (
            '{"sparse": {"node": "a", "vocab": "v", "indices": [-1], "weights": [1]}}',
            "sparse.indices[0]",
        ),
        (
            '{"sparse": {"node": "a", "vocab": "v", "indices": [1], "weights": []}}',
            "sparse.weights",
        ),
        ('{"remove": {}}', "either"),
        ('{"remove": {"edge": "x"}}', "EdgeId"),
        ('{"tombstone": {}}', "tombstone.node: missing"),
    ],
)
def test_a_line_that_is_wrong_is_refused_with_its_field(line, says):
    with pytest.raises(InvalidInputError) as caught:
        parse_record(line.encode())
    assert says in str(caught.value)
    assert len(str(caught.value)) < 600


def test_bytes_that_are_not_utf8_are_refused():
    with pytest.raises(InvalidInputError, match="byte 1 is not UTF-8"):
        parse_record(b'"\xff"')


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_a_record_or_a_typed_error(line):
    is_record_line(line)
    with contextlib.suppress(InvalidInputError):
        parse_record(line)


def test_lines_are_counted_and_blank_ones_left_out():
    stream = io.BytesIO(b"\xef\xbb\xbf\n {} \r\n\n\t\n[]")
    assert list(read_lines(stream)) == [(2, b" {} \r\n"), (5, b"[]")]


def test_a_line_over_the_limit_is_passed_over_without_holding_it(monkeypatch):
    monkeypatch.setattr(ndjson, "LINE_BYTES_MAX", 1000)
    lines = list(
        read_lines(
            io.BytesIO(b"a" * 1000 + b"\n" + b"b" * 1001 + b"\n" + b"c" * 5000 + b"\n" + b"d")
        )
    )
    assert lines == [(1, b"a" * 1000 + b"\n"), (2, None), (3, None), (4, b"d")]


class Endless(io.RawIOBase):
    """A stream of 100 MB without a line feed, made as it is read."""

    left = 100 << 20

    def readable(self):
        return True

    def readinto(self, buffer):
        size = min(len(buffer), self.left)
        buffer[:size] = b"x" * size
        self.left -= size
        return size


def test_a_line_of_100_mb_is_refused_in_bounded_memory():
    tracemalloc.start()
    lines = list(read_lines(io.BufferedReader(Endless())))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lines == [(1, None)]
    assert peak_bytes < 3 * LINE_BYTES_MAX


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"node": {"ntype": "T", "id": "x"}}, "node.id: got 'x', expected 32"),
        ({"node": {"ntype": "T", "children": [{"lead": ""}]}}, "node.children[0].id: got None"),
        ({"node": {"ntype": "T", "children": [{"id": "0" * 32}]}}, "node.children[0].size_bytes"),
        (
            {"node": {"ntype": "T", "props": {"a": {"/": {"bytes": "?"}}}}},
            "node.props.a: not base64",
        ),
        ({"node": {"ntype": "T", "props": {"/": {"bytes": "aGk"}}}}, "node.props: got"),
        ({"node": {"ntype": "Passage", "namespace": "passage", "key": 1}}, "node.namespace: got"),
        ({"vector": {"node": "a", "model": "m", "base64_f16": "AA=="}}, "divisible by 2"),
        ({"vector": {"node": "a", "model": "m", "values": [1], "of": "00"}}, "vector.of: got '00'"),
        ({"model": {"name": "m"}}, "dim"),
        ({"model": {"name": "m", "dim": 0}}, "model.dim"),
    ],
)
def test_the_forms_of_exports_are_checked_too(line, says):
    with pytest.raises(InvalidInputError) as caught:
        parse_record(json.dumps(line).encode())
    assert says in str(caught.value)


def test_an_update_comes_after_the_nodes_wherever_it_stands():
    lines = [
        b'{"update": {"node": {"key": 1}, "summary": "new", "unset_props": ["x"]}}',
        b'{"node": {"ntype": "T", "key": 1, "summary": "old", "props": {"x": 1, "y": 2}}}',
    ]
    roots = set()
    with ibidem.init("memory:") as repo:
        for given in (lines, lines, lines[::-1]):
            with repo.transaction() as tx:
                data = io.BytesIO(b"\n".join(given))
                ndjson.ingest_records(tx, data, "lines", IngestReport(), strict=True)
            (node,) = repo.query(label="T")
            assert (node.summary, dict(node.props)) == ("new", {"y": 2})
            roots.add(repo.at().root_cid)
    assert len(roots) == 1

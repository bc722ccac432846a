"""Nodes and edges of any shape survive their blocks, with either engine and by either reader."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from tests.examples import examples

from ibidem.objects import codec
from ibidem.objects.derive import content_node_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.node import Node
from ibidem.objects.verify import read_foreign

from .strategies import VALUES, edges, nodes

QUICK = settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@QUICK
@given(node=nodes())
def test_node_survives_its_block(engine, node):
    block = node.encode()
    assert Node.decode(block) == node == read_foreign(block)
    assert block == codec.encode(node.to_map())


@QUICK
@given(edge=edges())
def test_edge_survives_its_block(engine, edge):
    block = edge.encode()
    assert Edge.decode(block) == edge == read_foreign(block)
    assert block == codec.encode(edge.to_map())


@QUICK
@given(first=VALUES, second=VALUES)
def test_ids_are_equal_when_the_bytes_of_the_keys_are(first, second):
    same = codec.encode(first) == codec.encode(second)
    assert (node_id("", first) == node_id("", second)) == same


@QUICK
@given(node=nodes())
def test_content_id_does_not_depend_on_the_id_of_the_node(node):
    fields = node.to_map()
    assert content_node_id(fields) == content_node_id({**fields, "id": bytes(16)})
    assert content_node_id(fields) != content_node_id({**fields, "ntype": node.ntype + "x"})

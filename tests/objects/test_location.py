"""What a source comes to is computed before anything is put together, and refused where it is over.

Spec: format 5.1, 7.
"""

import tracemalloc

import pytest

from ibidem.objects.child import Child
from ibidem.objects.constants import DOCUMENT_BYTES_MAX, DOCUMENT_DEPTH_MAX
from ibidem.objects.derive import node_id
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.objects.location import Measure, Measures, Part, source_text
from ibidem.objects.node import Node


def section(name, *children, tail=""):
    listed = tuple(Child(node_id("", child), "", 1, 0) for child in children)
    return Node(node_id("", name), "Section", key=("", name), children=listed, tail=tail)


def passage(name, text):
    return Node(node_id("", name), "Passage", text, key=("", name))


def source_of(*nodes):
    by_id = {node.id: node for node in nodes}
    return source_text(nodes[0].id, by_id.__getitem__)


def doubling(levels, below):
    """Sections that each list two which both list the two of the next level: 2^levels ways down."""
    nodes = [section("top", "0a", "0b")]
    for level in range(levels):
        parts = ("end",) if level == levels - 1 else (f"{level + 1}a", f"{level + 1}b")
        nodes += [section(f"{level}{side}", *parts) for side in "ab"]
    return [*nodes, below]


@pytest.mark.parametrize("text", ["", "x"])
def test_a_source_over_the_limits_is_refused_before_it_is_put_together(text):
    with pytest.raises(CorruptError) as error:
        source_of(*doubling(60, passage("end", text)))
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    assert "expected at most" in str(error.value)


def test_a_large_part_that_is_listed_often_takes_no_memory():
    nodes = doubling(8, passage("end", "x" * (1 << 19)))
    tracemalloc.start()
    with pytest.raises(CorruptError) as error:
        source_of(*nodes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    assert str(DOCUMENT_BYTES_MAX) in str(error.value)
    assert peak < 1 << 20


def test_a_part_that_two_sections_list_counts_twice():
    nodes = [
        section("top", "one", "two"),
        section("one", "same"),
        section("two", "same", tail="."),
        passage("same", "né"),
    ]
    assert source_of(*nodes) == "néné."
    by_id = {node.id.raw: node for node in nodes}

    def read(id_):
        node = by_id[id_]
        return Part.of(node) if node.children else Part(3)

    assert Measures(read).of(nodes[0].id.raw) == Measure(7, 5, 3)


@pytest.mark.parametrize("extra", [0, 1])
def test_sixty_four_parts_may_stand_inside_each_other_and_no_more(extra):
    count = DOCUMENT_DEPTH_MAX - 1 + extra
    nodes = [section(str(at), str(at + 1)) for at in range(count)]
    nodes.append(passage(str(count), "deep"))
    if not extra:
        assert source_of(*nodes) == "deep"
        return
    with pytest.raises(CorruptError) as error:
        source_of(*nodes)
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED


def test_a_part_that_contains_itself_is_refused():
    with pytest.raises(CorruptError, match="contains itself"):
        source_of(section("a", "b"), section("b", "c"), section("c", "a"))

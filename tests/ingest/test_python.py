"""Python source: passages of definitions under their names, byte for byte."""

import ast
import inspect
import json
import string
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.ingest.document import read_document
from ibidem.ingest.mark import Heading
from ibidem.ingest.python import python_marks
from ibidem.objects.location import source_text

from .strategies import FREE
from .trees import nodes_of, read

LINES = st.sampled_from(
    [
        "def f(a, b=(1,", "        2)):", "    return 1", "class A(B):", "    x = 1",
        "    def m(self):", "        '''Doc.'''", "    @property", "@decorator", "async def g():",
        "# comment", "    # comment", '"""', "'''", "x = [", "]", "if a:", "else:", "\\",
        "'\"", "f'{x[\"a\"]}'",
        "\tdef t(): pass", "def f", "class", "\x0c", "x" * 4100, "    " + "y" * 4100, "é = 'ü'",
    ]
)  # fmt: skip
SOURCES = (
    st.lists(
        st.tuples(LINES | FREE, st.sampled_from(["\n", "\n", "\n\n", "\r\n", "\r"])), max_size=25
    ).map(lambda pairs: "".join(line + end for line, end in pairs))
    | FREE
)
SOURCE = '''\
"""A module."""

import os

# Tries again.
@retry
def call(
    deadline,
):
    """Calls."""

    def inner(): pass

    return 1


LIMIT = 5

class Client(Base):
    """A client."""

    timeout = 3

    # On open connections.
    async def close(self):
        await self.x

    class Inner:
        def deep(self): return "def no(): pass"

if __name__ == "__main__":
    call(1)
'''


def parts(source):
    nodes = read(source, "a.py")
    (document,) = (node for node in nodes.values() if node.ntype == "Document")

    def below(node, path):
        for child in node.children:
            part = nodes[child.id]
            if part.ntype == "Passage":
                yield ".".join(path), part.summary
            else:
                yield from below(part, (*path, part.summary))

    return list(below(document, ()))


def test_a_definition_is_a_passage_under_the_names_that_it_stands_in():
    found = parts(SOURCE)
    assert [name for name, _ in found] == [
        "", "", "call", "", "Client", "Client.close", "Client.Inner", "Client.Inner.deep", "",
    ]  # fmt: skip
    texts = dict(found)
    assert texts["call"].startswith("# Tries again.\n@retry\ndef call(")
    assert texts["call"].endswith("return 1")
    assert texts["Client"] == 'class Client(Base):\n    """A client."""\n\n    timeout = 3'
    assert texts["Client.close"].startswith("    # On open connections.\n    async def")


@pytest.mark.parametrize("module", [ast, inspect, json, string, tokenize])
def test_the_names_are_those_that_the_parser_of_python_finds(module):
    source = inspect.getsource(module)

    def expected(node, above):
        for child in node.body:
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield (*above, child.name)
                if isinstance(child, ast.ClassDef):
                    yield from expected(child, (*above, child.name))

    path, found = [], []
    for mark in python_marks(source):
        if isinstance(mark, Heading):
            path = [*path[: mark.level - 1], mark.text]
            found.append(tuple(path))
    assert found == list(expected(ast.parse(source), ()))


@given(source=SOURCES)
@settings(max_examples=examples(200), deadline=None)
def test_the_nodes_of_a_document_give_its_source_back(source):
    drafts = read_document("a.py", source).drafts
    nodes = nodes_of(drafts)
    assert source_text(drafts[-1].id, nodes.__getitem__) == source


@pytest.mark.parametrize(
    "source", ["x = (\n\ndef f(): pass\n", 'x = """\n\ndef f(): pass\n', "x = )\n\ny\n"]
)
def test_what_does_not_scan_is_cut_at_blank_lines(source):
    assert [name for name, _ in parts(source)] == ["", ""]


def test_hostile_sources_take_bounded_time():
    deep = "".join("  " * depth + f"class A{depth}:\n" for depth in range(300)) + "  " * 300 + "x\n"
    for source in (
        "(" * 50_000,
        '"' * 50_001,
        "'''" * 20_001,
        deep,
        "@a\n" * 20_000,
        "\\\n" * 20_000,
    ):
        assert len(read_document("a.py", source).drafts) < 50_000

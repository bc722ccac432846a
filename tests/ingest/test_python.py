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
from ibidem.ingest.split import ITEMS_CHARS_MAX
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


def test_a_long_function_is_cut_before_statements_of_its_outermost_block():
    loops = "".join(
        f"    # Step {number} of many.\n    for item{number} in range({number}):\n"
        + "".join(f"        call_{number}_{line}(item{number})\n" for line in range(9))
        + f"    else:\n        call({number})\n\n"
        for number in range(12)
    )
    found = parts(f"def long():\n{loops}")
    assert {name for name, _ in found} == {"long"}
    assert len(found) > 3
    for number, (_, text) in enumerate(found):
        assert len(text) <= ITEMS_CHARS_MAX
        assert text.startswith("    # Step" if number else "def long")


def test_a_long_comment_is_kept_together_if_it_can_be():
    code = "".join(f"    statement_{number}(1)\n" for number in range(25))
    comment = "".join(f"    # Line {number} of one long comment.\n" for number in range(20))
    texts = [text for _, text in parts(f"def f():\n{code}{comment}{code}")]
    assert any("# Line 0 " in text and "# Line 19" in text for text in texts)
    only = [text for _, text in parts(f"def f():\n{comment * 9}    return 1\n")]
    assert all(len(text) <= ITEMS_CHARS_MAX for text in only)


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
        "def f():\n" + "    # c\n" * 50_000,
        "x\n" * 100_000,
        "def f():\n" + "\t" * 500_000 + "x\n" + "    )\n" * 20_000,
    ):
        assert len(read_document("a.py", source).drafts) < 50_000

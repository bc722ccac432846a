"""reStructuredText: titles as docutils has them, blocks that stay whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.ingest.document import read_document
from ibidem.ingest.mark import LEAD_CHARS_MAX, Block, Heading
from ibidem.ingest.rst import DEPTH_MAX, rst_marks
from ibidem.objects.location import source_text

from .strategies import FREE
from .trees import nodes_of

LINES = st.sampled_from(
    [
        "Title", "=====", "-----", "~~", "===== =====", "a     b", "+---+---+", "| a | b |",
        "A paragraph::", "    literal", "  indented", "- item", "* item", "1. item", "#. item",
        ":field: value", ".. note:: text", ".. code-block:: python", "   :option: 1", ".. _target:",
        ".. [1] note", ".. comment", "..", "::", ">>> 1 + 1", "| line", "-a  option", "PEP: 8",
        "Title: A name", "__ anonymous", "x" * 4100, "Übergröße", "term", ".. function:: f(x)",
        "   " + "word " * 180, "      " + "deep " * 200, "\ttab", "\x0c", "An end:",
    ]
)  # fmt: skip
SOURCES = (
    st.lists(
        st.tuples(LINES | FREE, st.sampled_from(["\n", "\n", "\n\n", "\r\n", "\r", " \n"])),
        max_size=25,
    ).map(lambda pairs: "".join(line + end for line, end in pairs))
    | FREE
)

SAMPLES = {
    "underlines": "One\n===\n\ntext\n\nTwo\n---\n\nThree\n=====\n",
    "overlines": "=====\n One\n=====\n\nTwo\n===\n\n-----\nThree\n-----\n\nFour\n~~~~\n",
    "one after the other": "One\n===\nTwo\n---\ntext\nThree\n===\n",
    "a short underline": "A long title\n=====\n\nNot a title\n==\n",
    "inside a literal": "Text::\n\n    Title\n    =====\n\nTitle\n=====\n",
    "inside a simple table": "== ==\nT  x\n== ==\na  b\n\nc  d\n== ==\n\nOne\n===\n",
    "inside a grid table": "+---+---+\n| a | b |\n+===+===+\n| c | d |\n+---+---+\n\nOne\n===\n",
    "after a list": "- item\n\n  more\n\n- item\n\nOne\n===\n",
    "numbered": "1. Title\n========\n\n1. item\n2. item\n",
    "an option as a title": "-X Options\n----------\n\ntext\n",
    "a transition": "Text\n\n-----\n\nText\n\nOne\n===\n",
    "a paragraph's second line": "One line\nand another\n===========\n",
    "a directive": ".. note:: One\n   ===\n\nTwo\n===\n",
    "a comment": "..\n   One\n   ===\n\n.. _x:\n\nTwo\n===\n",
    "a field list": ":a: b\n:c: d\n\nOne\n===\n",
    "marks of all kinds": "One\n!!!\n\nTwo\n~~~\n\nThree\n^^^^^\n\nFour\n~~~~\n\nFive\n!!!!\n",
    "roles": "A `b` *c*\n=========\n",
}  # fmt: skip


def headings(source):
    return [(mark.level, mark.text) for mark in rst_marks(source) if isinstance(mark, Heading)]


def passages(source, path="a.rst"):
    return [
        (draft.props["format"], draft.summary)
        for draft in read_document(path, source).drafts
        if draft.ntype == "Passage"
    ]


@pytest.mark.parametrize("name", SAMPLES)
def test_titles_and_levels_are_those_of_docutils(name):
    docutils = pytest.importorskip("docutils.utils")
    from docutils import nodes
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser

    settings = get_default_settings(Parser)
    settings.report_level = settings.halt_level = 5
    document = docutils.new_document("sample", settings)
    Parser().parse(SAMPLES[name], document)

    def below(node, level):
        for child in node.children:
            if isinstance(child, nodes.section):
                yield level, child.children[0].astext()
                yield from below(child, level + 1)

    found = [
        (level, text.replace("`", "").replace("*", "")) for level, text in headings(SAMPLES[name])
    ]
    assert found == list(below(document, 1))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("underlines", [(1, "One"), (2, "Two"), (1, "Three")]),
        ("overlines", [(1, "One"), (2, "Two"), (3, "Three"), (4, "Four")]),
        ("a short underline", [(1, "A long title")]),
        ("inside a literal", [(1, "Title")]),
        ("inside a simple table", [(1, "One")]),
    ],
)
def test_levels_follow_the_order_of_the_styles(name, expected):
    assert headings(SAMPLES[name]) == expected


@given(source=SOURCES)
@settings(max_examples=examples(200), deadline=None)
def test_the_nodes_of_a_document_give_its_source_back(source):
    drafts = read_document("a.rst", source).drafts
    nodes = nodes_of(drafts)
    assert source_text(drafts[-1].id, nodes.__getitem__) == source


LONG = "A sentence of some length that says what is meant. " * 9
"""Two of them are too much for one passage."""


def outline(source):
    """Returns the headings of each passage, and the words with which it begins."""
    marks, found, above = rst_marks(source), [], []
    for mark in marks:
        if isinstance(mark, Block):
            found.append((" > ".join(text for _, text in above), source[mark.start :].split()[0:2]))
        else:
            above = [one for one in above if one[0] < mark.level]
            above += [(mark.level, mark.text)] if isinstance(mark, Heading) else []
    return [(path, " ".join(first)) for path, first in found]


def indented(text, count=3):
    return "".join(" " * count * bool(line) + line + "\n" for line in text.split("\n"))


def test_what_a_long_directive_describes_is_the_heading_of_its_text():
    method = f".. method:: get(key)\n            get(key, default)\n   :async:\n\n{indented(LONG)}"
    method += f"\n{indented(LONG)}"
    short = ".. attribute:: size\n\n   The number of entries.\n"
    body = indented(f"First of all.\n\n{method}\n{short}")
    source = f"Title\n=====\n\n.. py:class:: Cache(size)\n\n{body}\nAfter it.\n"
    assert outline(source) == [
        ("Title > Cache(size)", "First of"),
        ("Title > Cache(size) > get(key), get(key, default)", "A sentence"),
        ("Title > Cache(size) > get(key), get(key, default)", "A sentence"),
        ("Title > Cache(size)", ".. attribute::"),
        ("Title", "After it."),
    ]


def test_a_term_that_much_is_said_of_is_a_heading():
    said = f"{indented(LONG)}\n{indented(LONG)}"
    assert outline(f"``--all``\n{said}\n``--one``\n   Little.\n") == [
        ("``--all``", "A sentence"),
        ("``--all``", "A sentence"),
        ("", "``--one`` Little."),
    ]
    for sentence in ("For example:", f"{LONG}and"):
        assert {path for path, _ in outline(f"{sentence}\n{said}")} == {""}


def test_a_long_note_or_item_is_cut_where_its_paragraphs_are():
    said = f"{indented(LONG)}\n{indented(LONG)}"
    assert outline(f".. note::\n\n{said}") == [("", ".. note::"), ("", "A sentence")]
    assert outline(f".. note:: Of all\n\n{said}") == [("", ".. note::"), ("", "A sentence")]
    assert outline(f"* Of all\n\n{indented(said, 2)}\n* Of one\n") == [
        *[("", "* Of"), ("", "A sentence"), ("", "A sentence"), ("", "* Of")]
    ]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (".. function:: f(a, \\\n               b)", "f(a, b)"),
        (".. option:: -m MODULE,\n            --module MODULE", "-m MODULE, --module MODULE"),
        (".. signature::\n   file(READ <name>)", "file(READ <name>)"),
        (f".. class:: X({'a, ' * 80})", "X"),
        (f".. class:: X\n   :members: {'many, ' * 600}", "X"),
        (f".. class:: {'X' * 300}", None),
        (".. grid:: 1 2 3", None),
        (".. impl-detail::\n   A sentence,\n   which goes on.", None),
        ("-----", None),
        ("\u8bf4\u660e\uff1a", None),
        ("Why so\u2026", None),
    ],
)
def test_a_heading_is_the_name_of_what_is_described(head, name):
    gap = "\n\n" if head.startswith("..") else "\n"
    source = f"{head}{gap}{indented(LONG)}\n{indented(LONG)}"
    assert {path for path, _ in outline(source)} == {name or ""}
    drafts = read_document("a.rst", source).drafts
    assert source_text(drafts[-1].id, nodes_of(drafts).__getitem__) == source


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("* .. attribute:: RESTRICT\n\n      ", [("RESTRICT", "A sentence")] * 2),
        ("- name\n      ", [("name", "A sentence")] * 2),
        ("1.\n\n    ", [("", "1. A"), ("", "A sentence")]),
        ("-a X  Y\n         ", [("", "-a X"), ("", "A sentence")]),
        ("term\n\tname\n        ", [("term", "name A"), ("term", "A sentence")]),
    ],
)
def test_the_text_of_an_item_begins_after_its_marker(item, expected):
    margin = item.rpartition("\n")[2]
    assert outline(f"{item}{LONG}\n\n{margin}{LONG}\n") == expected


def test_code_in_an_item_is_code():
    for head in ("- Do this::", "* .. code-block:: c", ".. Code-Block:: c"):
        found = passages(f"{head}\n\n" + "      a = f(x) {\n\n" * 100)
        assert {kind for kind, _ in found} == {"code"}
        assert read_document("a.rst", head).drafts[-1].ntype == "Document"


def test_blank_lines_take_linear_time():
    first, *_, last = passages(".. note::\n" + "\n" * 200_000 + "   x\n")
    assert (first[1], last[1]) == (".. note::", "   x")


def test_what_is_no_text_stays_whole():
    lines = "".join(f"   {number} -> {number + 1}\n\n" for number in range(90))
    assert len(outline(f".. digraph:: calls\n\n{lines}")) == 1
    code = passages(f"Call it so::\n\n{lines}")
    assert {kind for kind, _ in code} == {"code"}
    assert code[0][1].startswith("Call it so::")
    assert all(len(text) <= 820 for _, text in code)


def test_blocks_are_opened_to_a_depth_that_is_bounded():
    depth = 60
    source = "".join(f"{' ' * level}term\n" for level in range(depth)) + " " * depth + LONG * 2
    drafts = read_document("a.rst", source).drafts
    assert sum(draft.ntype == "Section" for draft in drafts) == DEPTH_MAX
    assert source_text(drafts[-1].id, nodes_of(drafts).__getitem__) == source


def test_a_block_stays_with_the_paragraph_that_introduces_it():
    source = (
        "Call it so::\n\n    retry(5)\n\n    retry(6)\n\nOr these:\n\n- one\n\n- two\n\n"
        "No more.\n\n**Fields**\n\n- three\n"
    )
    assert passages(source) == [
        ("paragraph", "Call it so::\n\n    retry(5)\n\n    retry(6)"),
        ("list", "Or these:\n\n- one\n\n- two"),
        ("paragraph", "No more."),
        ("list", "**Fields**\n\n- three"),
    ]


def test_each_kind_of_block_has_its_format():
    source = (
        ":author: Ada\n:date: today\n\n.. code-block:: python\n   :caption: x\n\n   x = 1\n\n"
        ".. note:: Mind\n\n   this.\n\n>>> 1\n1\n\n.. _a: http://b\n.. [1] c\n\n.. a comment\n\n"
        "term\n  definition\n\n== ==\na  b\n== ==\n"
    )
    assert [kind for kind, _ in passages(source)] == [
        "fields", "code", "directive", "code", "reference", "paragraph", "table",
    ]  # fmt: skip


LAYOUT = {
    "label": ".. _how-to-begin:",
    "labels": ".. _a:\n.. _`b c`:\n\n.. _d\\:e:",
    "comment": ".. to do: say more\n   of it",
    "contents": ".. contents::\n   :local:",
    "current module": ".. currentmodule:: retry",
    "meta": ".. meta::\n   :keywords: again",
    "picture": ".. |wheel| image:: wheel.png\n   :alt: wheel",
    "field": ":orphan:\n:tocdepth: 2",
}


@pytest.mark.parametrize("layout", LAYOUT.values(), ids=LAYOUT)
def test_what_a_reader_sees_nothing_of_is_no_passage(layout):
    source = f"One\n===\n\ntext\n\n{layout}\n\nTwo\n---\n\n{layout}\n\nmore\n\n{layout}\n"
    drafts = read_document("a.rst", source).drafts
    assert passages(source) == [("paragraph", "text"), ("paragraph", "more")]
    assert source_text(drafts[-1].id, nodes_of(drafts).__getitem__) == source
    assert passages(f"See:\n\n{layout}\n\n- one\n") == [("list", f"See:\n\n{layout}\n\n- one")]


def test_long_layout_is_a_passage():
    labels = [f".. _how-to-do-number-{number}:" for number in range(9)]
    source = "text\n\n" + "\n\n".join(labels) + "\n\nend\n"
    drafts = read_document("a.rst", source).drafts
    assert source_text(drafts[-1].id, nodes_of(drafts).__getitem__) == source
    found = passages(source)
    assert [kind for kind, _ in found] == ["paragraph", "reference", "paragraph"]
    comments = "\n\n".join(f".. number {number} of them" for number in range(50))
    drafts = read_document("a.rst", f"text\n\n{comments}\n").drafts
    leads = [len(child.lead) for draft in drafts for child in draft.children]
    assert max(leads) <= LEAD_CHARS_MAX


@pytest.mark.parametrize("block", [":orphan:\n:author: Ada", ".. |x| replace:: much text"])
def test_what_a_reader_sees_something_of_is_a_passage(block):
    assert [text for _, text in passages(f"{block}\n\ntext\n")] == [block, "text"]


def test_an_address_is_no_label():
    source = ".. _a:\n   http://b\n\n.. _c: http://d\n\ntext\n"
    assert [kind for kind, _ in passages(source)] == ["reference", "paragraph"]


def test_a_directive_without_text_is_in_the_passage_after_it():
    source = (
        "One\n===\n\n.. versionadded:: 3.2\n\nIt retries.\n\n.. module:: retry\n"
        "   :synopsis: again\n\n.. include:: note.txt\n\n- one\n\n.. setting:: WAIT\n\n"
        "WAIT\n----\n\nSeconds.\n\n.. image:: a.png\n"
    )
    assert passages(source) == [
        ("paragraph", ".. versionadded:: 3.2\n\nIt retries."),
        ("list", ".. module:: retry\n   :synopsis: again\n\n.. include:: note.txt\n\n- one"),
        ("paragraph", "Seconds."),
        ("directive", ".. image:: a.png"),
    ]
    long = "It retries. " * 90
    assert passages(f".. versionadded:: 3.2\n\n{long}\n")[0][0] == "directive"


def test_a_title_is_no_passage_and_a_transition_none():
    assert passages("One\n===\n\n-----\n\nTwo\n---\n") == []


def test_the_title_of_a_document_is_its_only_first_title_what_it_begins_with_or_that_of_a_pep():
    def title(source):
        return read_document("x/a.rst", source).drafts[-1].summary

    assert title("One\n===\n\nTwo\n---\n") == "One"
    assert title("text\n\nOne\n===\n\nTwo\n---\n") == "One"
    assert title(".. _one:\n\nOne\n===\n\nTwo\n===\n") == "One"
    assert title("text\n\nOne\n===\n\nTwo\n===\n") == "a.rst"
    assert title("PEP: 8\nTitle: Style Guide\n\nOne\n===\n\nTwo\n===\n") == "PEP 8 -- Style Guide"


def test_the_header_of_a_pep_is_one_passage():
    header = (
        "PEP: 8\nTitle: Style\nAuthor: A <a@e.org>,\n        B <b@e.org>\nStatus: Active\nType: X\n"
    )
    found = passages(f"{header}\nIntroduction\n============\n\nText: here\n   and more\n")
    assert found[0] == ("paragraph", header.rstrip("\n"))
    assert len(found) == 2
    assert passages(f"Text.\n\n{header}")[1][1].endswith("B <b@e.org>")


@pytest.mark.parametrize("first", ["PEP:8", "PEP:s are nice.", "PEP:\u00a08"])
def test_what_only_begins_as_a_pep_does_is_text(first):
    assert passages(f"{first}\n\nText\n") == [("paragraph", first), ("paragraph", "Text")]
    assert len(passages("PEP::\n\n    code\n")) == 1


def test_hostile_sources_take_bounded_time():
    for source in (
        "=\n" * 20_000,
        "=== ===\n" * 20_000,
        "- " * 40_000,
        ":" * 50_000,
        "a\n-\n" * 20_000,
    ):
        assert len(read_document("a.rst", source).drafts) < 50_000

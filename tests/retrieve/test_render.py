"""What is shown of a node, what it costs, and what no value can do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.answer.render import contain, render
from ibidem.retrieve.tokens import HEURISTIC

ID = NodeId(bytes(range(16)))
TEXT = st.text(max_size=30)
BREAKS = "\n\r\x0b\x0c\x85\u2028\u2029"
EDGES = f"Outgoing:\n  cites -> {'07' * 16}\n"
FULL = Node(
    id=ID,
    ntype="Doc",
    summary="what it says",
    props={
        "b": True, "a": 1, "é": "ü", "Z": -2.5, "tiny": 1e-05, "large": 1.5e16, "whole": 1.0,
        "list": [1], "map": {"x": 1}, "none": None, "bytes": b"x",
    },
)  # fmt: skip
HEAD = (
    "ntype: Doc\n"
    "id: 000102030405060708090a0b0c0d0e0f\n"
    "Z: -2.5\n"
    "a: 1\n"
    "b: true\n"
    "large: 1.5e+16\n"
    "tiny: 1e-05\n"
    "whole: 1.0\n"
    "é: ü"
)


def test_a_node_is_shown_as_its_text():
    """[8.1-a]"""
    code = "def f():\n    return 1\n"
    assert render(FULL, "what it says") == "what it says"
    assert render(FULL, code) == code


def test_what_else_is_shown_stands_before_the_text():
    """[8.1-a] [8.1-d]"""
    assert render(FULL, "text", metadata=True) == f"{HEAD}\n\ntext"
    assert render(FULL, "text", edges=EDGES) == f"{EDGES}\ntext"
    assert render(FULL, "text", metadata=True, edges=EDGES) == f"{HEAD}\n{EDGES}\ntext"


def test_a_node_without_a_text_is_shown_as_its_properties():
    """[8.1-a]"""
    assert render(FULL, "") == render(FULL, "", metadata=True) == HEAD
    assert render(FULL, "", edges=EDGES) == f"{HEAD}\n{EDGES}".rstrip("\n")


def test_long_texts_are_clipped_by_characters():
    """[8.1-b]"""
    assert render(FULL, "é" * 8193).endswith("é <...+1 chars>")
    assert "<" not in render(FULL, "é" * 8192)


@settings(max_examples=examples(200), deadline=None)
@given(TEXT.filter(bool), TEXT, st.dictionaries(TEXT, TEXT, max_size=3))
def test_no_value_and_no_text_adds_a_line_to_a_head(text, ntype, props):
    """[8.1-c]"""
    node = Node(id=ID, ntype="N" + ntype, props=props)
    shown = render(node, text, metadata=True)
    head, _, body = shown.partition("\n\n")
    lines = head.split("\n")
    own = sum(contain(key).replace("\n  ", " ").startswith("  ") for key in props)
    assert len([line for line in lines if not line.startswith("  ")]) == 2 + len(props) - own
    assert lines[0].startswith("ntype: N")
    assert body == render(node, text)
    assert not any(character in shown for character in BREAKS.replace("\n", ""))
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in shown)


def test_line_breaks_are_indented_and_controls_escaped():
    """[8.1-c]"""
    assert contain("a\r\nb\n\rc\u2028d\te\x1b[0m\x9f") == "a\n  b\n  \n  c\n  d\te\\x1b[0m\\x9f"


def test_tokens_are_counted_in_integers():
    """[8.2-a]"""
    estimate = HEURISTIC.estimate
    assert [estimate(text) for text in ("", "a", "abcd", "abcde", "é", "éé", "東京都", "aé")] == [
        0, 1, 1, 2, 1, 2, 2, 2,
    ]  # fmt: skip

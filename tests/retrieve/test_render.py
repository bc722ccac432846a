"""Rendering, token counts and what a value can not do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.answer.render import contain, render
from ibidem.retrieve.tokens import HEURISTIC

ID = NodeId(bytes(range(16)))
TEXT = st.text(max_size=30)
BREAKS = "\n\r\x0b\x0c\x85\u2028\u2029"


def test_fields_come_in_their_order_one_a_line():
    """[8.1-a] [8.1-d]"""
    node = Node(
        id=ID,
        ntype="Doc",
        summary="what it says",
        context_sentence="where it stands",
        props={
            "b": True, "a": 1, "é": "ü", "Z": -2.5, "tiny": 1e-05, "large": 1.5e16, "whole": 1.0,
            "list": [1], "map": {"x": 1}, "none": None, "bytes": b"x",
        },
        content=b"body",
    )  # fmt: skip
    assert render(node, content=b"body", content_chars=3) == (
        "ntype: Doc\n"
        "id: 000102030405060708090a0b0c0d0e0f\n"
        "context: where it stands\n"
        "summary: what it says\n"
        "Z: -2.5\n"
        "a: 1\n"
        "b: true\n"
        "large: 1.5e+16\n"
        "tiny: 1e-05\n"
        "whole: 1.0\n"
        "é: ü\n"
        "content: bod <...+1 chars>\n"
    )


def test_long_summaries_are_clipped_by_characters():
    """[8.1-b]"""
    node = Node(id=ID, ntype="Doc", summary="é" * 8193)
    assert render(node).endswith("é <...+1 chars>\n")
    assert "<" not in render(Node(id=ID, ntype="Doc", summary="é" * 8192))


def test_content_that_is_not_text_is_not_shown():
    """[8.1-a]"""
    node = Node(id=ID, ntype="Doc", content=b"\xff")
    assert "content" not in render(node, content=b"\xff", content_chars=10)
    assert "content" not in render(node, content=b"a\x00b", content_chars=10)
    assert "content" not in render(node, content=b"text", content_chars=0)


@settings(max_examples=200, deadline=None)
@given(TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=3), TEXT)
def test_no_value_starts_a_line(summary, context, props, content):
    """[8.1-c]"""
    node = Node(id=ID, ntype="N", summary=summary, context_sentence=context, props=props)
    rendered = render(node, content=content.encode(), content_chars=100)
    fields = 2 + bool(summary) + bool(context) + len(props)
    fields += bool(content) and "\x00" not in content
    starts = [line for line in rendered.split("\n")[:-1] if not line.startswith("  ")]
    own = sum(key.startswith("  ") for key in props)
    assert len(starts) == fields - own
    assert not any(character in rendered for character in BREAKS.replace("\n", ""))
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in rendered)


def test_line_breaks_are_indented_and_controls_escaped():
    """[8.1-c]"""
    assert contain("a\r\nb\n\rc\u2028d\te\x1b[0m\x9f") == "a\n  b\n  \n  c\n  d\te\\x1b[0m\\x9f"


def test_tokens_are_counted_in_integers():
    """[8.2-a]"""
    estimate = HEURISTIC.estimate
    assert [estimate(text) for text in ("", "a", "abcd", "abcde", "é", "éé", "東京都", "aé")] == [
        0, 1, 1, 2, 1, 2, 2, 2,
    ]  # fmt: skip

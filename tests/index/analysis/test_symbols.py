"""Symbols are compared with a slow oracle that reads the rules one by one."""

from __future__ import annotations

import random

import pytest

from ibidem.index.analysis import symbol_words, symbols_of

SIGNS = "!#$%&*+-/:<=>?@\\^|~"


def slow(text: str, *, at_line_begin: bool = False) -> list[str]:
    """Returns the symbols of a text by looking at each of its places."""
    found = []
    for start in range(len(text)):
        stop = start
        if text[start] not in SIGNS or (start and text[start - 1] in SIGNS):
            continue
        while stop < len(text) and text[stop] in SIGNS:
            stop += 1
        run, first = text[start:stop], start
        most = {"++": 16, "#": 1}.get(run, 0)
        while (
            first
            and start - first < most
            and text[first - 1].isascii()
            and text[first - 1].isalpha()
        ):
            first -= 1
        line = max(text.rfind("\n", 0, first), text.rfind("\r", 0, first)) + 1
        if (
            len(run) <= 3
            and (first == 0 or text[first - 1] in " \t\r\n`'\"([{,;.")
            and (stop == len(text) or text[stop] in " \t\r\n`'\")]},.;")
            and (at_line_begin or first < start or text[line:first].strip(" \t"))
        ):
            found.append(text[first:stop].lower())
    return found


@pytest.mark.parametrize("count", [2_000, pytest.param(60_000, marks=pytest.mark.slow)])
def test_symbols_equal_those_of_the_oracle(count: int) -> None:
    """[8.1-a]"""
    rng = random.Random(7)
    alphabet = [*SIGNS, *"  \n\r\t`'\"([{)]},;.aZ9_\u00e9\u6771", "c++", "C#", " // ", "x" * 16]
    for _ in range(count):
        text = "".join(rng.choices(alphabet, k=rng.randint(0, 30)))
        assert symbols_of(text) == slow(text), text
        alone = {one for (one, *more) in symbol_words(text) if not more}
        assert alone <= set(slow(text, at_line_begin=True)) | {":=", "@", "~", "c++", "c#"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("`a := b // c` (@)", [":=", "//", "@"]),
        ("C++, C# and a/b", ["c++", "c#"]),
        ("- x * y", ["*"]),
        ("C++ begins a line", ["c++"]),
        ("see http://example.org/a, x->y, 50% and <b>", []),
        ("a ==== b", []),
        ("the prefix has no final `/`.", ["/"]),
        ("caf\u00e9# and ab#", []),
        ("", []),
        ("=" * 300_000 + "x", []),
        ("a " + "=" * 300_000 + " // b", ["//"]),
    ],
)
def test_symbols_stand_alone(text: str, wanted: list[str]) -> None:
    assert symbols_of(text) == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("what is := for", [(":=",)]),
        (":= or the walrus", [(":=",)]),
        ("May a prefix end with a slash?", [("/", "//")]),
        ("a back-slash, a backslash", [("\\",), ("/", "//")]),
        ("Why the At-sign?", [("@",)]),
        ("two dashes -- why? - really !?", [("--",)]),
        ("`-` and `?`", [("-",), ("?",)]),
        ("c sharp or C#", [("c#",)]),
        ("at signal, start, stare", []),
        ("What is this?", []),
    ],
)
def test_a_question_has_and_names_symbols(question: str, wanted: list[tuple[str, ...]]) -> None:
    """[8.2-a] [8.2-b]"""
    assert sorted(symbol_words(question)) == sorted(wanted)

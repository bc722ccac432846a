"""Symbols are compared with slow oracles that read the rules one by one."""

from __future__ import annotations

import random
import re
from string import ascii_lowercase, digits

import pytest

from ibidem.index.analysis import code_words, symbol_words, symbols_of
from ibidem.index.analysis.code import KEYWORDS, ONE_WORD, code_positions
from ibidem.index.analysis.sieve import possible_symbols
from ibidem.index.analysis.stop import STOP_WORDS
from ibidem.index.analysis.symbols import symbol_positions

SIGNS = "!#$%&*+-/:<=>?@\\^|~"
DETERMINERS = {"all", "any", "both", "each", "no", "once", "only", "some", "this", "which"}
OF_A_KIND = KEYWORDS - DETERMINERS
Positions = list[tuple[str, int, int]]


def slow_signs(text: str, *, at_line_begin: bool = False) -> Positions:
    """Returns the signs of a text by looking at each of its places."""
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
            found.append((text[first:stop].lower(), first, stop))
    return found


def slow_options_and_names(text: str) -> Positions:
    """Returns the options and names in parts of a text by looking at each of its places."""

    def word_end(at: int) -> int:
        while at < len(text) and text[at].isascii() and (text[at].isalnum() or text[at] == "_"):
            at += 1
        return at

    def name_end(at: int) -> int:
        end = word_end(at)
        while end > at:
            ends = [word_end(end + len(by)) for by in (".", "::", "-") if text.startswith(by, end)]
            if not ends or text[max(ends) - 1] in ".:-":
                break
            end = max(ends)
        return end

    found: Positions = []
    at = 0
    while at < len(text):
        before, name = text[at - 1 : at], ""
        is_open = before in ("", *" \t\r\n`'\"([{,;.|/<>=")
        for sign in ("--[no-]", "--", "-"):
            start = at + len(sign)
            if is_open and text.startswith(sign, at) and name_end(start) > start:
                name, end = text[start : name_end(start)], name_end(start)
                whole = ["--" + name, "--no-" + name] if "[" in sign else [sign + name]
                break
        else:
            end = name_end(at)
            is_name = at == 0 or word_end(at - 1) == at - 1
            if is_name and ("." in text[at:end] or "::" in text[at:end]):
                name, whole = text[at:end], [text[at:end].lower()]
            words = name.replace("::", ".").replace("-", ".").split(".")
            whole = whole if max(map(len, words)) > 1 else []
        if name and any(one.isalpha() for one in name) and end - at <= 64:
            found += [(one, at, end) for one in whole]
        at = max(end, at + 1) if name else at + 1
    word = text.strip(" \t\r\n")
    marks = len(word) - len(word.lstrip("`")), len(word) - len(word.rstrip("`"))
    word = word.strip("`")
    is_one = set(word) <= set(f"{ascii_lowercase}{digits}-") and all(word.split("-"))
    if is_one and word[0] in ascii_lowercase and max(marks) <= 2 and len(text) <= 64:
        found.append((f"--{word}", text.index(word), text.index(word) + len(word)))
    return found


def slow_keywords(text: str) -> Positions:
    """Returns the keywords of a text by looking at each of its words."""
    marked: set[int] = set()
    at = 0
    while at < len(text):  # between backquotes
        sign = "``" if text.startswith("``", at) else text[at] if text[at] == "`" else ""
        end = at
        for mark in [sign, "`"] if sign else []:
            first = at + len(mark)
            last = first
            while last < len(text) and text[last] not in "`\n":
                last += 1
            if 1 <= last - first <= 80 and text.startswith(mark, last):
                marked |= set(range(first, last))
                end = last + len(mark)
                break
        at = max(end, at + 1)
    found = []
    for match in re.finditer(r"[A-Za-z0-9_]+", text):
        word, start, end = match[0], match.start(), match.end()
        before, after = text[:start], text[end:]
        kind = r"[ \n](statement|clause|keyword|operator|loop|expression)s?\b"
        is_quoted = any(
            re.search(rf"(?<![A-Za-z0-9_]){mark}([a-z]+ ){{0,2}}\Z", before)
            and re.match(rf"( [a-z]+){{0,2}}{mark}(?![A-Za-z0-9_])", after)
            for mark in "'\""
        )
        is_of_a_kind = word in OF_A_KIND and re.match(kind, after, re.ASCII)
        is_code = word.isupper() or (
            word.islower() and (start in marked or is_quoted or is_of_a_kind)
        )
        if is_code and before[-1:] not in (*".:-]",) and after[:1] != "-":
            found += [(word.upper(), start, end)] if word.lower() in KEYWORDS else []
    return found


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_symbols_equal_those_of_the_oracle(count: int) -> None:
    """[8.1-a]"""
    rng = random.Random(7)
    alphabet = [*SIGNS, *"  \n\r\t`'\"([{)]},;.aZ9_\u00e9\u6771", "c++", "C#", " // ", "x" * 16]
    for _ in range(count):
        text = "".join(rng.choices(alphabet, k=rng.randint(0, 30)))
        wanted = slow_signs(text) + slow_options_and_names(text)
        assert symbol_positions(text) == sorted(wanted, key=lambda one: one[1]), text
        alone = {one for (one, *more) in symbol_words(text) if not more}
        signs = {one for one, _, _ in slow_signs(text, at_line_begin=True)}
        assert alone <= signs | {":=", "@", "~", "c++", "c#"}


@pytest.mark.parametrize("count", [4_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_options_and_names_equal_those_of_the_oracle(count: int) -> None:
    """[8.3-a] [8.3-b] [8.3-d]"""
    rng = random.Random(8)
    alphabet = [
        *"aB_9.:-- /(\u00e9",
        "::",
        "--",
        "-",
        " --",
        "[no-]",
        "--[no-]",
        "x" * 60,
        ".ab",
        "`",
    ]
    for _ in range(count):
        text = "".join(rng.choices(alphabet, k=rng.randint(0, 14)))
        assert code_positions(text) == slow_options_and_names(text), text


@pytest.mark.parametrize("count", [4_000, pytest.param(30_000, marks=pytest.mark.slow)])
def test_keywords_equal_those_of_the_oracle(count: int) -> None:
    """[8.3-c]"""
    rng = random.Random(9)
    words = ["with", "WITH", "in", "OR", "each", "EACH", " loop", " clauses"]
    for _ in range(count):
        text = "".join(rng.choices([*"`'\" \n-.:]xé_", "``", *words], k=rng.randint(0, 14)))
        found = [one for one in code_positions(text) if one[0].isalpha() and one[0].isupper()]
        assert found == slow_keywords(text), text


@pytest.mark.parametrize("count", [200, pytest.param(4_000, marks=pytest.mark.slow)])
def test_a_quick_look_at_many_texts_misses_no_symbol(count: int) -> None:
    rng = random.Random(10)
    words = ["with", "OR", " loop", " clauses", "ab", "[no-]", "--", "::", "++", "C#", "", "é"]
    alphabet = [*SIGNS, *"  \n\t`'\"([{)]},;.aZ9_\u6771", *words]
    nothing = 0
    for _ in range(count):
        sizes = rng.choices((0, 1, 2, 3, 5, 9), k=rng.randint(0, 40))
        texts = ["".join(rng.choices(alphabet, k=size)) for size in sizes]
        for text, may_have in zip(texts, possible_symbols(texts), strict=True):
            assert symbols_of(text, may_have) == symbols_of(text), (text, may_have)
            nothing += may_have in (0, ONE_WORD)
    assert nothing > count


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("`a := b // c` (@)", [":=", "//", "@"]),
        ("C++, C# and a/b", ["c++", "c#"]),
        ("- x * y", ["*"]),
        ("C++ begins a line", ["c++"]),
        ("see http://a.b/a, x->y, 50% and <b>", []),
        ("a ==== b", []),
        ("the prefix has no final `/`.", ["/"]),
        ("caf\u00e9# and ab#", []),
        ("", []),
        ("=" * 300_000 + "x", []),
        ("a " + "=" * 300_000 + " // b", ["//"]),
        ("- x --all -d -D [--[no-]verify]", ["--all", "-d", "-D", "--verify", "--no-verify"]),
        ("a|--b c--d -1 e-mail", ["--b"]),
        (" `no-save`\n", ["--no-save"]),
        ("prefix", ["--prefix"]),
        ("Prefix", []),
        ("--a-b=--c.d/-e", ["--a-b", "--c.d", "-e"]),
        (
            "`push.Default`, std::env::args() and my-file.txt.",
            ["push.default", "std::env::args", "my-file.txt"],
        ),
        ("i.e. U.S. 2.7 a..b a:b v2.7 end.Then", ["v2.7", "end.then"]),
        ("a." + "b" * 62 + " a." + "b" * 63 + " -" + "c" * 64, ["a." + "b" * 62]),
        ("a-" * 200_000 + "a.bc", []),
        ("a." * 200_000, []),
        ("-" * 300_000 + "a", []),
        ("x" * 300_000 + ".y", []),
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


def test_a_question_has_words_of_code() -> None:
    """[8.3-a] [8.3-b] [8.3-c]"""
    assert code_words("Is --all, or `push.default`, like --All? And --all?") == [
        ("--all",),
        ("push.default",),
        ("--All",),
    ]
    assert code_words('Is `for x in y` a for loop, and IS "not in" an operator?') == [
        ("FOR",),
        ("IN",),
        ("IS",),
        ("NOT",),
    ]
    assert code_words("Why -- or -, e.g. 2.7, in each statement of it? 'Tis in.") == []


def test_keywords_are_stop_words() -> None:
    assert set(STOP_WORDS["english"].split()) >= KEYWORDS
    assert {len(word) for word in KEYWORDS} <= set(range(2, 8))

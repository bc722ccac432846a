# ruff: noqa: RUF001, the texts are in many scripts
"""Analysis by example: every vector of the spec, errors, positions."""

import json
from pathlib import Path

import pytest
from tests.cases import on_each

from ibidem.index.analysis import ANALYSERS, ENGLISH, UNICODE, analyse, analyse_positions
from ibidem.index.analysis.analyser import TermCache, remembered_terms
from ibidem.objects.errors import ErrorKind, FormatError

VECTORS = Path(__file__).parents[3] / "spec" / "vectors" / "retrieval" / "analysis.json"
CASES = json.loads(VECTORS.read_text(encoding="utf-8"))
PLAIN = [case for case in CASES if "analyser" not in case]
READ = [case for case in CASES if "output" in case]


def test_there_are_vectors() -> None:
    assert len(CASES) > 100


@on_each(PLAIN, [case["name"] for case in PLAIN])
def test_vector(case: dict) -> None:
    if "error" in case:
        with pytest.raises(FormatError) as caught:
            analyse(**case["input"])
        assert caught.value.kind == case["error"]
    else:
        assert analyse(**case["input"]) == case["output"]


@on_each(READ, [case["name"] for case in READ])
def test_positions_give_the_same_terms(case: dict) -> None:
    found = analyse_positions(**case["input"])
    assert [term for term, _, _ in found] == case["output"]


def test_positions_point_at_the_source() -> None:
    text = "The cafe\u0301's für_Alle 机器 \u1112\u1161\u11ab مُحَمَّدٌ."
    found = {term: text[start:stop] for term, start, stop in analyse_positions(text, ENGLISH)}
    assert found["cafe"] == "cafe\u0301"
    assert found["fur_alle"] == "für_Alle"
    assert found["fur"] == "für"
    assert found["机器"] == "机器"
    assert found["器"] == "器"
    assert found["한"] == "\u1112\u1161\u11ab"
    assert found["محمد"] == "مُحَمَّدٌ"


@pytest.mark.parametrize("function", [analyse, analyse_positions])
def test_unknown_analyser_is_refused_with_a_kind(function) -> None:
    with pytest.raises(FormatError, match="english-99") as caught:
        function("text", "english-99")
    assert caught.value.kind == ErrorKind.UNSUPPORTED_SEMANTICS
    assert caught.value.hint


def test_the_default_comes_first() -> None:
    assert ANALYSERS[:2] == (ENGLISH, UNICODE)
    assert len(ANALYSERS) == 12


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("机器", "可以用机器学习解决问题"),
        ("水", "海水很深"),
        ("食べる", "寿司を食べる人"),
        ("학교", "오늘은 학교에서 공부했다"),
        ("집", "나는 집에 간다"),
        ("ประเทศ", "ราชอาณาจักรไทยเป็นประเทศหนึ่ง"),
        ("cafe\u0301", "ein Café in Wien"),
        ("cafe", "die Cafés von Łódź"),
        ("café lodz", "the cafes of Łódź"),
        ("init", "def __init__(self):"),
        ("__init__", "def __init__(self):"),
        ("istanbul", "İSTANBUL"),
        ("STRASSE", "straße"),
        ("1402", "سال ۱۴۰۲"),
        ("محمد", "مُحَمَّد"),
        ("valid token", "if is_valid_token(x):"),
        ("set_attr", "call set_attr() now"),
        ("attribute setting", "set attributes"),
        ("HTTP server", "class HTTPServer:"),
        ("3.11", "since Python 3.11."),
        ("language", "the languages' rules"),
        ("don’t panic", "Don't panic!"),
    ],
)
@pytest.mark.parametrize("analyser", [ENGLISH])
def test_query_meets_text(query: str, text: str, analyser: str) -> None:
    assert set(analyse(query, analyser)) <= set(analyse(text, analyser))


def test_english_leaves_most_scripts_alone() -> None:
    text = "αθλητησ 日本語"
    assert analyse(text, ENGLISH) == analyse(text, UNICODE)


def test_a_stop_word_with_an_accent_is_another_word() -> None:
    assert analyse("the thé", ENGLISH) == ["the"]


def test_only_a_text_of_nothing_but_stop_words_keeps_them() -> None:
    assert analyse("The Who", ENGLISH) == ["the", "who"]
    assert analyse("The Who sang", ENGLISH) == ["sang"]
    assert analyse("isn't it", ENGLISH) == ["is", "it"]


def test_memory_of_chunks_of_many_terms_is_bounded() -> None:
    remembered = TermCache()
    for one in (remembered, remembered.with_ranges):
        one.size_max = 1000
        for number in range(200):
            assert len(one["".join(chr(0x4E00 + number + at) for at in range(60))]) >= 59
        for generation in (one, one.older):
            assert 0 < sum(map(len, generation.values())) < 1100


def test_memory_of_chunks_is_bounded_and_changes_nothing() -> None:
    remembered, _ = remembered_terms(UNICODE)
    before = analyse("first words", UNICODE)
    for start in range(0, 3 * remembered.size_max, 4096):
        analyse(" ".join(f"w{number}" for number in range(start, start + 4096)), UNICODE)
    assert len(remembered) <= remembered.size_max
    assert len(remembered.older) <= remembered.size_max
    assert analyse("first words", UNICODE) == before
    size = len(remembered)
    assert analyse("x" * 1000, UNICODE) == ["x" * 64]
    assert len(remembered) == size

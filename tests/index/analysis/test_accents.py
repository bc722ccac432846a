"""Spellings of a word with and without accents."""

from __future__ import annotations

import re
import unicodedata
from importlib import import_module
from pathlib import Path

import pytest

from ibidem.index.analysis import ANALYSERS, ENGLISH, UNICODE, analyse
from ibidem.index.analysis.accents import LETTERS, first_words, spelt_terms

SPEC = Path(__file__).parents[3] / "spec" / "analysis.md"


@pytest.mark.parametrize(
    ("analyser", "words"),
    [
        ("french-1", "affichées ajoutés pensée premières particulières âgées"),
        ("spanish-1", "información tuberías guardará mayoría catalán también"),
        ("portuguese-1", "ação ações informações preferências necessárias poderão"),
        ("italian-1", "città fornirà novità però"),
        ("finnish-1", "tytöllä yössä"),
        ("dutch-1", "knieën cafés"),
    ],
)
def test_a_word_has_its_stem_whether_it_is_typed_with_accents_or_not(analyser, words):
    """[6.1-a]"""
    for word in words.split():
        plain = "".join(
            one for one in unicodedata.normalize("NFD", word) if not unicodedata.combining(one)
        )
        both = {*analyse(word, analyser), *analyse(plain, analyser)}
        assert both <= spelt_terms(plain, analyser) == spelt_terms(plain.upper(), analyser)
        for one in (word, word.upper(), unicodedata.normalize("NFD", word)):
            assert spelt_terms(one, analyser) == {*analyse(plain, analyser)}


@pytest.mark.parametrize("word", ["", "x1", "log_error", "l'été", "город", "東京", "été.", "a b"])
def test_what_is_no_word_of_latin_letters_has_no_spellings(word):
    """[6.1-a]"""
    assert spelt_terms(word, "french-1") == frozenset()


def test_other_analysers_have_no_spellings():
    """[6.1-a]"""
    for analyser in {*ANALYSERS} - LETTERS.keys():
        assert spelt_terms("informacion", analyser) == frozenset()
    assert {ENGLISH, UNICODE}.isdisjoint(LETTERS)


def test_the_letters_are_those_of_the_endings_that_the_stemmers_know():
    """[6.1-a] Endings in capitals are marks of the stemmers, and `a~` stands for a letter;
    a letter without a mark, as in Danish, is normalised."""
    found = {}
    for analyser in ANALYSERS[2:]:
        language = analyser.removesuffix("-1")
        module = import_module(f"ibidem.index.analysis.snowball.{language}_stemmer")
        lists = vars(getattr(module, f"{language.capitalize()}Stemmer")).values()
        endings = [
            str(one.s).replace("a~", "ã").replace("o~", "õ")
            for each in lists
            if isinstance(each, list)
            for one in each
            if hasattr(one, "s")
        ]
        letters = {
            one
            for text in endings
            if len(text) > 1
            for one in text
            if unicodedata.decomposition(one)
        }
        found[analyser] = "".join(sorted(one for one in letters if one.islower()))
    assert {name: text for name, text in found.items() if text} == LETTERS


def test_the_specification_has_the_same_table():
    """[6.1-a]"""
    section = SPEC.read_text("utf-8").partition("### 6.1 ")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z]+-1)` \| (.*) \|$", section, re.MULTILINE)
    assert {name: letters.replace(" ", "") for name, letters in rows} == LETTERS


def test_the_spellings_of_a_long_question_are_those_of_its_first_words():
    """[6.1-a] [4.1.6-d]"""
    words = [f"w{'a' * size}" for size in range(40)]
    assert first_words([words[0], *words]) == words[:24]
    words = [f"a{number}" for number in range(40)]
    assert first_words(words) == words[:32]


def test_the_spellings_of_a_word_are_few():
    """[6.1-a] One accent on six letters, and two on four, of which the Portuguese have most."""
    count = 0

    def counted(text, analyser):
        nonlocal count
        count += 1
        return analyse(text, analyser)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ibidem.index.analysis.accents.analyse", counted)
        spelt_terms("banacaeceaca", "portuguese-1")
    assert 10 < count <= 1 + 6 * 3 + 6 * 9

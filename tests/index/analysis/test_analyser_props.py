# ruff: noqa: RUF001, the texts are in many scripts
"""What holds for every text."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.index.analysis import ANALYSERS, ENGLISH, UNICODE, analyse, analyse_positions
from ibidem.index.analysis.fold import fold
from ibidem.index.analysis.words import TERM_MAX

ALPHABETS = (
    st.characters(max_codepoint=0x7F),
    st.sampled_from("aAbBeEiIsStTxX019_.' -\n'’"),
    st.characters(min_codepoint=0xA0, max_codepoint=0x24F),
    st.characters(min_codepoint=0x300, max_codepoint=0x36F),
    st.characters(min_codepoint=0x590, max_codepoint=0x6FF),
    st.characters(min_codepoint=0x900, max_codepoint=0x109F),
    st.characters(min_codepoint=0x1100, max_codepoint=0x11FF),
    st.characters(min_codepoint=0x1E00, max_codepoint=0x1FFF),
    st.characters(min_codepoint=0x3040, max_codepoint=0x30FF),
    st.characters(min_codepoint=0x4E00, max_codepoint=0x4E20),
    st.characters(min_codepoint=0xAC00, max_codepoint=0xAC40),
    st.characters(min_codepoint=0x1D100, max_codepoint=0x1D1FF),
    st.characters(codec=None),  # everything, lone surrogates included
)
TEXTS = st.lists(st.one_of(*ALPHABETS), max_size=24).map("".join)
EXAMPLES = settings(max_examples=examples(400), deadline=None)


@EXAMPLES
@given(TEXTS, st.sampled_from(ANALYSERS))
def test_terms_are_never_empty_or_too_long(text: str, analyser: str) -> None:
    for term in analyse(text, analyser):
        assert 0 < len(term) <= TERM_MAX
        assert " " not in term


@EXAMPLES
@given(TEXTS, st.sampled_from(ANALYSERS))
def test_positions_agree_and_lie_in_the_text(text: str, analyser: str) -> None:
    found = analyse_positions(text, analyser)
    assert [term for term, _, _ in found] == analyse(text, analyser)
    assert all(0 <= start < stop <= len(text) for _, start, stop in found)


@EXAMPLES
@given(TEXTS, st.sampled_from(ANALYSERS))
def test_canonically_equivalent_texts_have_the_same_terms(text: str, analyser: str) -> None:
    # What this interpreter's Unicode knows and ours does not is a separator to us, but it may
    # decompose.
    known = "".join(char for char in text if fold(char) != " " or char.isascii())
    expected = analyse(known, analyser)
    for form in ("NFC", "NFD"):
        assert analyse(unicodedata.normalize(form, known), analyser) == expected


@EXAMPLES
@given(TEXTS)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@EXAMPLES
@given(TEXTS, TEXTS, st.sampled_from([" ", "\n", ", "]))
def test_texts_apart_are_analysed_apart(first: str, second: str, between: str) -> None:
    both = analyse(first, UNICODE) + analyse(second, UNICODE)
    assert analyse(first + between + second, UNICODE) == both


@EXAMPLES
@given(TEXTS)
def test_english_keeps_no_more_than_unicode(text: str) -> None:
    assert len(analyse(text, ENGLISH)) <= len(analyse(text, UNICODE))


@EXAMPLES
@given(TEXTS)
def test_memory_changes_no_answer(text: str) -> None:
    assert analyse(text, ENGLISH) == analyse(text, ENGLISH)


@pytest.mark.parametrize("analyser", ANALYSERS)
def test_large_texts_pass(analyser: str) -> None:
    assert len(analyse("a" * 1_000_000, analyser)) == 1
    assert len(analyse("机" * 20_000, analyser)) == 39_999
    assert len(analyse("é" + "\u0301" * 100_000, analyser)) == 1
    assert analyse("_" * 100_000 + "." * 100_000 + "'" * 100_000, analyser) == []
    assert len(analyse("1." * 100_000, analyser)) == 1

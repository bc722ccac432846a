"""The stemmer against an implementation that is not ours: snowballstemmer 3.1.1."""

import json
import string
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.index.analysis import stop
from ibidem.index.analysis.stem import stem

VECTORS = Path(__file__).parents[3] / "spec" / "vectors" / "retrieval" / "analysis-stem.json"

ENGLISH_STOPS = frozenset(stop.STOP_WORDS["english"].split())


def test_stems_are_those_of_the_published_algorithm() -> None:
    expected = json.loads(VECTORS.read_text(encoding="utf-8"))
    assert len(expected) > 4000
    wrong = {word: (stem(word), other) for word, other in expected.items() if stem(word) != other}
    assert wrong == {}


@settings(max_examples=examples(500), deadline=None)
@given(st.text(string.ascii_lowercase, min_size=1, max_size=20))
def test_a_stem_is_lower_case_letters_and_hardly_longer_than_its_word(word: str) -> None:
    found = stem(word)
    assert found
    assert set(found) <= set(string.ascii_lowercase)
    assert len(found) <= len(word) + 1


def test_stop_words_are_lower_case_ascii_and_frozen() -> None:
    assert all(word.isascii() and word.isalpha() and word.islower() for word in ENGLISH_STOPS)
    assert len(ENGLISH_STOPS) == 148
    assert not ENGLISH_STOPS & {"may", "us", "mine", "won", "get", "like", "language"}

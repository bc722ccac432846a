"""WordPiece gives the ids of the reference implementation, whatever Unicode Python knows."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import on_each
from tests.examples import examples

from ibidem.embed.minilm import ExactMiniLM
from ibidem.embed.wordpiece import WordPiece, normalise
from ibidem.objects.errors import CorruptError, InvalidInputError

HOUSE = Path(__file__).resolve().parents[2]
VECTORS = json.loads((HOUSE / "spec" / "vectors" / "embedding" / "wordpiece.json").read_bytes())
TABLE_SHA256 = "327e7f8b90b28ac799c64e6f04f57e877cdb4f5a4d7955b6763c74ed8a8a848f"


@on_each(VECTORS["cases"], [ascii(case["text"])[:40] for case in VECTORS["cases"]])
def test_ids_are_those_of_the_reference(case: dict[str, object]):
    words = WordPiece(VECTORS["vocabulary"])
    text = str(case["text"])
    assert words.tokenize(text, tokens_max=VECTORS["tokens_max"]) == case["ids"]
    assert words.tokenize(text, tokens_max=VECTORS["tokens_max"]) == case["ids"], "from the cache"


def test_the_table_is_frozen():
    table = (HOUSE / "embed" / "bert-uncased.bin").read_bytes()
    assert sha256(table).hexdigest() == TABLE_SHA256


@settings(max_examples=examples(60))
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))))
def test_normalising_twice_changes_nothing_more(text: str):
    once = normalise(text)
    assert normalise(once).split() == once.split()


@settings(max_examples=examples(60))
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))), st.integers(2, 40))
def test_a_shorter_limit_cuts_the_same_ids(text: str, limit: int):
    words = WordPiece(VECTORS["vocabulary"])
    full = words.tokenize(text, tokens_max=100_000)
    cut = words.tokenize(text, tokens_max=limit)
    assert cut == [*full[:-1][: limit - 1], full[-1]]


def test_a_long_text_has_the_ids_of_its_parts():
    words = WordPiece(VECTORS["vocabulary"])
    part = "the same place [SEP] " + "x" * 90 + " unbelievable.東京 "
    once = words.tokenize(part, tokens_max=100_000)[1:-1]
    whole = words.tokenize(part * 300, tokens_max=100_000)
    assert whole[1:-1] == once * 300
    assert words.tokenize(part * 300 + "\ud800", tokens_max=9) == [whole[0], *once[:7], whole[-1]]


def test_a_lone_surrogate_is_refused():
    with pytest.raises(InvalidInputError, match=r"U\+D800"):
        WordPiece(VECTORS["vocabulary"]).tokenize("a\ud800", tokens_max=9)


def test_a_vocabulary_without_the_needed_pieces_is_refused():
    with pytest.raises(CorruptError, match=r"\[CLS\]"):
        WordPiece(["[UNK]", "[SEP]", "a"])
    with pytest.raises(CorruptError):
        WordPiece(["[UNK]", "[SEP]", "[CLS]", "a", "a"])


def test_the_vocabulary_of_the_model_cuts_a_known_text(minilm: ExactMiniLM):
    assert minilm.token_ids("Ibidem: in the same place") == [
        *(101, 21307, 5178, 2213, 1024),
        *(1999, 1996, 2168, 2173, 102),
    ]

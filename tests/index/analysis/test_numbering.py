"""Terms as numbers are the terms of `analyse`, whatever is analysed beside them and before."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibidem.index.analysis import ANALYSERS, ENGLISH, HOME, analyse, analyser_of, home_of, numbering
from ibidem.index.analysis.numbering import TermNumbering
from ibidem.objects.gc_pause import gc_paused

_WORDS = [
    *(
        "the",
        "who",
        "isn't",
        "it",
        "sang",
        "u.s.",
        "word.",
        "Word",
        "retries",
        "3.14",
        "a_b",
        "HTTPServer",
    ),
    *(
        "abcdefgh",
        "abcdefghi",
        "abcdefghijklmnop",
        "abcdefghijklmnopq",
        "x" * 70,
        "\x00",
        "\x01",
        "'",
    ),
    *(
        "die",
        "und",
        "der",
        "le",
        "où",
        "dans",
        "l'homme",
        "naïve",
        "日本語",
        "ﬁn",
        "\u0307",
        "\ud800",
        "élan",
        "straße",
        "\u200b",
    ),
]
_TEXTS = st.lists(
    st.one_of(
        st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join),
        st.lists(st.sampled_from(_WORDS), max_size=6).map("\n".join),
        st.text(max_size=40),
    ),
    max_size=8,
)


@pytest.mark.parametrize("analyser", ANALYSERS)
@settings(max_examples=30)
@given(batches=st.lists(_TEXTS, max_size=3))
def test_numbers_stand_for_the_terms_of_analyse(analyser: str, batches: list[list[str]]) -> None:
    numbering = TermNumbering(analyser)
    for texts in batches:
        assert _terms(numbering, texts) == [
            analyse(text, analyser_of(text, analyser)) for text in texts
        ]


@pytest.mark.parametrize("analyser", ANALYSERS)
@settings(max_examples=30)
@given(texts=_TEXTS, homes=st.lists(st.sampled_from(ANALYSERS), min_size=8, max_size=8))
def test_texts_have_homes_of_their_own(analyser: str, texts: list[str], homes: list[str]) -> None:
    homes = [home_of({HOME: one}, analyser) for one in homes[: len(texts)]]
    assert _terms(TermNumbering(analyser), texts, homes) == [
        analyse(text, analyser_of(text, home)) for text, home in zip(texts, homes, strict=True)
    ]


def test_many_chunks_fill_and_grow_the_table_and_stay_told_apart() -> None:
    found = TermNumbering(ENGLISH)
    texts = [" ".join(f"{kind}{number}" for number in range(3_000)) for kind in ("w", "x", "w")]
    for text in texts:
        assert _terms(found, [text, "x17 w2 the"]) == [
            analyse(text, ENGLISH),
            analyse("x17 w2 the", ENGLISH),
        ]


def test_what_is_remembered_of_chunks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "_CHUNKS_MAX", 10)
    found = TermNumbering(ENGLISH)
    for start in range(0, 100, 5):
        text = " ".join(f"word{number} retries" for number in range(start, start + 5))
        assert _terms(found, [text]) == [analyse(text, ENGLISH)]
        assert len(found._chunks) <= 16


def test_terms_of_some_texts_are_those_that_these_have() -> None:
    found = TermNumbering(ENGLISH)
    found.numbers(["alpha beta gamma"], [ENGLISH])
    numbers, _, _ = found.numbers(["gamma delta", "gamma alpha"], [ENGLISH] * 2)
    vocabulary, renumbered = found.vocabulary(numbers)
    assert sorted(vocabulary.values()) == [0, 1, 2]
    terms = {number: term for term, number in vocabulary.items()}
    assert [terms[number] for number in renumbered.tolist()] == [
        term.encode() for text in ("gamma delta", "gamma alpha") for term in analyse(text, ENGLISH)
    ]


def test_a_numbering_ends_with_its_last_user_while_the_collector_is_paused() -> None:
    with gc_paused():
        found = TermNumbering(ENGLISH)
        found.numbers(["retries of clients"] * 20, [ENGLISH] * 20)
        is_alive = weakref.ref(found)
        del found
        assert is_alive() is None


@pytest.fixture(autouse=True, scope="module", params=[0, 8])
def few(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few texts are analysed one by one; here they are not, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "_FEW_TEXTS", request.param)
        yield


def _terms(
    numbering: TermNumbering, texts: list[str], homes: list[str] | None = None
) -> list[list[str]]:
    homes = homes or [numbering._home] * len(texts)
    numbers, counts, choices = numbering.numbers(texts, homes)
    assert [ANALYSERS[one] for one in choices] == [
        analyser_of(text, home) for text, home in zip(texts, homes, strict=True)
    ]
    vocabulary, numbers = numbering.vocabulary(numbers)
    names = {number: term.decode() for term, number in vocabulary.items()}
    assert sorted(names) == list(range(len(names)))
    terms, found = [names[number] for number in numbers.tolist()], []
    for count in counts.tolist():
        found.append(terms[:count])
        terms = terms[count:]
    assert not terms
    return found

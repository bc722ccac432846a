"""The language of a text, and the stems of each language against what snowballstemmer gives."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from ibidem.index.analysis import ANALYSERS, ENGLISH, UNICODE, analyse, analyser_of
from ibidem.index.analysis import snowball as package
from ibidem.index.analysis.fold import fold
from ibidem.index.analysis.language import LANGUAGES, _composed, _stemmer
from ibidem.index.analysis.snowball.basestemmer import BaseStemmer
from ibidem.index.analysis.snowball.german_stemmer import GermanStemmer
from ibidem.index.analysis.stop import STOP_WORDS

VECTORS = Path(__file__).parents[3] / "spec" / "vectors" / "retrieval"
STEMS = json.loads((VECTORS / "analysis-stems.json").read_text(encoding="utf-8"))
CASES = json.loads((VECTORS / "analysis.json").read_text(encoding="utf-8"))
FOLDER = Path(package.__file__).parent


@pytest.mark.parametrize("language", STEMS)
def test_stems_are_those_of_another_program(language: str) -> None:
    for word, stem in STEMS[language].items():
        assert _stemmer(language)(word) == (stem or word)


@pytest.mark.parametrize("language", STEMS)
def test_stems_need_no_search_letter_by_letter(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("find_among", "find_among_b"):
        monkeypatch.delattr(BaseStemmer, name)
    for word, stem in list(STEMS[language].items())[:100]:
        assert _stemmer(language).__wrapped__(word) == (stem or word)


def test_a_part_that_many_identifiers_have_is_stemmed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stemmed: list[str] = []
    change = GermanStemmer._stem

    def counted(stemmer: GermanStemmer) -> None:
        stemmed.append(stemmer.get_current())
        change(stemmer)

    monkeypatch.setattr(GermanStemmer, "_stem", counted)
    for name in ("Eins", "Zwei", "Drei"):
        analyse(f"qqneuesqq{name}", "german-1")
    assert stemmed.count("qqneuesqq") == 1


def test_letters_with_marks_are_composed_for_the_stemmers() -> None:
    """Analysis 6: U+00E0 to U+00FF, U+0439 and U+0451, as far as they have parts."""
    for letter in map(chr, (*range(0xE0, 0x100), 0x439, 0x451)):
        if fold(letter) not in ("", " "):
            assert _composed(fold(letter)) == letter
    for other in ("ss", fold("\u0101"), fold("\u0457")):
        assert _composed(other) == other


def test_every_language_has_stems_and_stop_words() -> None:
    assert set(STEMS) == {*LANGUAGES, "russian"} == set(STOP_WORDS) - {"english"}
    assert len(LANGUAGES) >= 10


def test_the_stemmers_are_the_files_of_the_release() -> None:
    try:
        source = distribution("snowballstemmer")
    except PackageNotFoundError:
        pytest.skip("snowballstemmer is not installed")
    for path in FOLDER.glob("*.py"):
        if path.name != "__init__.py":
            given = Path(str(source.locate_file(f"snowballstemmer/{path.name}")))
            text = given.read_text(encoding="utf-8")
            text = text.replace("\nfrom .", "\nfrom ibidem.index.analysis.snowball.")
            assert path.read_text(encoding="utf-8") == text


def test_the_stemmers_never_change() -> None:
    digest = hashlib.sha256()
    for path in sorted(FOLDER.glob("*_stemmer.py")):
        digest.update(path.read_bytes())
    assert digest.hexdigest() == "dd3f3241eaadc4a4b51bf6542172d4c377fa4575a488cbdf87f3daeddaff9111"


@pytest.mark.parametrize(
    "case", [case for case in CASES if "analyser" in case], ids=lambda case: case["name"]
)
def test_language_vectors(case: dict) -> None:
    assert analyser_of(**case["input"]) == case["analyser"]


def test_the_choice_can_be_limited() -> None:
    text = "Die Katze und der Hund"
    assert analyser_of(text, ENGLISH) == "german-1"
    assert analyser_of(text, ENGLISH, (ENGLISH, "french-1")) == ENGLISH
    assert analyser_of("Katze", ENGLISH, ("french-1", "german-1")) == "french-1"
    assert analyser_of(text, UNICODE) == UNICODE


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("\u0643\u062a\u0627\u0628", "\u0627\u0644\u0643\u062a\u0627\u0628"),
        ("\u0645\u062f\u0631\u0633\u0647", "\u0648\u0627\u0644\u0645\u062f\u0631\u0633\u0629"),
        ("\u0627\u062d\u0645\u062f", "\u0623\u062d\u0645\u062f"),
        ("\u0939\u093f\u0902\u0926\u0940", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        ("\u0434\u043e\u043c", "\u0434\u043e\u043c\u0430\u043c\u0438"),
    ],
)
@pytest.mark.parametrize("analyser", [one for one in ANALYSERS if one != UNICODE])
def test_scripts_are_normalised_under_every_language(query: str, text: str, analyser: str) -> None:
    assert analyse(query, analyser) == analyse(text, analyser)

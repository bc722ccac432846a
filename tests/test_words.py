"""Words in names: what went stays gone, what is left gets rarer, what is new is in the glossary.

A name is split at `_` and at capitals, so `RowPlaces` and `row_places` have the same words. Names
are those of modules, functions, classes, arguments, variables and attributes of the product's code.

`counts.json` holds how often each word occurs that should go; these may only fall. `ordinary.txt`
holds the words of public and module names that need no entry in `docs/glossary.md`, because they
mean there what they mean in English or in the field. `python tests/test_words.py` lowers the counts
and prints the new words; it never raises a count and never adds a word.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parent.parent
DATA = Path(__file__).resolve().parent / "words"
COUNTS = DATA / "counts.json"
GONE = frozenset(
    (
        *("anew", "asked", "catalog", "cloning", "face", "faces", "founded", "founding", "keeping"),
        *(
            "landed",
            "landing",
            "landings",
            "lays",
            "merging",
            "noting",
            "plane",
            "planes",
            "querying",
        ),
        *(
            "remembering",
            "replanted",
            "replanting",
            "reranks",
            "retrieving",
            "shelf",
            "shelves",
            "syncing",
        ),
        *("telling", "tells", "trusting"),
    )
)
"""Words of the old names, none of which may return, and what stands in their place:

plane: lexical view; shelf: segment store; catalog: registry; landing: reconciliation; face: api;
founding: bootstrap; telling: history, diff format; keeping: maintenance; replanting: rebase;
landed: reconciled; replanted: applied; asked: what it is, `query`, `request`, `recorded`; and
modules named by a participle (`merging`, `querying`): the noun.
"""
GENERATED = "snowball"
"""The package of the stemmers, whose names a compiler chose."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENDINGS = (
    ("ies", "y"),
    ("es", ""),
    ("s", ""),
    ("ied", "y"),
    ("ed", ""),
    ("d", ""),
    ("ing", ""),
    ("ing", "e"),
)


def words(name: str) -> list[str]:
    """Returns the words of an identifier, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


@dataclass(frozen=True)
class Names:
    """What the tests ask of a module; the syntax trees of all take 200 MB."""

    all: Counter[str]
    """Every identifier that it writes, as often as it does."""
    public: tuple[str, ...]
    """The public functions and classes at its top."""


@cache
def sources() -> dict[Path, Names]:
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {
        HOUSE / folder
        for package, folder in project["tool"]["setuptools"]["package-dir"].items()
        if package.count(".") == 1
    }
    return {
        path: names_of(ast.parse(path.read_text(encoding="utf-8")))
        for folder in sorted(folders)
        for path in sorted(folder.rglob("*.py"))
        if path.parent.name != GENERATED
    }


def names_of(tree: ast.Module) -> Names:
    tops = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    public = tuple(node.name for node in tops if not node.name.startswith("_"))
    return Names(Counter(names(tree)), public)


def names(tree: ast.Module) -> Iterator[str]:
    """Yields every identifier that a module writes, as often as it does."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name):
                yield name
            case ast.AsyncFunctionDef(name=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.alias(asname=str(name)):
                yield name


def public_names() -> Iterator[tuple[str, str]]:
    """Yields each module, and each public function and class at the top of one, with its place."""
    for path, module in sources().items():
        place = str(path.relative_to(HOUSE))
        yield from ((part, place) for part in (path.parent.name, path.stem) if part != "__init__")
        yield from ((name, f"{place}: {name}") for name in module.public)


@cache
def occurrences() -> Counter[str]:
    found: Counter[str] = Counter()
    for path, module in sources().items():
        for name, times in (module.all + Counter([path.stem])).items():
            for word in words(name):
                found[word] += times
    return found


def glossary() -> set[str]:
    text = (HOUSE / "docs" / "glossary.md").read_text(encoding="utf-8")
    return {
        word for name in re.findall(r"^\*\*(.+?)\*\*:", text, re.MULTILINE) for word in words(name)
    }


def ordinary() -> set[str]:
    return set((DATA / "ordinary.txt").read_text(encoding="utf-8").split())


def counts() -> dict[str, int]:
    found: dict[str, int] = json.loads(COUNTS.read_text(encoding="utf-8"))
    return found


def base_forms(word: str) -> set[str]:
    """Returns the word and what it may be a plural, past or participle of."""
    forms = {word.removesuffix(end) + base for end, base in _ENDINGS if word.endswith(end)}
    doubled = {form[:-1] for form in forms if form[-1:] and form[-1:] == form[-2:-1]}
    return {word} | forms | doubled


def unknown_words() -> dict[str, set[str]]:
    known = glossary() | ordinary() | set(counts())
    found: dict[str, set[str]] = {}
    for name, place in public_names():
        for word in words(name):
            if len(word) > 1 and not base_forms(word) & known:
                found.setdefault(word, set()).add(place)
    return found


def test_words_split_at_underscores_and_capitals():
    assert words("_RowPlaces2 HTTPServer best_slots") == [
        "row",
        "places",
        "http",
        "server",
        "best",
        "slots",
    ]
    assert {"family", "plan", "store", "merge"} <= set().union(
        *map(base_forms, ("families", "planned", "stored", "merging"))
    )


@pytest.mark.slow
def test_words_that_went_stay_gone():
    found = occurrences()
    assert not {word: found[word] for word in GONE if found[word]}


def test_house_words_only_get_rarer():
    found, allowed = occurrences(), counts()
    more = {
        word: f"{found[word]}, at most {most}"
        for word, most in allowed.items()
        if found[word] > most
    }
    assert not more, (
        "the change uses these words in names, and they are to get rarer: "
        "use the field's word or one of docs/glossary.md"
    )


def test_a_word_is_in_one_list():
    assert not GONE & (set(counts()) | glossary() | ordinary())
    assert not ordinary() & set(counts())
    assert not ordinary() & glossary()


def test_new_names_are_of_known_words():
    assert not unknown_words(), (
        "explain the word in docs/glossary.md, or add it to tests/words/ordinary.txt if everybody "
        "knows what it means there"
    )


if __name__ == "__main__":
    now = occurrences()
    lower = {word: min(most, now[word]) for word, most in sorted(counts().items()) if now[word]}
    COUNTS.write_text(json.dumps(lower, indent=2) + "\n", encoding="utf-8")
    for word, places in sorted(unknown_words().items()):
        print(word, *sorted(places)[:3], sep="\n    ")

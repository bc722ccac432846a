"""Parts of a document that are too short to tell their language have that of the document."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import ibidem
from ibidem.ingest.document import read_document
from ibidem.ingest.draft import Draft, document_id
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.config import Config
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository

GERMAN = """# Handbuch der Gärten

Die Kannen stehen neben dem Haus, und der Schlauch liegt nicht im Keller. Wer sie nach dem Gebrauch
nicht wieder auf den Platz stellt, an dem sie vor der Arbeit waren, der wird sie nicht mehr finden.

## Geräte

- Grüne Gießkannen

```
for can in cans: water(can)
```

She said that the wheelbarrows were not what they had ordered.
"""
ENGLISH = "# Cans\n\nThe cans are where they were, and nobody has moved them.\n\n- Two cans\n"


def homes(drafts: list[Draft]) -> dict[str, object]:
    return {one.summary: one.props.get("analyser") for one in drafts}


def repository(analyser: str = "english-1") -> Repository:
    return ibidem.init("memory:", config=Config(analyser=analyser))


def write(repo: Repository, text: str, path: str = "a.md") -> bool:
    with repo.transaction() as tx:
        return bool(ingest_text(tx, text, path=path).documents_unchanged)


def found(repo: Repository, question: str) -> list[str]:
    return [item.node.summary or "" for item in repo.retrieve(question).items]


def props(repo: Repository, id_: NodeId) -> Mapping[str, object]:
    return repo.at().node(id_).props


def test_a_short_item_is_found_in_another_form() -> None:
    repo = repository()
    write(repo, GERMAN)
    assert "- Grüne Gießkannen" in found(repo, "Gießkanne")[0]


def test_all_parts_but_code_have_the_home_of_the_document() -> None:
    """[5.1-h]"""
    parts = homes(read_document("a.md", GERMAN).drafts)
    (code,) = [text for text in parts if "water" in text]
    assert {text for text, home in parts.items() if home != "german-1"} == {code}
    assert parts[code] is None
    assert len(parts) > 4


def test_a_quotation_is_analysed_in_its_own_language() -> None:
    repo = repository()
    write(repo, GERMAN)
    assert "She said" in found(repo, "order wheelbarrow")[0]


@pytest.mark.parametrize(
    ("home", "text", "own"),
    [
        ("english-1", ENGLISH, None),
        ("german-1", ENGLISH, "english-1"),
        ("german-1", GERMAN, None),
        ("unicode-1", GERMAN, None),
        ("english-1", "# Gießkannen\n\nGrüne Gießkannen\n", None),
        ("english-1", "", None),
    ],
)
def test_only_another_language_than_that_of_the_repository_is_recorded(
    home: str, text: str, own: str | None
) -> None:
    assert set(homes(read_document("a.md", text, home=home).drafts).values()) == {own}


def test_a_document_is_read_with_the_home_of_its_repository() -> None:
    for home, own in (("german-1", "english-1"), ("english-1", None), ("unicode-1", None)):
        repo = repository(home)
        write(repo, ENGLISH)
        assert props(repo, document_id("a.md")).get("analyser") == own


def test_a_document_loses_its_home_with_its_language() -> None:
    repo = repository()
    write(repo, GERMAN)
    assert write(repo, GERMAN)
    assert props(repo, document_id("a.md"))["analyser"] == "german-1"
    write(repo, f"{ENGLISH}\n# Handbuch der Gärten\n")
    assert not [node for node in repo.at().nodes() if "analyser" in node.props]


def test_front_matter_does_not_choose_the_analyser() -> None:
    text = "---\nanalyser: german-1\n---\n# Cans\n"
    reading = read_document("a.md", text)
    assert reading.drafts[-1].props["front_matter_analyser"] == "german-1"
    assert "analyser" not in reading.drafts[-1].props

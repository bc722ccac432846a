"""Small documents whose packs can be told by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.repo.repository import Repository

COMMITTED = 1_767_225_600_000_000


def clock() -> int:
    return COMMITTED


def repository(documents: dict[str, str], **options: Any) -> Repository:
    """Returns a repository of some documents by path."""
    repo = ibidem.init("memory:", clock=clock, **options)
    write(repo, documents)
    return repo


def write(repo: Repository, documents: dict[str, str]) -> None:
    with repo.transaction(author="ada", message="texts", time=COMMITTED) as tx:
        for path, text in documents.items():
            ingest_text(tx, text, path=path)


def paragraphs(hits: dict[int, str], count: int) -> str:
    """Returns a text of `count` paragraphs, each with words of its own, some with others."""
    return "\n\n".join(f"w{place} {hits.get(place, '')}".strip() for place in range(count))


def places(packs: Any) -> list[list[int]]:
    """Returns the places of the members of each pack."""
    return [[member.ord for member in pack.members] for pack in packs]


def ranges(packs: Any) -> list[tuple[int, int]]:
    return [pack.range for pack in packs]


def hit_places(pack: Any) -> list[int]:
    return [hit.ord for hit in pack.hits]


def texts(packs: Any) -> list[Sequence[str]]:
    return [[member.text for member in pack.members] for pack in packs]

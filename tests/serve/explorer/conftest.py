"""A small repository with a history in which an answer went wrong, in the explorer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ibidem

from .browsing import Browser, browsing

HOSTILE = (
    "</p><script>alert(1)</script><img src=x onerror=alert(2)> \x1b[2J \u202etxt.exe \"' & <b>"
)
QUESTION = "how often is a payment retried"


def filled(repo: ibidem.Repository) -> ibidem.Repository:
    document = "# Payments\n\nA payment is retried three times.\n\n## Limits\n\nThe limit is 20.\n"
    with repo.transaction(message="add the handbook", author="Ada", time=1_000_000) as tx:
        ibidem.ingest_text(tx, document, path="handbook.md")
        ada = tx.add_node("Person", summary="Ada looks after payments.", key="ada")
        team = tx.add_node("Team", summary="Payments", props={"valid_from": 5, "valid_to": 9})
        tx.add_edge(ada, "member of", team)
    wrong = document.replace("three times", "seventy times")
    with repo.transaction(message="update the limits", author="Bob", time=2_000_000) as tx:
        ibidem.ingest_text(tx, wrong, path="handbook.md")
        tx.add_node("Note", summary="A payment that is retried is logged.")
    with repo.transaction(message=HOSTILE, author=HOSTILE, time=3_000_000) as tx:
        tx.add_node("Note<script>", summary=f"retried payment {HOSTILE}", props={HOSTILE: HOSTILE})
    return repo


@pytest.fixture(scope="session")
def repo() -> Iterator[ibidem.Repository]:
    with ibidem.init("memory:") as repo:
        yield filled(repo)


@pytest.fixture(scope="session")
def browser(repo: ibidem.Repository) -> Iterator[Browser]:
    with browsing(repo) as found:
        yield found

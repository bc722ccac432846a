"""Two sides of an exchange: what moved and how, an answer to compare, an edit to carry over."""

from __future__ import annotations

from ibidem.objects.derive import node_id
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository
from ibidem.repo.sync.report import CopyReport, Move

Pair = tuple[Repository, Repository]


def how(report: CopyReport) -> dict[str, Move]:
    return {move.name: move.how for move in report.moves}


def answer(repo: Repository) -> bytes:
    return repo.retrieve("retry queue", limit=20).to_bytes()


def edit(repo: Repository, summary: str, *, key: int = 7) -> None:
    with repo.transaction(author="bob", message=summary) as tx:
        tx.update_node(key_id(key), summary=summary)


def key_id(number: int) -> NodeId:
    return node_id("", ["doc", number])

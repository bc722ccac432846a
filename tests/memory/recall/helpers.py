"""What the tests of recall share."""

from __future__ import annotations

import json

from blake3 import blake3

from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository

NOW = 1_700_000_000_000_000


def add(repo: Repository, *summaries: str, **props: object) -> list[NodeId]:
    with repo.transaction(author="ada") as tx:
        return [tx.add_node("Doc", summary=one, props=props, unique=True) for one in summaries]


def ids(result: object) -> list[NodeId]:
    return [item.node.id for item in result.items]  # type: ignore[attr-defined]


def shares(result: object, name: str) -> dict[NodeId, float]:
    """The factor of each returned node."""
    return {item.node.id: item.lanes[name].score for item in result.items}  # type: ignore[attr-defined]


class Scripted:
    """A reranker that says what it is told, and counts how often it is asked."""

    name = "scripted"
    digest = blake3(b"scripted").digest()

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.calls = 0

    def rerank(self, text: str, rendered: object) -> object:
        self.calls += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def set_slow(repo: Repository, milliseconds: int) -> None:
    """Sets from how many milliseconds on a question of a repository in a folder is slow."""
    assert repo.folder is not None
    file = repo.folder / "local" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    known = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**known, "slow_milliseconds": milliseconds}))

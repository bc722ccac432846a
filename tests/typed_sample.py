"""A program as a user writes it, which type checkers read in strict mode and never run."""

from __future__ import annotations

import ibidem
from ibidem import Answer, Item, Repository


def titles(repo: Repository, question: str) -> list[str]:
    """Returns what the best nodes say."""
    answer: Answer[Item] = repo.retrieve(question, limit=3, token_budget=500, label="Fact")
    return [item.node.summary or "" for item in answer]


def main() -> None:
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="ada", message="a fact") as tx:
            fact: ibidem.NodeId = tx.add_node("Fact", summary="tea at five")
        assert titles(repo, "tea") == ["tea at five"]
        for pack in repo.packs("tea", expand="section", overflow="stop"):
            text: str = pack.text
            assert text
        prompt = repo.prompt("when is tea", style="qa")
        assert all(repo.verify_citation(one) for one in prompt.citations)
        viewer = ibidem.Viewer(level="low", scopes=())
        try:
            repo.at("main", viewer=viewer).node(fact)
        except ibidem.InvalidInputError as error:
            kind: ibidem.ErrorKind = error.kind
            assert kind
        talk = ibidem.Conversations(repo, author="ada")
        talk.append("a", [("user", "hello")])
        assert talk.context("hello", thread="a", token_budget=100).text
        tea: ibidem.NodeId = repo.add("Ada prefers tea", label="Fact")
        with repo.transaction(message="a step") as tx:
            tx.ingest(text="# A", path="a.md", message="").documents_added.bit_length()
            tx.conversations.append("a", [{"role": "user", "content": "hello"}])
            tx.records.list(user="ada", types=[ibidem.RecordType.SEMANTIC])
            tx.feedback.outcome(tea, True, author="ada")
        assert repo.recall("tea", limit=3, disclosure="chunk").texts


if __name__ == "__main__":
    main()

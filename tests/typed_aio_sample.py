"""An asynchronous program as a user writes it, for type checkers in strict mode; never run."""

from __future__ import annotations

import asyncio

import ibidem
from ibidem import aio


async def titles(repo: aio.Repository, question: str) -> list[str]:
    answer: ibidem.Answer[ibidem.Item] = await repo.retrieve(question, limit=3, label="Fact")
    return [item.node.summary or "" for item in answer]


async def main() -> None:
    async with aio.open("knowledge") as repo:
        async with repo.transaction(author="ada", message="a fact") as tx:
            fact: ibidem.NodeId = await tx.add_node("Fact", summary="tea at five")
            report: ibidem.IngestReport = await tx.ingest("docs", prune=True)
            await tx.conversations.append("a", [("user", "hello")])
        revision = await repo.at("main", viewer=ibidem.Viewer(level="low", scopes=()))
        node: ibidem.Node = await revision.node(fact)
        commits: list[ibidem.Commit] = await repo.history.log()
        print(report.documents_added, await repo.add("tea at six"), (await repo.recall("tea")).text)
        talk = aio.Conversations(repo, author="ada")
        await talk.append("a", [("user", "hello")])
        print(node, commits, await titles(repo, "tea"))
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(repo.retrieve("tea"))
        print(asked.result().text)
        async with repo.runs.replay("nightly") as session:
            print((await session.retrieve("tea")).text)


if __name__ == "__main__":
    asyncio.run(main())

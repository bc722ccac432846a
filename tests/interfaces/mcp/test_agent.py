"""An agent on the SDK, from end to end, while two other processes write to its repository.

Whatever is committed meanwhile, each of its answers can be computed again to the same bytes from
its receipt, its citations hold, and each fact that it added is there.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ibidem

from . import programs

pytest.importorskip("mcp")
pytestmark = pytest.mark.anyio
ROUNDS = 12
WRITER = """
import sys, ibidem
with ibidem.open(sys.argv[1]) as repo:
    for number in range(25):
        with repo.transaction(author=sys.argv[2], message="a parcel") as tx:
            tx.add(f"parcel {number} of {sys.argv[2]} arrives on Monday")
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_an_agent_among_two_writers_can_be_replayed(tmp_path: Path):
    with ibidem.init(tmp_path) as repo, repo.transaction(author="ada", message="notes") as tx:
        ibidem.ingest_text(tx, "# Mail\n\nThe parcel arrives on Monday.\n", path="mail.md")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name], env=programs.ENVIRONMENT
        )
        for name in ("bob", "eve")
    ]
    asked, added = [], []
    try:
        async with programs.over_stdio(tmp_path, "--agent", "postbox") as client:
            for number in range(ROUNDS):
                found = await client.call_tool(
                    "retrieve", {"query": "when does the parcel arrive", "token_budget": 600}
                )
                assert not found.is_error
                asked.append(found.structured_content)
                kept = await client.call_tool(
                    "remember", {"text": f"the agent looked {number} times", "why": "to count"}
                )
                assert not kept.is_error
                added.append(kept.structured_content)
            for one in asked:
                again = await client.call_tool("verify", {"receipt": one["receipt"]})
                assert again.structured_content["is_verified"]
                assert again.structured_content["result"] == one["result"]
    finally:
        for writer in writers:
            assert writer.wait(120) == 0
    with ibidem.open(tmp_path) as repo:
        for one in asked:
            answer = repo.receipts.replay(one["receipt"])
            assert str(answer.cid) == one["result"]
            assert str(answer.root) == one["root"]
            for source in one["sources"]:
                assert repo.verify_citation(ibidem.Citation.from_dict(source["citation"]))
        head = repo.at()
        for one in added:
            assert all(head.node(node).summary for node in one["ids"])
        texts = {node.summary for node in head.nodes() if node.ntype == "Semantic"}
        assert len(texts) == 2 * 25 + ROUNDS
        by = {commit.agent for commit in repo.history.log() if commit.message == "to count"}
        assert by == {"postbox"}

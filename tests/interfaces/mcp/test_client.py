"""A real client of the SDK over both transports."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.adapters.mcp.page import tokens_of
from ibidem.adapters.mcp.tools import TOOLS

from . import programs

pytest.importorskip("mcp")
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ibidem.init(tmp_path) as repo, repo.transaction(author="ada", message="notes") as tx:
        ibidem.ingest_text(tx, "# Mail\n\nThe parcel arrives on Monday.\n", path="mail.md")
        tx.add("Ada prefers tea")
    return tmp_path


@asynccontextmanager
async def connected(transport: str, folder: Path, *more: str) -> AsyncIterator[Any]:
    if transport == "stdio":
        async with programs.over_stdio(folder, *more) as client:
            yield client
        return
    with programs.http_server(folder, *more) as url:
        async with programs.over_http(url) as client:
            yield client


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_agent_asks_adds_checks_and_its_owner_undoes(transport: str, folder: Path):
    async with connected(transport, folder) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == list(TOOLS)
        found = await client.call_tool("retrieve", {"query": "parcel", "token_budget": 300})
        assert "The parcel arrives on Monday." in found.content[0].text
        assert "The parcel arrives" not in json.dumps(found.structured_content)
        assert tokens_of(found.content[0].text) == found.structured_content["tokens"] <= 300
        added = await client.call_tool(
            "remember", {"text": "Bob collects the parcel", "why": "he said so", "task": "t-1"}
        )
        receipt = found.structured_content["receipt"]
        checked = await client.call_tool(
            "verify", {"receipt": receipt, "quote": "The parcel arrives"}
        )
        assert checked.structured_content["is_verified"]
        compared = await client.call_tool("compare", {"query": "parcel", "before": "HEAD~1"})
        assert "entered" in [move["kind"] for move in compared.structured_content["moves"]]
        past = await client.call_tool("history", {"id": added.structured_content["ids"][0]})
        assert past.structured_content["commits"][0]["task"] == "t-1"
        node = f"ibidem://main/node/{added.structured_content['ids'][0]}"
        assert "Bob collects" in (await client.read_resource(node)).contents[0].text
        status = json.loads((await client.read_resource("ibidem://status")).contents[0].text)
        assert status["branches"] == {"main": added.structured_content["commit"]}
        prompt = await client.get_prompt("answer-with-citations", {"question": "parcel"})
        assert "[1]" in prompt.messages[0].content.text
    with ibidem.open(folder) as repo:
        commit = repo.commit_at()
        assert str(commit.cid) == added.structured_content["commit"]
        assert (commit.author, commit.agent, commit.task) == ("ada", "mcp 0.1.0", "t-1")
        assert commit.message == "he said so"
        before = repo.at("HEAD~1").root_cid
        undo = added.structured_content["undo"].split()[1:]
    command = [sys.executable, "-m", "ibidem", *undo, "-R", str(folder)]
    subprocess.run(command, check=True, env=programs.ENVIRONMENT, capture_output=True)
    with ibidem.open(folder) as repo:
        assert repo.at().root_cid == before


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("retrieve", {}, "invalid-input"),
        ("retrieve", {"query": 1}, "invalid-input"),
        ("retrieve", {"query": "x", "at": "nowhere"}, "revision-not-found"),
        ("read", {"id": "0" * 32}, "not-found"),
        ("remember", {"text": "x"}, "invalid-input"),
        ("remember", {"text": "token ghp_" + "a" * 36, "why": "w"}, "invalid-input"),
        ("remember", {"text": "x", "why": "w", "nonsense": 1}, "invalid-input"),
        ("compare", {"query": "x", "before": "nowhere"}, "revision-not-found"),
        ("verify", {}, "invalid-input"),
        ("verify", {"citation": {}}, "invalid-input"),
    ],
)
async def test_bad_input_is_an_error_with_our_kind_and_changes_nothing(
    transport: str, folder: Path, tool: str, arguments: dict[str, Any], kind: str
):
    with ibidem.open(folder) as repo:
        head = repo.head
    async with connected(transport, folder) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content["error"]["kind"] == kind
    assert result.content[0].text.startswith(f"{kind}: ")
    assert "ghp_" not in result.model_dump_json()
    with ibidem.open(folder) as repo:
        assert repo.head == head


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_what_is_not_there_is_an_error_of_the_protocol(transport: str, folder: Path):
    from mcp.shared.exceptions import MCPError

    async with connected(transport, folder, "--read-only", "--tool", "remember") as client:
        assert (await client.list_tools()).tools == []
        with pytest.raises(MCPError, match="no tool 'remember'"):
            await client.call_tool("remember", {"text": "x", "why": "w"})
        with pytest.raises(MCPError) as caught:
            await client.read_resource("ibidem://main/node/0000")
        assert caught.value.data["error"]["kind"] == "not-found"
        with pytest.raises(MCPError):
            await client.get_prompt("nothing")


async def test_the_older_handshake_is_answered_too(folder: Path):
    async with programs.over_stdio(folder, mode="legacy") as client:
        found = await client.call_tool("retrieve", {"query": "parcel"})
        assert "Monday" in found.content[0].text


async def test_http_needs_a_token_and_the_token_decides_who_asks(folder: Path):
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.serve.read_log import ReadLog
    from ibidem.serve.tokens import Tokens

    with ibidem.open(folder) as repo:
        with repo.transaction(author="ada", message="secret") as tx:
            tx.set_trust_policy(ibidem.TrustPolicy())
            tx.add("the parcel has gold in it", props={"level": 4})
        made = Tokens(repo.folder).create(
            "reader", viewer=Viewer(level="low", scopes=()), time=repo.now()
        )
    with programs.http_server(folder, "--viewer", "all") as url:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(url, b"{}", headers), timeout=10)
            refused.value.close()
            assert refused.value.code == 401
        async with programs.over_http(url) as owner:
            found = await owner.call_tool("retrieve", {"query": "parcel"})
            assert "gold" in found.content[0].text
            assert "trust: level 4 (hyper)" in found.content[0].text
        async with programs.over_http(url, made.text) as reader:
            names = [tool.name for tool in (await reader.list_tools()).tools]
            assert names == ["retrieve", "read", "verify"]
            found = await reader.call_tool("retrieve", {"query": "parcel"})
            assert "gold" not in found.content[0].text
            assert "Monday" in found.content[0].text
            citation = found.structured_content["sources"][0]["citation"]
            checked = await reader.call_tool("verify", {"citation": citation})
            assert checked.structured_content["is_verified"]
            refused_too = await reader.call_tool(
                "verify", {"receipt": found.structured_content["receipt"]}
            )
            assert refused_too.structured_content["error"]["kind"] == "not-permitted"
    with ibidem.open(folder) as repo:
        lines = [(one.token, one.route, one.result) for one in ReadLog(repo.folder).lines()]
        root = next(iter(ReadLog(repo.folder).lines())).root
        assert root == str(repo.at(viewer=ibidem.ALL).root_cid)
    assert lines == [
        ("owner", "mcp.retrieve", "ok"),
        ("reader", "mcp.retrieve", "ok"),
        ("reader", "mcp.verify", "ok"),
        ("reader", "mcp.verify", "not-permitted"),
    ]


async def test_a_restricted_viewer_with_write_scope_adds_what_he_may(folder: Path):
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.serve.tokens import Tokens

    with ibidem.open(folder) as repo:
        with repo.transaction(author="ada", message="secret") as tx:
            tx.set_trust_policy(ibidem.TrustPolicy())
            hidden = tx.add("the parcel has gold in it", props={"level": 4})
            tx.add("the parcel is brown", props={"level": 1})
        made = Tokens(repo.folder).create(
            "helper", viewer=Viewer(level="low", scopes=()), time=repo.now(), scope="write"
        )
    with programs.http_server(folder, "--viewer", "all") as url:
        async with programs.over_http(url, made.text) as helper:
            names = [tool.name for tool in (await helper.list_tools()).tools]
            assert names == ["retrieve", "read", "remember", "verify"]
            one = {"text": "the parcel is wet", "why": "seen", "props": {"level": 1}}
            added = await helper.call_tool("remember", {"facts": [one], "why": "rain"})
            assert added.structured_content["error"]["kind"] == "invalid-input"  # why twice
            del one["why"]
            added = await helper.call_tool("remember", {"facts": [one], "why": "rain"})
            assert not added.is_error, added
            answers = [
                await helper.call_tool(
                    "remember", {"facts": [{"text": "x", "replaces": str(node)}], "why": "w"}
                )
                for node in (hidden, ibidem.NodeId(bytes(16)))
            ]
    kinds = [answer.structured_content["error"]["kind"] for answer in answers]
    assert kinds == ["not-found", "not-found"]
    with ibidem.open(folder) as repo:
        texts = {node.summary for node in repo.at(viewer=ibidem.ALL).nodes()}
        assert {"the parcel is wet", "the parcel has gold in it", "the parcel is brown"} <= texts
        assert repo.commit_at().agent == "helper"


async def test_a_revoked_token_is_refused_at_once(folder: Path):
    from mcp.shared.exceptions import MCPError

    from ibidem.serve.tokens import Scope, Tokens

    with ibidem.open(folder) as repo:
        tokens = Tokens(repo.folder)
        made = tokens.create("desk", viewer=ibidem.ALL, scope=Scope.WRITE, time=repo.now())
    with programs.http_server(folder) as url:
        async with programs.over_http(url, made.text) as client:
            added = await client.call_tool("remember", {"text": "Bob waits", "why": "he said so"})
            assert not added.is_error
            tokens.revoke("desk")
            with pytest.raises(MCPError):
                await client.call_tool("retrieve", {"query": "Bob"})
    with ibidem.open(folder) as repo:
        assert repo.commit_at().agent == "desk"


async def test_calls_at_the_same_time_are_all_answered(folder: Path):
    import anyio

    replies: dict[int, Any] = {}
    with programs.http_server(folder) as url:

        async def one(number: int) -> None:
            async with programs.over_http(url) as client:
                if number % 3:
                    sent = {"query": "parcel", "at": "main~0", "token_budget": 300}
                    replies[number] = await client.call_tool("retrieve", sent)
                else:
                    sent = {"text": f"visitor {number} waits", "why": "they came"}
                    replies[number] = await client.call_tool("remember", sent)

        async with anyio.create_task_group() as tasks:
            for number in range(24):
                tasks.start_soon(one, number)
    assert not [reply for reply in replies.values() if reply.is_error]
    with ibidem.open(folder) as repo:
        texts = {node.summary for node in repo.at().nodes()}
        assert {f"visitor {number} waits" for number in range(0, 24, 3)} <= texts
        for number in range(24):
            if number % 3:
                found = replies[number].structured_content
                assert str(repo.receipts.replay(found["receipt"]).cid) == found["result"]


async def test_a_page_of_another_origin_is_refused(folder: Path):
    with programs.http_server(folder) as url:
        headers = {
            "Authorization": f"Bearer {programs.ENVIRONMENT['IBIDEM_TOKEN']}",
            "Origin": "https://example.com",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(url, b"{}", headers), timeout=10)
        refused.value.close()
        assert refused.value.code == 403

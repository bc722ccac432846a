"""Time of an answer over the Model Context Protocol beside that of the library.

    python -m bench.mcp [--nodes N] [--questions N]

One repository on disk, one client, questions one after another: the library's packs, the tool as a
function, the protocol over standard input and output, and over HTTP. Prints medians and the 99th
percentile in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import ibidem
from ibidem.adapters.mcp.access import Access
from ibidem.adapters.mcp.questions import retrieve

SOURCE = Path(__file__).resolve().parent.parent / "src"
ENVIRONMENT = {"PYTHONPATH": str(SOURCE), "IBIDEM_TOKEN": "t" * 32, "IBIDEM_AUTHOR": "bench"}
WORDS = [
    "parcel",
    "mill",
    "engine",
    "cards",
    "store",
    "queue",
    "retry",
    "order",
    "payment",
    "index",
    "root",
    "branch",
]
BUDGET = 1500


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ibidem.init(folder) as repo:
        fill(repo, given.nodes)
        texts = [f"{WORDS[i % 12]} {WORDS[i // 12 % 12]} {i}" for i in range(given.questions)]
        repo.retrieve(texts[0])
        options = {"token_budget": BUDGET, "as_of": repo.at().moment()}
        report("library, packs", timed(lambda text: repo.at().packs(text, **options), texts))
        access = Access(repo)
        found = timed(lambda text: retrieve(access, query=text, token_budget=BUDGET), texts)
        report("tool, as a function", found)
        asyncio.run(over_protocol(folder, texts))


def fill(repo: ibidem.Repository, count: int) -> None:
    with repo.transaction(author="bench", message="facts") as tx:
        for i in range(count):
            tx.add(f"{WORDS[i % 12]} {i} of the {WORDS[i // 12 % 12]} and {WORDS[i // 144 % 12]}")


async def over_protocol(folder: str, texts: list[str]) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    arguments = ["-m", "ibidem", "mcp", "-R", folder]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=ENVIRONMENT)
    async with Client(server) as client:
        report("protocol, stdio", await asked(client, texts))
    command = [sys.executable, *arguments, "--http", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[0]
        headers = {"Authorization": f"Bearer {ENVIRONMENT['IBIDEM_TOKEN']}"}
        async with (
            create_mcp_http_client(headers) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            report("protocol, HTTP", await asked(client, texts))
        process.terminate()


async def asked(client: Any, texts: list[str]) -> list[float]:
    async def call(text: str) -> None:
        await client.call_tool("retrieve", {"query": text, "token_budget": BUDGET})

    await call(texts[0])
    return [await timed_async(call, text) for text in texts]


def timed(call: Callable[[str], object], texts: list[str]) -> list[float]:
    found = []
    for text in texts:
        start = time.perf_counter()
        call(text)
        found.append((time.perf_counter() - start) * 1000)
    return found


async def timed_async(call: Callable[[str], Awaitable[None]], text: str) -> float:
    start = time.perf_counter()
    await call(text)
    return (time.perf_counter() - start) * 1000


def report(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    late = ordered[int(len(ordered) * 0.99)]
    print(f"{name:22} median {statistics.median(ordered):7.2f} ms  p99 {late:7.2f} ms")


if __name__ == "__main__":
    main()

"""`repo mcp` as a program, and clients of the SDK that talk to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[3] / "src"
ENVIRONMENT = {"PYTHONPATH": str(SOURCE), "IBIDEM_AUTHOR": "ada", "IBIDEM_TOKEN": "t" * 32}


def arguments(folder: Path, *more: str) -> list[str]:
    return ["-W", "ignore", "-m", "ibidem", "mcp", "-R", str(folder), *more]


@asynccontextmanager
async def over_stdio(folder: Path, *more: str, **options: Any) -> AsyncIterator[Any]:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters

    found = StdioServerParameters(
        command=sys.executable, args=arguments(folder, *more), env=ENVIRONMENT
    )
    async with Client(found, **options) as client:
        yield client


@contextmanager
def http_server(folder: Path, *more: str) -> Iterator[str]:
    """Runs the server and yields its address."""
    command = [sys.executable, *arguments(folder, "--http", "--port", "0", *more)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split()[0]
        finally:
            server.terminate()


@asynccontextmanager
async def over_http(url: str, token: str = ENVIRONMENT["IBIDEM_TOKEN"]) -> AsyncIterator[Any]:
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    headers = {"Authorization": f"Bearer {token}"}
    async with (
        create_mcp_http_client(headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client

"""A local S3 server for tests: on a free port of 127.0.0.1, in memory, ended with the tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

BUCKET = "team-notes"
"""As in the how-to page, whose samples run on this server."""
_START_SECONDS = 30.0


def free_port() -> int:
    """Returns a port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def require(*packages: str) -> None:
    """Skips the test unless the packages are installed."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install 'ibidem[test]'")


@contextmanager
def ministack(log: Path) -> Iterator[dict[str, str]]:
    """Runs the server with one bucket; yields the environment of its clients."""
    require("obstore", "ministack")
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    ours = {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port), "TMPDIR": str(log.parent)}
    with running([sys.executable, "-m", "ministack"], log, port, {**os.environ, **ours}):
        made = urllib.request.Request(f"{endpoint}/{BUCKET}", data=b"", method="PUT")
        urllib.request.urlopen(made).close()
        yield {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }


@contextmanager
def running(
    command: list[str], log: Path, port: int, environment: dict[str, str]
) -> Iterator[None]:
    """Runs a server until the block ends, which begins when the server listens."""
    with log.open("wb") as file:
        server = subprocess.Popen(
            command, env=environment, stdout=file, stderr=subprocess.STDOUT, cwd=log.parent
        )
        try:
            stop = time.monotonic() + _START_SECONDS
            while True:
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < stop, f"{command} does not listen"
                try:
                    socket.create_connection(("127.0.0.1", port), 0.2).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

"""Servers as workers of another process: over HTTP, with tokens, as processes that are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import ibidem
from ibidem.index.tuning import Tuning
from ibidem.objects.errors import ErrorKind, RemoteError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.serve.server import Server

TOKEN = "a-token-of-forty-characters-0123456789ab"
SOURCE = Path(__file__).parents[2] / "src"
QUESTION = {"text": "red mill", "vector": ("m", np.array([1, 2, 3], np.float32))}


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    with ibidem.init(tmp_path / "notes") as found:
        found.core.search_index.tuning = Tuning(fresh_rows=1, tail_rows=1, tier_parts=1_000)
        for batch in range(8):
            with found.transaction() as tx:
                tx.set_trust_policy(TrustPolicy())
                for place in range(10):
                    node = tx.add_node("Mill", summary=f"a red mill {batch} {place}")
                    vector = np.array([batch, place, 1], np.float32)
                    tx.set_vector(node, model="m", vector=vector)
            assert found.retrieve("mill", viewer=ALL).items
        yield found


def answer_of(repo: Repository) -> bytes:
    return repo.retrieve(**QUESTION, viewer=ALL).to_bytes()


def test_servers_rank_for_a_process_and_for_another_server(repo: Repository) -> None:
    assert repo.folder is not None
    expected = answer_of(repo)
    with ExitStack() as stack:
        servers = []
        for _ in range(2):
            opened = stack.enter_context(ibidem.open(repo.folder.parent))
            servers.append(stack.enter_context(Server(opened, token=TOKEN, port=0)).start())
        repo.use_workers([one.url for one in servers], token=TOKEN)
        assert answer_of(repo) == expected
        workers = repo.core.workers
        assert workers is not None
        # Of two lanes: 2 x 2 layouts; then counts and 2 tops, of each worker that has a segment.
        assert 4 + 3 <= workers.request_count <= 4 + 6
        front = stack.enter_context(Server(repo, token=TOKEN, port=0)).start()
        client = stack.enter_context(ibidem.open(front.url, token=TOKEN))
        found = client.retrieve(text="red mill", vector=["m", [1.0, 2.0, 3.0]])
        assert found.to_json() == repo.retrieve(**QUESTION, viewer=ALL).to_json()
        servers[0].close()
        assert answer_of(repo) == expected
        servers[1].close()
        with pytest.raises(RemoteError, match="cannot be reached or broke off") as failed:
            answer_of(repo)
        assert servers[0].url in str(failed.value)
        assert servers[1].url in str(failed.value)


def test_a_token_that_sees_less_cannot_use_a_worker(repo: Repository) -> None:
    with Server(repo, token=TOKEN, port=0) as server:
        server.start()
        low = server.tokens.create("low", viewer=Viewer(1, ()), scope="read", time=repo.now())
        assert repo.folder is not None
        with ibidem.open(repo.folder.parent) as driver:
            for token, words in (
                (low.text, "not-permitted|not permitted|may"),
                ("x" * 40, "token"),
            ):
                driver.use_workers([server.url], token=token)
                with pytest.raises(RemoteError, match=words):
                    answer_of(driver)


def _started(folder: Path, *options: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "ibidem", "serve", "--port", "0", "-R", str(folder), *options]
    return subprocess.Popen(
        command, env={**environment, "IBIDEM_TOKEN": TOKEN}, stdout=subprocess.PIPE, text=True
    )


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().split()[0]


def test_processes_that_are_killed_are_replaced_or_named(repo: Repository) -> None:
    assert repo.folder is not None
    folder = repo.folder.parent
    expected = answer_of(repo)
    with ExitStack() as stack:

        def started(*options: str) -> subprocess.Popen[str]:
            process = stack.enter_context(_started(folder, *options))
            stack.callback(process.kill)
            return process

        workers = [started(), started()]
        addresses = [_address(one) for one in workers]
        front = started(*(part for one in addresses for part in ("--worker", one)))
        with ibidem.open(_address(front), token=TOKEN) as client:
            found = client.retrieve(text="red mill", vector=["m", [1.0, 2.0, 3.0]])
            assert found.to_json() == repo.retrieve(**QUESTION, viewer=ALL).to_json()
        repo.use_workers(addresses, token=TOKEN)
        assert answer_of(repo) == expected
        workers[0].kill()
        workers[0].wait()
        assert answer_of(repo) == expected
        workers[1].kill()
        workers[1].wait()
        with pytest.raises(RemoteError) as failed:
            answer_of(repo)
        assert failed.value.kind is ErrorKind.REMOTE
        assert all(one in str(failed.value) for one in addresses)

"""A server that is killed while many write: what it acknowledged is there, and there once."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import ibidem

pytestmark = pytest.mark.slow

TOKEN = "a-token-of-forty-characters-0123456789ab"
WRITERS = 8
KILLS = 5
PROGRAM = """
import sys, ibidem
from ibidem.serve.server import Server
with ibidem.open(sys.argv[1]) as repo, Server(repo, token=sys.argv[2], port=0) as server:
    print(server.port, flush=True)
    server.serve_forever()
"""


class Crashing:
    """A server in a process of its own, which is killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = 0
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, self._folder, TOKEN],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def write(server: Crashing, number: int, done: threading.Event, acknowledged: list[str]) -> None:
    """Writes facts, each until it is acknowledged, under a key of its own."""
    count = 0
    while not done.is_set():
        name = f"writer {number} fact {count}"
        body = {"records": [{"node": {"ntype": "Fact", "summary": name}}]}
        headers = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Idempotency-Key": name.replace(" ", "-"),
        }
        while not done.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            try:
                connection.request("POST", "/v1/transactions", json.dumps(body), headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    acknowledged.append(name)
                    break
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
            finally:
                connection.close()
        count += 1


def test_what_was_acknowledged_is_there_once(tmp_path: Path):
    ibidem.init(tmp_path / "repo").close()
    server = Crashing(tmp_path / "repo")
    done, acknowledged = threading.Event(), [list[str]() for _ in range(WRITERS)]
    writers = [
        threading.Thread(target=write, args=(server, number, done, acknowledged[number]))
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    for _ in range(KILLS):
        time.sleep(1.0)
        server.kill()
        server.start()
    time.sleep(0.5)
    done.set()
    for writer in writers:
        writer.join()
    server.kill()
    written = {name for names in acknowledged for name in names}
    with ibidem.open(tmp_path / "repo") as repo:
        assert repo.maintenance.fsck().faults == ()
        there = [node.summary for node in repo.at().nodes()]
        assert written <= set(there)
        assert len(there) <= len(written) + WRITERS  # one each whose answer was lost
        commits = list(repo.history.log())
        assert len(commits) == len(there)  # no request was done twice
        assert len(written) > 10 * KILLS

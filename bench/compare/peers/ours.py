"""Ibidem: a repository on disk, one commit a batch, asked for rendered answers as its users ask."""

from __future__ import annotations

import contextlib
import functools
import http.client
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from corpus import Corpus, Question
from peer import share

import ibidem

MODEL = "m"
COMMIT_NODES = 50_000
WARM_UP = 4
TOKEN = "compare-" * 4
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
PROTOCOL = "2025-06-18"


class Ours:
    lanes = ("lexical", "dense", "hybrid")
    packages = ("ibidem", "numpy", "lmdb", "numkong", "pyroaring")
    extra = ("filtered", "updated", "served")
    note = "a durable commit every 50,000 nodes; exact; answers are rendered nodes with receipts"

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._repo: Any = None

    def load(self, corpus: Corpus) -> None:
        with ibidem.init(self._folder) as repo:
            for start, texts, vectors in corpus.batches(COMMIT_NODES):
                with repo.transaction() as tx:
                    for number, (text, vector) in enumerate(
                        zip(texts, vectors, strict=True), start
                    ):
                        _put(tx, number, text, vector)
            repo.retrieve("bababak", vector=(MODEL, vectors[0]))

    def open(self) -> None:
        self._repo = ibidem.open(self._folder)

    def ask(
        self, lane: str, question: Question, limit: int, below: int | None = None
    ) -> Sequence[int]:
        text = None if lane == "dense" else question.text
        options: dict[str, Any] = {"limit": limit}
        if lane != "lexical":
            import numpy as np

            options["vector"] = (MODEL, np.array(question.vector, np.float32))
        if below is not None:
            options["where"] = {"share": {"lt": below}}
        found = self._repo.retrieve(text, **options)
        return [item.node.props["number"] for item in found.items]

    def insert(self, number: int, node: Question) -> None:
        self.update([(number, node)])

    def update(self, nodes: Sequence[tuple[int, Question]]) -> None:
        with self._repo.transaction() as tx:
            for number, node in nodes:
                _put(tx, number, node.text, node.vector)

    def served(self, asked: Sequence[Question], limit: int) -> dict[str, list[float] | str]:
        """Returns the milliseconds of each lexical question to the library, to a server over HTTP
        and to one over the Model Context Protocol, both in a process of their own."""
        self.open()
        found: dict[str, list[float] | str] = {}
        found["served_library"] = _timed(lambda text: self._repo.retrieve(text, limit=limit), asked)
        with self._running("serve", "--port", "0") as server:
            port = int(server.stdout.readline().split()[0].rpartition(":")[2])
            connection = http.client.HTTPConnection("127.0.0.1", port)

            def post(text: str) -> None:
                body = json.dumps({"text": text, "limit": limit})
                connection.request("POST", "/v1/retrieve", body, HEADERS)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200, answer.status

            found["served_http"] = _timed(post, asked)
        if importlib.util.find_spec("mcp") is None:
            return found | {"served_mcp": "not installed"}
        with self._running("mcp") as server:
            call = functools.partial(_call, server)
            client = {"name": "compare", "version": "1"}
            call("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo=client)
            _send(server, {"method": "notifications/initialized"})

            def tool(text: str) -> None:
                call("tools/call", name="retrieve", arguments={"query": text})

            found["served_mcp"] = _timed(tool, asked)
        return found

    @contextlib.contextmanager
    def _running(self, command: str, *options: str) -> Iterator[subprocess.Popen[str]]:
        run = [sys.executable, "-m", "ibidem", command, "-R", self._folder, *options]
        pipe, environment = subprocess.PIPE, os.environ | {"IBIDEM_TOKEN": TOKEN}
        with subprocess.Popen(run, stdin=pipe, stdout=pipe, text=True, env=environment) as server:
            try:
                yield server
            finally:
                server.terminate()


def _timed(call: Callable[[str], object], asked: Sequence[Question]) -> list[float]:
    spent = []
    for question in (*asked[:WARM_UP], *asked):
        started = time.perf_counter()
        call(question.text)
        spent.append(1e3 * (time.perf_counter() - started))
    return spent[WARM_UP:]


def _call(server: subprocess.Popen[str], method: str, **given: object) -> None:
    _send(server, {"id": 1, "method": method, "params": given})
    answer = json.loads(server.stdout.readline())
    assert not answer.get("result", {"isError": True}).get("isError"), answer


def _send(server: subprocess.Popen[str], message: dict[str, object]) -> None:
    server.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    server.stdin.flush()


def _put(tx: Any, number: int, text: str, vector: Any) -> None:
    props = {"number": number, "share": share(number)}
    node = tx.add_node("Passage", summary=text, props=props, key=number, replace=True)
    tx.set_vector(node, model=MODEL, vector=vector)

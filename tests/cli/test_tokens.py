"""`repo trust token` and what `repo serve` answers to one; what is derived, written lower."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

SOURCE = Path(__file__).parents[2] / "src"


def answered(url: str, token: str, body: object) -> tuple[int, str]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/retrieve", json.dumps(body), headers)
    found = connection.getresponse()
    text = found.read().decode()
    connection.close()
    return found.status, text


def test_a_served_question_is_answered_for_the_viewer_of_its_token(run, tmp_path):
    run("init")
    run("node", "add", "Note", "--summary", "secret tea", "--prop", "level=3")
    run("node", "add", "Note", "--summary", "plain tea", "--prop", "level=1")
    run("commit", "-m", "tea")
    run("trust", "enable")
    made = run("trust", "token", "create", "reader", "--viewer", "low", "--json").stdout
    token = json.loads(made)["token"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "ibidem", "serve", "--port", "0"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().split()[0]
            status, body = answered(url, token, {"text": "tea"})
            assert status == 200
            assert "plain tea" in body
            assert "secret" not in body
            owner = (tmp_path / ".ibidem" / "local" / "serve-token").read_text().strip()
            assert "secret tea" in answered(url, owner, {"text": "tea"})[1]
            run("trust", "token", "revoke", "reader")
            assert answered(url, token, {"text": "tea"})[0] == 401
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(120)
            finally:
                server.kill()
    log = run("trust", "token", "log").stdout.splitlines()
    assert [line.split()[1:5] for line in log] == [
        ["reader", "1", "/v1/retrieve", "ok"],
        ["owner", "all", "/v1/retrieve", "ok"],
    ]
    assert len(run("trust", "token", "log", "--name", "owner").stdout.splitlines()) == 1
    assert run("trust", "token", "log", "--limit", "0").stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "Reader", "--viewer", "low"),
        ("create", "owner", "--viewer", "low"),
        ("create", "reader"),
        ("create", "reader", "--viewer", "lowest"),
        ("create", "reader", "--viewer", ""),
        ("create", "reader", "--viewer", "low", "--expires", "soon"),
        ("create", "reader", "--viewer", "low", "--expires", "2025-01-01T00:00:00Z"),
        ("create", "reader", "--viewer", "low", "--expires", "0d"),
    ],
)
def test_bad_input_creates_no_token(run, arguments):
    run("init")
    run("trust", "token", *arguments, code=2)
    assert run("trust", "token", "list").stdout == ""


def test_a_token_that_is_not_there_is_not_found(run):
    run("init")
    run("trust", "token", "rotate", "reader", code=3)
    run("trust", "token", "revoke", "reader", code=3)


def test_tokens_are_the_owners(run, monkeypatch):
    run("init")
    run("trust", "enable")
    monkeypatch.setenv("IBIDEM_VIEWER", "low")
    for arguments in (("list",), ("log",), ("create", "x", "--viewer", "all"), ("revoke", "x")):
        assert "is refused" in run("trust", "token", *arguments, code=2).stderr


def test_a_summary_is_written_lower_on_request(run):
    run("init")
    run("thread", "append", "talk", "4711", "--role", "user")
    run("thread", "compact", "talk", "0", "0", "a number", "--level", "public", "--scope", "")
    message = json.loads(run("log", "--json", "--limit", "1").stdout)["commits"][0]["message"]
    assert message.startswith("summary of talk\n\nLowered: ")
    assert '"to":{"level":0,"scope":""}}' in message
    run("memory", "consolidate", "--level", "secret", code=2)

"""`repo view`: prints an address that serves pages, until it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import ibidem

from .conftest import Run

SOURCE = Path(__file__).resolve().parents[2] / "src"


def test_the_printed_address_begins_a_session(tmp_path: Path):
    ibidem.init(tmp_path).close()
    command = [sys.executable, "-m", "ibidem", "view", "how often", "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        assert address.query == "text=how+often"
        connection = HTTPConnection("127.0.0.1", address.port, timeout=30)
        connection.request(
            "POST", "/session", headers={"Authorization": f"Bearer {address.fragment}"}
        )
        response = connection.getresponse()
        assert response.status == 204
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, -signal.SIGINT, 130)


def test_the_export_is_one_file_for_the_viewer(run: Run, tmp_path: Path):
    run("init")
    run("node", "add", "Note", "--summary", "secret tea", "--prop", "level=3")
    run("node", "add", "Note", "--summary", "plain tea", "--prop", "level=1")
    run("commit", "-m", "tea")
    run("trust", "enable")
    refused = run("view", "tea", "--export", "none.html", code=2)
    assert "viewer: got none" in refused.stderr
    assert not (tmp_path / "none.html").exists()
    run("view", "tea", "--viewer", "low", "--export", "low.html")
    run("view", "tea", "--viewer", "all", "--export", "all.html")
    low, whole = ((tmp_path / f"{name}.html").read_text("utf-8") for name in ("low", "all"))
    assert "plain" in low
    assert "secret" not in low
    assert "secret" in whole
    assert "<script" not in whole

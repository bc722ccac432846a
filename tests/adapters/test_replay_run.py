"""The fixture `replay_run` in a project of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tools.type_check import HOUSE

import ibidem

AGENT = """
def main(run, question="when"):
    found = run.retrieve("parcel").items[0].node.summary
    return run.tool("model", lambda *_: 1 / 0)(question, found)
"""
TESTS = """
import agent


def test_same(replay_run):
    assert replay_run("parcel.car", agent.main) == "on Monday"


def test_differs(replay_run):
    replay_run("parcel.car", lambda run: agent.main(run, "why"))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="seed") as tx:
            tx.add_node("Fact", summary="the parcel arrives")
        with repo.runs.start("parcel") as run:
            found = run.retrieve("parcel").items[0].node.summary
            run.tool("model", lambda *_: "on Monday")("when", found)
        repo.runs.open("parcel").export(tmp_path / "parcel.car")
    (tmp_path / "agent.py").write_text(AGENT, "utf-8")
    (tmp_path / "test_agent.py").write_text(TESTS, "utf-8")
    return tmp_path


def test_a_run_is_a_test_of_one_line(project: Path):
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:ibidem"]
    program += ["-p", "no:ibidem_runs", "-p", "ibidem.adapters.recording.plugin"]
    done = subprocess.run(
        program,
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(HOUSE / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "run 'parcel/1' no longer does what was recorded, from step 2 on" in done.stdout
    assert "Traceback" not in done.stdout
    assert "recording/plugin.py" not in done.stdout


def test_a_run_of_a_repository_is_replayed_too(project: Path):
    from ibidem.adapters.recording import plugin

    replay_run = plugin.replay_run.__wrapped__  # the function behind the fixture
    with ibidem.init("memory:") as repo:
        repo.runs.load(project / "parcel.car")

        class Request:
            path = project / "test_agent.py"

        again = replay_run(Request())
        work = {}
        exec(AGENT, work)
        assert again("parcel", work["main"], repository=repo) == "on Monday"

"""The examples pass, and fail for the right reason when they are edited."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:ibidem"]
PROGRAM += ["-p", "no:ibidem_runs"]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, "-p", "ibidem.testing.plugin", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(HOUSE / "src"), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HOUSE / "examples" / "regression_suite", tmp_path / "suite"))


def test_the_suite_passes(suite: Path):
    done = run(suite)
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout
    assert "stale" not in done.stdout


@pytest.mark.slow
def test_an_edit_that_takes_an_answer_away_fails(suite: Path):
    page = suite / "docs" / "retries.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(
        text.replace(
            "The first retry waits one second, the second two, the third four", "Patience"
        ),
        encoding="utf-8",
    )
    done = run(suite)
    assert done.returncode == 1
    assert "test_answers.py::test_answer[backoff], check '1', mode ranks" in done.stdout
    assert "left     " in done.stdout


@pytest.mark.slow
def test_lost_pages_fail_the_gates(suite: Path):
    for name in ("limits", "webhooks", "paging"):
        (suite / "docs" / f"{name}.md").unlink()
    done = run(suite, "tests/test_quality.py")
    assert done.returncode == 1
    assert "limits.md not found" in done.stdout
    assert "below the gate (mean)" in done.stdout


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HOUSE / "examples" / "replayable_agent", tmp_path / "agent"))


@pytest.mark.slow
def test_the_recorded_agent_replays_without_its_model(agent: Path):
    done = run(agent)
    assert done.returncode == 0, f"{done.stdout}\nIs it the recording that is old? python record.py"
    assert "3 passed" in done.stdout


@pytest.mark.slow
def test_a_changed_prompt_fails_at_its_step_and_shows_both(agent: Path):
    source = agent / "agent.py"
    source.write_text(source.read_text("utf-8").replace("Look again", "Ask again"), "utf-8")
    done = run(agent)
    assert done.returncode == 1
    assert "no longer does what was recorded, from step 2 on" in done.stdout
    assert "differs in arguments[0].instructions: 'Answer from what was found. Look" in done.stdout


def test_recording_again_gives_the_recording_that_is_there(agent: Path):
    before = (agent / "recorded.car").read_bytes()
    done = subprocess.run(
        [sys.executable, "record.py"],
        cwd=agent,
        env={**os.environ, "PYTHONPATH": str(HOUSE / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "six hundred requests" in done.stdout
    assert (agent / "recorded.car").read_bytes() == before, "record again: python record.py"

"""The example agent works in its own folder, twice, with one import and one commit a step."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ibidem

AGENT = Path(__file__).parents[2] / "examples" / "agent.py"
LINES_MAX = 60


@pytest.fixture
def agent() -> Any:
    spec = importlib.util.spec_from_file_location("agent", AGENT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_short_and_imports_one_name():
    text = AGENT.read_text("utf-8")
    assert len(text.splitlines()) <= LINES_MAX
    imports = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Import)]
    assert {alias.name for one in imports for alias in one.names} == {"ibidem", "sys"}
    assert "import " not in text.replace("import ibidem", "").replace("import sys", "")


def test_every_step_is_one_commit_and_the_run_replays(
    agent: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    agent.main(str(tmp_path))
    agent.main(str(tmp_path))
    shown = capsys.readouterr().out
    assert "tried again after one second" in shown
    assert "As noted: \n" not in shown
    with ibidem.open(tmp_path) as repo:
        messages = [one.message for one in repo.history.log()]
        assert len(messages) == 5
        assert [one.failure for one in repo.runs.list()] == [None, None]
        [fact] = repo.records.list(user="ada")
        assert fact.text.endswith(agent.QUESTIONS[-1])
        assert len(repo.records.versions(fact.id)) == 4
        assert len(repo.conversations.to_messages(agent.THREAD)) == 8
        assert len(repo.notes.space().log().events) == 4


def test_without_a_folder_it_says_how_it_is_started():
    done = subprocess.run([sys.executable, AGENT], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "python examples/agent.py FOLDER" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_replay_notices_another_model_request(agent: Any, tmp_path: Path):
    agent.main(str(tmp_path))
    with ibidem.open(tmp_path) as repo:
        replay = repo.runs.open("agent").replay()
        with pytest.raises(ibidem.RunMismatchError):
            agent.step(replay, "something else?")

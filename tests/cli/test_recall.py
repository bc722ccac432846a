"""`repo memory recall` where its record of answers cannot be written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import ibidem
from ibidem.memory.recall.recall import recall

from .conftest import Run


@pytest.mark.parametrize("blocked", ["", "last.json", "key", "impressions.jsonl"])
def test_an_answer_that_cannot_be_recorded_is_given_and_says_so(
    notes: Run, tmp_path: Path, blocked: str
) -> None:
    asked = ("memory", "recall", "deadline request")
    expected = notes(*asked)
    assert "warning" not in expected.stderr
    local = tmp_path / ".ibidem" / "local"
    if blocked:
        (local / blocked).unlink()
        (local / blocked).mkdir()
    else:
        shutil.rmtree(local)
        local.write_bytes(b"")
    found = notes(*asked)
    assert found.stdout == expected.stdout
    assert found.stderr.startswith("warning: not recorded, so feedback cannot refer to this answer")
    assert found.stderr.partition("\n")[2] == expected.stderr
    assert json.loads(notes(*asked, "--json").stdout)["items"]
    with ibidem.open(tmp_path) as repo:
        answer = recall(repo, "deadline request")
    assert "not recorded" in str(answer)
    assert "not recorded" in answer.to_dict()["unrecorded"]

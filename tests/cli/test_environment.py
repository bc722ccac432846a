"""Where, when and under which settings it runs changes no root and no answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
VARIATIONS = (
    {"PYTHONHASHSEED": "1"},
    {"PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu"},
    {"LC_ALL": "C", "IBIDEM_THREADS": "1"},
    {"LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns"},
    {"IBIDEM_THREADS": "8", "OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Haswell"},
    {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott"},
    {"NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX2 FMA3"},
)
LINES = "".join(
    json.dumps(
        {
            "node": {
                "name": str(i),
                "ntype": "Memo",
                "key": i,
                "summary": f"memo naïve İstanbul {i % 7}",
            }
        }
    )
    + "\n"
    + json.dumps({"vector": {"node": str(i), "model": "m", "values": [i % 5, i % 3, 1.5, -i]}})
    + "\n"
    for i in range(60)
)


def run(folder: Path, environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "ibidem", *arguments, "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "SOURCE_DATE_EPOCH": "0", **environment},
        input=LINES.encode(),
        capture_output=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def answer(folder: Path, environment: dict[str, str]) -> tuple[str, str]:
    folder.mkdir()
    np.save(folder / "q.npy", np.array([0.3, 0.1, 0.7, -2.5], np.float32))
    run(folder, environment, "init")
    commit = run(folder, environment, "commit", "-", "--author", "ada")["commit"]["cid"]
    query = ("retrieve", "naive istanbul memo 3", "--vector", "m=q.npy", "--budget", "200")
    return commit, run(folder, environment, *query)["result"]


@pytest.mark.slow
def test_the_same_commit_and_the_same_answer_everywhere(tmp_path: Path):
    expected = answer(tmp_path / "plain", {})
    for number, variation in enumerate(VARIATIONS):
        assert answer(tmp_path / str(number), variation) == expected, variation


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", "9999"])
def test_a_wrong_number_of_threads_is_refused(
    given: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from ibidem.cli.session import Session
    from ibidem.errors import InvalidInputError

    (tmp_path / ".ibidem").mkdir()
    monkeypatch.setenv("IBIDEM_THREADS", given)
    with pytest.raises(InvalidInputError, match=given):
        Session(str(tmp_path)).open()

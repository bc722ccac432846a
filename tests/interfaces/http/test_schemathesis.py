"""The API under schemathesis: whatever is sent, the answer is one that the description has.

Left out, with their reasons: `/v1/events`, whose answer has no end; `/v1/work` and the three
routes of copies, which take no JSON (`tests/fuzz/copies.py` sends CARs and CBOR); and the check
that everything that fits the schema is accepted, because a schema cannot say which revisions and
models there are.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ibidem
from ibidem.serve.server import Server

pytestmark = pytest.mark.slow
pytest.importorskip("schemathesis", reason="pip install 'ibidem[interfaces]'")

TOKEN = "a-token-of-forty-characters-0123456789ab"
DESCRIPTION = Path(__file__).parents[3] / "docs" / "openapi.json"
LEFT_OUT = ("/v1/events", "/v1/work", "/v1/known", "/v1/fetch", "/v1/push")
SECONDS = int(os.environ.get("IBIDEM_FUZZ_SECONDS", "60"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with ibidem.init(tmp_path / "repo", clock=lambda: 1_800_000_000_000_000) as repo:
        with repo.transaction(author="ada") as tx:
            for number in range(20):
                tx.add_node("Doc", summary=f"retry number {number}", props={"level": number})
        with Server(repo, token=TOKEN, port=0, is_remote=True) as found:
            yield found.start()
        assert repo.maintenance.fsck().faults == ()


def test_every_answer_is_as_described(server: Server, tmp_path: Path):
    done = subprocess.run(
        [
            *(Path(sys.executable).parent / "schemathesis", "run", DESCRIPTION),
            *("--url", server.url, "-H", f"Authorization: Bearer {TOKEN}"),
            *(f"--exclude-path={path}" for path in LEFT_OUT),
            *("--phases", "coverage,fuzzing", "--exclude-checks", "positive_data_acceptance"),
            *("--max-time", str(SECONDS), "--seed", "1", "--no-color"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]

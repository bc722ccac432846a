"""The conformance suite of the protocol, unaltered, against our server.

`npm install` in this folder fetches the suite and the Node that it needs; without them the test is
skipped. `skipped.json` has what the server does not offer, and why.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HOUSE = HERE.parents[2]
SUITE = HERE / "node_modules" / "@modelcontextprotocol" / "conformance"
NODE = HERE / "node_modules" / ".bin" / "node"
SKIPPED = json.loads((HERE / "skipped.json").read_text())


def test_the_page_says_what_is_skipped():
    page = (HOUSE / "docs" / "how-to" / "mcp.md").read_text()
    version = json.loads((HERE / "package.json").read_text())["dependencies"]
    assert version["@modelcontextprotocol/conformance"] in page
    assert [name for name in SKIPPED if f"`{name}`" not in page] == []
    assert [why for why in SKIPPED.values() if why not in page] == []


@pytest.mark.slow
@pytest.mark.skipif(not (SUITE.exists() and NODE.exists()), reason="needs npm install here")
def test_the_suite_passes_but_for_what_is_not_offered():
    pytest.importorskip("mcp")
    command = [sys.executable, str(HERE / "conformance_server.py")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(HOUSE / "src")}
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            run = [str(NODE), str(SUITE / "dist" / "index.js"), "server", "--url", url]
            done = subprocess.run(
                [*run, "--suite", "all"],
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
                cwd=HERE,
            )
        finally:
            server.terminate()
    rows = re.findall(r"^([✓✗]) ([\w-]+): \d+ passed, \d+ failed$", done.stdout, re.MULTILINE)
    assert len(rows) == 32
    assert {name for mark, name in rows if mark == "✗"} == set(SKIPPED)

"""The plugin in projects of its own: recording, checking, updating, refusing, staleness."""

from __future__ import annotations

TEST = """
def test_retries(retrieval, repo):
    retrieval.check(repo, "how do retries back off", limit=2)
"""


def test_record_then_check(project, run):
    project.makepyfile(test_notes=TEST)
    result = run()
    result.assert_outcomes(failed=1)
    run("--retrieval-update").assert_outcomes(passed=1)
    golden = project.path / "__retrieval__" / "test_notes" / "test_retries.txt"
    run().assert_outcomes(passed=1)

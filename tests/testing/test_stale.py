"""Goldens that nothing uses are reported, and removed by an update, and never on a guess."""

from __future__ import annotations

import pytest

from .conftest import Run

TWO = """
def test_one(retrieval):
    retrieval.check("retries", name="a")
    retrieval.check("deadline", name="b")

def test_two(retrieval):
    retrieval.check("retries")
"""
ONE = """
def test_one(retrieval):
    retrieval.check("retries", name="a")
"""


def files(project: pytest.Pytester) -> set[str]:
    return {path.name for path in (project.path / "__retrieval__").rglob("*.txt")}


def test_a_stale_file_and_a_stale_check_are_reported(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=TWO)
    run("--retrieval-update")
    project.makepyfile(test_notes=ONE)
    result = run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "stale *test_one.txt, check 'b': its test does not make this check",
            "stale *test_two.txt: there is no such test",
            "to remove what is stale: pytest --retrieval-update",
        ]
    )
    assert files(project) == {"test_one.txt", "test_two.txt"}


def test_an_update_removes_what_is_stale(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=TWO, test_other=ONE)
    run("--retrieval-update")
    project.makepyfile(test_notes=ONE)
    (project.path / "test_other.py").unlink()
    run("--retrieval-update").stdout.fnmatch_lines(["removed *test_two.txt*"])
    assert files(project) == {"test_one.txt"}
    assert not (project.path / "__retrieval__" / "test_other").exists()
    assert "stale" not in run().stdout.str()


def test_a_test_that_checks_nothing_any_more_leaves_a_stale_file(
    project: pytest.Pytester, run: Run
):
    project.makepyfile(test_notes=ONE)
    run("--retrieval-update")
    project.makepyfile(test_notes="def test_one(retrieval):\n    pass\n")
    run().stdout.fnmatch_lines(["stale *test_one.txt: its test checks nothing"])


@pytest.mark.parametrize(
    "arguments", [("-k", "one"), ("test_notes.py::test_one",), ("--maxfail=1",)]
)
def test_a_part_of_a_module_proves_nothing(
    project: pytest.Pytester, run: Run, arguments: tuple[str, ...]
):
    project.makepyfile(test_notes=TWO)
    run("--retrieval-update")
    project.makepyfile(test_notes=f"def test_zero():\n    assert {'-k' in arguments}\n{ONE}")
    (project.path / "__retrieval__" / "test_notes" / "test_gone.txt").write_bytes(b"")
    assert "stale" not in run(*arguments).stdout.str()


def test_a_skipped_or_failing_test_keeps_its_golden(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=TWO)
    run("--retrieval-update")
    project.makepyfile(
        test_notes="""
        import pytest

        @pytest.mark.skip
        def test_one(retrieval):
            pass

        def test_two(retrieval):
            assert False
        """
    )
    result = run("--retrieval-update")
    result.assert_outcomes(skipped=1, failed=1)
    assert files(project) == {"test_one.txt", "test_two.txt"}

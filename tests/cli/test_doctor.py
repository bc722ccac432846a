"""Doctor finds what is wrong, says what to do, and never advises to delete."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from ibidem.cli.doctor import check_opens
from ibidem.objects.errors import ConflictError, ErrorKind
from ibidem.repo.maintenance import checkup

Run = Callable[..., Result]
Data = Callable[..., dict[str, Any]]

HOUSE = Path(__file__).resolve().parents[2]


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {finding["check"]: finding["outcome"] for finding in report["findings"]}


def test_a_sound_repository_passes(notes: Run, data: Data):
    report = data("doctor", "--full")
    assert report["is_ok"] is True
    assert outcomes(report)["blocks"] == outcomes(report)["index"] == "ok"
    assert "all checks passed" in notes("doctor").stdout


def test_an_empty_repository_passes(run: Run):
    run("init")
    assert "head is unset: no commit yet" in run("doctor").stdout


def test_a_store_that_lost_everything_is_a_finding(notes: Run, data: Data, tmp_path: Path):
    (tmp_path / ".ibidem" / "blocks" / "data.mdb").write_bytes(b"")
    report = data("doctor", code=1)
    assert outcomes(report)["repository"] == "failed"
    assert outcomes(report)["python"] == "ok"


def test_without_a_repository_only_the_program_is_checked(data: Data):
    report = data("doctor")
    assert report["is_ok"] is True
    assert outcomes(report)["repository"] == "note"


def test_a_flipped_byte_in_a_block_is_found(notes: Run, data: Data, tmp_path: Path):
    damaged = 0
    for path in (tmp_path / ".ibidem" / "blocks").iterdir():
        if path.is_file() and b"Only requests" in (content := path.read_bytes()):
            path.write_bytes(content.replace(b"Only requests", b"Only reqvests"))
            damaged += 1
    assert damaged == 1
    report = data("doctor", "--full", code=1)
    assert outcomes(report)["blocks"] == "failed"
    (finding,) = (f for f in report["findings"] if f["check"] == "blocks")
    assert finding["detail"].startswith("1 damaged of ")
    assert "restore" in finding["hint"]
    notes("doctor", "--full", code=1)


def test_a_lost_index_is_no_damage(notes: Run, data: Data, tmp_path: Path):
    index = tmp_path / ".ibidem" / "index"
    for path in sorted(index.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert data("doctor")["is_ok"] is True


def test_a_newer_format_is_not_called_damage(notes: Run, data: Data, tmp_path: Path):
    (tmp_path / ".ibidem" / "format").write_text('{"version": 999}\n')
    report = data("doctor", code=1)
    (finding,) = (f for f in report["findings"] if f["check"] == "repository")
    assert "999" in finding["detail"]
    assert "newer" in finding["hint"]
    notes("log", code=13)


def test_a_locked_repository_is_told_from_a_damaged_one():
    def locked() -> Any:
        raise ConflictError("writer lock: held by process 42", kind=ErrorKind.LOCKED)

    repository, finding = check_opens(locked)
    assert repository is None
    assert finding.detail.startswith("locked: ")
    assert "not damaged" in (finding.hint or "")


def test_every_required_package_is_checked():
    import tomllib

    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    named = {re.split(r"[<>=~!]", text)[0]: ";" in text for text in project["dependencies"]}
    assert {name for name, is_conditional in named.items() if not is_conditional} == set(
        checkup.REQUIRED
    )
    assert {name for name, is_conditional in named.items() if is_conditional} < set(
        checkup.OPTIONAL
    )


@pytest.mark.parametrize("word", ["delete", "remove", "rm "])
def test_no_hint_advises_to_delete(word: str):
    hints = [checkup.RESTORE, checkup.REINDEX, *checkup.OPTIONAL.values()]
    assert not any(word in hint for hint in hints)


def test_a_repository_that_is_named_and_not_there_is_a_failure(run: Run):
    assert "none here" in run("doctor").stdout
    assert "no .ibidem/ in nowhere" in run("doctor", "--repo", "nowhere", code=1).stdout

"""What the tables of the format are for: a field or a family of vectors is a few lines in a few
files, and nothing that a repository does with values leaves it out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .extended import FAMILY, NODE_FIELDS, Insertions, extended

FILES_MAX = 9
"""Files that a new family of vectors may touch, beside the spec and tests."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("insertions", "program"), [(NODE_FIELDS, "added_field.py"), (FAMILY, "added_family.py")]
)
def test_what_is_added_to_a_table_goes_through_everything(
    tmp_path: Path, insertions: Insertions, program: str
) -> None:
    path = extended(tmp_path / "program", insertions)
    work = tmp_path / "state"
    work.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(path), "IBIDEM_AUTHOR": "ada"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(program)), str(work)],
        env=environment,
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_field_touches_the_table_and_its_class() -> None:
    assert list(NODE_FIELDS) == ["objects/fields.py", "objects/node.py"]


def test_a_family_of_vectors_touches_few_files() -> None:
    assert len(FAMILY) <= FILES_MAX

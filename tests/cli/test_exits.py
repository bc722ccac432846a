"""Every error has an exit code, and the help and the docs print the same table."""

from __future__ import annotations

import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.tools.modules import modules

from ibidem.cli import exits
from ibidem.cli.main import cli
from ibidem.objects import errors
from ibidem.objects.errors import ErrorKind, IbidemError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "exit-codes.md"


def every_error_class() -> list[type[IbidemError]]:
    for name in modules():
        if not name.endswith("engine_cbrrr") or find_spec("cbrrr") is not None:
            importlib.import_module(name)
    found, unseen = [], [IbidemError]
    while unseen:
        found.append(unseen.pop())
        unseen.extend(found[-1].__subclasses__())
    return found


def test_every_error_class_has_a_code_of_its_own_or_its_parents():
    for error in every_error_class():
        # Some take more than a message; what they are given makes no difference to the code.
        made = error.__new__(error, "x")
        code = exits.exit_code(made)
        assert code in exits.MEANINGS
        assert code != exits.OK
        if error is not IbidemError:
            parents = [parent for parent in error.__mro__ if parent in exits.BY_CLASS]
            assert parents[0] is not IbidemError, f"{error.__name__} falls through the table"


def test_every_class_of_the_error_tree_or_its_parent_is_named_in_the_table():
    classes = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, IbidemError)
    }
    assert set(exits.BY_CLASS) <= classes
    for error in classes - set(exits.BY_CLASS):
        assert set(error.__mro__) & (set(exits.BY_CLASS) - {IbidemError}), error


@pytest.mark.parametrize("kind", ErrorKind)
def test_no_kind_ends_as_done(kind: ErrorKind):
    assert exits.exit_code(IbidemError("x", kind=kind)) in set(exits.MEANINGS) - {exits.OK}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.NotFoundError("x", kind=ErrorKind.REPOSITORY_NOT_FOUND), 10),
        (errors.NotFoundError("x", kind=ErrorKind.REVISION_NOT_FOUND), 3),
        (errors.ConflictError("x"), 11),
        (errors.ConflictError("x", kind=ErrorKind.LOCKED), 15),
        (errors.CorruptError("x"), 12),
        (errors.FormatError("x"), 13),
        (errors.IndexUnavailableError("x"), 14),
        (errors.StorageError("x"), 15),
        (errors.InvalidInputError("x"), 2),
        (errors.ReplayError("x"), 1),
        (errors.ReplayError("x", kind=ErrorKind.UNSUPPORTED_SEMANTICS), 13),
    ],
)
def test_code(error: IbidemError, code: int):
    assert exits.exit_code(error) == code


def test_help_and_page_print_the_table():
    shown = CliRunner().invoke(cli, ["--help"]).output
    page = dict(
        re.findall(r"^\| (\d+) \| ([^|]+?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert {int(code): meaning for code, meaning in page.items()} == exits.MEANINGS
    for code, meaning in exits.MEANINGS.items():
        assert re.search(rf"^\s+{code}  {re.escape(meaning)}$", shown, re.MULTILINE)

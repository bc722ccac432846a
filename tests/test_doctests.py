"""The examples in docstrings do what they say."""

from __future__ import annotations

import doctest
import importlib
import re
import tomllib
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parent.parent
PACKAGES: dict[str, str] = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))[
    "tool"
]["setuptools"]["package-dir"]
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)


def with_examples() -> list[str]:
    """Returns the import names of the modules whose text has an example."""
    return sorted(
        ".".join((package, *path.relative_to(HOUSE / folder).with_suffix("").parts))
        for package, folder in PACKAGES.items()
        if package.count(".") == 1
        for path in (HOUSE / folder).rglob("*.py")
        if EXAMPLE.search(path.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("name", with_examples())
def test_examples_in_docstrings_do_what_they_say(name: str):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if str(missing.name).startswith("ibidem"):
            raise
        pytest.skip(f"{missing.name} is not installed")
    failed, tried = doctest.testmod(module)
    assert tried > 0
    assert failed == 0

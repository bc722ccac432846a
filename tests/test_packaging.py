"""The package list, the links of the checkout and the README agree with what is on disk."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from ibidem.cli.main import cli

HOUSE = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
ROOMS = {
    name.removeprefix("ibidem."): folder
    for name, folder in SETUPTOOLS["package-dir"].items()
    if name.count(".") == 1
}


def test_every_package_on_disk_is_listed():
    found = {"ibidem"}
    for room, folder in ROOMS.items():
        for marker in (HOUSE / folder).rglob("__init__.py"):
            inner = marker.parent.relative_to(HOUSE / folder).parts
            found.add(".".join(("ibidem", room, *inner)))
    assert found == set(SETUPTOOLS["packages"])


def test_every_python_folder_of_a_room_is_a_package():
    for folder in ROOMS.values():
        for source in (HOUSE / folder).rglob("*.py"):
            assert (source.parent / "__init__.py").exists(), source


def test_every_data_file_of_a_room_is_declared_as_package_data():
    declared = SETUPTOOLS["package-data"]
    for room, folder in ROOMS.items():
        for path in (HOUSE / folder).rglob("*"):
            if not path.is_file() or path.suffix in (".py", ".pyc"):
                continue
            package, at = f"ibidem.{room}", path.relative_to(HOUSE / folder)
            for part in at.parts[:-1]:
                if f"{package}.{part}" in SETUPTOOLS["packages"]:
                    package, at = f"{package}.{part}", Path(*at.parts[1:])
            patterns = declared.get(package, [])
            assert any(at.match(pattern) for pattern in patterns), f"{path} is in no wheel"


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_link_points_at_its_room(room: str):
    link = HOUSE / "src" / "ibidem" / room
    if not link.is_symlink():
        pytest.skip("this checkout has no links, as in an unpacked source distribution")
    assert link.resolve() == HOUSE / ROOMS[room]


def test_rooms_are_the_layers_of_the_import_contract():
    (contract,) = PROJECT["tool"]["importlinter"]["contracts"]
    assert contract["layers"][0] == "__main__ | aio | errors"
    assert set(contract["layers"][1:]) == set(ROOMS)
    assert contract["exhaustive"] is True


def test_both_programs_are_one():
    scripts = PROJECT["project"]["scripts"]
    assert scripts == {"ibidem": "ibidem.cli.main:main", "repo": "ibidem.cli.main:main"}


def test_version_is_said_once_for_each_reader():
    import ibidem

    assert ibidem.__version__ == PROJECT["project"]["version"]
    assert f"## {ibidem.__version__}" in (HOUSE / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["demo", "test"])
def test_readme_has_the_command_that_ci_runs(name: str):
    readme = (HOUSE / "README.md").read_text(encoding="utf-8")
    _, _, after = readme.partition(f"<!-- ci: {name} -->\n")
    command = after.split("```")[1].partition("\n")[2].strip()
    assert command.startswith("python3 -m venv ")
    assert f"run_readme_command {name}" in (HOUSE / ".ci" / "run").read_text(encoding="utf-8")


def test_the_container_file_installs_what_is_here_and_its_commands_are_those_of_the_program():
    """It cannot be built where there is no network; its parts are what this project has."""
    text = (HOUSE / "Containerfile").read_text("utf-8")
    extras = re.search(r"pip install --no-cache-dir '/source\[([a-z,]+)\]'", text)
    assert extras is not None
    project = PROJECT["project"]
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    python = re.findall(r"^FROM docker\.io/library/python:([0-9.]+)-slim", text, re.MULTILINE)
    assert len(set(python)) == 1
    assert project["requires-python"] == f">={python[0]}"
    [entry] = re.findall(r'^ENTRYPOINT \["/venv/bin/(\w+)"\]$', text, re.MULTILINE)
    assert entry in project["scripts"]
    [default] = re.findall(r'^CMD \["(\w+)"\]$', text, re.MULTILINE)
    runs = re.findall(r"`podman run (.*?)`", text)
    page = (HOUSE / "docs" / "how-to" / "serve.md").read_text("utf-8")
    assert len(runs) == 2
    for run in runs:
        words = shlex.split(run)
        given = words[words.index("ibidem") + 1 :]
        assert run in page
        assert_known(cli, [one for one in given if one not in ("-R", "/notes")])
    assert cli.get_command(click.Context(cli), default) is not None


def assert_known(group: Any, words: list[str]) -> None:
    """Asserts that a command line has a command of the program and options of it."""
    command = group.get_command(click.Context(group), words[0])
    names = {name for option in command.params for name in option.opts}
    assert {word for word in words if word.startswith("--")} <= names

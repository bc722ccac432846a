"""Every sample in README and docs runs, and prints what the page says.

In a console block `$ ` begins a command, `> ` continues it, and what follows is the output,
standard error included. A line `...` in the output stands for any lines, `...` inside a line for
any text. Blocks of one page share a folder; python blocks of one page share their names.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import importlib
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

import pytest
from tests.adapters.model_server import model_server

from . import warm

HOUSE = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text and the line of the page that it begins on."""

    language: str
    body: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a console block and what it has to print."""

    script: str
    expected: str


def blocks(page: Path) -> tuple[Block, ...]:
    """Returns the fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    return tuple(
        Block(match["language"], match["body"], text.count("\n", 0, match.start()) + 2)
        for match in _FENCE.finditer(text)
    )


def commands(body: str) -> Iterator[Command]:
    """Yields the commands of a console block with what each has to print."""
    script: list[str] = []
    expected: list[str] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            if script:
                yield Command("\n".join(script), "\n".join(expected))
            script, expected = [line[2:]], []
        elif line.startswith("> ") and not expected:
            script.append(line[2:])
        elif line == ">" and not expected:
            script.append("")
        else:
            expected.append(line)
    if script:
        yield Command("\n".join(script), "\n".join(expected))


def matches(expected: str, actual: str) -> bool:
    """Returns whether `actual` is what `expected` describes, blanks at line ends aside."""
    pattern = ""
    for line in expected.strip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"\s*\n"
    return re.fullmatch(pattern, actual.strip() + "\n" if actual.strip() else "") is not None


def has_imports(sample: str) -> bool:
    """Imports what a sample imports; returns whether it is there. What another package warns of
    while it is imported is not ours."""
    for step in ast.walk(ast.parse(sample)):
        match step:
            case ast.Import(names):
                modules = [one.name for one in names]
            case ast.ImportFrom(module):
                modules = [str(module)]
            case _:
                continue
        if any(find_spec(module.partition(".")[0]) is None for module in modules):
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for module in modules:
                importlib.import_module(module)
    return True


PAGES = sorted([HOUSE / "README.md", *(HOUSE / "docs").rglob("*.md")])
WITH_CONSOLE = [p for p in PAGES if any(b.language == "console" for b in blocks(p))]
WITH_PYTHON = [p for p in PAGES if any(b.language in ("python", "pycon") for b in blocks(p))]


RUN_TWICE = [HOUSE / name for name in ("README.md", "docs/index.md", "docs/tutorial.md")]
"""Pages whose samples are run twice in one folder also by the quick tests."""


def relative(page: Path) -> str:
    return str(page.relative_to(HOUSE))


STARTED = f'"{sys.executable}" -m ibidem'
"""The program as users start it."""
ALWAYS_STARTED = [HOUSE / "docs" / "how-to" / name for name in ("sign.md",)]
ON_SERVER = HOUSE / "docs" / "how-to" / "shared-storage.md"
"""A page whose commands need the S3 server of the tests; obstore cannot be used after a fork."""
ON_MODEL = HOUSE / "docs" / "how-to" / "record-agents.md"
"""A page whose commands need the server of models of the tests, and the client of OpenAI."""
ON_PYTEST = [
    HOUSE / "docs" / "how-to" / f"{name}.md" for name in ("regression-tests", "replay-runs")
]
"""Pages with whole runs of pytest, which the quick run leaves out: what they show, `tests/testing`
and `tests/adapters` test."""
ALWAYS_STARTED += [ON_MODEL]
"""Pages whose commands are started that way in the quick run too; the others are forked there."""
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "PYTHONPATH": str(HOUSE / "src"),
    "TZ": "UTC",
    "COLUMNS": "100",
    "IBIDEM_AUTHOR": "ada",
    "SOURCE_DATE_EPOCH": "1767225600",
}


@pytest.fixture(scope="module")
def forked() -> Iterator[str]:
    """How the program is called without starting it anew."""
    with warm.served("ibidem", {**ENVIRONMENT, "OPENBLAS_NUM_THREADS": "1"}) as command:
        yield command


def environment(folder: Path, program: str) -> dict[str, str]:
    """A clean environment: `repo` is this checkout's program, `pytest` has its plugin."""
    programs = folder / "programs"
    programs.mkdir()
    # Whether or not a copy is installed, the plugins are those of the checkout, and only once.
    plugin = "-p no:ibidem -p ibidem.testing.plugin"
    plugin += " -p no:ibidem_runs -p ibidem.adapters.recording.plugin"
    called = {
        "repo": program,
        "pytest": f'"{sys.executable}" -m pytest {plugin}',
        "python": f'"{sys.executable}"',
    }
    for name, command in called.items():
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o755)
    return {**ENVIRONMENT, "PATH": f"{programs}:{ENVIRONMENT['PATH']}", "HOME": str(folder)}


def test_readme_and_tutorial_have_samples():
    assert HOUSE / "README.md" in WITH_PYTHON
    assert HOUSE / "docs" / "tutorial.md" in WITH_CONSOLE


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if page in ALWAYS_STARTED else [pytest.mark.slow])
        for page in WITH_CONSOLE
    ],
    ids=relative,
)
def test_console_sessions_print_what_the_page_says(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
):
    services = {ON_SERVER: "s3_environment", ON_MODEL: "model_environment"}
    service = request.getfixturevalue(services[page]) if page in services else {}
    _check_sessions(page, tmp_path, STARTED, service)


@pytest.fixture
def model_environment() -> Iterator[Mapping[str, str]]:
    """Where the client of OpenAI finds a model, which repeats what it is told."""
    pytest.importorskip("openai")
    with model_server() as server:
        yield {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize(
    "page",
    [page for page in WITH_CONSOLE if page not in (*ALWAYS_STARTED, *ON_PYTEST, ON_SERVER)],
    ids=relative,
)
def test_forked_sessions_print_what_the_page_says(page: Path, tmp_path: Path, forked: str):
    _check_sessions(page, tmp_path, forked)


def _check_sessions(
    page: Path, folder: Path, program: str, service: Mapping[str, str] = MappingProxyType({})
) -> None:
    called = {**environment(folder, program), **service}
    session = folder / "session"
    session.mkdir()
    for block in blocks(page):
        if block.language != "console":
            continue
        for command in commands(block.body):
            done = subprocess.run(
                ["bash", "-c", f"exec 2>&1\n{command.script}"],
                cwd=session,
                env=called,
                stdout=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
                timeout=600,
                check=False,
            )
            assert matches(command.expected, done.stdout), (
                f"{relative(page)}:{block.line}\n$ {command.script}\n"
                f"--- the page says\n{command.expected}\n--- the program says\n{done.stdout}"
            )


@contextlib.contextmanager
def event_loop() -> Iterator[None]:
    """Closes the event loop of a sample: a library that finds none makes one and leaves it open."""
    asyncio.set_event_loop(None)
    try:
        yield
    finally:
        with contextlib.suppress(RuntimeError):  # there is none
            asyncio.get_event_loop().close()
        asyncio.set_event_loop(None)


@pytest.mark.parametrize("page", WITH_PYTHON, ids=relative)
def test_python_samples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with event_loop():
        _run_python(page)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if page in RUN_TWICE else [pytest.mark.slow])
        for page in WITH_PYTHON
    ],
    ids=relative,
)
def test_python_samples_run_again(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with event_loop():
            _run_python(page)


def _run_python(page: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{relative(page)}:{block.line}"
        if block.language == "python":
            if not has_imports(block.body):
                continue
            exec(compile(block.body, where, "exec", dont_inherit=True), names)
        elif block.language == "pycon":
            test = doctest.DocTestParser().get_doctest(
                block.body, names, where, str(page), block.line
            )
            runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
            report: list[str] = []
            runner.run(test, out=report.append, clear_globs=False)
            names = test.globs
            assert not runner.failures, "".join(report)

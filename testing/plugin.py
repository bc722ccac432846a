"""The pytest plugin: the fixture `retrieval`, `--retrieval-update`, `--retrieval-report`, and
stale goldens.

pytest imports this module at every start in every project that has Ibidem installed, so it imports
only pytest and the standard library; the rest is imported when a test uses the fixture.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from ibidem.testing.stale import Ledger, Stale, remove

if TYPE_CHECKING:
    from ibidem.testing.retrieval import Retrieval

DIRECTORY = "__retrieval__"
_OUTPUT = "ibidem_retrieval"
_LEDGER = pytest.StashKey[Ledger]()
_REPORTED = pytest.StashKey[list[str]]()
_PASSED = pytest.StashKey[bool]()
_STALE = pytest.StashKey[list[Stale]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the flag and the ini names, all of which begin with `retrieval`."""
    group = parser.getgroup("retrieval", "golden answers of retrieval")
    group.addoption(
        "--retrieval-update",
        action="store_true",
        default=False,
        help="Write golden answers, and remove stale ones; nothing is written without it.",
    )
    group.addoption(
        "--retrieval-report",
        action="append",
        default=[],
        metavar="FILE",
        help="Write which answers changed, and why, to FILE: one HTML page, or Markdown for a "
        "comment if its name ends with .md. May be given twice.",
    )
    parser.addini("retrieval_directory", "Folder of goldens beside the tests.", default=DIRECTORY)
    parser.addini(
        "retrieval_repository", "Default repository of the fixture `retrieval`.", default=""
    )
    parser.addini(
        "retrieval_mode", "How goldens are compared: exact, ranks or set.", default="exact"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Starts the record of used goldens, and checks the names of reports."""
    config.stash[_LEDGER] = Ledger()
    config.stash[_REPORTED] = []
    for name in config.getoption("retrieval_report"):
        if Path(name).suffix not in (".html", ".md"):
            raise pytest.UsageError(
                f"--retrieval-report: got {name!r}, expected a file that ends with .html or .md"
            )


@pytest.fixture(scope="session")
def retrieval_repository(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The default repository or revision of `retrieval`: that of the ini file, or the nearest one
    at or above pytest's root folder, unless you override this fixture.
    """
    root, setting = request.config.rootpath, request.config.getini("retrieval_repository")
    found = root / setting if setting else _nearest(root)
    if found is None:
        yield None
        return
    import ibidem
    from ibidem.objects.errors import IbidemError

    try:
        repository = ibidem.open(found)
    except IbidemError as error:
        message = "\n".join((f"retrieval_repository: {error}", *getattr(error, "__notes__", ())))
    else:
        with repository:
            yield repository
        return
    # Outside the handler: the cause of the error would not help the reader of the test report.
    _fail(message)


@pytest.fixture
def retrieval(request: pytest.FixtureRequest, retrieval_repository: Any) -> Iterator[Retrieval]:
    """Checks answers against goldens and gates their quality."""
    from ibidem.testing.retrieval import Retrieval

    config, item = request.config, request.node
    checks = Retrieval(
        path=golden_path(item),
        folder=item.path.parent,
        test=name_of(item),
        repository=retrieval_repository,
        mode=config.getini("retrieval_mode"),
        is_update=config.getoption("retrieval_update"),
        is_reported=bool(config.getoption("retrieval_report")),
        fail=_fail,
    )
    yield checks
    is_written = checks.finish(is_passed=item.stash.get(_PASSED, False))
    ledger = config.stash[_LEDGER]
    ledger.use(checks.path, list(checks.checked), is_written=is_written)
    ledger.reported += checks.reported or []


def _nearest(folder: Path) -> Path | None:
    return next((one for one in (folder, *folder.parents) if (one / ".ibidem").is_dir()), None)


def golden_path(item: pytest.Item) -> Path:
    """Returns the golden file of a test: a folder a module, a file a test."""
    name = name_of(item).partition("::")[2].replace("::", ".")
    plain = re.sub(r"[^][A-Za-z0-9_.=-]+", "_", name)[:100]
    if plain != name:
        plain += "-" + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    directory: str = item.config.getini("retrieval_directory")
    return item.path.parent / directory / item.path.stem / f"{plain}.txt"


def name_of(item: pytest.Item) -> str:
    """Returns the name of a test, its module first.

    It is the same from whatever folder pytest runs, and without the group that pytest-xdist adds to
    node ids.
    """
    inner = [node for node in item.listchain() if isinstance(node, pytest.Item | pytest.Class)]
    return "::".join([item.path.name, *(node.name for node in inner)])


def _fail(message: str) -> NoReturn:
    pytest.fail(message, pytrace=False)


# -- which goldens nothing uses any more -------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes whether a test passed before its fixtures end, and that it ran when they have."""
    report = yield
    ledger = item.config.stash[_LEDGER]
    if report.when == "call" and report.passed:
        item.stash[_PASSED] = True
        ledger.passed.add(item.nodeid)
    elif report.when == "teardown":
        ledger.finished.add(item.nodeid)
    return report


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Notes modules of which not every test runs."""
    for item in items:
        item.config.stash[_LEDGER].partial.add(str(item.path))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Notes what is going to run."""
    ledger = session.config.stash[_LEDGER]
    for argument in session.config.args:
        path, selects, _ = argument.partition("::")
        if selects:
            ledger.partial.add(str((session.config.invocation_params.dir / path).resolve()))
    for item in session.items:
        ledger.collect(str(item.path), item.nodeid, golden_path(item))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Adds the account of a process of pytest-xdist to ours."""
    account = getattr(node, "workeroutput", {}).get(_OUTPUT)
    if account is not None:
        node.config.stash[_LEDGER].merge(account)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Finds what nothing uses, and removes it under update."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput[_OUTPUT] = config.stash[_LEDGER].account()
        return
    stale = config.stash[_LEDGER].stale(config.getini("retrieval_directory"))
    if config.getoption("retrieval_update"):
        remove(stale)
    config.stash[_STALE] = stale
    for path in _reports(config):
        config.stash[_REPORTED].append(_write_report(path, session))


def _write_report(path: Path, session: pytest.Session) -> str:
    """Writes a report, and returns a line on it; a file that cannot be written fails the session
    without hiding what its tests found."""
    from ibidem.objects.errors import StorageError
    from ibidem.testing import report

    shown = _shown(path, session.config)
    try:
        report.write(path, session.config.stash[_LEDGER].reported)
    except StorageError as error:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR
        return f"failed   {shown}: {error}"
    return f"written  {shown}"


def _reports(config: pytest.Config) -> list[Path]:
    return [config.invocation_params.dir / name for name in config.getoption("retrieval_report")]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Reports which goldens were written, removed or are stale."""
    written = sorted(Path(path) for path in config.stash[_LEDGER].written)
    stale = config.stash.get(_STALE, [])
    reports = config.stash[_REPORTED]
    if not written and not stale and not reports:
        return
    is_update = config.getoption("retrieval_update")
    terminalreporter.section("golden answers of retrieval")
    for path in written:
        terminalreporter.line(f"written  {_shown(path, config)}")
    for line in reports:
        terminalreporter.line(line)
    for one in stale:
        what = "removed" if is_update else "stale"
        check = "" if one.check is None else f", check {one.check!r}"
        terminalreporter.line(f"{what:<8} {_shown(one.path, config)}{check}: {one.reason}")
    if stale and not is_update:
        terminalreporter.line("to remove what is stale: pytest --retrieval-update")


def _shown(path: Path, config: pytest.Config) -> str:
    is_below = path.is_relative_to(config.rootpath)
    return (path.relative_to(config.rootpath) if is_below else path).as_posix()

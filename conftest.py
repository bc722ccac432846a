"""What tests share: Hypothesis profiles, codec engines, servers, workers."""

import compileall
import gc
import os
import sys
import uuid
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes, or its making, depends on what else the machine does. What is tried
# depends on the test alone, so that a change is not judged by luck; `--hypothesis-profile explore`
# tries what nobody has tried before.
settings.register_profile(
    "explore", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False
)
settings.register_profile(
    "thorough", settings.get_profile("explore"), derandomize=True, database=None
)
settings.register_profile("house", settings.get_profile("thorough"), max_examples=15)
settings.load_profile("house")
pytest_plugins = ["pytester"]
T = TypeVar("T")
TESTS = Path(__file__).resolve().parent / "tests"
LONG = frozenset((TESTS / "long.txt").read_text(encoding="ascii").split())
"""The tests that a plain pytest leaves out so that it takes three minutes
(`tests/tools/make_long.py`)."""
ENGINES = [name for name in ("cbor2", "cbrrr") if find_spec(name) is not None]
"""The codec engines that are installed; `cbrrr` is optional."""


def pytest_configure(config: pytest.Config) -> None:
    """Keeps the bytecode of this run and of its child processes in pytest's cache, where none is to
    be written beside the sources: thousands of asserts are rewritten once, and not in every
    run."""
    if sys.dont_write_bytecode and config.pluginmanager.has_plugin("cacheprovider"):
        sys.dont_write_bytecode = False
        sys.pycache_prefix = str(config.cache.mkdir("bytecode"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compiles the product's modules where they are not compiled yet: each worker begins elsewhere
    and leaves out what another has compiled. Else all would compile the same ones side by side."""
    number, count = _worker(session.config)
    if count > 1 and not sys.dont_write_bytecode:
        found = os.walk(session.config.rootpath / "src", followlinks=True)
        modules = sorted(f"{folder}/{name}" for folder, _, names in found for name in names)
        for module in _from_share(modules, number, count):
            compileall.compile_file(module, quiet=2)  # no other files than modules


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks a test that takes long, unless it is left to a longer suite anyway."""
    is_left = any(item.get_closest_marker(name) for name in ("slow", "nightly"))
    if item.nodeid.partition("[")[0] in LONG and not is_left:
        item.add_marker("long")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Lets each worker begin with other folders, so that it compiles other tests."""
    report = yield
    number, count = _worker(collector.config)
    if collector.path == TESTS and isinstance(collector, pytest.Dir):
        report.result = _from_share(report.result, number, count)
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts what the workers collected into one order again."""
    if _worker(config)[1] > 1:
        items.sort(key=lambda item: item.path.parts[: len(TESTS.parts) + 1])


def _from_share(of_all: list[T], number: int, count: int) -> list[T]:
    """Returns a list beginning with one of its equal parts, round to the one before."""
    first = number * len(of_all) // count
    return [*of_all[first:], *of_all[:first]]


def _worker(config: pytest.Config) -> tuple[int, int]:
    """Returns the number of this worker, from 0, and how many there are."""
    known = getattr(config, "workerinput", {"workerid": "gw0", "workercount": 1})
    return int(known["workerid"].removeprefix("gw")), known["workercount"]


def pytest_collection_finish() -> None:
    """Takes what was collected, which lives until the end, out of every garbage collection: else
    a full one takes a quarter of a second, and there are hundreds."""
    gc.collect()
    gc.freeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Collects a test that takes `engine_name`, or `engine`, once for each installed engine."""
    if "engine_name" in metafunc.fixturenames:
        metafunc.parametrize("engine_name", ENGINES)


@pytest.fixture
def engine(engine_name: str) -> Iterator[str]:
    """Selects an engine for one test and yields its name."""
    from ibidem.objects import codec

    before = codec.engine_name()
    codec.use_engine(engine_name)
    yield engine_name
    codec.use_engine(before)


@pytest.fixture(scope="session")
def s3_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Runs an S3 server for the tests of one process; yields the variables that its clients
    read."""
    from tests.s3_server import ministack

    with ministack(tmp_path_factory.mktemp("s3") / "log") as variables:
        yield variables


@pytest.fixture
def s3_prefix(
    s3_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Yields a URL without anything below it, and gives the test a data folder of its own."""
    return _prefix_of(s3_environment, tmp_path, monkeypatch)


def _prefix_of(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    from tests.s3_server import BUCKET

    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def radosgw_environment() -> Iterator[dict[str, str]]:
    """Runs Ceph's S3 server for the tests of one process; yields the variables that its clients
    read."""
    from tests.radosgw_server import radosgw

    with radosgw() as variables:
        yield variables


@pytest.fixture
def radosgw_prefix(
    radosgw_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Yields a URL as `s3_prefix` does, on Ceph."""
    return _prefix_of(radosgw_environment, tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Runs PostgreSQL for the tests of one process."""
    from tests.postgres_server import postgres

    with postgres() as address:
        yield address


@pytest.fixture
def postgres_schema(postgres_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Yields an address with the name of a new schema, and gives the test a data folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return f"{postgres_server}&schema=s{uuid.uuid4().hex}"


@pytest.fixture(autouse=True)
def _other_store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Puts the blocks of repositories elsewhere, if `IBIDEM_TEST_STORE` says so."""
    kind = os.environ.get("IBIDEM_TEST_STORE")
    if not kind:
        yield
        return
    from tests.other_stores import EXCLUDED, EXCLUDED_MODULES, other_backend
    from tests.s3_server import BUCKET

    from ibidem.store import backends

    reason = EXCLUDED.get(request.node.name.partition("[")[0])
    reason = reason or EXCLUDED_MODULES.get(request.path.stem)
    if reason is not None:
        pytest.skip(reason)
    address = ""
    if kind in ("s3", "split"):
        for name, value in request.getfixturevalue("s3_environment").items():
            monkeypatch.setenv(name, value)
        address = f"s3://{BUCKET}"
    if kind in ("postgres", "split"):
        address = request.getfixturevalue("postgres_server")
    loaded = backends._loaded
    other = other_backend(kind, address)
    monkeypatch.setattr(
        backends,
        "_loaded",
        lambda target: other if target == backends.FOLDER_BACKEND else loaded(target),
    )
    yield
    for store in getattr(other, "opened", ()):
        store.close()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Runs the whole suite on every core, and a part of it that was named in one process.

    A test waits for a disk or a process a sixth of its time, so there is a worker more than cores.
    """
    return len(os.sched_getaffinity(0)) + 1 if config.args == config.getini("testpaths") else 0

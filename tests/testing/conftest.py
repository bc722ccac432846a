"""A small project with the plugin, which pytester runs."""

from __future__ import annotations

import pytest

import ibidem
import ibidem.testing.quality
import ibidem.testing.retrieval  # noqa: F401

CONFTEST = """
import itertools, pytest, ibidem

def ticking():
    count = itertools.count(1_767_225_600_000_000, 1_000_000)
    return lambda: next(count)

@pytest.fixture
def repo():
    with ibidem.init("memory:", clock=ticking()) as found:
        with found.transaction(author="ada", message="first notes") as tx:
            tx.add_node("Note", summary="Retries back off: one second, two, four.", key="retries")
            tx.add_node("Note", summary="Retries need a key.", key="key")
            tx.add_node("Note", summary="Every call has a deadline.", key="deadline")
        yield found
"""


@pytest.fixture(scope="session", autouse=True)
def everything_is_loaded():
    """pytester forgets what a run in this process imported, and numpy can be loaded once only."""
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tx.add_node("Note", summary="a")
        repo.compare("a", before="HEAD")
        repo.bisect("a", expect=repo.retrieve("a").items[0].id)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """An empty project whose tests have a repository of three notes."""
    pytester.makeconftest(CONFTEST)
    return pytester


@pytest.fixture
def run(project: pytest.Pytester):
    """Runs the project's tests in this process."""

    def call(*arguments: str) -> pytest.RunResult:
        names = ("no:ibidem", "no:hypothesispytest", "no:benchmark", "ibidem.testing.plugin")
        plugin = [part for name in names for part in ("-p", name)]
        quiet = ("-q", "-W", "ignore::pytest.PytestAssertRewriteWarning")
        return project.runpytest_inprocess(*quiet, *plugin, "-p", "no:cacheprovider", *arguments)

    return call

"""A small project with the plugin, which pytester runs, and a repository on disk that it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

import ibidem
import ibidem.testing.quality
import ibidem.testing.report
import ibidem.testing.retrieval
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository

EPOCH = 1_767_225_600_000_000
QUESTION = "how do retries back off"
Run = Callable[..., pytest.RunResult]
NAMES = ("no:ibidem", "no:ibidem_runs", "no:hypothesispytest", "no:benchmark", "no:cacheprovider")
PLUGIN = [part for name in (*NAMES, "ibidem.testing.plugin") for part in ("-p", name)]


@pytest.fixture(scope="session", autouse=True)
def everything_is_loaded() -> None:
    """pytester forgets what a run in this process imported, and numpy can be loaded once only."""
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tx.add_node("Note", summary="a")
        repo.history.compare("a", before="HEAD")
        repo.history.bisect("a", expect=repo.retrieve("a").items[0].id)
        assert issubclass(ibidem.testing.retrieval.Retrieval, object)
        assert ibidem.testing.quality.DEPTH_DEFAULT == 10
        assert ibidem.testing.report.SAME == "same"


@pytest.fixture
def repo(pytester: pytest.Pytester) -> Iterator[Repository]:
    """A repository in the project's folder `knowledge`, three notes in its first commit."""
    ticks = count(EPOCH, 1_000_000)
    with ibidem.init(pytester.path / "knowledge", clock=lambda: next(ticks)) as found:
        with found.transaction(author="ada", message="first notes") as tx:
            tx.add_node("Note", summary="Retries back off: one second, two, four.", key="retries")
            tx.add_node("Note", summary="Retries need a key.", key="key")
            tx.add_node("Note", summary="Every call has a deadline.", key="deadline")
        yield found


@pytest.fixture
def project(pytester: pytest.Pytester, repo: Repository) -> pytest.Pytester:
    """A project whose tests ask that repository."""
    pytester.makeini("[pytest]\nretrieval_repository = knowledge\n")
    return pytester


@pytest.fixture
def run(project: pytest.Pytester) -> Run:
    """Runs the project's tests in this process."""

    def call(*arguments: str) -> pytest.RunResult:
        # What an earlier run in this process imported can not be rewritten, and need not be.
        quiet = ("-q", "-W", "ignore::pytest.PytestAssertRewriteWarning")
        return project.runpytest_inprocess(*quiet, *PLUGIN, *arguments)

    return call


def note(repo: Repository, key: str, summary: str, message: str) -> NodeId:
    with repo.transaction(author="ada", message=message) as tx:
        return tx.add_node("Note", summary=summary, key=key, replace=True)

"""The public face of a repository is small, typed, and loads a namespace when it is named."""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from ibidem.repo.graph import Graph
from ibidem.repo.repository import Repository
from ibidem.repo.revision import Revision

SOURCE = Path(__file__).parents[2] / "src"
SPACES = [name for name, one in vars(Repository).items() if isinstance(one, cached_property)]
READS = [name for name in vars(Graph) if hasattr(Revision, name) and not name.startswith("_")]


def faces() -> list[object]:
    with_spaces = Repository.__new__(Repository)
    with_spaces.core = None  # type: ignore[assignment]  # no namespace reads it yet
    return [with_spaces, *(getattr(with_spaces, name) for name in SPACES)]


def test_the_namespaces_are_plain_nouns():
    assert {*SPACES} == {
        *("history", "stage", "sync", "receipts", "runs", "notes", "keys", "maintenance")
    }


def test_a_repository_is_one_class_that_closes():
    names = [one.__name__ for one in Repository.__mro__]
    assert names == [
        *("Repository", "Layers", "Recalling", "Ingesting", "Questions", "Closing", "Ending"),
        *("ABC", "object"),
    ]


@pytest.mark.parametrize("face", faces(), ids=lambda one: type(one).__name__)
def test_every_public_method_says_its_options_and_types(face: object):
    methods = inspect.getmembers(type(face), inspect.isfunction)
    public = [(name, method) for name, method in methods if not name.startswith("_")]
    assert public
    for name, method in public:
        assert method.__doc__, name
        for one in list(inspect.signature(method).parameters.values())[1:]:
            assert one.annotation not in (one.empty, Any, "Any"), (name, one)
        assert inspect.signature(method).return_annotation is not inspect.Signature.empty, name


def test_a_namespace_is_loaded_when_it_is_named():
    program = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r}); import ibidem\n"
        "def loaded(): return {name for name in sys.modules if 'ibidem.repo.api.' in name}\n"
        "with ibidem.init('memory:') as repo:\n"
        "    with repo.transaction() as tx:\n        tx.add_node('T', summary='word')\n"
        "    repo.retrieve('word')\n"
        "    assert not loaded(), loaded()\n"
        "    assert len(list(repo.history.log())) == 1\n"
        "    assert loaded() == {'ibidem.repo.api.history'}, loaded()\n"
        "    assert repo.history is repo.history\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", READS)
def test_a_revision_reads_as_its_graph_does(name: str):
    of_graph, of_revision = getattr(Graph, name), getattr(Revision, name)
    if inspect.isfunction(of_graph) and name not in ("seen_by", "vector", "vectors"):
        assert inspect.signature(of_revision) == inspect.signature(of_graph)
        assert of_revision.__doc__


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("undo", "a repository has no 'undo', but there is repo.history.undo"),
        ("erase", "a repository has no 'erase', but there is repo.maintenance.erase"),
        ("add_node", r"but there is \(in a transaction\) tx.add_node"),
        ("replay", "but there is repo.receipts.replay or repo.runs.replay"),
        ("search", "a repository has no 'search'$"),
    ],
)
def test_a_name_that_a_part_has_is_shown_with_the_part(repo: Repository, name: str, message: str):
    with pytest.raises(AttributeError, match=message):
        getattr(repo, name)
    assert not hasattr(repo, name)

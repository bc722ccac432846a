"""The allow-list is whole: all that can be called has a row, and a viewer holds what it says.

Spec: trust [6-a], [6-c].
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import click
import pytest

import ibidem
from ibidem.adapters.exporting import export
from ibidem.adapters.mcp.prompts import PROMPTS
from ibidem.adapters.mcp.tools import TOOLS
from ibidem.cli.main import COMMANDS, cli
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.graph import GraphMemory
from ibidem.memory.recall import procedures, recall
from ibidem.memory.recall.feedback import Feedback
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.repo.api import history, keys, maintenance, notes, receipts, runs, stage, sync
from ibidem.repo.notes import Notes
from ibidem.repo.repository import Repository
from ibidem.repo.revision import Revision
from ibidem.repo.transaction.transaction import Transaction
from ibidem.repo.viewer.exposure import EXPOSURES, Exposure, Proxy, check_exposed, exposure_of
from ibidem.repo.viewer.notes import ViewerNotes, ViewerSpace
from ibidem.repo.viewer.repository import ViewerReceipts, ViewerRepository
from ibidem.repo.viewer.revision import ViewerRevision
from ibidem.repo.viewer.transaction import ViewerTransaction
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.serve.explorer import routes as pages
from ibidem.serve.routes import ROUTES

LOW = Viewer(level="low", scopes=())
NAMESPACES = (
    *(history.History, stage.Stage, sync.Sync, receipts.Receipts, runs.Runs, notes.NoteSpaces),
    *(keys.Keys, maintenance.Maintenance),
)
LAYERS = (Conversations, GraphMemory, Feedback)
CLASSES = (Repository, *NAMESPACES, Notes, Revision, Transaction, *LAYERS)
MODULES = (recall, procedures)
PROXIES: dict[type[Any], type[Proxy]] = {
    Repository: ViewerRepository,
    receipts.Receipts: ViewerReceipts,
    notes.NoteSpaces: ViewerNotes,
    Notes: ViewerSpace,
    Revision: ViewerRevision,
    Transaction: ViewerTransaction,
}
INNER = {
    *("Revision.graph", "Notes.space", "Conversations.repository", "GraphMemory.repository"),
    *("GraphMemory.space", "GraphMemory.author", "Feedback.space", "Feedback.author"),
    "Feedback.repository",
}
"""What an object was made with; the faces have none of the first."""


def public(cls: type[Any]) -> set[str]:
    """Returns the public names of a class and of its objects."""
    set_in_init = re.findall(r"self\.([a-z]\w*)(?::[^=\n]+)? = ", inspect.getsource(cls.__init__))
    return {name for name in {*dir(cls), *set_in_init} if not name.startswith("_")}


def commands(group: click.Command, path: str) -> Iterator[str]:
    if not isinstance(group, click.Group):
        yield path
        return
    if group.invoke_without_command:
        yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield from commands(found, f"{path} {name}")


def everything() -> set[str]:
    found = {f"{cls.__name__}.{name}" for cls in CLASSES for name in public(cls)} - INNER
    for module in MODULES:
        short = module.__name__.rpartition(".")[2]
        for name, function in inspect.getmembers(module, inspect.isfunction):
            parameters = list(inspect.signature(function).parameters)
            is_of = function.__module__ == module.__name__ and not name.startswith("_")
            if is_of and parameters and parameters[0] in ("repository", "revision"):
                found.add(f"{short}.{name}")
    found |= {f"view.{page.name}" for page in pages.ROUTES}
    found |= {f"mcp.{name}" for name in TOOLS} | {f"mcp.prompt.{name}" for name in PROMPTS}
    found |= {f"mcp.resource.{name}" for name in ("status", "node", "receipt")}
    found |= {f"exporting.{export.__name__}"}
    return found | set(commands(cli, "repo")) | set(ROUTES)


def test_everything_that_can_be_called_is_classified_and_nothing_else_is():
    assert everything() == set(EXPOSURES) - {"Repository.viewer", "Repository.author"}


def test_the_namespaces_are_all_looked_at():
    spaces = {name for name, one in vars(Repository).items() if isinstance(one, cached_property)}
    assert {cls.__module__.rpartition(".")[2] for cls in NAMESPACES} == spaces
    assert len(COMMANDS) > 40


@pytest.mark.parametrize("cls", PROXIES, ids=lambda cls: cls.__name__)
def test_a_face_has_what_the_table_gives_and_no_more(cls: type[Any]):
    face = PROXIES[cls]
    assert face.proxy_of == cls.__name__
    has = {name for name in public(face) if name != "proxy_of"}
    given = {
        name.partition(".")[2]
        for name, exposure in EXPOSURES.items()
        if name.startswith(f"{cls.__name__}.") and exposure is not Exposure.REFUSED
    }
    assert has - {"is_edge_visible"} == given


@pytest.fixture
def repo() -> Repository:
    repo = ibidem.init("memory:")
    with repo.transaction(author="ada") as tx:
        tx.set_trust_policy(TrustPolicy())
        tx.add_node("Fact", summary="the vault opens at nine", props={"level": 1})
        tx.add_node("Fact", summary="the vault code is 4711", props={"level": 3})
    return repo


def test_what_is_refused_is_one_error_whatever_is_there(repo):
    viewer = repo.as_viewer(LOW)
    faces = {
        "Repository": viewer,
        "Revision": viewer.at(),
        "Receipts": viewer.receipts,
        "NoteSpaces": viewer.notes,
        "Notes": viewer.notes.space(),
        "Transaction": viewer.transaction(),
    }
    for group, face in faces.items():
        refused = [
            name.partition(".")[2]
            for name, exposure in EXPOSURES.items()
            if name.startswith(f"{group}.") and exposure is Exposure.REFUSED
        ]
        for name in [*refused, "something_new"]:
            with pytest.raises(
                InvalidInputError, match=f"viewer: {group}.{name} is refused"
            ) as got:
                getattr(face, name)
            assert got.value.kind is ErrorKind.NOT_PERMITTED


@pytest.mark.parametrize("cls", [Conversations, GraphMemory])
def test_memory_refuses_by_the_table(repo, cls):
    memory = cls(repo.as_viewer(LOW))
    for name, exposure in EXPOSURES.items():
        group, _, method = name.partition(".")
        if group == cls.__name__ and exposure is Exposure.REFUSED:
            with pytest.raises(InvalidInputError, match=f"viewer: {name} is refused"):
                getattr(memory, method)()


def test_what_has_no_row_is_refused():
    assert exposure_of("Repository.something_new") is Exposure.REFUSED
    with pytest.raises(InvalidInputError, match="is refused"):
        check_exposed("repo something-new")


def test_who_sees_everything_uses_the_repository_itself(repo):
    with pytest.raises(InvalidInputError, match="may not see everything"):
        repo.as_viewer(ALL)


def test_a_viewer_is_no_other_viewer(repo):
    viewer = repo.as_viewer(LOW, author="bob")
    for other in (ALL, Viewer(level=3, scopes=())):
        for ask in (
            lambda other=other: viewer.at(viewer=other),
            lambda other=other: viewer.at().seen_by(other),
            lambda other=other: viewer.as_viewer(other),
            lambda other=other: viewer.retrieve("vault", viewer=other),
            lambda other=other: Conversations(viewer, viewer=other).threads(),
            lambda other=other: GraphMemory(viewer).retrieve_graph("vault", viewer=other),
        ):
            with pytest.raises(InvalidInputError):
                ask()
    with pytest.raises(InvalidInputError, match="another author"):
        viewer.transaction(author="ada")
    node = viewer.query()[0].id
    with pytest.raises(InvalidInputError, match="another author"):
        viewer.notes.space().vote(node, 1, author="ada")
    with pytest.raises(InvalidInputError, match="names a key"):
        viewer.transaction(message=f"as agreed\nRequest: {'0' * 32} {'1' * 32}")


@pytest.mark.parametrize("rev", ["main~1", "HEAD@{0}", "2026-01-01", "bafyr", "nothing", 7, None])
def test_a_revision_that_tells_of_the_history_is_refused(repo, rev):
    viewer = repo.as_viewer(LOW)
    with pytest.raises(InvalidInputError, match="this revision is refused"):
        viewer.at(rev)


def test_a_revision_is_named_by_branch_tag_or_cid(repo):
    repo.tag("v1")
    viewer = repo.as_viewer(LOW)
    for rev in ("HEAD", "main", "v1", str(viewer.head), viewer.head, viewer.at().root_cid):
        assert len(viewer.at(rev).query()) == 1

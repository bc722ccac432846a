"""Collections, erasures and questions at once: each sees a whole state, or looks again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ibidem
from ibidem.repo.erasure import erase as erasing
from ibidem.repo.erasure import guard as guarding
from ibidem.repo.maintenance import garbage, gc
from ibidem.repo.repository import Repository
from ibidem.retrieve import pipeline

from .conftest import fill

Happening = Callable[[], object]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Repository, Repository]]:
    """A repository with a log of some length, opened twice."""
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        fill(repo)
        for number in range(6):
            commit(repo, f"note {number}")
        yield repo, other


def commit(repo: Repository, text: str) -> None:
    with repo.transaction(message=text) as tx:
        tx.add_node("Note", summary=text, key=text)


def give_up(repo: Repository) -> Happening:
    """Returns what commits once more and gives up all that was before."""

    def happen() -> None:
        commit(repo, "meanwhile")
        repo.maintenance.gc(keep_operations=1)

    return happen


def before(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, happen: Happening
) -> list[int]:
    """Lets something happen before the first call of a function; returns where that is noted."""
    call, calls = getattr(module, name), []

    def called(*arguments: Any, **options: Any) -> Any:
        if not calls:
            calls.append(1)
            happen()
        return call(*arguments, **options)

    monkeypatch.setattr(module, name, called)
    return calls


@pytest.mark.parametrize(
    ("module", "name"),
    [
        pytest.param(gc, "_right_count", marks=pytest.mark.slow),
        (garbage, "_all_cells"),
        (garbage, "start_links"),
        (garbage, "list_garbage"),
    ],
)
def test_what_another_collection_has_given_up_is_not_kept_again(
    pair: tuple[Repository, Repository],
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    name: str,
) -> None:
    repo, other = pair
    calls = before(monkeypatch, module, name, give_up(other))
    repo.maintenance.gc(keep_operations=3)
    assert calls
    assert repo.maintenance.fsck().is_clean
    assert len(list(repo.history.operations())) <= 3
    repo.maintenance.gc(keep_operations=1)
    assert repo.retrieve("meanwhile").items
    assert repo.maintenance.fsck().is_clean


@pytest.mark.parametrize("name", ["find_copies", "_refs"])
def test_an_erasure_begins_anew_on_the_state_that_is_left(
    pair: tuple[Repository, Repository], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    repo, other = pair
    secret = next(node.id for node in repo.query(label="Note"))
    calls = before(monkeypatch, erasing, name, give_up(other))
    repo.maintenance.erase(secret)
    assert calls
    assert repo.maintenance.fsck().is_clean
    assert secret not in {node.id for node in repo.at().nodes()}


def test_what_was_erased_is_known_though_the_view_that_said_so_is_given_up(
    pair: tuple[Repository, Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, other = pair
    first, second, *_ = (node.id for node in repo.query(label="Note"))
    other.maintenance.erase(first, time=1)

    def erase_and_give_up() -> None:
        other.maintenance.erase(second, time=2)
        other.maintenance.gc(keep_operations=1)

    calls = before(monkeypatch, guarding, "read_erased", erase_and_give_up)
    assert {erasure.node for erasure in repo.maintenance.erasures()} == {first, second}
    assert calls


def test_a_question_about_the_head_is_about_the_next_where_this_is_erased_from(
    pair: tuple[Repository, Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, other = pair
    secret = next(node.id for node in repo.query(label="Note"))
    assert secret in {item.node.id for item in repo.retrieve("note").items}
    calls = before(monkeypatch, pipeline, "reorder", lambda: other.maintenance.erase(secret))
    found = {item.node.id for item in repo.retrieve("note", limit=None).items}
    assert calls
    assert secret not in found
    assert len(found) == 5

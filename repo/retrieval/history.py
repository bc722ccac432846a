"""Resolves the times of a question to roots of the history.

The base of a time is the root of the first commit before it on the line of first parents, from the
revision that is asked backwards. So a merge counts when it was merged, not when its commits were
made elsewhere, and only the commits since that time are read.

Spec: retrieval 3.2.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.tree import EMPTY_TREE
from ibidem.repo.arguments import checked_time
from ibidem.repo.history.ancestry import first_parents, read_ends
from ibidem.repo.viewer.exposure import not_permitted
from ibidem.retrieve.access.policy import checked_viewer, policy_of
from ibidem.retrieve.query import option_checks
from ibidem.retrieve.query.options import TIMES_OF_RECORDS

if TYPE_CHECKING:
    from ibidem.objects.cid import RootCid
    from ibidem.repo.graph import Graph


def with_history(revision: Graph, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a question with the four times replaced by `history`.

    Args:
        revision: the graph that is asked; its commit begins the history.
        options: with the caller, unless the graph was opened for one.

    Raises:
        InvalidInputError: a time is wrong, or the revision has no commit; kind `not-permitted`: the
            caller may not see everything, so the history is not for them.
        NotFoundError: kind `block-not-found`: a commit of the history is not in this repository.
    """
    rest = {name: value for name, value in options.items() if name not in TIMES_OF_RECORDS}
    times = [(name, options[name]) for name in TIMES_OF_RECORDS if options.get(name) is not None]
    if not times:
        return rest
    caller = checked_viewer(policy_of(revision.config), revision.viewer or options.get("viewer"))
    if caller is not None and not caller.everything:
        raise not_permitted(times[0][0])
    if rest.get("history") is not None:
        raise InvalidInputError(f"{times[0][0]}: got it beside history, expected one of them")
    return {**rest, "history": _bases(revision, times)}


def _bases(
    revision: Graph, times: Iterable[tuple[str, int | datetime]]
) -> dict[str, RootCid | None]:
    """Returns the base of each condition; the history is read once."""
    pending = sorted(((_moment(name, time), name) for name, time in times), key=lambda one: -one[0])
    found: dict[str, RootCid | None] = {}
    if revision.commit is None:
        _check_empty(revision, pending[0][1])
    else:
        read = partial(read_ends, revision.core.store)
        try:
            for _, commit in first_parents(read, revision.commit.cid):
                while pending and commit.time < pending[0][0]:
                    found[pending.pop(0)[1]] = commit.root
                if not pending:
                    break
        except NotFoundError as error:
            raise NotFoundError(
                f"{pending[0][1]}: a commit since that time is not in this repository: {error}",
                kind=error.kind,
                hint="fetch the history, or give a later time",
            ) from error
    return found | {name: None for _, name in pending}


def _moment(name: str, time: int | datetime) -> int:
    moment: int = option_checks.present(name, checked_time(time, name))
    return moment


def _check_empty(revision: Graph, name: str) -> None:
    """Raises `InvalidInputError` unless a graph without a commit is that of a new branch."""
    if revision.root.nodes != EMPTY_TREE:
        raise InvalidInputError(
            f"{name}: got a root without a commit, expected a revision that has a history"
        )

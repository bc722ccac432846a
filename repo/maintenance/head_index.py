"""The index of each branch and tag: what is kept, and building, dropping and proving it.

A snapshot belongs to a root. So heads with the same root share one, and dropping it for one head
drops it for all of them; what is dropped is built again when it is needed, with the same answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import (
    UNREADABLE,
    CorruptError,
    ErasedError,
    ErrorKind,
    FormatError,
    IbidemError,
    NotFoundError,
)
from ibidem.objects.record import record
from ibidem.repo.argument_checks import check_names
from ibidem.repo.refs import HEADS, TAGS
from ibidem.repo.revspec import HEAD

if TYPE_CHECKING:
    from ibidem.repo.core import Core

_STEPS_MAX = 16
"""Commits before a head among which an index is looked for."""


class IndexState(StrEnum):
    """What there is for a head."""

    CURRENT = "current"
    """An index of its root: a question opens it."""
    STALE = "stale"
    """An index of a commit shortly before: a question brings it up to date."""
    MISSING = "missing"
    """Neither: a question builds it, from that of another head if there is one."""
    DAMAGED = "damaged"
    """The commit of the head cannot be read, so the head cannot be asked."""


@record
class HeadIndex:
    """The index of one branch or tag."""

    name: str
    """The full name, such as "heads/main"."""
    commit: CommitCid
    root: RootCid | None
    """The root of the commit; None if that cannot be read."""
    state: IndexState
    size_bytes: int = 0
    """The size of the files that it needs."""
    own_bytes: int = 0
    """Of them, those that no other index needs."""


def list_heads(core: Core) -> tuple[HeadIndex, ...]:
    """Returns the index of every branch and tag, by name."""
    known = {one.root: one for one in core.search_index.snapshots()}
    rows = []
    for name, cid in _heads(core).items():
        root = _root_of(core, cid)
        found = None if root is None else known.get(root)
        if root is None:
            row = HeadIndex(name, cid, None, IndexState.DAMAGED)
        elif found is not None:
            state = IndexState.CURRENT
            row = HeadIndex(name, cid, root, state, found.size_bytes, found.own_bytes)
        else:
            is_near = any(one in known for one in _roots_before(core, cid))
            row = HeadIndex(name, cid, root, IndexState.STALE if is_near else IndexState.MISSING)
        rows.append(row)
    return tuple(rows)


def build_heads(core: Core, names: Iterable[str] | None) -> None:
    """Builds the indices of some heads, for None of all whose commits can be read and of which
    nothing was erased; those that are kept stay as they are.

    Raises:
        CorruptError, FormatError, NotFoundError: a head cannot be read, and the hint names all that
            cannot; those of the others were built.
    """
    is_all = names is None
    if names is None:
        names = [name for name, cid in _heads(core).items() if _root_of(core, cid) is not None]
    problems: dict[str, CorruptError | FormatError | NotFoundError] = {}
    for name in _full_names(core, names):
        try:
            core.graph(name).with_snapshot(lambda _: None)
        except UNREADABLE as error:
            if not (is_all and isinstance(error, ErasedError)):
                problems[name] = error
    for name, problem in problems.items():
        raise type(problem)(
            f"{name}: {problem}",
            kind=problem.kind,
            hint="; ".join(
                (
                    *filter(None, (problem.hint,)),
                    f"not built: {', '.join(problems)}; 'repo index verify --all' says why",
                )
            ),
        ) from problem


def drop_heads(core: Core, names: Iterable[str] | None) -> int:
    """Drops the indices of some heads, for None those of all revisions; returns the bytes freed."""
    roots = None
    if names is not None:
        roots = {core.graph(name).root_cid for name in _full_names(core, names)}
    core.drop_derived()
    index = core.search_index.current
    before = index.stats().size_bytes
    if roots is None:
        index.forget()
    else:
        index.forget_all(roots)
    return max(0, before - index.stats().size_bytes)


def verify_heads(core: Core, names: Iterable[str] | None) -> tuple[str, ...]:
    """Builds the indices of some heads again, in memory, and returns what differs, or why a head
    cannot be read. A head of which something was erased cannot be asked, so it has no index.

    Raises:
        ErasedError: such a head was named.
    """
    found = _full_names(core, names)
    problems = [] if names is not None else [str(error) for error in core.branches().damaged]
    for name in found:
        try:
            differences = core.search_index.verify(core.graph(name).root_cid)
        except ErasedError:
            if names is not None:
                raise
            continue
        except UNREADABLE as error:
            differences = [f"{error}; {error.hint}" if error.hint else str(error)]
        prefix = "" if len(found) == 1 else f"{name}: "
        problems += [f"{prefix}{difference}" for difference in differences]
    return tuple(problems)


def _heads(core: Core) -> dict[str, CommitCid]:
    """Returns the commits of all branches and tags by full name."""
    return {
        f"{prefix}{name}": cid
        for prefix in (HEADS, TAGS)
        for name, cid in core.operation_log.targets(prefix).items()
    }


def _full_names(core: Core, names: Iterable[str] | None) -> list[str]:
    """Returns the full names of heads, in the order given; for None, those of all.

    Raises:
        NotFoundError: there is no such branch or tag.
    """
    heads = _heads(core)
    found = []
    for name in heads if names is None else check_names("names", names):
        if name == HEAD:
            found.append(name)
            continue
        full = next((one for one in (name, HEADS + name, TAGS + name) if one in heads), None)
        if full is None:
            raise NotFoundError(
                f"names: there is no branch or tag {name!r:.80}",
                kind=ErrorKind.REVISION_NOT_FOUND,
                hint="'repo index list' lists them",
            )
        found.append(full)
    return found


def _root_of(core: Core, commit: CommitCid) -> RootCid | None:
    """Returns the root of a commit, None if the commit cannot be read."""
    try:
        return Commit.decode(core.store.get(commit)).root
    except UNREADABLE:
        return None


def _roots_before(core: Core, cid: CommitCid) -> Iterator[RootCid]:
    """Yields the roots of the commits before one, by first parents, as far as they are here."""
    try:
        commit = Commit.decode(core.store.get(cid))
        for _ in range(_STEPS_MAX):
            if not commit.parents:
                return
            commit = Commit.decode(core.store.get(commit.parents[0]))
            yield commit.root
    except IbidemError:
        return

"""Changes of refs: creating and deleting branches and tags, switching. Each is one operation."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo import refs
from ibidem.repo.arguments import checked_time
from ibidem.repo.refs import HEADS

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source, WriteBatch
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.view import View
    from ibidem.repo.core import Core
    from ibidem.repo.operation_log import OperationLog
    from ibidem.repo.state import State


def create(
    core: Core,
    prefix: str,
    name: str,
    at: object,
    *,
    author: str = "",
    time: int | datetime | None = None,
) -> CommitCid:
    """Creates a branch or tag at a revision and returns its commit; raises `InvalidInputError` if
    the name exists.

    A branch at a commit with nodes that were erased since gets a new commit on top of that one,
    without them. A tag names the commit itself, whose state cannot be asked then.

    Spec: merge 10.
    """
    full_name = prefix + refs.check_name("name", name)
    moment = checked_time(time)
    target: CommitCid

    def make(state: State, buffer: WriteBatch) -> View:
        nonlocal target
        target = core.commit_cid_of(at)  # in each attempt, since an erasure moves branches
        if refs.read(buffer, state.view, full_name) is not None:
            raise InvalidInputError(
                f"{_noun(prefix)}: {name!r} already exists",
                hint="choose another name, or delete that one first",
            )
        if prefix == HEADS and (erased := core.guard.erased_in(state)).erasures:
            from ibidem.repo.maintenance.cleaned import cleaned_commit

            signature, now = core.signed(author, "", moment), core.operation_log.time(moment)
            target = cleaned_commit(buffer, target, erased, signature, now)
        return replace(state.view, refs=refs.changed(state.view, {full_name: target}, buffer))

    core.operation_log.change(make, author=author, time=moment, description=f"create {full_name}")
    return target


def set_ref(
    core: Core, name: str, at: object, *, author: str = "", time: int | datetime | None = None
) -> CommitCid:
    """Creates a ref of a user's own, or moves it, to a revision, and returns its commit."""
    full_name = refs.OWN + refs.check_name("name", name)
    target: CommitCid

    def make(state: State, buffer: WriteBatch) -> View | None:
        nonlocal target
        target = core.commit_cid_of(at)
        ref = refs.read(buffer, state.view, full_name)
        if ref is not None and ref.target == target:
            return None
        return replace(state.view, refs=refs.changed(state.view, {full_name: target}, buffer))

    core.operation_log.change(
        make, author=author, time=checked_time(time), description=f"set {full_name}"
    )
    return target


def delete(
    core: Core, prefix: str, name: str, *, author: str = "", time: int | datetime | None = None
) -> None:
    """Deletes a branch or tag; raises `NotFoundError` if it does not exist."""
    full_name = prefix + refs.check_name(_noun(prefix), name)

    def make(state: State, buffer: WriteBatch) -> View:
        if state.view.head == full_name:
            raise InvalidInputError(
                f"branch: {name!r} is the current one", hint="switch to another one first"
            )
        if refs.read(buffer, state.view, full_name) is None:
            raise no_ref(prefix, name)
        return replace(state.view, refs=refs.changed(state.view, {full_name: None}, buffer))

    core.operation_log.change(
        make, author=author, time=checked_time(time), description=f"delete {full_name}"
    )


def switch(core: Core, name: str, *, author: str = "", time: int | datetime | None = None) -> None:
    """Makes another branch the current one; raises `NotFoundError` if it does not exist."""
    full_name = HEADS + refs.check_name("branch", name)

    def make(state: State, buffer: WriteBatch) -> View | None:
        if state.view.head == full_name:
            return None
        if refs.read(buffer, state.view, full_name) is None:
            raise no_ref(HEADS, name)
        return replace(state.view, head=full_name)

    core.operation_log.change(
        make, author=author, time=checked_time(time), description=f"switch to {full_name}"
    )


def branch_of(operations: OperationLog, name: str | None) -> str:
    """Returns the full name of an existing branch, by default the current one."""
    return operations.retry_if_collected(lambda state: branch_in(operations.store, state, name))


def branch_in(source: Source, state: State, name: str | None) -> str:
    """Returns the full name of a branch in a state, by default the current one.

    Raises:
        NotFoundError: there is no such branch.
    """
    if name is None:
        return state.view.head
    full_name = HEADS + refs.check_name("branch", name)
    if full_name != state.view.head and refs.read(source, state.view, full_name) is None:
        raise no_ref(HEADS, name)
    return full_name


def no_ref(prefix: str, name: str) -> NotFoundError:
    """Returns the error for a missing branch or tag."""
    noun = _noun(prefix)
    command = "tag --ref" if prefix == refs.OWN else noun
    return NotFoundError(
        f"{noun} {name!r} does not exist",
        kind=ErrorKind.REVISION_NOT_FOUND,
        hint=f"run 'repo {command}' to list the existing ones",
    )


def _noun(prefix: str) -> str:
    return {HEADS: "branch", refs.OWN: "ref"}.get(prefix, "tag")

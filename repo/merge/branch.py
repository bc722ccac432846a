"""Merges a commit into a branch: nothing to do, a fast-forward, or a merge commit."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.repo.arguments import CommitInfo, commit_of
from ibidem.repo.history import log
from ibidem.repo.history.ancestry import merge_bases
from ibidem.repo.maintenance.cleaned import cleaned_commit
from ibidem.repo.merge.attempt import Attempt, attempted
from ibidem.repo.merge.base import merged_root
from ibidem.repo.merge.conflicts import OpenConflict, open_conflicts
from ibidem.repo.merge.three_way import merge_to_commit
from ibidem.repo.refs import HEADS
from ibidem.repo.transaction.publish import Tip

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.history.log import Change
from ibidem.repo.operation_log import OperationLog


class Outcome(StrEnum):
    """How a branch was changed."""

    UNCHANGED = "unchanged"
    """It contains the commit already."""
    FORWARDED = "forwarded"
    """It was fast-forwarded."""
    MERGED = "merged"
    """A merge commit was created."""
    APPLIED = "applied"
    """Commits were applied on top of it."""


@record
class Merged:
    """The result of a merge, or of its dry run."""

    outcome: Outcome
    commit: Commit | None
    """The new head of the branch; None after a dry run that would create a commit."""
    changes: tuple[Change, ...]
    """The changes of the branch."""
    conflicts: tuple[OpenConflict, ...]
    """The recorded conflicts, by id."""


def merge_into(
    operations: OperationLog,
    full_name: str,
    theirs: CommitCid,
    rev: object,
    signature: CommitInfo,
    *,
    dry_run: bool = False,
) -> Merged:
    """Merges a commit into a branch, and retries if the branch has moved.

    Args:
        rev: the name given for the commit, for the message.
    """

    signature = _named(signature, rev, full_name)

    def make(attempt: Attempt) -> Merged:
        outcome, commit = _joined(attempt, theirs)
        merged = _report(attempt.buffer, attempt.tip, outcome, commit)
        if outcome is Outcome.UNCHANGED:
            return merged
        if dry_run:
            return replace(merged, commit=None) if outcome is Outcome.MERGED else merged
        attempt.move(commit, f"merge into {full_name}")
        return merged

    return attempted(operations, full_name, signature, make, dry_run=dry_run)


def changed_between(
    source: Source, before: Root, root_cid: RootCid
) -> tuple[tuple[Change, ...], tuple[OpenConflict, ...]]:
    """Returns the changes between two roots, and the conflicts that only the later one has."""
    after = Root.decode(source.get(root_cid))
    changes = tuple(log.changes(source, before, after))
    if before.conflicts == after.conflicts:
        return changes, ()
    known = {found.id: found.conflict for found in open_conflicts(source, before)}
    found = tuple(
        each for each in open_conflicts(source, after) if known.get(each.id) != each.conflict
    )
    return changes, found


def _joined(attempt: Attempt, theirs: CommitCid) -> tuple[Outcome, Commit]:
    """Returns the merge commit of a branch and a commit; its new blocks go into the buffer."""
    buffer, erased, time = attempt.buffer, attempt.erased, attempt.time
    head = attempt.tip.commit

    def forwarded() -> tuple[Outcome, Commit]:
        said = replace(attempt.signature, message="")
        target = cleaned_commit(buffer, theirs, erased, said, time)
        return Outcome.FORWARDED, Commit.decode(buffer.get(target))

    if head is None:
        return forwarded()
    bases = merge_bases(buffer, head, theirs)
    if theirs in bases:
        return Outcome.UNCHANGED, Commit.decode(buffer.get(head))
    if head in bases:
        return forwarded()
    scratch = WriteBatch(buffer)
    base = merged_root(buffer, bases, scratch, erased=erased)
    other = Commit.decode(buffer.get(theirs)).root
    root = merge_to_commit(scratch, base, attempt.tip.root_cid, other, buffer, erased=erased)
    return Outcome.MERGED, commit_of(attempt.signature, root, (head, theirs), time)


def _named(signature: CommitInfo, rev: object, full_name: str) -> CommitInfo:
    if signature.message:
        return signature
    return replace(signature, message=f"merge {rev} into {full_name.removeprefix(HEADS)}")


def _report(source: Source, now: Tip, outcome: Outcome, commit: Commit) -> Merged:
    if commit.root == now.root_cid:
        return Merged(outcome, commit, (), ())
    changes, conflicts = changed_between(source, now.root, commit.root)
    return Merged(outcome, commit, changes, conflicts)

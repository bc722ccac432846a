"""Reapplies commits elsewhere: rebase, cherry-pick, and revert, which applies one backwards. Each
is a merge whose base is the state before the commit, with the same rules: changes that do not apply
are recorded as conflicts in the new commit without stopping. No tombstone is lost; see
`repo.merge.tombstones`.

Spec: merge 9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import CommitCid, RootCid, TreeCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.repo.arguments import CommitInfo, commit_of
from ibidem.repo.history.ancestry import first_parents, merge_bases, read_commit
from ibidem.repo.maintenance.cleaned import cleaned_commit
from ibidem.repo.merge.attempt import Attempt, attempted
from ibidem.repo.merge.branch import Outcome, changed_between
from ibidem.repo.merge.conflicts import OpenConflict
from ibidem.repo.merge.three_way import merge_to_commit
from ibidem.repo.merge.tombstones import with_tombstones
from ibidem.repo.operation_log import OperationLog

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.erasure.guard import Erased
    from ibidem.repo.history.log import Change


@record
class AppliedCommits:
    """The result of reapplying commits, or of a dry run."""

    outcome: Outcome
    commits: tuple[Commit, ...]
    """The new commits, oldest first."""
    dropped: tuple[Commit, ...]
    """The commits whose change was already present."""
    changes: tuple[Change, ...]
    """The changes of the branch."""
    conflicts: tuple[OpenConflict, ...]
    """The recorded conflicts, by id."""
    kept: tuple[NodeId, ...] = ()
    """Nodes whose tombstones stayed although the change removes them, by id; only `untombstone`
    removes one.
    """


@record(frozen=False)
class _Plan:
    """The planned state of a branch, and how it was reached."""

    outcome: Outcome
    tip: CommitCid | None
    root: RootCid
    erased: Erased
    tombstones: TreeCid
    """Tombstones that no change removes."""
    base: TreeCid | None = None
    """Those of them that a change may remove nevertheless; None for none."""
    commits: list[Commit] = field(default_factory=list)
    dropped: list[Commit] = field(default_factory=list)
    kept: set[NodeId] = field(default_factory=set)
    needs: tuple[CommitCid, ...] = ()
    """Commits that the new ones use values of without being based on them."""


def rebase(
    operations: OperationLog,
    full_name: str,
    onto: CommitCid,
    signature: CommitInfo,
    *,
    dry_run: bool = False,
) -> AppliedCommits:
    """Reapplies the commits that only a branch has on top of another commit.

    Raises:
        InvalidInputError: one of them is a merge.
    """

    def make(attempt: Attempt) -> _Plan:
        buffer, now = attempt.buffer, attempt.tip
        bases = () if now.commit is None else merge_bases(buffer, now.commit, onto)
        if now.commit is not None and onto in bases:
            return _unmoved(Outcome.UNCHANGED, attempt)
        start = cleaned_commit(buffer, onto, attempt.erased, signature, attempt.time)
        root = Commit.decode(buffer.get(start)).root
        tombstones = Root.decode(buffer.get(root)).tombstones
        plan = _Plan(Outcome.FORWARDED, start, root, attempt.erased, tombstones)
        own = _own(buffer, now.commit, bases)
        if own and own[0].parents:
            before = Root.decode(buffer.get(_before(attempt, own[0])))
            plan.base = before.tombstones
        for commit in own:
            before_cid = _before(attempt, commit)
            signed = CommitInfo(
                commit.author,
                commit.message,
                commit.time,
                commit.agent,
                commit.task,
                signature.key,
            )
            _add(plan, buffer, commit, before_cid, commit.root, signed, commit.time)
        if plan.commits:
            plan.outcome = Outcome.APPLIED
        return plan

    return _run(operations, full_name, signature, make, "rebase", dry_run=dry_run)


def pick(
    operations: OperationLog, full_name: str, picked: CommitCid, signature: CommitInfo
) -> AppliedCommits:
    """Applies the change of one commit to a branch; of a merge, that against its first parent.
    Fields that the signature leaves empty are taken from the commit.
    """

    def make(attempt: Attempt) -> _Plan:
        commit = Commit.decode(attempt.buffer.get(picked))
        signed = replace(
            signature,
            author=signature.author or commit.author,
            message=signature.message or commit.message,
            agent=signature.agent or commit.agent,
            task=signature.task or commit.task,
        )
        plan = _unmoved(Outcome.APPLIED, attempt)
        plan.needs = (picked,)
        before = _before(attempt, commit)
        _add(plan, attempt.buffer, commit, before, commit.root, signed, attempt.time)
        return plan

    return _run(operations, full_name, signature, make, "cherry-pick")


def revert(
    operations: OperationLog, full_name: str, reverted: CommitCid, signature: CommitInfo
) -> AppliedCommits:
    """Reverts the change of one commit; of a merge, that against its first parent."""

    def make(attempt: Attempt) -> _Plan:
        commit = Commit.decode(attempt.buffer.get(reverted))
        message = signature.message or f"revert {commit.message or reverted}"
        plan = _unmoved(Outcome.APPLIED, attempt)
        plan.needs = (reverted,)
        before = _before(attempt, commit)
        signed = replace(signature, message=message)
        _add(plan, attempt.buffer, commit, commit.root, before, signed, attempt.time)
        return plan

    return _run(operations, full_name, signature, make, "revert")


def _unmoved(outcome: Outcome, attempt: Attempt) -> _Plan:
    """Returns the plan that leaves a branch unchanged, to be added to; it keeps all tombstones."""
    now = attempt.tip
    return _Plan(outcome, now.commit, now.root_cid, attempt.erased, now.root.tombstones)


def _own(source: WriteBatch, head: CommitCid | None, bases: tuple[CommitCid, ...]) -> list[Commit]:
    """Returns the commits after a base up to the head, oldest first."""
    found: list[Commit] = []
    line = () if head is None else first_parents(partial(read_commit, source), head)
    for cid, commit in line:
        if cid in bases:
            break
        if len(commit.parents) > 1:
            raise InvalidInputError(
                f"rebase: commit {cid} is a merge, which cannot be reapplied",
                hint="use 'repo merge', or cherry-pick the commits one by one",
            )
        found.append(commit)
    return found[::-1]


def _before(attempt: Attempt, commit: Commit) -> RootCid:
    """Returns the root of the first parent of a commit."""
    if not commit.parents:
        return attempt.state.origin
    return Commit.decode(attempt.buffer.get(commit.parents[0])).root


def _add(
    plan: _Plan,
    buffer: WriteBatch,
    commit: Commit,
    before: RootCid,
    after: RootCid,
    signature: CommitInfo,
    time: int,
) -> None:
    """Applies the change from `before` to `after` on top of the planned state."""
    root = merge_to_commit(buffer, before, plan.root, after, buffer, erased=plan.erased)
    root, kept = with_tombstones(root, plan.tombstones, buffer, base=plan.base)
    plan.kept.update(kept)
    if root == plan.root:
        plan.dropped.append(commit)
        return
    made = commit_of(signature, root, () if plan.tip is None else (plan.tip,), time)
    block = made.encode()
    plan.tip, plan.root = CommitCid.of(block), root
    buffer.put(plan.tip, block)
    plan.commits.append(made)


def _run(
    operations: OperationLog,
    full_name: str,
    signature: CommitInfo,
    make: Callable[[Attempt], _Plan],
    verb: str,
    *,
    dry_run: bool = False,
) -> AppliedCommits:
    def made(attempt: Attempt) -> AppliedCommits:
        buffer, now = attempt.buffer, attempt.tip
        plan = make(attempt)
        if plan.tip == now.commit:
            plan.outcome = Outcome.UNCHANGED
            return _report(buffer, now.root, plan)
        assert plan.tip is not None, "BUG: a plan that leads nowhere"
        done = _report(buffer, now.root, plan)
        if not dry_run:
            commit = Commit.decode(buffer.get(plan.tip))
            attempt.move(commit, f"{verb} on {full_name}", needs=plan.needs)
        return done

    return attempted(operations, full_name, signature, made, dry_run=dry_run)


def _report(source: WriteBatch, before: Root, plan: _Plan) -> AppliedCommits:
    changes, conflicts = changed_between(source, before, plan.root)
    return AppliedCommits(
        plan.outcome,
        tuple(plan.commits),
        tuple(plan.dropped),
        changes,
        conflicts,
        tuple(sorted(plan.kept, key=lambda node: node.raw)),
    )

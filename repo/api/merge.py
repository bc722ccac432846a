"""Bringing histories together, and settling what nobody could settle."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.repo import branches, revspec
from ibidem.repo.arguments import commit_info
from ibidem.repo.core import Core

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.commit import Commit
    from ibidem.objects.ids import EdgeId, NodeId
    from ibidem.repo.merge.branch import Merged
    from ibidem.repo.merge.conflicts import OpenConflict
    from ibidem.repo.merge.rebase import Replanted


class MergeApi(Core):
    """The methods of `Repository` about merging."""

    def merge(
        self,
        rev: object,
        *,
        is_dry_run: bool = False,
        author: str = "",
        message: str = "",
        branch: str | None = None,
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Merged:
        """Merges a revision into a branch, the current one by default.

        A branch that has nothing of its own moves to the revision. What both sides changed
        differently is recorded as a conflict, and the branch can be used at once.

        Args:
            rev: what to merge, such as the name of another branch.
            is_dry_run: says what would come of it and writes nothing.
            message: of the commit; by default it says what was merged.

        Raises:
            NotFoundError: there is no such revision, or branch.
        """
        from ibidem.repo.merge.branch import merge_into

        signed = commit_info(author, message, time, agent, task, self.signing_key)
        full_name = branches.branch_of(self.operation_log, branch)
        return merge_into(
            self.operation_log, full_name, self._commit_of(rev), rev, signed, is_dry_run=is_dry_run
        )

    def merge_bases(self, one: object, other: object) -> tuple[CommitCid, ...]:
        """Returns the best common ancestors of two revisions, ascending; none of strangers."""
        from ibidem.repo.history.ancestry import merge_bases

        return merge_bases(self.store, self._commit_of(one), self._commit_of(other))

    def rebase(
        self,
        onto: object,
        *,
        is_dry_run: bool = False,
        author: str = "",
        time: int | datetime | None = None,
    ) -> Replanted:
        """Makes the commits that only the current branch has again, on top of a revision.

        Each keeps its author, time and message; the committing operation has `author` and `time`.
        The branch moves once, when all is done. A merge among the commits is refused: say which of
        its sides is meant by merging again.

        Args:
            is_dry_run: says what would come of it and writes nothing.
        """
        from ibidem.repo.merge.rebase import rebase

        full_name = branches.branch_of(self.operation_log, None)
        signed = commit_info(author, "", time, None, None, self.signing_key)
        return rebase(
            self.operation_log, full_name, self._commit_of(onto), signed, is_dry_run=is_dry_run
        )

    def cherry_pick(
        self,
        rev: object,
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Replanted:
        """Makes the change of one commit again on the current branch.

        Args:
            author: and message: by default those of the commit.
        """
        from ibidem.repo.merge.rebase import pick

        full_name = branches.branch_of(self.operation_log, None)
        signed = commit_info(author, message, time, agent, task, self.signing_key)
        return pick(self.operation_log, full_name, self._commit_of(rev), signed)

    def revert(
        self,
        rev: object,
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Replanted:
        """Takes the change of one commit back, in a new commit on the current branch."""
        from ibidem.repo.merge.rebase import revert

        full_name = branches.branch_of(self.operation_log, None)
        signed = commit_info(author, message, time, agent, task, self.signing_key)
        return revert(self.operation_log, full_name, self._commit_of(rev), signed)

    def conflicts(self, rev: object = revspec.HEAD) -> list[OpenConflict]:
        """Returns the conflicts of a revision that nobody has settled, by id."""
        from ibidem.repo.merge.conflicts import open_conflicts

        return list(open_conflicts(self.store, self.graph(rev).root))

    def resolve_conflict(
        self,
        id: NodeId | EdgeId,  # noqa: A002
        take: str = "value",
        *,
        value: Mapping[str, Any] | None = None,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
    ) -> Commit | None:
        """Settles a conflict at the head of the current branch.

        Args:
            id: of the node or edge.
            take: `ours` (what the branch had), `theirs` (what was merged into it), `base` (what
                both came from), or `value` (what is there now). Fields that are not in conflict
                stay as they are now.
            value: on top of that, values by field, `props.NAME` for a property; None takes one
                away.
            message: of the commit; by default it says what was settled.

        Raises:
            NotFoundError: no conflict is about `id`.
            InvalidInputError: `take` says nothing here, such as `base` where there was none.
        """
        from ibidem.repo.merge.resolve import resolve

        signed = commit_info(author, message, time, agent, task, self.signing_key)
        return resolve(self, self.operation_log, id, take, value, signed)

    def _commit_of(self, rev: object) -> CommitCid:
        found = self.resolve(rev)
        assert found is not None, "BUG: resolve returned None"
        return found

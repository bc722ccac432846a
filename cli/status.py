"""`repo status`: shows the working folder, staged changes and conflicts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.options.common import common_options
from ibidem.cli.render import changes, conflicts, output, shapes
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.ingest.folder_status import FolderStatus
    from ibidem.repo.history.log import Change
    from ibidem.repo.repository import Repository

CHANGES_SHOWN = 20


@click.command("status")
@common_options
@pass_session
def command(session: Session) -> None:
    """Show changed files, staged changes and open conflicts

    Compares the files below the folder of the repository with the documents of the current branch
    and the stage. Files that have not changed since the last time are not read.

    \b
    Example:
      repo status
    """
    with session.open() as repository:
        branch, head = repository.current_branch, repository.head
        staged = list(repository.stage.changes())
        lines = [] if session.json else _staged_lines(repository, staged)
        open_conflicts = repository.conflicts()
        folder, others = _folder_status(session, repository)
        documents = conflicts.document_conflicts(repository) if open_conflicts else []
        conflict_lines = conflicts.all_lines(repository, open_conflicts, documents)
    if session.json:
        output.emit(
            "status",
            {
                "branch": branch,
                "head": None if head is None else str(head),
                "staged": changes.counts_json(staged),
                "folder": _folder_json(folder),
                "documents": [conflicts.document_json(each) for each in documents],
                "conflicts": [conflicts.conflict_json(each) for each in open_conflicts],
            },
        )
        return
    output.say(f"on branch {output.one_line(branch)}", shapes.head_line(head))
    if staged:
        output.say("", f"staged: {changes.summary(staged)}")
        output.say(*(f"  {line}" for line in lines))
        output.note(output.faint("next: repo commit -m MESSAGE, or repo undo --staged"))
    else:
        output.say("nothing is staged")
    _say_folder(folder, others)
    if open_conflicts:
        output.say("", f"{output.plural(len(open_conflicts), 'conflict')} to resolve")
        output.say(*(f"  {line}" for line in conflict_lines))
        output.note(*conflicts.help_lines(open_conflicts, documents))


def _staged_lines(repository: Repository, staged: Sequence[Change]) -> list[str]:
    """Returns the staged documents by their paths, and what is staged beside them."""
    from ibidem.repo.history.documents import changed_documents
    from ibidem.repo.transaction import stage

    store, operations = repository.core.store, repository.core.operation_log
    found = operations.retry_if_collected(lambda state: stage.read(store, state))
    documents = changes.document_lines(*changed_documents(store, found.base_root, found.root))
    others = changes.change_lines(store, changes.without_parts(store, staged))
    lines = [*documents, *others]
    more = len(lines) - CHANGES_SHOWN
    return [*lines[:CHANGES_SHOWN], f"and {more:,} more"] if more > 0 else lines


def _folder_status(
    session: Session, repository: Repository
) -> tuple[FolderStatus, Mapping[str, str]]:
    """Returns the status, and the files that have the text of another branch, with the branch."""
    from ibidem.ingest.folder_status import FolderStatus, files_of_branches, folder_status
    from ibidem.ingest.working_folder import WorkingFolder

    location = repository.core.location
    if location is None or not location.is_folder:
        return FolderStatus(), {}
    folder = Path(os.path.abspath(session.root()))  # noqa: PTH100  resolve() would follow links
    working = WorkingFolder.open(repository.core, folder)
    found = folder_status(working)
    is_taken = not session.json and (found.new or found.changed or found.diverged)
    others = files_of_branches(working) if is_taken else {}
    working.save()
    return found, others


def _folder_json(found: FolderStatus) -> dict[str, Any]:
    return {
        "new": found.new,
        "modified": found.changed,
        "deleted": found.deleted,
        "renamed": [{"before": each.before, "after": each.after} for each in found.renamed],
        "behind": found.behind,
        "diverged": found.diverged,
        "skipped": [{"path": path, "reason": reason} for path, reason in found.skipped],
    }


def _say_folder(found: FolderStatus, others: Mapping[str, str]) -> None:
    one_line = output.one_line

    def named(path: str) -> str:
        other = others.get(path)
        return one_line(path) + (f" (as on {one_line(other)})" if other is not None else "")

    groups = (
        ("new", output.good, map(named, found.new)),
        ("changed", output.bad, map(named, found.changed)),
        ("deleted", output.bad, map(one_line, found.deleted)),
        (
            "renamed",
            output.bad,
            (f"{one_line(each.before)} -> {one_line(each.after)}" for each in found.renamed),
        ),
        ("changed on both sides", output.bad, map(named, found.diverged)),
        ("its document was removed", output.faint, map(one_line, found.removed)),
        (
            "older than its document",
            output.faint,
            (one_line(path) for path in found.behind if path not in found.removed),
        ),
    )
    lines: list[str] = []
    for what, style, names in groups:
        listed = list(names)
        lines += [style(f"  {what}: {name}") for name in listed[:CHANGES_SHOWN]]
        more = len(listed) - CHANGES_SHOWN
        lines += [f"  {what}: {more:,} more"] if more > 0 else []
    if not lines:
        output.say("no file has changed")
        return
    output.say("", "files:", *lines)
    if found.new or found.changed or found.deleted or found.renamed:
        output.note(output.faint("next: repo commit . -m MESSAGE, or repo diff"))
    if len(found.behind) > len(found.removed) or found.diverged:
        output.note(
            output.faint("next: repo checkout PATH takes the document, --overwrite the file")
        )
    if found.removed:
        output.note(
            output.faint("next: delete the file, or repo commit PATH --overwrite takes it again")
        )

"""The status of a working folder: what differs from the graph, file by file."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from ibidem.ingest.draft import document_id
from ibidem.ingest.formats import format_of
from ibidem.ingest.restore import read_changed
from ibidem.ingest.skip_reason import skip_reason
from ibidem.ingest.source_digest import source_digests
from ibidem.ingest.stat_table import ABSENT, stat_of
from ibidem.ingest.walk import Found, Skipped, is_missing, opened, printable, read, walk
from ibidem.ingest.working_folder import Difference, Renamed, WorkingFolder, is_document
from ibidem.objects.commit import Commit
from ibidem.objects.constants import DOCUMENT_BYTES_MAX
from ibidem.objects.errors import UNREADABLE
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.objects.tree import Tree
from ibidem.objects.view import Ref
from ibidem.repo import refs
from ibidem.repo.history.documents import touched_documents
from ibidem.repo.refs import HEADS

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.state import State

REFS_MAX = 64
"""Refs up to which every branch is compared with the files: about 12 blocks each."""
OPERATIONS_MAX = 64
"""Newest operations in which the branches to compare are looked for if there are more refs."""
_TAKEN = (Difference.NEW, Difference.CHANGED, Difference.DIVERGED)


@record(frozen=False)
class FolderStatus:
    """The differences of a working folder from the graph, each list by path."""

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    """Documents whose file is gone."""
    renamed: list[Renamed] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    """Documents that were changed or removed in the graph since their file was."""
    removed: list[str] = field(default_factory=list)
    """Those of them that were removed."""
    diverged: list[str] = field(default_factory=list)
    """Documents that were changed in the graph, and whose file was changed too."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """(path, reason) of files and folders that are left out."""


def folder_status(folder: WorkingFolder) -> FolderStatus:
    """Returns the differences of all files; reads those whose numbers have changed."""
    status = FolderStatus()
    files: dict[str, Found] = {}
    for entry in walk(folder.path, ""):
        if isinstance(entry, Skipped):
            status.skipped.append((entry.path, entry.reason))
        elif is_document(entry.path):
            files[entry.path] = entry
    folder.learn(files)
    lists = {
        Difference.NEW: status.new,
        Difference.CHANGED: status.changed,
        Difference.BEHIND: status.behind,
        Difference.DIVERGED: status.diverged,
    }
    for path, entry in files.items():
        if entry.stat is None or not folder.is_read(path, stat_of(entry.stat)):
            try:
                _look(folder, entry)
            except OSError as error:
                reason = f"not readable: {error.strerror or error}"
                status.skipped.append((printable(path), reason))
                continue
        difference = folder.difference(path)
        if difference is Difference.SKIPPED:
            status.skipped.append((printable(path), folder.reason(path)))
        elif difference is not Difference.SAME:
            lists[difference].append(path)
            if difference is Difference.BEHIND and folder.row(path).head == ABSENT:
                status.removed.append(path)
    _settle_missing(folder, status, files)
    return status


def files_at(folder: WorkingFolder, root: Root) -> list[str]:
    """Returns the files that have the source of their document at another root, or are gone as it
    is, and that the next commit would take for changes of the document now, by path; looks only at
    files that are known."""
    by_id = {document_id(path): path for path in folder.table.rows}
    store = folder.core.store
    now = folder.core.graph().root
    touched = touched_documents(store, root, now, missing_ok=True) & by_id.keys()
    found = []
    for id_, digest in source_digests(store, root, touched):
        path = by_id[id_]
        if is_missing(folder.path / path):
            row = folder.row(path)
            if digest == ABSENT != row.head == row.base:
                found.append(path)
            continue
        try:
            read_changed(folder, path)
        except (OSError, ValueError):  # it is not a file any more, or cannot be read
            continue
        if folder.row(path).file == digest and folder.difference(path) in _TAKEN:
            found.append(path)
    return sorted(found)


def files_of_branches(folder: WorkingFolder) -> dict[str, str]:
    """Returns the files that have the source of their document on another branch, and that the next
    commit would take for changes, each with such a branch; without branches that cannot be read.

    In a repository with more than REFS_MAX refs, only the branches that were current in the newest
    OPERATIONS_MAX operations are compared.
    """
    store = folder.core.store
    found: dict[str, str] = {}
    looked = {folder.core.graph().root_cid}
    state, names = folder.core.operation_log.retry_if_collected(
        lambda state: (state, _names(folder.core, state))
    )
    for name in sorted(names):
        with suppress(*UNREADABLE):
            ref = refs.read(store, state.view, name)
            root = None if ref is None else Commit.decode(store.get(ref.target)).root
            if root is not None and root not in looked:
                looked.add(root)
                files = files_at(folder, Root.decode(store.get(root)))
                found = dict.fromkeys(files, name.removeprefix(HEADS)) | found
    return found


def _names(core: Core, state: State) -> set[str]:
    """Returns the full names of the branches whose documents are compared with the files."""
    some = islice(Tree(core.store, state.view.refs).items(), REFS_MAX + 1)
    found = [cid for _, cid in some]
    if len(found) > REFS_MAX:
        entries = islice(core.operation_log.history(state), OPERATIONS_MAX)
        return {entry.view.head for entry in entries}
    names = (Ref.decode(core.store.get(cid)).name for cid in found)
    return {name for name in names if name.startswith(HEADS)}


def _settle_missing(folder: WorkingFolder, status: FolderStatus, files: dict[str, Found]) -> None:
    missing = folder.missing(files)
    newer = [path for path in missing if folder.is_missing_newer(path)]
    status.behind = sorted([*status.behind, *newer])
    missing = [path for path in missing if path not in newer]
    status.renamed = folder.renames(missing, status.new)
    moved = {name for each in status.renamed for name in (each.before, each.after)}
    status.deleted = [path for path in missing if path not in moved]
    status.new = [path for path in status.new if path not in moved]


def _look(folder: WorkingFolder, entry: Found) -> None:
    """Reads a file, and records what it has.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with opened(entry.base, entry.below, follow=entry.follow) as descriptor:
            stat = stat_of(os.fstat(descriptor))
            try:
                data = read(descriptor, DOCUMENT_BYTES_MAX)
            except ValueError as error:
                folder.skipped(entry.path, stat, str(error))
                return
    except ValueError as error:  # replaced by something else since it was listed
        raise OSError(str(error)) from error
    folder.saw(entry.path, stat, data, reason=skip_reason(entry.path, data, format_of(entry.path)))

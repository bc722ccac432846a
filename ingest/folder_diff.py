"""What is not committed, as text: the files of the working folder, and staged documents, against
the head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.ingest.decoded import decoded
from ibidem.ingest.folder_status import folder_status
from ibidem.ingest.formats import format_of
from ibidem.ingest.walk import opened, read
from ibidem.objects.constants import DOCUMENT_BYTES_MAX
from ibidem.objects.errors import NotFoundError
from ibidem.objects.record import record
from ibidem.repo.history.documents import (
    DocumentChange,
    document_changes,
    readable_change,
    source_at,
)

if TYPE_CHECKING:
    from ibidem.ingest.working_folder import WorkingFolder
    from ibidem.objects.root import Root


@record
class FolderDiff:
    """The differences of a working folder from the head, by path."""

    changes: tuple[DocumentChange, ...]
    extracted: tuple[str, ...]
    """Files that differ, whose text is only known once they are ingested."""


def folder_diff(folder: WorkingFolder, head: Root, staged: Root) -> FolderDiff:
    """Returns the differences of documents from the head: of a file that was changed, its text;
    else what is staged. Files that are older than their documents are left out."""
    store = folder.core.store
    status = folder_status(folder)
    found = {change.path: change for change in document_changes(store, head, staged)}
    moved = {each.after: each.before for each in status.renamed}
    there = [*status.new, *status.changed, *status.diverged, *moved]
    extracted = [path for path in there if format_of(path).is_extracted]
    gone = [*status.deleted, *(moved.pop(path) for path in extracted if path in moved)]
    texts: dict[str, str | None] = dict.fromkeys(gone)
    for path in there:
        if path not in extracted:
            with opened(folder.path, path) as descriptor:
                data = read(descriptor, DOCUMENT_BYTES_MAX)
            texts[path] = decoded(data, "replace")
    for path, after in texts.items():
        change = found.pop(moved.get(path, path), None)
        old = change.former if change and change.former else moved.get(path, path)
        try:
            before = source_at(store, head, old)
            replaced = None if old == path else source_at(store, head, path)
        except NotFoundError:
            found[path] = DocumentChange(path, None, None, is_readable=False)
            continue
        if replaced is not None:  # another document changed, and the one at the old path went
            found[old] = DocumentChange(old, before, None)
            before, old = replaced, path
        if after is None:
            path = old
        former = None if old == path or before is None else old
        if before != after or former:
            found[path] = DocumentChange(path, before, after, former=former)
    shown = (readable_change(store, head, staged, found[path]) for path in sorted(found))
    return FolderDiff(tuple(shown), tuple(sorted(extracted)))

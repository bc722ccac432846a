"""The working folder: which of its files differ from their documents in the graph, and which side
is newer.

Three sources are compared by their digests: the *file*, the document in the *head* (with staged
changes), and their common *base*, the source that both last had in common. A file that equals the
base while the head does not is behind: the document was changed by a merge, a resolved conflict or
another writer. A commit leaves it alone, since it would take that change back. The base is kept
along one line of history only. After an undo, or a switch to a branch that does not continue the
former head, the document is the base, so that every difference counts as a change of the file.

Invariant: nothing here is read from a file whose numbers (`stat_table.py`) say that it is the same.
Files of JSON lines are no documents, so they are not compared.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ibidem.ingest.draft import document_id
from ibidem.ingest.formats import EXTRACTOR_VERSION, NDJSON, READER_VERSION, format_of, suffix_of
from ibidem.ingest.source_digest import source_digests
from ibidem.ingest.stat_table import (
    ABSENT,
    FORGOTTEN,
    REMOVED,
    UNKNOWN,
    UNREADABLE,
    Row,
    Stat,
    StatTable,
    read_table,
    settled_stat,
    write_table,
)
from ibidem.ingest.walk import is_missing
from ibidem.objects.config import Config
from ibidem.objects.errors import NotFoundError, StorageError
from ibidem.objects.record import record
from ibidem.objects.root import Root
from ibidem.repo.history.ancestry import is_ancestor
from ibidem.repo.history.documents import touched_documents
from ibidem.repo.transaction import stage
from ibidem.retrieve.access.policy import TrustPolicy, policy_of
from ibidem.store.files import file_system_time

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid, RootCid
    from ibidem.objects.commit import Commit
    from ibidem.repo.core import Core
    from ibidem.repo.state import State

FORGOTTEN_REASON = "forgotten: the document has a tombstone"
_NO_FILE = 0


class Difference(StrEnum):
    """How a file and its document differ."""

    SAME = "same"
    NEW = "new"
    """There is no document."""
    CHANGED = "changed"
    """The file was changed."""
    BEHIND = "behind"
    """The document was changed or removed in the graph, the file was not."""
    DIVERGED = "diverged"
    """Both were changed."""
    SKIPPED = "skipped"
    """The file is left out for a reason."""


@record
class Renamed:
    """A document whose file is gone, and a new file with the same source."""

    before: str
    after: str


@record(frozen=False)
class WorkingFolder:
    """The files below the folder of a repository, compared with one state of its graph."""

    core: Core
    path: Path
    """The folder that contains the repository, absolute."""
    table: StatTable
    state_read: State
    """The state of the repository that the graph was found in."""
    is_dirty: bool = False
    """Whether the table has changed since it was read."""
    started_ns: int = _NO_FILE
    """The time of the file system before any file was read; 0 if it cannot be told."""
    _is_ingested: bool = False
    """Whether a document was recorded as written or removed."""
    _readers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, core: Core, path: Path) -> Self:
        """Returns the working folder of a repository, compared with its head and stage."""
        assert core.folder is not None, "BUG: a working folder without a repository on disk"
        state, staged = core.operation_log.retry_if_collected(
            lambda state: (state, stage.read(core.store, state))
        )
        table = read_table(core.folder)
        if table is None:
            table = StatTable(staged.root_cid, staged.base_commit, {}, {})
        found = cls(core, path, table, state, started_ns=_file_system_time(core.folder))
        found._follow(staged.root_cid, staged.base_commit)
        return found

    def save(self) -> None:
        """Writes the table if it has changed; on a medium that cannot be written, nothing happens,
        and the next call is slower."""
        folder = self.core.folder
        if not self.is_dirty or self.started_ns == _NO_FILE or folder is None:
            return
        # A document of which nothing but its head is known never had a file here.
        rows = {path: row for path, row in self.table.rows.items() if row != Row(head=row.head)}
        table = StatTable(self.table.root, self.table.commit, rows, self.table.reasons)
        try:
            write_table(folder, table)
        except (StorageError, OSError):
            return
        self.is_dirty = False

    # -- one file ------------------------------------------------------------------------------

    def row(self, path: str) -> Row:
        """Returns what is known of a file; `learn` has to be called first for unknown ones."""
        return self.table.rows.get(path, Row())

    def is_read(self, path: str, stat: Stat) -> bool:
        """Returns whether the bytes of a file with these numbers are known, and if it is left out,
        that it would be by the readers of this version too."""
        row = self.table.rows.get(path)
        if row is None or (path in self.table.reasons and row.reader != self.reader(path)):
            return False
        return row.stat == stat != UNKNOWN

    def difference(self, path: str) -> Difference:
        """Returns how a file, as it was last read, differs from its document."""
        row = self.row(path)
        if path in self.table.reasons or row.head == FORGOTTEN:
            return Difference.SKIPPED
        if row.file == row.head:
            return Difference.SAME
        if row.base not in (ABSENT, REMOVED, row.head):
            return Difference.BEHIND if row.file == row.base else Difference.DIVERGED
        return Difference.NEW if row.head == ABSENT else Difference.CHANGED

    def reason(self, path: str) -> str:
        """Returns why a file is left out; "" if it is not."""
        is_forgotten = self.row(path).head == FORGOTTEN
        return self.table.reasons.get(path, FORGOTTEN_REASON if is_forgotten else "")

    def is_current(self, path: str) -> bool:
        """Returns whether ingesting a file, as it was last read, would change nothing."""
        row = self.row(path)
        return row.file == row.head and row.reader == self.reader(path)

    def saw(self, path: str, stat: Stat, data: bytes, *, reason: str | None = None) -> None:
        """Records the bytes of a file that was read.

        Args:
            stat: its numbers before it was read.
            reason: why it is left out, None if it is not.
        """
        row = self.row(path)
        digest = hashlib.sha256(data).digest()
        base = digest if digest == row.head else row.base
        self._set(path, row._replace(stat=self._settled(stat), file=digest, base=base))
        self._leave_out(path, reason)

    def skipped(self, path: str, stat: Stat, reason: str) -> None:
        """Records that a file cannot be read as a document, for example by its size."""
        self._set(path, self.row(path)._replace(stat=self._settled(stat), file=ABSENT))
        self._leave_out(path, reason)

    def ingested(self, path: str) -> None:
        """Records that the document of a file now has the file's source."""
        row = self.row(path)
        self._is_ingested = True
        self._set(path, row._replace(head=row.file, base=row.file, reader=self.reader(path)))

    def removed(self, path: str) -> None:
        """Records that a document was removed, and that its file is gone."""
        self._is_ingested = True
        self._set(path, Row(base=REMOVED))
        self._explain(path, None)

    def restored(self, path: str, stat: Stat, data: bytes) -> None:
        """Records bytes that were written to a file from some revision of its document: whatever
        differs from the head now is a change of the file."""
        self.learn([path])
        self.saw(path, stat, data)
        self._set(path, self.row(path)._replace(base=self.row(path).head))

    def learn(self, paths: Iterable[str]) -> None:
        """Reads the digests of the documents of those files that have no row yet."""
        new = {document_id(path): path for path in paths if path not in self.table.rows}
        if not new:
            return
        root = self._root(self.table.root)
        for id_, digest in source_digests(self.core.store, root, new):
            self._set(new[id_], Row(head=digest))

    def reader(self, path: str) -> str:
        """Returns what makes the parts of a document of this name."""
        suffix = suffix_of(path)
        known = self._readers.get(suffix)
        if known is None:
            found = format_of(path)
            made_by = found.extractor if found.packages and found.is_installed else ()
            versions = (READER_VERSION, EXTRACTOR_VERSION, *made_by)
            known = self._readers[suffix] = " ".join((*versions, *self._label_names()))
        return known

    # -- files that are gone -------------------------------------------------------------------

    def missing(self, found: Iterable[str], below: Iterable[str] = ("",)) -> list[str]:
        """Returns the documents whose file was in the folder and is gone, by path.

        Args:
            found: paths of files that are there.
            below: folders and files to consider, "" for all.
        """
        below = tuple(below)
        there = set(found)
        candidates = [
            path
            for path, row in self.table.rows.items()
            if path not in there and not (row.head == ABSENT and row.base == REMOVED)
        ]
        gone = [
            path
            for path in sorted(candidates)
            if any(not each or path == each or path.startswith(f"{each}/") for each in below)
            and is_missing(self.path / path)
        ]
        without = [path for path in gone if self.table.rows[path].head in (ABSENT, FORGOTTEN)]
        for path in without:
            del self.table.rows[path]
            self._explain(path, None)
            self.is_dirty = True
        return sorted(set(gone) - set(without))

    def is_missing_newer(self, path: str) -> bool:
        """Returns whether the document of a missing file was changed in the graph meanwhile."""
        row = self.row(path)
        return row.base not in (ABSENT, row.head)

    def renames(self, missing: Iterable[str], new: Iterable[str]) -> list[Renamed]:
        """Returns pairs of a missing and a new file with equal sources, each in one pair at most,
        by path."""
        by_source: dict[bytes, list[str]] = defaultdict(list)
        for path in sorted(new, reverse=True):
            by_source[self.row(path).file].append(path)
        pairs = []
        for path in sorted(missing):
            paths = by_source.get(self.row(path).head)
            if paths:
                pairs.append(Renamed(path, paths.pop()))
        return pairs

    # -- the state of the graph ----------------------------------------------------------------

    def published(self, commit: Commit | None) -> None:
        """Moves the table to the state that the ingested documents were published in.

        If other writers were faster, the documents that they changed are read again.

        Args:
            commit: the new commit, None if there is none; then the changes may be staged.
        """
        if commit is None and not self._is_ingested:
            return
        before = self.table.commit
        if commit is None:
            store, operations = self.core.store, self.core.operation_log
            staged = operations.retry_if_collected(lambda state: stage.read(store, state))
            root_cid, at = staged.root_cid, staged.base_commit
            is_alone = at == before
        else:
            root_cid, at = commit.root, commit.cid
            is_alone = commit.parents == (() if before is None else (before,))
        if is_alone:
            self.is_dirty = True
            self.table = StatTable(root_cid, at, self.table.rows, self.table.reasons)
        else:
            self._follow(root_cid, at)

    def _follow(self, root_cid: RootCid, commit: CommitCid | None) -> None:
        """Moves the table to another state of the graph."""
        before = self.table
        if (root_cid, commit) == (before.root, before.commit):
            return
        self.is_dirty = True
        self.table = StatTable(root_cid, commit, before.rows, before.reasons)
        if root_cid != before.root and before.rows:
            follows = commit != before.commit and self._continues(before.commit, commit)
            by_id = {document_id(path): path for path in before.rows}
            try:
                roots = self._root(before.root), self._root(root_cid)
                found = touched_documents(self.core.store, *roots)
                touched = [by_id[id_] for id_ in found if id_ in by_id]
            except NotFoundError:  # the former state was collected, or a part was erased
                touched = list(before.rows)
            self._refresh(touched, follows=follows)

    def _refresh(self, paths: Iterable[str], *, follows: bool) -> None:
        """Reads the digests of some documents again; unless the state follows the former one, they
        are the base."""
        by_id = {document_id(path): path for path in paths}
        root = self._root(self.table.root)
        for id_, digest in source_digests(self.core.store, root, by_id):
            row = self.row(by_id[id_])
            if digest in (FORGOTTEN, UNREADABLE):
                row = Row()  # no digest of a text outlives it here
            elif not follows or digest == row.file:
                row = row._replace(base=REMOVED if digest == ABSENT else digest)
            # Links to it, and its own, may lack their edges, and its parts its labels.
            self._set(by_id[id_], row._replace(head=digest, reader=""))

    def _label_names(self) -> tuple[str, str]:
        """Returns the properties with the level and scope, which parts have from their document."""
        policy = policy_of(Config.from_map(self._root(self.table.root).config))
        return (policy or TrustPolicy()).names

    def _continues(self, before: CommitCid | None, after: CommitCid | None) -> bool:
        if before is None or after is None:
            return before is None
        try:
            return is_ancestor(self.core.store, before, after)
        except NotFoundError:
            return False

    def _root(self, cid: RootCid) -> Root:
        return Root.decode(self.core.store.get(cid))

    def _settled(self, stat: Stat) -> Stat:
        return settled_stat(stat, self.started_ns)

    def _set(self, path: str, row: Row) -> None:
        if self.table.rows.get(path) != row:
            self.table.rows[path] = row
            self.is_dirty = True

    def _leave_out(self, path: str, reason: str | None) -> None:
        """Records why the readers of this version leave out a file, if they do."""
        if reason is not None or path in self.table.reasons:
            reader = "" if reason is None else self.reader(path)
            self._set(path, self.row(path)._replace(reader=reader))
        self._explain(path, reason)

    def _explain(self, path: str, reason: str | None) -> None:
        reasons = self.table.reasons
        if reasons.get(path) != reason:
            self.is_dirty = True
            if reason is None:
                reasons.pop(path)
            else:
                reasons[path] = reason


def is_document(path: str) -> bool:
    """Returns whether a file of this name becomes a document."""
    return format_of(path).media_type != NDJSON


def _file_system_time(folder: Path) -> int:
    """Returns the time that a file changed now would get."""
    try:
        return file_system_time(folder)
    except OSError:
        return _NO_FILE

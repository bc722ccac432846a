"""Stages the records of an input and commits them: all in one commit, or a number at a time.

Every record is staged under an id that follows from the input: the id of the other program is the
node's key, and its property `external_id`. So the same input twice changes nothing, and an import
that was interrupted between two commits goes on when it is started again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibidem
from ibidem import ErrorKind, IbidemError, InvalidInputError
from ibidem.adapters.importing.formats import detect, reader_of
from ibidem.adapters.importing.report import ImportReport
from ibidem.adapters.importing.source import ImportLimits, MessageRecord, Source, located

if TYPE_CHECKING:
    from ibidem import CommitCid, Repository, Transaction, ViewerRepository

MESSAGES_AT_ONCE = 256
STEP = 1000
"""Records between two reports of progress."""


def load(
    repository: Repository | ViewerRepository,
    source: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    model: str | None = None,
    branch: str | None = None,
    dry_run: bool = False,
    batch: int | None = None,
    limits: ImportLimits | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    author: str = "",
    message: str = "",
    time: int | datetime | None = None,
) -> ImportReport:
    """Imports a file or folder of another program, or JSON lines, into a branch.

    The input is read and never changed. With one commit, an error changes nothing; with several,
    those before it stay, and the same call goes on from there.

    Args:
        source: the path of the file or folder.
        format: one of `adapters.importing.formats.FORMATS`; by default it is detected.
        model: the name of the model of the vectors, for formats that do not record one.
        branch: by default the current one.
        dry_run: reads, checks and counts everything, and changes nothing.
        batch: commits after this many records; by default everything is one commit.
        progress: called with the name of the work, the number of records, and None.
        author: of the commits, as are `message` and `time`.

    Raises:
        InvalidInputError: the input is of no known form, or a record of it is wrong; the message
            names the file and the record. Kind `limit-exceeded`, `missing-package`.
        NotFoundError: there is no such file.
    """
    if isinstance(repository, ibidem.ViewerRepository):
        raise _not_permitted()
    if batch is not None and (type(batch) is not int or batch < 1):
        raise InvalidInputError(f"batch: got {batch!r:.80}, expected a number of records from 1")
    path = Path(source)
    name = detect(path) if format is None else format
    reader = reader_of(name)
    given = Source(path, limits or ImportLimits(), model)
    about = {"author": author, "message": message or f"import {name}", "branch": branch}
    importing = _Import(repository, given, dry_run, batch, {**about, "time": time}, progress)
    return importing.run(name, reader)


def _not_permitted() -> InvalidInputError:
    return InvalidInputError(
        "viewer: importing.load is refused to a viewer who may not see everything",
        kind=ErrorKind.NOT_PERMITTED,
        hint="it is for the owner: viewer=ALL, or --viewer all",
    )


class _Import:
    def __init__(
        self,
        repository: Repository,
        source: Source,
        dry_run: bool,
        batch: int | None,
        about: dict[str, Any],
        progress: Callable[[str, int, int | None], None] | None,
    ) -> None:
        self._repository = repository
        self._source = source
        self._dry_run = dry_run
        self._batch = None if dry_run else batch
        self._about = about
        self._progress = progress
        self._writer = ibidem.RecordWriter()
        self._tx = self._begin()
        self._messages: list[MessageRecord] = []
        self._position = ""
        self._count = 0
        self._added = self._known = 0
        self._commits: list[CommitCid] = []

    def run(self, name: str, reader: Callable[[Source], Any]) -> ImportReport:
        try:
            for position, item in reader(self._source):
                self._position = position
                self._take(item)
                self._position = ""  # an error of the reader names its own
            self._end()
        except IbidemError as error:
            self._tx.rollback()
            raise located(self._source.path, error, self._position) from error
        except BaseException:
            self._tx.rollback()
            raise
        for setting in self._writer.settings:
            self._source.omit(f"setting that is another here: {setting}")
        return ImportReport(
            name,
            self._dry_run,
            self._count,
            **asdict(self._writer.counts),
            messages_added=self._added,
            messages_unchanged=self._known,
            omitted=dict(sorted(self._source.omitted.items())),
            commits=tuple(self._commits),
        )

    def _begin(self) -> Transaction:
        return self._repository.transaction(**self._about)

    def _take(self, item: Any) -> None:
        self._count += 1
        limit = self._source.limits.record_count_max
        if self._count > limit:
            raise InvalidInputError(
                f"more records than the limit, expected at most {limit:,}",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        is_full = len(self._messages) == MESSAGES_AT_ONCE
        if self._messages and (is_full or not self._continues(item)):
            self._append()
        if isinstance(item, MessageRecord):
            self._messages.append(item)
        else:
            self._write(item)
        if self._progress is not None and self._count % STEP == 1:
            self._progress("importing", self._count - 1, None)
        if self._batch is not None and self._count % self._batch == 0:
            self._append()
            self._commit()
            self._tx = self._begin()

    def _continues(self, item: Any) -> bool:
        return isinstance(item, MessageRecord) and item.thread == self._messages[0].thread

    def _write(self, record: Any) -> None:
        try:
            self._writer.write(self._tx, record, self._position)
        except IbidemError as error:
            if error.kind is not ErrorKind.FORGOTTEN:
                raise
            self._source.omit("node that was forgotten here")

    def _append(self) -> None:
        """Stages the messages that were collected, of one thread."""
        if not self._messages:
            return
        first, self._messages, given = self._messages[0], [], self._messages
        thread = ibidem.thread_id(first.thread)
        before = self._tx.find_node(thread)
        stop = 0 if before is None else before.props["next"]
        written = self._tx.conversations.append(first.thread, [one.message for one in given])
        fresh = sum(position >= stop for position in set(written.ords))
        self._added += fresh
        self._known += len(given) - fresh
        if first.title:
            self._tx.update_node(thread, set_props={"title": first.title})

    def _end(self) -> None:
        self._append()
        for position, record, error in self._writer.finish(self._tx):
            is_reference = error.kind is ErrorKind.DANGLING_REFERENCE
            if not is_reference or not isinstance(record, ibidem.EdgeRecord):
                self._position = position
                raise error
            self._source.omit("edge to or from a node that is not there")
        self._position = ""
        if self._dry_run:
            self._tx.rollback()
        else:
            self._commit()
        if self._progress is not None:
            self._progress("importing", self._count, self._count)

    def _commit(self) -> None:
        commit = self._tx.publish()
        if commit is not None:
            self._commits.append(commit.cid)

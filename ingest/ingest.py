"""Ingests files, folders and standard input into a transaction, through one function.

Each document is read, planned and written on its own, so one bad file is reported and does not stop
the rest. The same input gives the same root on any machine: document paths are relative, ids are
derived, and only names and bytes are read from the file system.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from ibidem.ingest.document import check_path, read_document
from ibidem.ingest.draft import document_id
from ibidem.ingest.formats import MEDIA_TYPES, NDJSON, format_of
from ibidem.ingest.ignore import Ignore
from ibidem.ingest.labels import label_parts
from ibidem.ingest.link_edges import LinkEdges
from ibidem.ingest.move import hide_passages, tombstoned_passages
from ibidem.ingest.prune import prune_documents, remove_document
from ibidem.ingest.report import IngestReport, Progress
from ibidem.ingest.sandbox import Sandbox
from ibidem.ingest.secret import is_secret_name
from ibidem.ingest.skip_reason import NO_TEXT, skip_reason
from ibidem.ingest.stat_table import Stat, stat_of
from ibidem.ingest.update import apply, plan
from ibidem.ingest.walk import (
    Found,
    Skipped,
    ignores_above,
    is_missing,
    opened,
    printable,
    read,
    walk,
)
from ibidem.ingest.working_folder import (
    FORGOTTEN_REASON,
    Difference,
    WorkingFolder,
    is_document,
)
from ibidem.objects.config import Config
from ibidem.objects.constants import DOCUMENT_BYTES_MAX
from ibidem.objects.errors import ConflictError, IbidemError, InvalidInputError
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.ingest.draft import Draft
    from ibidem.repo.transaction.transaction import Transaction

STANDARD_INPUT = "-"
AHEAD_BYTES = 1 << 20
"""Bytes of files whose documents are read in one batch: a part has some 500 bytes, so these are
about 2,000 nodes."""


@record
class _Options:
    root: str | None
    prune: bool
    strict: bool
    media_type: str | None
    stdin_path: str
    size_bytes_max: int
    ignore_removal: bool
    overwrite: bool


def ingest(
    tx: Transaction,
    paths: Sequence[str | os.PathLike[str]],
    *,
    root: str | os.PathLike[str] | None = None,
    prune: bool = False,
    strict: bool = False,
    media_type: str | None = None,
    stdin: BinaryIO | None = None,
    stdin_path: str = "stdin",
    size_bytes_max: int = DOCUMENT_BYTES_MAX,
    progress: Callable[[Progress], None] | None = None,
    report: IngestReport | None = None,
    folder: WorkingFolder | None = None,
    ignore_removal: bool = False,
    overwrite: bool = False,
) -> IngestReport:
    """Ingests files and folders; the path `-` means `stdin`.

    Nothing is published: the transaction does that, and on an error it discards everything.

    Args:
        tx: written to; a document that has not changed writes nothing.
        paths: ingested in the given order; a folder is walked in byte order of names.
        root: the folder that document paths are relative to. None: a folder is its own root, and a
            file's path is its name.
        prune: remove the documents of files that are gone from an ingested folder; needs `root`.
        strict: raise an error at the first invalid file or line instead of reporting it. Files that
            are skipped by rule (hidden, ignored, binary) are not errors.
        media_type: the media type of all input; None: by a file's name, and JSON lines on standard
            input.
        stdin: read, but not closed, if `paths` contains "-".
        stdin_path: the document path of standard input, if it is not JSON lines.
        size_bytes_max: the largest document; JSON lines are streamed and bounded by line instead.
        progress: called after each file.
        report: filled and returned; by default a new one.
        folder: what is known of the files below `root`: those that have not changed are not read,
            those that are behind the graph are left alone, and the documents of files that are gone
            are removed or renamed. It has to describe the root that the transaction began on.
        ignore_removal: keep the documents of files that are gone, and report them.
        overwrite: ingest also files whose document was changed in the graph since.

    Raises:
        InvalidInputError: an argument is invalid, or with `strict` some input is; let it leave the
            transaction's block, so that nothing is published.
    """
    options = _Options(
        None if root is None else os.fspath(root),
        prune,
        strict,
        media_type,
        stdin_path,
        size_bytes_max,
        ignore_removal,
        overwrite,
    )
    if isinstance(paths, str | bytes | os.PathLike):
        raise InvalidInputError(f"paths: got {paths!r:.100}, expected a list of paths")
    names = [os.fspath(path) for path in paths]
    _check(options, names, stdin)
    with Sandbox() as sandbox:
        made = report or IngestReport()
        home = Config.from_map(tx.base.config).analyser
        return _Ingest(tx, options, stdin, progress, sandbox, home, folder, made).run(names)


def ingest_text(
    tx: Transaction,
    text: str,
    *,
    path: str | os.PathLike[str],
    media_type: str | None = None,
    report: IngestReport | None = None,
) -> IngestReport:
    """Ingests one text as the document `path`; errors are raised, not reported.

    Raises:
        InvalidInputError: the path or media type is invalid, or the text has a NUL or lone
            surrogates.
    """
    report = report or IngestReport()
    with Sandbox() as sandbox:
        links = LinkEdges()
        name = PurePath(path).as_posix() if isinstance(path, os.PathLike) else path
        _ingest_source(
            tx,
            name,
            text,
            media_type,
            report,
            sandbox,
            links,
            home=Config.from_map(tx.base.config).analyser,
            is_arrived=False,
        )
        links.stage(tx)
    return report


def _check(options: _Options, paths: Sequence[str], stdin: BinaryIO | None) -> None:
    if options.media_type is not None and options.media_type not in MEDIA_TYPES:
        raise InvalidInputError(
            f"media_type: got {options.media_type!r}, expected one of {', '.join(MEDIA_TYPES)}"
        )
    if options.prune and options.root is None:
        raise InvalidInputError(
            "prune: got True without root, expected both",
            hint="without a root nothing tells which documents came from which folder",
        )
    if not 1 <= options.size_bytes_max <= DOCUMENT_BYTES_MAX:
        raise InvalidInputError(
            f"size_bytes_max: got {options.size_bytes_max}, expected 1 to {DOCUMENT_BYTES_MAX}"
        )
    if "" in paths:
        raise InvalidInputError("paths: got an empty path, expected a file, a folder or '-'")
    if STANDARD_INPUT in paths and stdin is None:
        raise InvalidInputError("paths: got '-' without stdin, expected a stream to read")


@record(frozen=False)
class _Ingest:
    tx: Transaction
    options: _Options
    stdin: BinaryIO | None
    progress: Callable[[Progress], None] | None
    sandbox: Sandbox
    home: str
    """The analyser of the repository."""
    folder: WorkingFolder | None = None
    report: IngestReport = field(default_factory=IngestReport)
    _taken: dict[str, str] = field(default_factory=dict)
    """Document paths of this call, each with the file it came from."""
    _folders: list[str] = field(default_factory=list)
    """Paths of the folders walked to the end."""
    _there: set[str] = field(default_factory=set)
    """Documents whose file was found."""
    _gone: list[str] = field(default_factory=list)
    """Files and folders that were named, and are gone."""
    _new: list[str] = field(default_factory=list)
    """Documents that were added."""
    _missing: dict[str, dict[str, str]] = field(default_factory=dict)
    """By install command, the programs that an extra could cut better, each with its language."""

    _links: LinkEdges = field(default_factory=LinkEdges)

    def run(self, paths: Sequence[str]) -> IngestReport:
        found = [entry for path in paths for entry in self._entries(path)]
        bytes_count = sum(entry.size_bytes for entry in found if isinstance(entry, Found))
        bytes_done = 0
        ahead = 0
        if self.folder is not None:
            found = self._to_read(self.folder, found)
        for index, entry in enumerate(found, start=1):
            if index > ahead:
                ahead = self._read_ahead(found, index - 1)
            path = STANDARD_INPUT if entry is None else entry.path
            try:
                self._one(entry)
            except (IbidemError, OSError) as error:
                self._error(path, error)
            bytes_done += 0 if entry is None else entry.size_bytes
            if self.progress is not None:
                self.progress(Progress(path, index, len(found), bytes_done, bytes_count))
        for install, files in self._missing.items():
            names = ", ".join(sorted(set(files.values())))
            more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
            text = f"this{more} ({names}) cut at blank lines; at definitions after {install}"
            self.report.warnings.append((next(iter(files)), text))
        if self.folder is not None:
            self._record_missing(self.folder)
        if self.options.prune:
            prune_documents(self.tx, self._folders, self._root(), self.report, self._new)
        self._links.stage(self.tx)
        return self.report

    def _read_ahead(self, found: Sequence[Found | None], start: int) -> int:
        """Reads the documents of the files from `start` on in batches, as many as are read ahead
        at once; returns the index of the first file whose document is not read yet."""
        size_bytes, stop = 0, start
        while stop < len(found) and size_bytes < AHEAD_BYTES:
            entry = found[stop]
            size_bytes += 0 if entry is None else entry.size_bytes
            stop += 1
        self.tx.read_ahead(document_id(entry.path) for entry in found[start:stop] if entry)
        return stop

    def _entries(self, path: str) -> Iterator[Found | None]:
        """Yields the files that one argument names, None for standard input."""
        if path == STANDARD_INPUT:
            yield None
            return
        try:
            name = self._name(path)
            if self._is_gone(path, name):
                self._gone.append(name)
                return
            if not Path(path).is_dir():
                yield self._named_file(Path(path), name)
                return
            for entry in walk(Path(path), name, self._ignores_above(path)):
                if isinstance(entry, Skipped):
                    self.report.skipped.append((entry.path, entry.reason))
                else:
                    yield entry
            self._folders.append(name)
        except (IbidemError, OSError, ValueError) as error:  # ValueError: a NUL in the path
            self._error(path, error)

    def _named_file(self, file: Path, name: str) -> Found:
        return Found(name, file.parent, file.name, file.stat(), follow=True)

    def _is_gone(self, path: str, name: str) -> bool:
        """Returns whether a path is no more, and had documents."""
        return (
            self.folder is not None and is_missing(path) and bool(self.folder.missing((), (name,)))
        )

    def _to_read(self, folder: WorkingFolder, found: Sequence[Found | None]) -> list[Found | None]:
        """Returns the files without those that are known to need nothing, by their numbers."""
        documents = [entry.path for entry in found if entry and is_document(entry.path)]
        folder.learn(documents)
        self._there.update(documents)
        return [
            entry
            for entry in found
            if entry is None
            or entry.stat is None
            or not folder.is_read(entry.path, stat_of(entry.stat))
            or not self._is_settled(folder, entry.path)
        ]

    def _is_settled(self, folder: WorkingFolder, path: str) -> bool:
        """Returns whether nothing is to be done for a file whose bytes are known, and reports
        it."""
        match folder.difference(path):
            case Difference.SKIPPED:
                self._skip(path, folder.reason(path))
            case Difference.SAME if folder.is_current(path):
                self.report.documents_unchanged += 1
            case Difference.BEHIND if not self.options.overwrite:
                self.report.behind.append(path)
            case Difference.DIVERGED if not self.options.overwrite:
                self._error(path, _diverged(path))
            case _:
                return False
        return True

    def _record_missing(self, folder: WorkingFolder) -> None:
        """Removes, moves or reports the documents of files that are gone; passages that were hidden
        in them are hidden in new documents too."""
        missing = folder.missing(self._there, (*self._folders, *self._gone))
        nodes = (self.tx.find_node(document_id(path)) for path in missing if self._new)
        hidden = tombstoned_passages(self.tx, filter(None, nodes))
        if self.options.ignore_removal:
            self.report.missing.extend(missing)
        else:
            self._remove_missing(folder, missing)
        hide_passages(self.tx, self._new, hidden)

    def _remove_missing(self, folder: WorkingFolder, missing: Sequence[str]) -> None:
        moved = {each.before: each.after for each in folder.renames(missing, self._new)}
        for path in missing:
            if folder.is_missing_newer(path) and not self.options.overwrite:
                self.report.behind.append(path)
            else:
                remove_document(self.tx, path, self.report, moved_to=moved.get(path))
                folder.removed(path)

    def _ignores_above(self, path: str) -> list[Ignore]:
        return [] if self.options.root is None else ignores_above(self._root(), _absolute(path))

    def _root(self) -> Path:
        return _absolute(self.options.root or ".")

    def _name(self, path: str) -> str:
        """The name of a file or folder that the user gave; "" for the root itself."""
        full = _absolute(path)
        if self.options.root is None:
            return "" if full.is_dir() else full.name
        try:
            below = full.relative_to(self._root()).as_posix()
        except ValueError as error:
            raise InvalidInputError(
                f"path: got {printable(path)!r}, expected a path inside "
                f"{printable(str(self._root()))!r}"
            ) from error
        return "" if below == "." else below

    def _one(self, entry: Found | None) -> None:
        if entry is None:
            self._standard_input()
            return
        name = entry.below.rpartition("/")[2]
        if is_secret_name(name):
            self._skip(entry.path, "looks like a secret (by its name)")
            return
        check_path(entry.path)
        try:
            with opened(entry.base, entry.below, follow=entry.follow) as descriptor:
                if format_of(entry.path, self.options.media_type).media_type == NDJSON:
                    self._records(descriptor, entry.path)
                else:
                    self._read_document(descriptor, entry)
        except ValueError as error:
            if isinstance(error, IbidemError):
                raise
            self._skip(entry.path, str(error))

    def _read_document(self, descriptor: int, entry: Found) -> None:
        stat = stat_of(os.fstat(descriptor))
        try:
            data = read(descriptor, self.options.size_bytes_max)
        except ValueError as error:
            if self.folder is not None:
                self.folder.skipped(entry.path, stat, str(error))
            raise
        self._document(data, entry, stat)

    def _records(self, descriptor: int, path: str) -> None:
        from ibidem.ingest.ndjson import LINE_BYTES_MAX, ingest_records, read_lines
        from ibidem.ingest.record import is_record_line

        with os.fdopen(os.dup(descriptor), "rb") as stream:
            _, first = next(read_lines(stream), (0, b""))
            if first is None:
                self._skip(path, f"its first line is longer than {LINE_BYTES_MAX} bytes")
            elif first and not is_record_line(first):
                self._skip(path, "JSON lines of another form than node, edge, vector, ...")
            else:
                stream.seek(0)
                ingest_records(self.tx, stream, path, self.report, strict=self.options.strict)

    def _standard_input(self) -> None:
        assert self.stdin is not None, "BUG: checked at the door"
        if (self.options.media_type or NDJSON) == NDJSON:
            from ibidem.ingest.ndjson import ingest_records

            ingest_records(
                self.tx, self.stdin, STANDARD_INPUT, self.report, strict=self.options.strict
            )
            return
        check_path(self.options.stdin_path)
        limit = self.options.size_bytes_max
        data = self.stdin.read(limit + 1)
        if len(data) > limit:
            self._skip(STANDARD_INPUT, f"more than {limit} bytes")
            return
        self._document(data, Found(self.options.stdin_path, Path(), STANDARD_INPUT))

    def _document(self, data: bytes, entry: Found, stat: Stat | None = None) -> None:
        source = str(entry.base / entry.below)
        if self._taken.setdefault(entry.path, source) != source:
            raise InvalidInputError(
                f"path: {entry.path!r} is taken by {printable(self._taken[entry.path])}",
                hint="name a common root",
            )
        media_type = self.options.media_type
        source_format = format_of(entry.path, media_type)
        reason = skip_reason(entry.path, data, source_format)
        folder = self.folder if stat is not None else None
        if folder is not None and stat is not None:
            folder.saw(entry.path, stat, data, reason=reason)
        if reason is not None:
            self._skip(entry.path, reason)
            return
        if folder is not None and self._is_settled(folder, entry.path):
            return
        is_new = self.tx.find_node(document_id(entry.path)) is None
        reason = _ingest_source(
            self.tx,
            entry.path,
            data,
            media_type,
            self.report,
            self.sandbox,
            self._links,
            home=self.home,
            is_arrived=folder is not None and not folder.row(entry.path).reader,
        )
        if reason is None:
            self._new.extend([entry.path] * is_new)
            if folder is not None:
                folder.ingested(entry.path)
        elif folder is not None and stat is not None and reason == NO_TEXT:
            folder.saw(entry.path, stat, data, reason=reason)
        if source_format.language and source_format.entry and not source_format.is_installed:
            missing = self._missing.setdefault(source_format.install, {})
            missing[printable(entry.path)] = source_format.name

    def _skip(self, path: str, reason: str) -> None:
        self.report.skipped.append((printable(path), reason))

    def _error(self, path: str, error: Exception) -> None:
        if self.options.strict:
            if isinstance(error, IbidemError):
                raise error
            raise InvalidInputError(f"{printable(path)}: {error}") from error
        text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        if isinstance(error, IbidemError) and error.hint:
            text += f"; {error.hint}"
        self.report.errors.append((printable(path), text.removeprefix(f"{printable(path)}: ")))


def _diverged(path: str) -> ConflictError:
    return ConflictError(
        f"{printable(path)}: the file and its document were both changed, expected one of them",
        hint="'repo diff' shows how they differ; --overwrite takes the file",
    )


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow links


def _ingest_source(
    tx: Transaction,
    path: str,
    source: str | bytes,
    media_type: str | None,
    report: IngestReport,
    sandbox: Sandbox,
    links: LinkEdges,
    *,
    home: str,
    is_arrived: bool,
) -> str | None:
    """Ingests a source; returns why it is left out and reports that, None if it is not."""
    if isinstance(source, str) and "\0" in source:
        raise InvalidInputError(f"text: NUL at character {source.index(chr(0))}, expected text")
    if tx.is_tombstoned(document_id(path)):
        report.skipped.append((path, FORGOTTEN_REASON))
        return FORGOTTEN_REASON
    reading = read_document(path, source, media_type=media_type, sandbox=sandbox, home=home)
    if format_of(path, media_type).is_extracted and _is_only_named(reading.drafts, path):
        report.skipped.append((printable(path), NO_TEXT))
        return NO_TEXT
    change = plan(tx, reading.drafts)
    apply(tx, change)
    document = tx.node(reading.drafts[-1].id)
    labelled = label_parts(tx, document, change.before, change.forgotten)
    written = {draft.id for draft in (*change.added, *(draft for draft, _ in change.changed))}
    links.add(reading.drafts, change, is_arrived=is_arrived)
    report.warnings.extend((path, warning) for warning in reading.warnings)
    report.nodes_added += len(change.added)
    report.nodes_changed += len(change.changed) + len(set(labelled) - written)
    report.nodes_removed += len(change.removed)
    if change.is_new:
        report.documents_added += 1
    elif change or labelled:
        report.documents_changed += 1
    else:
        report.documents_unchanged += 1
    return None


def _is_only_named(drafts: Sequence[Draft], path: str) -> bool:
    """Returns whether a document has no parts, and no title but the name of its file."""
    return len(drafts) == 1 and drafts[0].summary == PurePosixPath(path).name

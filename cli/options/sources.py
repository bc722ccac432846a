"""Ingests documents and JSON lines into a transaction, for `add`, `commit` and the demo. Files
below the folder of the repository are named by their path relative to it, so that the same files
get the same ids wherever the command is run.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.render import output
from ibidem.cli.session import FOLDER, Function, Session
from ibidem.objects.errors import ConflictError, InvalidInputError

if TYPE_CHECKING:
    from ibidem.ingest.report import IngestReport
    from ibidem.ingest.working_folder import WorkingFolder
    from ibidem.repo.repository import Repository
    from ibidem.repo.transaction.transaction import Transaction

SKIPS_SHOWN = 10
SAME_REASON_MIN = 3
_NEXT_STEPS = (
    ("UTF-8", "convert it first, such as by iconv -t utf-8"),
    ("NUL", "its format is not known: convert it to text first"),
    ("bytes, at most", "split it"),
    ("secret", "nothing of it may be stored; rename it if it is none"),
    ("private key", "nothing of it may be stored"),
)
_ANY_STEP = "give its text by `repo add -`"


def missing_options(function: Function) -> Function:
    """Adds the options on files that are gone or older than their documents."""
    function = click.option(
        "--overwrite",
        is_flag=True,
        help="Take also files whose document was changed in the graph since.",
    )(function)
    function = click.option(
        "--ignore-removal", is_flag=True, help="Keep the documents of files that are gone."
    )(function)
    return click.option(
        "--prune",
        is_flag=True,
        help="Remove also documents whose file was never in this folder.",
    )(function)


def ingest_paths(
    session: Session,
    repository: Repository,
    begin: Callable[..., AbstractContextManager[Transaction]],
    paths: Sequence[Path],
    *,
    folder: Path,
    prune: bool = False,
    strict: bool = False,
    ignore_removal: bool = False,
    overwrite: bool = False,
) -> tuple[IngestReport, Transaction]:
    """Ingests files, folders and, for `-`, JSON lines from standard input in one transaction, and
    records what it published of the working folder.

    Args:
        session: determines whether a progress bar is drawn. repository: of the transaction. begin:
        begins it, at the `state` that the files were compared with. paths: in the order given.
        folder: the folder of the repository; files below it are named by their relative path,
        others by their file name. prune: whether to remove the documents of files deleted from a
        folder below it. strict: whether the first invalid file or line raises an error.
        ignore_removal: whether to keep the documents of files that are gone. overwrite: whether to
        ingest files whose document was changed in the graph since.
    """
    working = _working_folder(repository, folder, paths)
    with begin(state=None if working is None else working.state_read) as tx:
        report = _ingested(
            session,
            tx,
            paths,
            folder=folder,
            working=working,
            prune=prune,
            ignore_removal=ignore_removal,
            overwrite=overwrite,
            strict=strict,
        )
    if working is not None:
        working.published(tx.commit)
        working.save()
    return report, tx


def _ingested(
    session: Session,
    tx: Transaction,
    paths: Sequence[Path],
    *,
    folder: Path,
    working: WorkingFolder | None,
    prune: bool,
    strict: bool,
    ignore_removal: bool,
    overwrite: bool,
) -> IngestReport:
    from ibidem.ingest.ingest import ingest
    from ibidem.ingest.report import IngestReport

    total = IngestReport()
    inside = [path for path in paths if str(path) != "-" and _is_below(path, folder)]
    outside = [path for path in paths if path not in inside]
    if prune and any(str(path) != "-" for path in outside):
        raise InvalidInputError(
            f"--prune: got {str(outside[0])!r}, expected only paths below {str(folder)!r}",
            hint="only there are documents named by the paths of their files",
        )
    if working is not None and working.table.root != tx.base.cid:
        raise ConflictError(
            "the repository was cleaned up while its files were compared", hint="run it again"
        )
    _note_outside(session, outside, folder)
    for some, root in ((inside, folder), (outside, None)):
        if some:
            report = ingest(
                tx,
                some,
                root=root,
                prune=prune and root is not None,
                strict=strict,
                stdin=sys.stdin.buffer,
                progress=lambda at: session.meter("reading files", at.files_done, at.files_count),
                folder=working if root is not None else None,
                ignore_removal=ignore_removal,
                overwrite=overwrite,
            )
            for each in fields(IngestReport):
                added = getattr(total, each.name) + getattr(report, each.name)
                setattr(total, each.name, added)
    _refuse_named(total, paths, folder)
    return total


def _working_folder(
    repository: Repository, folder: Path, paths: Sequence[Path]
) -> WorkingFolder | None:
    """Returns the files below the folder of the repository, None if no path names some, or if the
    repository is in no folder."""
    location = repository.core.location
    if location is None or not location.is_folder:
        return None
    if not any(str(path) != "-" and _is_below(path, folder) for path in paths):
        return None
    from ibidem.ingest.working_folder import WorkingFolder

    return WorkingFolder.open(repository.core, Path(os.path.abspath(folder)))  # noqa: PTH100


def _refuse_named(report: IngestReport, paths: Sequence[Path], folder: Path) -> None:
    """Turns the skipping of a file that was named itself into an error with a next step; the
    folder of the repository is not mentioned."""
    names = {_name_of(path, folder) for path in paths if path.is_file()}
    skipped, report.skipped = report.skipped, []
    for name, reason in skipped:
        if name in names:
            report.errors.append((name, f"{reason}; {_next_step(reason)}"))
        elif Path(name).name != FOLDER:
            report.skipped.append((name, reason))


def _name_of(path: Path, folder: Path) -> str:
    """Returns the name of the document of a file."""
    if not _is_below(path, folder):
        return path.name
    return Path(os.path.relpath(path, folder)).as_posix()


def _next_step(reason: str) -> str:
    return next((step for part, step in _NEXT_STEPS if part in reason), _ANY_STEP)


def report_json(report: IngestReport) -> dict[str, Any]:
    """Returns the report of an ingest as JSON."""
    return {
        "documents": {
            "added": report.documents_added,
            "changed": report.documents_changed,
            "unchanged": report.documents_unchanged,
            "removed": report.documents_removed,
        },
        "nodes": {
            "added": report.nodes_added,
            "changed": report.nodes_changed,
            "removed": report.nodes_removed,
        },
        "edge_count": report.edges,
        "vector_count": report.vectors,
        "tombstone_count": report.tombstones,
        "deleted": report.deleted,
        "renamed": [{"before": old, "after": new} for old, new in report.renamed],
        "missing": report.missing,
        "behind": report.behind,
        "skipped": [{"path": path, "reason": reason} for path, reason in report.skipped],
        "errors": [{"path": path, "error": error} for path, error in report.errors],
        "warnings": [{"path": path, "warning": warning} for path, warning in report.warnings],
    }


def report_lines(report: IngestReport) -> list[str]:
    """Returns the report of an ingest as lines of text; `note_trouble` prints the failures."""
    lines = [
        _counted(
            "documents", report.documents_added, report.documents_changed, report.documents_removed
        )
        + f", {report.documents_unchanged:,} unchanged",
        _counted("nodes", report.nodes_added, report.nodes_changed, report.nodes_removed),
    ]
    if report.edges or report.vectors:
        lines.append(f"edges: {report.edges:,} stated, vectors: {report.vectors:,} stated")
    if report.tombstones:
        lines.append(f"tombstones: {report.tombstones:,} stated")
    renamed = [f"{output.one_line(old)} -> {output.one_line(new)}" for old, new in report.renamed]
    lines += _listed("renamed", renamed)
    lines += _listed("deleted", map(output.one_line, report.deleted))
    return lines


def note_trouble(report: IngestReport) -> None:
    """Writes failures, warnings and skipped files to standard error."""
    for path, error in report.errors:
        output.note(f"{output.bad('failed:')} {output.one_line(path)}: {error}")
    for path, warning in report.warnings:
        output.note(f"warning: {output.one_line(path)}: {warning}")
    output.note(*_listed("skipped", _skipped(report.skipped)))
    output.note(*_listed("file is gone, document kept", map(output.one_line, report.missing)))
    output.note(*_listed("older than the document, left out", map(output.one_line, report.behind)))
    if report.behind:
        output.note(
            output.faint(
                "next: repo checkout PATH takes the document, --overwrite the file; "
                "delete a file whose document was removed"
            )
        )


def _skipped(skipped: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yields a line per file that was left out; one line for three or more of the same reason."""
    groups: dict[str, list[str]] = defaultdict(list)
    for path, reason in skipped:
        groups[reason.partition(" (")[0]].append(f"{output.one_line(path)}: {reason}")
    for lines in groups.values():
        if len(lines) < SAME_REASON_MIN:
            yield from lines
        else:
            yield f"{lines[0]}, as are {len(lines) - 1:,} more"


def _listed(what: str, names: Iterable[str]) -> list[str]:
    listed = list(names)
    more = len(listed) - SKIPS_SHOWN
    lines = [f"{what}: {name}" for name in listed[:SKIPS_SHOWN]]
    return [*lines, f"{what}: {more:,} more"] if more > 0 else lines


def _counted(noun: str, added: int, changed: int, removed: int) -> str:
    return f"{noun}: {added:,} added, {changed:,} changed, {removed:,} removed"


def _is_below(path: Path, folder: Path) -> bool:
    # Symbolic links are not resolved: a path is named as given.
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(folder))  # noqa: PTH100


def _note_outside(session: Session, paths: Sequence[Path], folder: Path) -> None:
    """Notes how documents from outside are named: files of the same name are one document."""
    files = [path for path in paths if str(path) != "-" and path.exists()]
    if session.json or not files:
        return
    where = output.one_line(str(files[0])) + (f" and {len(files) - 1:,} more" * (len(files) > 1))
    how = (
        "a document is named by its name alone"
        if files[0].is_file()
        else "documents are named by their path below it"
    )
    outside = output.one_line(os.path.abspath(folder))  # noqa: PTH100
    output.note(output.faint(f"{where}: outside of {outside}, so {how}"))

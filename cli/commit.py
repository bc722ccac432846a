"""`repo commit`: commits the staged changes, and given files with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibidem.cli import exits
from ibidem.cli.options import sources
from ibidem.cli.options.common import commit_options, common_options
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import IbidemError
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.ingest.report import IngestReport
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.commit import Commit
    from ibidem.repo.repository import Repository


@click.command("commit")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("-m", "--message", default="", help="Why.")
@sources.missing_options
@click.option("--strict", is_flag=True, help="Commit nothing if any file or line is invalid.")
@click.option("--sign", metavar="KEY", help="Sign with this private key; see `repo key`.")
@commit_options
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    *,
    paths: tuple[Path, ...],
    message: str,
    prune: bool,
    ignore_removal: bool,
    overwrite: bool,
    strict: bool,
    sign: str | None,
    author: str | None,
) -> None:
    """Commit the staged changes, and PATHS with them

    If nothing has changed, no commit is created and the exit code is 0. Files that have not
    changed are not read. The documents of files that are gone from PATHS are removed; one whose
    source is in a new file is moved there with what is attached to it. A file that is older than
    its document, because a merge or `repo resolve` changed that, is left out. If `repo config`
    names a model, the vectors that nodes lack follow in a commit of their own.

    Reads Markdown, MDX, reStructuredText, AsciiDoc, LaTeX, Org, POD, manual page, subtitles,
    plain text, Python and other source, HTML, notebook, canvas, SVG, CSV, TSV, e-mail, mailbox,
    EPUB, DOCX, PPTX, XLSX, ODT, ODS, ODP, JSON lines; PDF with pip install 'ibidem[pdf]'.

    \b
    Examples:
      repo commit notes/ -m "notes of the week"
      repo add data.ndjson && repo commit -m "facts"
    """
    with session.open() as repository:
        repository.keys.sign_with(sign)
        report, commit = commit_paths(
            session,
            repository,
            paths,
            folder=session.root(),
            author=session.author(author),
            message=message,
            prune=prune,
            ignore_removal=ignore_removal,
            overwrite=overwrite,
            strict=strict,
        )
        conflict_count = _conflict_count(repository, commit)
        vectors = None
        if commit is not None:
            vectors = embed_missing(session, repository, commit, author=session.author(author))
        models = _models_behind(repository, report, commit)
    if session.json:
        made = None if commit is None else shapes.block_json(commit)
        ingested = None if report is None else sources.report_json(report)
        output.emit(
            "commit",
            {
                "commit": made,
                "conflict_count": conflict_count,
                "ingested": ingested,
                "embedded_count": 0 if vectors is None else vectors.embedded_count,
                "missing_vector_count": 0 if vectors is None else vectors.missing_count,
            },
        )
    else:
        if report is not None:
            sources.note_trouble(report)
            output.say(*sources.report_lines(report))
        output.say("nothing to commit" if commit is None else f"commit {commit.cid}")
        if commit is None and not paths:
            output.note(output.faint("next: repo commit ., for changed files; nothing is staged"))
        if vectors is not None and vectors.embedded_count:
            made_now = output.plural(vectors.embedded_count, "vector")
            output.say(f"{made_now} of {vectors.model} in commit {vectors.commit}")
        if vectors is not None and vectors.missing_count:
            missing = output.plural(vectors.missing_count, "vector")
            output.note(f"{missing} of {vectors.model} missing or outdated: {vectors.error}")
        for model in models:
            if vectors is None or model != vectors.model:
                option = output.one_line(model)
                output.note(output.faint(f"next: repo embed --model {option}, for the new texts"))
        if conflict_count:
            output.note(
                f"{output.plural(conflict_count, 'conflict')} with concurrent commits: run 'repo "
                "status'"
            )
    context.exit(exits.FAILED if report is not None and report.errors else exits.OK)


@record
class Vectors:
    """What became of the vectors of the model that the root's config names."""

    model: str
    embedded_count: int = 0
    commit: CommitCid | None = None
    """The commit of these vectors."""
    missing_count: int = 0
    error: str = ""
    """Why they are missing."""


def embed_missing(
    session: Session, repository: Repository, commit: Commit, *, author: str
) -> Vectors | None:
    """Gives the nodes of the head the vectors that they lack, in a commit of their own; None if the
    config of the commit's root names no model. Without that model, what is missing is counted."""
    from ibidem.objects.root import Root

    root = Root.decode(repository.core.store.get(commit.root))
    model = root.config.get("model")
    if not isinstance(model, str):
        return None
    from ibidem.cli.embedders import embedder

    try:
        report = repository.embed(embedder(session.environment, model), author=author)
    except IbidemError as error:
        from ibidem.repo.embed_nodes import missing_count
        from ibidem.retrieve.access.policy import ALL

        count = missing_count(repository.core.graph(viewer=ALL), model)
        return Vectors(model, missing_count=count, error=error.hint or str(error))
    return Vectors(model, report.embedded_count, report.commit)


def _conflict_count(repository: Repository, commit: Commit | None) -> int:
    """Returns how many conflicts a commit recorded because the branch had moved."""
    if commit is None or not commit.parents:
        return 0
    from ibidem.repo.merge.conflicts import new_conflicts

    return len(new_conflicts(repository.core.store, commit))


def _models_behind(
    repository: Repository, report: IngestReport | None, commit: Commit | None
) -> list[str]:
    """Returns the models with vectors in a commit that brought texts without."""
    if commit is None or report is None or not (report.nodes_added or report.nodes_changed):
        return []
    from ibidem.objects.root import Root

    return sorted(Root.decode(repository.core.store.get(commit.root)).vectors)


def commit_paths(
    session: Session,
    repository: Repository,
    paths: Sequence[Path],
    *,
    folder: Path,
    author: str,
    message: str,
    prune: bool = False,
    ignore_removal: bool = False,
    overwrite: bool = False,
    strict: bool = False,
) -> tuple[IngestReport | None, Commit | None]:
    """Ingests `paths` on top of the staged changes and commits the result.

    Returns:
        The report of the ingest, None without paths; and the commit, None if nothing changed.
    """
    if not paths:
        return None, repository.stage.commit(author=author, message=message)
    report, tx = sources.ingest_paths(
        session,
        repository,
        partial(repository.stage.commit_with, author=author, message=message),
        paths,
        folder=folder,
        prune=prune,
        ignore_removal=ignore_removal,
        overwrite=overwrite,
        strict=strict,
    )
    return report, tx.commit

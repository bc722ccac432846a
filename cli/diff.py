"""`repo diff`: the changes between two states, or between the answers to a question at both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import exits
from ibidem.cli.options import dates, question
from ibidem.cli.options.common import common_options, pager_option
from ibidem.cli.options.documents import document_name, is_below, open_folder
from ibidem.cli.options.flags import GroupedCommand
from ibidem.cli.options.html import html_option, write_page
from ibidem.cli.options.limit import UNSET, Unset
from ibidem.cli.options.viewer import viewer_option, viewer_options
from ibidem.cli.render import changes, output, text_diff
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from ibidem.objects.root import Root
    from ibidem.repo.history.compare import Comparison
    from ibidem.repo.history.documents import DocumentChange
    from ibidem.repo.history.log import Change
    from ibidem.repo.repository import Repository


@click.command("diff", cls=GroupedCommand)
@click.argument("arguments", nargs=-1, metavar="[REV [REV]] [PATH]...")
@click.option("--query", metavar="TEXT", help="Compare the answers to this question.")
@question.question_options
@viewer_option
@html_option
@click.option("--nodes", is_flag=True, help="List changed nodes and edges instead of text.")
@pager_option
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there is a difference.")
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    /,
    *,
    arguments: tuple[str, ...],
    query: str | None,
    html: Path | None,
    nodes: bool,
    pager: bool,
    limit: int | Unset | None,
    exit_code: bool,
    **given: Any,
) -> None:
    """Show what changed between two revisions, or since the last commit

    Without a REV, shows what is not committed: the files below the folder of the repository, and
    staged changes, against the head. With one, the head against it; with two, the second against
    the first. Documents are shown as text, by path, and everything else as a list; with PATHs, only
    these documents. With --query, shows which items entered, left or moved in the answer, by how
    much, and which commits caused it; the query options are those of retrieve. With --html, this is
    also written as a page that stands alone, to be passed on: with both rankings as a picture, the
    texts that differ, and the ranking after each commit that changed it. Without --query, --limit
    is the number of documents, and of changes, listed.

    \b
    Examples:
      repo diff
      repo diff main~1 notes/retries.md
      repo diff release-1 main --json
      repo diff --query "how do retries work" --limit 5 release-1 main
      repo diff --query "how do retries work" --html retries.html release-1 main
    """
    is_given = {name: context.get_parameter_source(name) for name in ("limit", *given)}
    explicit = {name for name, source in is_given.items() if _is_explicit(source)}
    if query is None:
        if html is not None:
            raise click.UsageError("--html needs --query")
        if session.viewer is not None:
            raise click.UsageError(
                "--viewer needs --query: changes are shown only to callers who may see everything"
            )
        if explicit - {"limit"}:
            option = min(explicit - {"limit"}).replace("_", "-")
            raise click.UsageError(f"--{option} needs --query")
        listed = None if limit is UNSET else limit
        is_different = _changes(session, arguments, listed, by_node=nodes, pager=pager)
    else:
        if not 1 <= len(arguments) <= 2:
            raise click.UsageError("--query needs one or two revisions to compare")
        before, after = (dates.revision(session.clock(), each) for each in (*arguments, "HEAD")[:2])
        options = question.options(session, limit=limit, **given) | viewer_options(session)
        is_different = _answers(session, query, before, after, options, html=html)
    context.exit(exits.FAILED if exit_code and is_different else exits.OK)


def _changes(
    session: Session, arguments: Sequence[str], limit: int | None, *, by_node: bool, pager: bool
) -> bool:
    with session.open() as repository:
        revisions, names = _split(session, repository, arguments)
        found, documents, extracted = _differences(session, repository, revisions, names)
        is_listed = by_node or session.json
        store = repository.core.store
        others = found if is_listed else changes.without_parts(store, found)
        lines = [] if session.json else changes.change_lines(store, others, limit=limit)
    if session.json:
        from ibidem.repo.history.diff_json import change_json

        output.emit(
            "diff",
            {
                "counts": changes.counts_json(found),
                "changes": [change_json(change) for change in found[:limit]],
                "documents": [text_diff.document_json(each) for each in documents[:limit]],
                "extracted": extracted,
            },
        )
    elif by_node:
        output.page([*lines, changes.summary(found)], pager=pager)
    else:
        shown = [line for each in documents[:limit] for line in text_diff.diff_lines(each)]
        shown += [f"{path}: its text is extracted when it is committed" for path in extracted]
        count = output.plural(len(documents), "document")
        summary = [f"{count} changed"] * bool(documents)
        summary += [changes.summary(others)] * bool(others or not (documents or extracted))
        output.page([*shown, *lines, output.faint(", ".join(summary))], pager=pager)
    return bool(found or documents or extracted)


def _differences(
    session: Session, repository: Repository, revisions: Sequence[Root], names: Sequence[str]
) -> tuple[list[Change], list[DocumentChange], list[str]]:
    """Returns the changes of records and of documents, and files whose text is not known yet."""
    from ibidem.repo.history import log
    from ibidem.repo.history.documents import document_changes

    store = repository.core.store
    extracted: Sequence[str] = ()
    documents: Iterable[DocumentChange]
    if revisions:
        found = list(log.changes(store, *revisions))
        documents = document_changes(store, *revisions)
    else:
        from ibidem.ingest.folder_diff import folder_diff
        from ibidem.repo.transaction import stage

        folder = open_folder(session, repository)
        staged = stage.read(store, folder.state_read)
        head = staged.base_root
        found = list(log.changes(store, head, staged.root))
        different = folder_diff(folder, head, staged.root)
        folder.save()
        documents, extracted = different.changes, different.extracted
    if not names:
        return found, list(documents), list(extracted)
    return (
        [],
        [each for each in documents if is_below(each.path, names) or _was_below(each, names)],
        [path for path in extracted if is_below(path, names)],
    )


def _was_below(change: DocumentChange, names: Sequence[str]) -> bool:
    return change.former is not None and is_below(change.former, names)


def _split(
    session: Session, repository: Repository, arguments: Sequence[str]
) -> tuple[list[Root], list[str]]:
    """Returns the roots of both revisions, none without one, and the names of documents or folders.

    Raises:
        NotFoundError: an argument is neither.
    """
    core = repository.core
    if not arguments:
        return [], []
    state = core.operation_log.state()
    roots: list[Root] = []
    for argument in arguments[:2]:
        try:
            revision = dates.revision(session.clock(), argument)
            roots.append(core.graph(revision, state=state).root)
        except (NotFoundError, InvalidInputError) as error:
            head = core.graph(state=state).root
            if not _is_path(session, repository, argument, (*roots, head)):
                if ".." in argument and "../" not in argument:
                    hint = "two revisions are two arguments: repo diff A B"
                    raise type(error)(str(error), kind=error.kind, hint=hint) from error
                raise
            break
    names = [document_name(session, path) for path in arguments[len(roots) :]]
    if len(roots) == 1:
        roots.append(core.graph(state=state).root)
    return roots, names


def _is_path(
    session: Session, repository: Repository, argument: str, roots: Sequence[Root]
) -> bool:
    from ibidem.repo.history.documents import document_paths

    name = document_name(session, argument)
    return os.path.lexists(argument) or any(
        is_below(path, (name,))
        for root in roots
        for path in document_paths(repository.core.store, root)
    )


def _answers(
    session: Session,
    query: str,
    before: str,
    after: str,
    options: dict[str, Any],
    *,
    html: Path | None,
) -> bool:
    with session.open() as repository:
        found = repository.history.compare(query, before=before, after=after, **options)
        lines = [] if session.json else _lines(repository, found)
        if html is not None:
            from ibidem.pages import change
            from ibidem.repo.history.answer_change import compared

            what = compared(repository.core.store, found, before=before, after=after)
            write_page(html, change.page(what))
    is_different = any(move.kind != "same" for move in found.moves)
    if session.json:
        from ibidem.repo.history.diff_json import comparison_json

        output.emit("diff-query", comparison_json(found))
    else:
        output.say(*lines)
    return is_different


def _lines(repository: Repository, found: Comparison) -> list[str]:
    from ibidem.repo.history.compare import is_score_change
    from ibidem.repo.history.diff_format import cause_lines, move_lines

    shown = [move for move in found.moves if not is_score_change(move)]
    lines = move_lines(shown)
    if rescored := len(found.moves) - len(shown):
        lines.append(f"{output.plural(rescored, 'item')} at the same rank with another score")
    lines = lines or ["no items"]
    tokens = f"{found.before.tokens_used:,} -> {found.after.tokens_used:,} tokens"
    lines += [output.faint(tokens)]
    for line in cause_lines(repository.core.store, found.causes):
        lines += ["", output.strong(line)] if not line.startswith(" ") else [line]
    if not found.is_related:
        lines += ["", "the revisions have no common commit, so no cause can be named"]
    return lines


def _is_explicit(source: object) -> bool:
    return source not in (None, click.core.ParameterSource.DEFAULT)

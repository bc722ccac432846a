"""`repo diff`: the changes between two revisions, or between the answers to a question at both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import exits
from ibidem.cli.options import dates, question
from ibidem.cli.options.flags import GroupedCommand
from ibidem.cli.options.limit import UNSET, Unset
from ibidem.cli.options.viewer import viewer_option, viewer_options
from ibidem.cli.render import answer_diff, changes, output
from ibidem.cli.session import Session, common_options, pass_session

if TYPE_CHECKING:
    from ibidem.repo.history.compare import Comparison
    from ibidem.repo.repository import Repository


@click.command("diff", cls=GroupedCommand)
@click.argument("before", required=False)
@click.argument("after", required=False)
@click.option("--query", metavar="TEXT", help="Compare the answers to this question.")
@question.question_options
@viewer_option
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there is a difference.")
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    /,
    *,
    before: str | None,
    after: str | None,
    query: str | None,
    limit: int | Unset | None,
    exit_code: bool,
    **given: Any,
) -> None:
    """Show what changed between two revisions

    AFTER defaults to the head; without both, the staged changes are shown. With --query, shows
    which items entered, left or moved in the answer, by how much, and which commits caused it; the
    query options are those of retrieve. Without --query, --limit is the number of changes listed.

    \b
    Examples:
      repo diff
      repo diff main~1
      repo diff release-1 main --json
      repo diff --query "how do retries work" --limit 5 release-1 main
    """
    before, after = (rev and dates.revision(session, rev) for rev in (before, after))
    is_given = {name: context.get_parameter_source(name) for name in ("limit", *given)}
    explicit = {name for name, source in is_given.items() if _is_explicit(source)}
    if query is None:
        if session.viewer is not None:
            raise click.UsageError(
                "--viewer needs --query: changes are shown only to callers who may see everything"
            )
        if explicit - {"limit"}:
            option = min(explicit - {"limit"}).replace("_", "-")
            raise click.UsageError(f"--{option} needs --query")
        listed = None if limit is UNSET else limit
        is_different = _changes(session, before, after, listed)
    else:
        if before is None:
            raise click.UsageError("--query needs a revision to compare with")
        options = question.options(session, limit=limit, **given) | viewer_options(session)
        is_different = _answers(session, query, before, after or "HEAD", options)
    context.exit(exits.FAILED if exit_code and is_different else exits.OK)


def _changes(session: Session, before: str | None, after: str | None, limit: int | None) -> bool:
    with session.open() as repository:
        if before is None:
            found = list(repository.stage.changes())
        else:
            found = list(repository.history.diff(before, after or "HEAD"))
        lines = (
            [] if session.json else changes.change_lines(repository.core.store, found, limit=limit)
        )
    if session.json:
        output.emit(
            "diff",
            {
                "counts": changes.counts_json(found),
                "changes": [changes.change_json(change) for change in found[:limit]],
            },
        )
    else:
        output.say(*lines, changes.summary(found))
    return bool(found)


def _answers(
    session: Session, query: str, before: str, after: str, options: dict[str, Any]
) -> bool:
    with session.open() as repository:
        found = repository.history.compare(query, before=before, after=after, **options)
        lines = [] if session.json else _lines(repository, found)
    is_different = any(move.kind != "same" for move in found.moves)
    if session.json:
        output.emit(
            "diff-query",
            {
                "before": answer_diff.end_json(found.before),
                "after": answer_diff.end_json(found.after),
                "is_different": is_different,
                "items": [answer_diff.move_json(move) for move in found.moves],
                "causes": [answer_diff.cause_json(cause) for cause in found.causes],
                "evaluation_count": found.evaluations_count,
                "is_related": found.is_related,
            },
        )
    else:
        output.say(*lines)
    return is_different


def _lines(repository: Repository, found: Comparison) -> list[str]:
    from ibidem.repo.history.diff_format import cause_lines, move_lines

    lines = move_lines(found.moves) or ["no items"]
    tokens = f"{found.before.tokens_used:,} -> {found.after.tokens_used:,} tokens"
    lines += [output.faint(tokens)]
    for line in cause_lines(repository.core.store, found.causes):
        lines += ["", output.strong(line)] if not line.startswith(" ") else [line]
    if not found.is_related:
        lines += ["", "the revisions have no common commit, so no cause can be named"]
    return lines


def _is_explicit(source: object) -> bool:
    return source not in (None, click.core.ParameterSource.DEFAULT)

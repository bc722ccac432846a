"""`repo bisect`: finds the first commit at which an answer lacks a node, or a command fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import exits
from ibidem.cli.options import question
from ibidem.cli.options.common import common_options, complete_revision
from ibidem.cli.options.html import html_option, write_page
from ibidem.cli.options.viewer import viewer_of, viewer_option, viewer_options
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import ErrorKind, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ibidem.objects.commit import Commit
    from ibidem.objects.ids import NodeId
    from ibidem.repo.history.bisect import Bisection
    from ibidem.repo.repository import Repository


@click.group("bisect", invoke_without_command=True)
@click.option("--query", metavar="TEXT", help="The question to ask at each commit.")
@click.option(
    "--expect",
    metavar="NODE",
    help="The node that the answer should contain: its id or a unique prefix.",
)
@click.option(
    "--rank-max",
    type=int,
    metavar="N",
    help="The lowest rank at which the node still counts as found.",
)
@click.option(
    "--good",
    metavar="REV",
    shell_complete=complete_revision,
    help="A revision whose answer has the node [default: the commit that added it].",
)
@click.option(
    "--bad",
    metavar="REV",
    default="HEAD",
    show_default=True,
    shell_complete=complete_revision,
    help="The last revision to consider.",
)
@question.question_options
@viewer_option
@html_option
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    /,
    *,
    query: str | None,
    expect: str | None,
    rank_max: int | None,
    good: str | None,
    bad: str,
    html: Path | None,
    **given: Any,
) -> None:
    """Find the first commit at which the answer lacks a node

    Binary search along first parents: of n commits, about log2(n) are tested. Exits with 1 if no
    commit is to blame because the answer still has the node or never had it. With --html, the
    search and what the commit changed are also written as a page that stands alone. `bisect run`
    tests each commit with a command of your own.

    \b
    Examples:
      repo bisect --query "how do retries work" --expect 4364acf9b54d3abc400fc473a639a07b
      repo bisect --query "retries" --expect 4364acf9b54d3abc400fc473a639a07b --rank-max 3 --good v1
      repo bisect --query "retries" --expect 4364acf9b54d3abc400fc473a639a07b --html found.html
      repo bisect run --good v1 -- ./check.sh
    """
    if context.invoked_subcommand is not None:
        return
    if query is None or expect is None:
        raise click.UsageError("give --query and --expect, or use: bisect run COMMAND")
    options = question.options(session, **given) | viewer_options(session)
    with session.open() as repository:
        wanted = _expected(session, repository, expect, (bad, *([good] if good else [])))
        found = repository.history.bisect(
            query, expect=wanted, rank_max=rank_max, good=good, bad=bad, **options
        )
        lines = [] if session.json else _lines(repository, found)
        if html is not None:
            write_page(html, _page(repository, found, query))
    if session.json:
        output.emit("bisect", _json(found))
    else:
        output.say(*lines)
    context.exit(exits.OK if found.cause is not None else exits.FAILED)


def _page(repository: Repository, found: Bisection, query: str) -> str:
    from ibidem.pages import bisection
    from ibidem.repo.history.answer_change import answer_change

    cause = found.cause
    effect = None
    if cause is not None:
        effect = answer_change(
            repository.core.store,
            cause.moves,
            question=query,
            before="the commit before",
            after="the first to fail",
        )
    return bisection.page(found, query, effect)


def _expected(
    session: Session, repository: Repository, text: str, revisions: Sequence[str]
) -> NodeId:
    """Returns the node with this id or prefix, from the first of the revisions that has it."""
    for rev in revisions[:-1]:
        try:
            return repository.at(rev, viewer=viewer_of(session)).node_id(text)
        except NotFoundError as error:
            if error.kind is ErrorKind.AMBIGUOUS:
                raise
    return repository.at(revisions[-1], viewer=viewer_of(session)).node_id(text)


_UNTESTABLE = 125
_COMMAND_MISSING = (126, 127)


@command.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option(
    "--good",
    metavar="REV",
    shell_complete=complete_revision,
    help="A revision at which the command exits with 0 [default: before the first commit].",
)
@click.option(
    "--bad",
    metavar="REV",
    default="HEAD",
    show_default=True,
    shell_complete=complete_revision,
    help="The last revision to consider.",
)
@common_options
@click.argument("arguments", metavar="COMMAND...", nargs=-1, type=click.UNPROCESSED, required=True)
@pass_session
@click.pass_context
def run(
    context: click.Context, session: Session, *, good: str | None, bad: str, arguments: tuple[str]
) -> None:
    """Find the first commit at which COMMAND fails

    COMMAND is run at one commit after another, with IBIDEM_REPO set to the repository and IBIDEM_AT
    to the commit, which repo uses as its --at. Its exit code says whether the commit is good (0),
    bad (1 to 124) or cannot be tested (125). Exits with 1 if COMMAND fails at no commit.

    \b
    Examples:
      repo bisect run --good v1 -- ./check.sh
      repo bisect run -- sh -c 'repo query --label Rule --count | grep -q "^12 "'
    """
    from ibidem.repo.history.bisect import bisect

    with session.open() as repository:
        address = session.address()

        def holds(commit: Commit) -> bool | None:
            environment = {
                **session.environment,
                "IBIDEM_REPO": str(address),
                "IBIDEM_AT": str(commit.cid),
            }
            return _ended_well(arguments, environment)

        found = bisect(repository.core, holds, good=good, bad=bad)
    if session.json:
        suspects = [shapes.block_json(commit) for commit in found.suspects]
        output.emit("bisect-run", {"suspects": suspects, **_search_json(found, found.last_holding)})
    else:
        output.say(*_run_lines(found))
    context.exit(exits.OK if found.suspects else exits.FAILED)


def _ended_well(arguments: tuple[str, ...], environment: dict[str, str]) -> bool | None:
    """Runs the command with its output on standard error; None if it cannot test this commit."""
    import subprocess

    try:
        # The user typed this command.
        done = subprocess.run(  # noqa: S603
            arguments,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise click.UsageError(
            f"{arguments[0]}: {(error.strerror or str(error)).lower()}"
        ) from error
    if done.stdout:
        output.note(*done.stdout.decode("utf-8", "replace").rstrip("\n").split("\n"))
    code = done.returncode
    if code < 0 or code in _COMMAND_MISSING or code > _COMMAND_MISSING[-1]:
        raise click.ClickException(f"the command exited with {code}, expected 0 to 125")
    return None if code == _UNTESTABLE else code == 0


def _run_lines(found: Bisection) -> list[str]:
    from ibidem.repo.history.diff_format import commit_line

    tested = output.faint(
        f"tested {len(found.steps)} of {output.plural(found.commits_count, 'commit')}"
    )
    if not found.suspects:
        return ["the command fails at no commit that was tested", tested]
    if found.first_bad is not None:
        return [output.strong(f"first bad {commit_line(found.first_bad)}"), tested]
    rows = [f"  {commit_line(commit)}" for commit in found.suspects]
    return ["some commits could not be tested; the first bad one is one of these:", *rows, tested]


def _json(found: Bisection) -> dict[str, Any]:
    from ibidem.repo.history.diff_json import cause_json

    first, cause = found.first_bad, found.cause
    return {
        "first_bad": None if first is None else shapes.block_json(first),
        "cause": None if cause is None else cause_json(cause),
        **_search_json(found, found.last_good),
    }


def _search_json(found: Bisection, last: Commit | None) -> dict[str, Any]:
    return {
        "last_good": None if last is None else str(last.cid),
        "commit_count": found.commits_count,
        "evaluation_count": found.evaluations_count,
        "steps": [{"commit": str(step.commit.cid), "holds": step.holds} for step in found.steps],
    }


def _lines(repository: Repository, found: Bisection) -> list[str]:
    from ibidem.repo.history.diff_format import cause_lines, commit_line, move_lines

    commits = output.plural(found.commits_count, "commit")
    tested = f"tested {found.evaluations_count} of {commits}"
    if found.first_bad is None:
        return ["the answer has the node at every commit that was tested", output.faint(tested)]
    first = commit_line(found.first_bad)
    if found.cause is None:
        return [
            f"already missing at the first commit searched: {first}",
            output.faint(tested),
        ]
    head, *rest = cause_lines(repository.core.store, [found.cause])
    table = [f"  {line}" for line in move_lines(found.cause.moves)]
    return [output.strong(f"first bad {head}"), *rest, *table, output.faint(tested)]

"""`repo bisect`: finds the commit at which an answer lost something, or a command fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import exits
from ibidem.cli.options import question
from ibidem.cli.options.trust import trust_of, trust_option, trust_options
from ibidem.cli.render import answer_diff, output, shapes
from ibidem.cli.session import Session, common_options, complete_revision, pass_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ibidem.objects.commit import Commit
    from ibidem.objects.ids import NodeId
    from ibidem.repo.history.bisect import Bisection
    from ibidem.repo.repository import Repository


@click.group("bisect", invoke_without_command=True)
@click.option("--query", metavar="TEXT", help="What is asked at each commit.")
@click.option("--expect", metavar="NODE", help="A node that should come: its id, or the beginning.")
@click.option("--rank-max", type=int, metavar="N", help="The last rank that will do.")
@click.option(
    "--good",
    metavar="REV",
    shell_complete=complete_revision,
    help="Revision whose answer has it [default: where the node came to be].",
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
@trust_option
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
    **given: Any,
) -> None:
    """Find the first commit at which the answer lacks a node

    Goes along first parents and halves what is left, so of n commits about log2(n) are asked. Ends
    with 1 when no commit is to blame: the answer still has the node, or never had it. With run, any
    command tells whether a commit will do.

    \b
    Examples:
      repo bisect --query "how do retries work" --expect 4364acf9b54d3abc400fc473a639a07b
      repo bisect --query "retries" --expect 4364acf9b54d3abc400fc473a639a07b --rank-max 3 --good v1
      repo bisect run --good v1 -- ./check.sh
    """
    if context.invoked_subcommand is not None:
        return
    if query is None or expect is None:
        raise click.UsageError("--query and --expect are needed, or: bisect run COMMAND")
    options = question.options(session, **given) | trust_options(session)
    with session.open() as repository:
        wanted = _expected(session, repository, expect, (bad, *([good] if good else [])))
        found = repository.history.bisect(
            query, expect=wanted, rank_max=rank_max, good=good, bad=bad, **options
        )
        lines = [] if session.json else _lines(repository, found)
    if session.json:
        output.emit("bisect", _json(found))
    else:
        output.say(*lines)
    context.exit(exits.OK if found.cause is not None else exits.FAILED)


def _expected(
    session: Session, repository: Repository, text: str, revisions: Sequence[str]
) -> NodeId:
    """Returns the node that is meant, at the first of some revisions that has it."""
    from ibidem.objects.errors import ErrorKind, NotFoundError

    for rev in revisions[:-1]:
        try:
            return repository.at(rev, trust=trust_of(session)).node_id(text)
        except NotFoundError as error:
            if error.kind is ErrorKind.AMBIGUOUS:
                raise
    return repository.at(revisions[-1], trust=trust_of(session)).node_id(text)


_UNTESTABLE = 125
_COMMAND_MISSING = (126, 127)


@command.command(
    "run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option(
    "--good",
    metavar="REV",
    shell_complete=complete_revision,
    help="Revision at which the command ends with 0 [default: before the first commit].",
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

    COMMAND is run for one commit after the other, with IBIDEM_REPO set to the repository and
    IBIDEM_AT to the commit, which repo takes for its --at. It ends with 0 where all is well, with
    125 where it cannot tell, and otherwise with 1 to 124. Ends with 1 when it fails nowhere.

    \b
    Examples:
      repo bisect run --good v1 -- ./check.sh
      repo bisect run -- sh -c 'repo query --label Rule --count | grep -q "^12 "'
    """
    from ibidem.repo.history.bisect import bisect

    with session.open() as repository:
        if repository.folder is None:
            raise click.UsageError("bisect run needs a repository on disk")
        folder = str(repository.folder.parent)

        def holds(commit: Commit) -> bool | None:
            environment = {
                **session.environment,
                "IBIDEM_REPO": folder,
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
    """Runs the command, whose output goes to standard error; None where it cannot tell."""
    import subprocess

    try:
        # What is run is what the user typed.
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
        raise click.ClickException(f"the command ended with {code}, so it says nothing")
    return None if code == _UNTESTABLE else code == 0


def _run_lines(found: Bisection) -> list[str]:
    from ibidem.repo.history.diff_format import commit_line

    asked = output.faint(
        f"tested {len(found.steps)} of {output.plural(found.commits_count, 'commit')}"
    )
    if not found.suspects:
        return ["the command fails at no commit that was tested", asked]
    if found.first_bad is not None:
        return [output.strong(f"first bad {commit_line(found.first_bad)}"), asked]
    rows = [f"  {commit_line(commit)}" for commit in found.suspects]
    return ["some could not be tested, so it is one of these:", *rows, asked]


def _json(found: Bisection) -> dict[str, Any]:
    first, cause = found.first_bad, found.cause
    return {
        "first_bad": None if first is None else shapes.block_json(first),
        "cause": None if cause is None else answer_diff.cause_json(cause),
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
    asked = f"asked {found.evaluations_count} of {commits}"
    if found.first_bad is None:
        return ["the answer has it at every commit that was asked", output.faint(asked)]
    first = commit_line(found.first_bad)
    if found.cause is None:
        return [
            f"already missing at the first commit that could have it: {first}",
            output.faint(asked),
        ]
    head, *rest = cause_lines(repository.core.store, [found.cause])
    table = [f"  {line}" for line in move_lines(found.cause.moves)]
    return [output.strong(f"first bad {head}"), *rest, *table, output.faint(asked)]

"""`repo snapshot`: golden answers without pytest, for scripts and CI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ibidem.cli import exits
from ibidem.cli.options import question
from ibidem.cli.options.common import at_option, common_options
from ibidem.cli.options.flags import GroupedCommand
from ibidem.cli.options.viewer import viewer_option, viewer_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

_MODES = ("exact", "ranks", "set")


@click.group("snapshot")
def command() -> None:
    """Record answers in a file, and check them later"""


@command.command("record", cls=GroupedCommand)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--mode",
    type=click.Choice(_MODES),
    default="exact",
    show_default=True,
    help="What must not change: every byte, the order of items, or the set of items.",
)
@question.question_options
@viewer_option
@at_option
@common_options
@pass_session
def record(
    session: Session, /, *, file: Path, query: tuple[str, ...], mode: str, at: str, **given: Any
) -> None:
    """Write the answers to each QUERY into FILE

    The file is text, to be reviewed and put under version control. An existing file of answers is
    replaced; any other file is left alone.

    \b
    Example:
      repo snapshot record retries.golden "how do retries work" "what is a deadline" --limit 5
    """
    options = question.options(session, **given) | viewer_options(session)
    from ibidem.store.files import read_file
    from ibidem.testing.golden import Golden, is_golden, record
    from ibidem.testing.judge import Mode

    if len(set(query)) != len(query):
        raise click.UsageError("a question is given twice")
    present = read_file(file)
    if present and not is_golden(present):
        raise click.UsageError(f"FILE: got {file}, which has no answers; expected a new name")
    with session.open() as repository:
        revision = repository.at(at)
        form = Mode.of(mode).form()
        checks = {text: record(text, revision.retrieve(text, **options), form) for text in query}
    Golden(file.name, checks).write(file)
    if session.json:
        receipts = [None if one.receipt is None else str(one.receipt) for one in checks.values()]
        output.emit("snapshot-record", {"file": str(file), "receipts": receipts})
    else:
        output.say(f"{output.plural(len(checks), 'answer')} written to {file}")


@command.command("check")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@at_option
@common_options
@pass_session
@click.pass_context
def check(context: click.Context, session: Session, *, file: Path, at: str) -> None:
    """Check that the answers recorded in FILE are unchanged

    Exits with 0 if every answer is as recorded; otherwise with 1, after showing what changed and
    which commit changed it. Exits with 12 if the file was edited. Files written by the pytest
    plugin can be checked too.

    \b
    Example:
      repo snapshot check retries.golden
    """
    from ibidem.testing.golden import read
    from ibidem.testing.recheck import recheck

    golden = read(file)
    with session.open() as repository:
        found = {
            name: recheck(repository.core, repository.core.graph(at), one)
            for name, one in golden.checks.items()
        }
    is_same = not any(found.values())
    if session.json:
        checks = [
            {"name": name, "is_same": not lines, "report": lines} for name, lines in found.items()
        ]
        output.emit("snapshot-check", {"is_same": is_same, "checks": checks})
    else:
        for name, lines in found.items():
            word = output.bad("changed") if lines else output.good("same")
            output.say(f"{word}: {output.one_line(name)}", *lines)
    context.exit(exits.OK if is_same else exits.FAILED)

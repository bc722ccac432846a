"""`repo run`: shows, compares and exports recorded agent runs."""

from __future__ import annotations

from pathlib import Path

import click

from ibidem.cli.options.common import author_option, common_options
from ibidem.cli.options.html import html_option, write_page
from ibidem.cli.render import output
from ibidem.cli.render.runs import difference_rows, ending, say_differences, summary_json
from ibidem.cli.run_agent import fork, record, replay, test
from ibidem.cli.session import Session, pass_session


@click.group("run")
def command() -> None:
    """Show, replay and compare recorded agent runs"""


@command.command("list")
@common_options
@pass_session
def listed(session: Session) -> None:
    """List the recorded runs

    \b
    Example:
      repo run list
    """
    with session.open() as repository:
        runs = repository.runs.list()
    if session.json:
        output.emit("run-list", {"runs": [summary_json(run) for run in runs]})
        return
    rows = [
        (output.one_line(run.name), output.plural(run.step_count, "step"), ending(run))
        for run in runs
    ]
    output.say(*output.table(rows))


@command.command("show")
@click.argument("name")
@common_options
@pass_session
def show(session: Session, *, name: str) -> None:
    """Show the steps of the run NAME

    Without a number, NAME means the newest run of that name.

    \b
    Example:
      repo run show nightly
    """
    with session.open() as repository:
        run = repository.runs.open(name)
        summary, lines = run.summary(), run.lines()
        actions = [step.action for step in run.steps]
    if session.json:
        steps = [
            {"index": index, "action": action, "said": line}
            for index, (action, line) in enumerate(zip(actions, lines, strict=True))
        ]
        output.emit("run-show", {"run": summary_json(summary), "steps": steps})
        return
    width = len(str(len(lines) - 1))
    output.say(f"run {output.one_line(summary.name)}: {ending(summary)}")
    output.say(*(f"{index:>{width}}  {output.one_line(line)}" for index, line in enumerate(lines)))


@command.command("diff")
@click.argument("before")
@click.argument("after")
@html_option
@common_options
@pass_session
def diff(session: Session, *, before: str, after: str, html: Path | None) -> None:
    """Show the steps in which two runs differ

    With --html, this is also written as a page that stands alone, with the rankings of each
    retrieval that differs as a picture.

    \b
    Examples:
      repo run diff nightly/1 nightly/2
      repo run diff nightly/1 nightly/2 --html nightly.html
    """
    with session.open() as repository:
        runs = repository.runs.open(before), repository.runs.open(after)
        found = repository.runs.differences(*(run.name for run in runs))
        if html is not None:
            from ibidem.pages import run_difference
            from ibidem.repo.history.answer_change import answer_change

            one, other = (run.name for run in runs)
            answers = {
                step.index: answer_change(
                    repository.core.store,
                    step.moves,
                    question=step.question,
                    before=one,
                    after=other,
                )
                for step in found
                if step.moves
            }
            write_page(html, run_difference.differences(found, answers, before=one, after=other))
    if session.json:
        output.emit("run-diff", {"differences": difference_rows(found)})
        return
    if not found:
        output.say("the runs are the same, step for step")
    say_differences(found)


@command.command("export")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
@pass_session
def export(session: Session, *, name: str, file: Path) -> None:
    """Export the run NAME to FILE, with everything its replay needs

    FILE is a CAR file that `repo import` reads, even into an empty repository.

    \b
    Example:
      repo run export nightly nightly.car
    """
    with session.open() as repository:
        run = repository.runs.open(name)
        size_bytes = run.export(file)
        found = run.name
    if session.json:
        output.emit("run-export", {"name": found, "file": str(file), "size_bytes": size_bytes})
    else:
        output.say(f"run {output.one_line(found)} written to {file}, {size_bytes:,} bytes")


@command.command("drop")
@click.argument("name")
@author_option
@common_options
@pass_session
def drop(session: Session, *, name: str, author: str | None) -> None:
    """Drop the run NAME; `repo gc` then deletes data that only it needed

    \b
    Example:
      repo run drop nightly/1
    """
    with session.open() as repository:
        found = repository.runs.open(name).name
        tip = repository.runs.drop(found, author=session.author(author))
    if session.json:
        output.emit("run-drop", {"name": found, "tip": str(tip)})
    else:
        output.say(f"dropped run {output.one_line(found)}")


for _one in (replay, record, fork, test):
    command.add_command(_one)

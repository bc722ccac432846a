"""`repo run`: shows, replays, compares and exports recorded agent runs."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import exits
from ibidem.cli.options import dates
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, author_option, common_options, pass_session
from ibidem.objects.errors import IbidemError

if TYPE_CHECKING:
    from ibidem.repo.runs.recording import Recording, RunSummary


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
        output.emit("run-list", {"runs": [_shape(run) for run in runs]})
        return
    rows = [
        (output.one_line(run.name), output.plural(run.step_count, "step"), _ending(run))
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
        output.emit("run-show", {"run": _shape(summary), "steps": steps})
        return
    width = len(str(len(lines) - 1))
    output.say(f"run {output.one_line(summary.name)}: {_ending(summary)}")
    output.say(*(f"{index:>{width}}  {output.one_line(line)}" for index, line in enumerate(lines)))


@command.command("replay")
@click.argument("name")
@click.argument("agent", required=False)
@click.option(
    "--at",
    metavar="REV",
    help="Ask the recorded questions at this revision, and show what would change.",
)
@click.option("--exit-code", is_flag=True, help="With --at, exit with 1 if an answer changes.")
@common_options
@pass_session
def replay(
    session: Session, *, name: str, agent: str | None, at: str | None, exit_code: bool
) -> None:
    """Replay the run NAME and compare every answer

    Without AGENT, every retrieval is run again on its recorded root. With AGENT, given as
    FILE.py:FUNCTION, the function is called with the replay instead of the repository: tools and
    models are not called, and the first step that differs is reported as an error with both
    versions. If the recorded agent failed, it must fail in the same way. Exits with 0 if everything
    is the same, otherwise with 1.

    \b
    Examples:
      repo run replay nightly
      repo run replay nightly/3 agent.py:main
      repo run replay nightly --at main
    """
    if at is not None:
        if agent is not None:
            raise click.UsageError("--at: got it with AGENT, expected one of them")
        changed = _replay_at(session, name, dates.revision(session.clock(), at))
        click.get_current_context().exit(exits.FAILED if exit_code and changed else exits.OK)
    if exit_code:
        raise click.UsageError("--exit-code needs --at")
    with session.open() as repository, _importable(agent):
        function = None if agent is None else _function(agent)
        run = repository.runs.open(name)
        if function is not None:
            _work(run, function)
        from ibidem.repo.runs.compare import check

        counts = check(run)
        found, tip = run.name, str(run.tip)
    if session.json:
        facts = {"name": found, "tip": tip, "is_identical": True, "is_agent_run": agent is not None}
        output.emit("run-replay", {**facts, "actions": dict(sorted(counts.items()))})
        return
    said = ", ".join(f"{count} {action}" for action, count in sorted(counts.items()))
    output.say(f"{output.good('same')}: run {output.one_line(found)}, {said}")


def _replay_at(session: Session, name: str, at: str) -> int:
    """Shows the answers of a run at another revision; returns how many change."""
    from ibidem.repo.runs.compare import retrieve_at

    with session.open() as repository:
        run = repository.runs.open(name)
        steps, found = retrieve_at(run, at), run.name
        commit = str(repository.core.commit_cid_of(at))
    changed = [step for step in steps if step.details]
    if session.json:
        rows = [shapes.fields_json(step, "index", "line", "details") for step in steps]
        output.emit(
            "run-replay-at",
            {"name": found, "commit": commit, "changed_count": len(changed), "steps": rows},
        )
        return len(changed)
    for step in changed:
        output.say(f"step {step.index}  {output.one_line(step.line)}")
        output.say(*(f"    {output.one_line(detail)}" for detail in step.details))
    output.say(
        f"{output.plural(len(steps), 'retrieval')} of run {output.one_line(found)} asked at "
        f"{output.one_line(at)}: {len(changed)} would be answered differently"
    )
    return len(changed)


@command.command("diff")
@click.argument("before")
@click.argument("after")
@common_options
@pass_session
def diff(session: Session, *, before: str, after: str) -> None:
    """Show the steps in which two runs differ

    \b
    Example:
      repo run diff nightly/1 nightly/2
    """
    from ibidem.repo.runs.compare import differences

    with session.open() as repository:
        found = differences(repository.runs.open(before), repository.runs.open(after))
    if session.json:
        names = ("index", "before", "after", "is_request_changed", "details")
        rows = [shapes.fields_json(one, *names) for one in found]
        output.emit("run-diff", {"differences": rows})
        return
    if not found:
        output.say("the runs are the same, step for step")
    for one in found:
        what = "asked" if one.is_request_changed else "was answered"
        output.say(
            f"step {one.index} {what} something else",
            f"  before: {output.one_line(one.before or 'the run is over')}",
            f"  after:  {output.one_line(one.after or 'the run is over')}",
            *(f"    {output.one_line(detail)}" for detail in one.details),
        )


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


def _shape(run: RunSummary) -> dict[str, Any]:
    return shapes.fields_json(
        run,
        *("name", "tip", "step_count", "agent", "task", "author", "begun", "ended", "failure"),
        "is_readable",
    )


def _ending(run: RunSummary) -> str:
    if not run.is_readable:
        return f"cannot be read: {output.one_line(run.failure or '')}"
    if run.failure is not None:
        return f"failed: {output.one_line(run.failure, width=80)}"
    return (
        "finished"
        if run.ended is not None
        else "not finished: still running, or its process was killed"
    )


def _function(agent: str) -> Callable[[Any], Any]:
    """Returns the function that FILE.py:FUNCTION names."""
    path, _, name = agent.rpartition(":")
    if not path or not Path(path).is_file():
        raise click.UsageError(f"AGENT: got {agent!r}, expected FILE.py:FUNCTION")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"AGENT: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise click.UsageError(f"AGENT: {path} cannot be loaded: {_described(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise click.UsageError(f"AGENT: {path} has no function {name!r}")
    found: Callable[[Any], Any] = function
    return found


@contextmanager
def _importable(agent: str | None) -> Iterator[None]:
    """Lets an agent import modules next to its file, as Python does for a script."""
    before = list(sys.path)
    if agent is not None:
        sys.path.insert(0, str(Path(agent.rpartition(":")[0]).resolve().parent))
    try:
        yield
    finally:
        sys.path[:] = before


def _work(run: Recording, function: Callable[[Any], Any]) -> None:
    """Runs an agent on the replay of a recorded run.

    Raises:
        ReplayError: a step differs from the recorded one.
        ClickException: it failed with another error than the recorded one.
    """
    replayed, recorded = run.replay(), run.summary().failure
    try:
        with replayed:
            function(replayed)
    except Exception as error:
        if _described(error) == recorded and replayed.remaining_count == 1:
            return
        if isinstance(error, IbidemError):
            raise
        last = extract_tb(error.__traceback__)[-1]
        raise click.ClickException(
            f"the agent ended with {_described(error)}, at "
            f"{Path(last.filename).name}:{last.lineno}; "
            f"recorded: {recorded or 'no error'}"
        ) from error


def _described(error: Exception) -> str:
    """Returns an error in the form in which runs record it."""
    from ibidem.repo.runs import payload

    return payload.summary(payload.failed(error))

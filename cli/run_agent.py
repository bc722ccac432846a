"""`repo run replay`, `record`, `fork` and `test`: the commands that call an agent."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import exits
from ibidem.cli.options import dates
from ibidem.cli.options.common import author_option, common_options
from ibidem.cli.render import output, shapes
from ibidem.cli.render.runs import difference_rows, say_differences, summary_json
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import IbidemError

if TYPE_CHECKING:
    from ibidem.repo.runs.recording import Recording


@click.command("replay")
@click.argument("name")
@click.argument("agent", required=False)
@click.option(
    "--at",
    metavar="REV",
    help="Ask the recorded questions at this revision, and show what would change.",
)
@click.option(
    "--mode",
    type=click.Choice(("stub", "what-if", "live")),
    default="stub",
    help="Who answers AGENT: the recording; the recording, and models for what they were not asked "
    "there; or models.",
)
@click.option("--go-on", is_flag=True, help="With --mode what-if, go on after a difference.")
@click.option(
    "--exit-code", is_flag=True, help="With --at or --mode, exit with 1 if anything changes."
)
@common_options
@pass_session
def replay(
    session: Session,
    *,
    name: str,
    agent: str | None,
    at: str | None,
    mode: str,
    go_on: bool,
    exit_code: bool,
) -> None:
    """Replay the run NAME and compare every answer

    Without AGENT, every retrieval is run again on its recorded root. With AGENT, given as
    FILE.py:FUNCTION, the function is called with the replay instead of the repository: tools and
    models are not called, and the first step that differs is reported as an error with both
    versions. If the recorded agent failed, it must fail in the same way. Exits with 0 if everything
    is the same, otherwise with 1.

    With --mode what-if or live the agent is run again as a fork: a run of its own, which changes no
    branch. What-if stops at the first step that differs, unless --go-on is given; live asks every
    model and tool again. Both show what differs from the recorded run.

    \b
    Examples:
      repo run replay nightly
      repo run replay nightly/3 agent.py:main
      repo run replay nightly --at main
      repo run replay nightly agent.py:main --mode what-if --at main
      repo run replay nightly agent.py:main --mode live
    """
    if go_on and mode != "what-if":
        raise click.UsageError("--go-on needs --mode what-if")
    if mode != "stub":
        if agent is None:
            raise click.UsageError(f"--mode {mode} needs AGENT")
        step = 1 if mode == "live" else None
        is_changed = _fork(session, name, agent, step=step, at=at, go_on=go_on)
        click.get_current_context().exit(exits.FAILED if exit_code and is_changed else exits.OK)
    if at is not None:
        if agent is not None:
            raise click.UsageError("--at: with AGENT it needs --mode what-if or live")
        changed = _replay_at(session, name, dates.revision(session.clock(), at))
        click.get_current_context().exit(exits.FAILED if exit_code and changed else exits.OK)
    if exit_code:
        raise click.UsageError("--exit-code needs --at, or --mode what-if or live")
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


@click.command("record")
@click.argument("name")
@click.argument("agent")
@click.option("--task", default="", help="The task of the run.")
@author_option
@common_options
@pass_session
def record(session: Session, *, name: str, agent: str, task: str, author: str | None) -> None:
    """Run AGENT and record what it does as a run called NAME

    AGENT is FILE.py:FUNCTION; the function is called with the run instead of the repository. Calls
    of models through the clients of OpenAI, Anthropic and others are recorded too.

    \b
    Example:
      repo run record nightly agent.py:main
    """
    with session.open() as repository, _importable(agent):
        function = _function(agent)
        signed = session.author(author)
        run = repository.runs.start(name, agent=agent, task=task, author=signed)
        _call(function, run)
        summary = repository.runs.open(run.name).summary()
    if session.json:
        output.emit("run-record", {"run": summary_json(summary)})
    else:
        steps = output.plural(summary.step_count, "step")
        output.say(f"recorded run {output.one_line(summary.name)}, {steps}")


@click.command("fork")
@click.argument("name")
@click.argument("step", type=int)
@click.argument("agent")
@click.option("--at", metavar="REV", help="From STEP on, read the facts of this revision.")
@common_options
@pass_session
def fork(session: Session, *, name: str, step: int, agent: str, at: str | None) -> None:
    """Run AGENT again on the run NAME, and ask models and tools again from STEP on

    Up to STEP the agent must do what was recorded. From there on it is free; what it does is
    recorded as a new run, NAME-fork/1, and no branch changes.

    \b
    Example:
      repo run fork nightly 7 agent.py:main
    """
    _fork(session, name, agent, step=step, at=at, go_on=False)


@click.command("test")
@click.argument("name")
@click.argument("agent", required=False)
@common_options
@pass_session
def test(session: Session, *, name: str, agent: str | None) -> None:
    """Replay every run called NAME, and fail if one differs

    NAME with a number is that run alone; a FILE.car that 'repo run export' wrote is the run in it,
    and needs no repository. AGENT is as of 'repo run replay'. Nothing is written and no model is
    called, so it is a test for a continuous integration.

    \b
    Examples:
      repo run test nightly agent.py:main
      repo run test tests/nightly.car agent.py:main
    """
    with _importable(agent), ExitStack() as stack:
        function = None if agent is None else _function(agent)
        if name.endswith(".car") and Path(name).is_file():
            import ibidem

            copy = stack.enter_context(ibidem.init("memory:"))
            runs = [copy.runs.load(name)]
        else:
            repository = stack.enter_context(session.open())
            names = [run.name for run in repository.runs.list()]
            found = [one for one in names if name in (one, one.rpartition("/")[0])]
            runs = [repository.runs.open(one) for one in found or [name]]
        results = {run.name: _tested(run, function) for run in runs}
    failed = [name for name, failure in results.items() if failure is not None]
    if session.json:
        rows = [{"name": name, "failure": failure} for name, failure in results.items()]
        output.emit("run-test", {"runs": rows, "failed_count": len(failed)})
    else:
        for run_name, failure in results.items():
            shown = output.good("same") if failure is None else output.bad("differs")
            output.say(f"{shown}: run {output.one_line(run_name)}")
            output.say(*(f"  {output.one_line(line)}" for line in (failure or "").splitlines()))
        output.say(f"{output.plural(len(results), 'run')} replayed, {len(failed)} differ")
    click.get_current_context().exit(exits.FAILED if failed else exits.OK)


def _fork(
    session: Session, name: str, agent: str, *, step: int | None, at: str | None, go_on: bool
) -> bool:
    """Runs an agent again as a fork of a run, shows what differs, and returns whether anything
    does."""
    with session.open() as repository, _importable(agent):
        function = _function(agent)
        rev = None if at is None else dates.revision(session.clock(), at)
        author = session.author(None)
        forked = repository.runs.fork(name, step, at=rev, go_on=go_on, author=author)
        _call(function, forked)
        found, first = forked.differences(), forked.difference
    if session.json:
        facts = {"fork": forked.name, "step": None if first is None else first.step_index}
        output.emit("run-fork", {**facts, "differences": difference_rows(found)})
    elif first is None:
        output.say(f"{output.good('same')}: run {output.one_line(forked.name)} differs in no step")
    else:
        say_differences(found)
        output.say(f"recorded as run {output.one_line(forked.name)}")
    return first is not None


def _call(function: Callable[[Any], Any], run: Any) -> None:
    """Calls an agent with a run, which gets its calls of models too, and ends the run."""
    from ibidem.adapters.recording import model_calls

    try:
        with run, model_calls(run):
            function(run)
    except IbidemError:
        raise
    except Exception as error:
        raise _failure(error, "") from error


def _failure(error: Exception, more: str) -> click.ClickException:
    last = extract_tb(error.__traceback__)[-1]
    return click.ClickException(
        f"the agent ended with {_described(error)}, at {Path(last.filename).name}:{last.lineno}"
        + more
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
    from ibidem.adapters.recording import model_calls

    replayed, recorded = run.replay(), run.summary().failure
    try:
        with replayed, model_calls(replayed):
            function(replayed)
    except Exception as error:
        if _described(error) == recorded and replayed.remaining_count == 1:
            return
        if isinstance(error, IbidemError):
            raise
        raise _failure(error, f"; recorded: {recorded or 'no error'}") from error


def _tested(run: Recording, function: Callable[[Any], Any] | None) -> str | None:
    """Replays a run, and returns what differs; None if nothing does."""
    from ibidem.repo.runs.compare import check

    try:
        if function is not None:
            _work(run, function)
        check(run)
    except (IbidemError, click.ClickException) as error:
        return str(error)
    return None


def _described(error: Exception) -> str:
    """Returns an error in the form in which runs record it."""
    from ibidem.repo.runs import payload

    return payload.summary(payload.failed(error))

"""The program `repo`, also called `ibidem`: a group whose commands are loaded on first use.

All errors are handled here: a typed error becomes one line, a hint and an exit code, never a
traceback.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from ibidem import __version__
from ibidem.cli import exits, proxies
from ibidem.cli.options.common import color_option, quiet_option, repository_option
from ibidem.cli.render import output
from ibidem.cli.session import Session
from ibidem.objects.errors import IbidemError, InvalidInputError
from ibidem.store.proxies import set_proxies

SECTIONS = {
    "Ask": ("retrieve", "packs", "prompt", "query", "embed"),
    "Start a repository and add content": (
        *("init", "demo", "add", "node", "edge", "commit", "status", "config"),
        *("rm", "mv", "checkout"),
    ),
    "Inspect": ("cat", "show", "view"),
    "Conversations, memory and access": ("thread", "memory", "trust"),
    "Reproduce and test answers": ("replay", "receipt", "run", "snapshot"),
    "History": ("log", "diff", "blame", "bisect"),
    "Branches and merging": (
        *("branch", "switch", "tag", "merge", "resolve", "cherry-pick", "revert"),
    ),
    "Undo and rewrite history": ("undo", "redo", "history"),
    "Copy between repositories": (
        *("clone", "remote", "pull", "push", "export", "import", "serve"),
    ),
    "Connect agents": ("mcp",),
    "Verify and maintain": ("fsck", "gc", "erase", "key", "index"),
    "The program": ("help", "doctor", "completion"),
}
"""The commands in the order of the help. Each is the object `command` of the module of its name,
with `_` for `-`.
"""
_SIMILAR = 0.7
"""How like an option is to what was typed if it may have been meant, from 0 to 1."""
COMMANDS = tuple(chain.from_iterable(SECTIONS.values()))
ALIASES = {"ask": "retrieve"}
"""Second names of commands."""
SYNONYMS = {
    **dict.fromkeys(("search", "find", "question", "answer"), "retrieve"),
    **dict.fromkeys(("ls", "list", "select", "filter"), "query"),
    **dict.fromkeys(("remove", "delete"), "rm"),
    **dict.fromkeys(("print",), "cat"),
    **dict.fromkeys(("get", "node-show", "inspect"), "show"),
    **dict.fromkeys(("restore",), "checkout"),
    **dict.fromkeys(("ingest", "save", "update"), "commit"),
    **dict.fromkeys(("rename", "move"), "mv"),
    **dict.fromkeys(("rollback", "abandon"), "undo"),
    **dict.fromkeys(("unstage", "reset", "discard"), "undo --staged"),
    **dict.fromkeys(("settings", "set", "defaults", "model"), "config"),
    **dict.fromkeys(("create", "new"), "init"),
    **dict.fromkeys(("check", "integrity"), "fsck"),
    **dict.fromkeys(("vacuum", "clean", "compact"), "gc"),
    **dict.fromkeys(("forget", "purge", "redact"), "erase"),
    **dict.fromkeys(("dump", "backup", "bundle"), "export"),
    **dict.fromkeys(("load", "restore-backup"), "import"),
    **dict.fromkeys(("context", "chunks"), "packs"),
    **dict.fromkeys(("vectors", "vector", "embeddings"), "embed"),
    **dict.fromkeys(("chat", "conversation", "messages"), "thread"),
    **dict.fromkeys(("remember", "facts", "records"), "memory"),
    "recall": "memory recall",
    **dict.fromkeys(("stats", "statistics", "count", "info"), "index stats"),
    **dict.fromkeys(("feedback", "vote", "rate"), "memory feedback"),
    **dict.fromkeys(("token", "auth", "login"), "trust token"),
    **dict.fromkeys(("access", "permissions", "policy"), "trust"),
    **dict.fromkeys(("server", "sync"), "serve"),
    "squash": "history squash",
    "prune": "history prune",
    "rebase": "history rebase",
    "fetch": "remote fetch",
    **dict.fromkeys(("integrate", "install"), "mcp integrate"),
    **dict.fromkeys(("verify", "sign"), "key verify"),
    **dict.fromkeys(("reindex", "rebuild"), "index build"),
    **dict.fromkeys(("traverse", "paths", "walk"), "edge traverse"),
    **dict.fromkeys(("browse", "explore", "ui", "web"), "view"),
    "version": "--version",
}
"""What people type for commands that have another name; only ever suggested."""

OBJECTS_MIN = 50_000
"""Objects allocated before the garbage collector first runs: most belong to modules and stay alive.
"""


class LazyGroup(click.Group):
    """Loads the module of a command when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the command of that name, or None."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"ibidem.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command), f"BUG: {cmd_name} has no command"
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands under their headings."""
        widest = max(map(len, COMMANDS))
        for heading, names in SECTIONS.items():
            with formatter.section(heading):
                found = [(name.ljust(widest), self.get_command(ctx, name)) for name in names]
                width = formatter.width - 6 - widest
                formatter.write_dl(
                    [(name, one.get_short_help_str(width)) for name, one in found if one]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command named by the first argument; for an unknown name, suggests similar
        ones.
        """
        name = args[0]
        if name not in COMMANDS and name not in ALIASES and not name.startswith("-"):
            from difflib import get_close_matches

            known = [*COMMANDS, *ALIASES]
            near = [SYNONYMS[name]] if name in SYNONYMS else get_close_matches(name, known)
            like = " or ".join(near)
            ctx.fail(f"no such command: {name}" + (f"; did you mean {like}?" if like else ""))
        ctx.obj.command = f"{ctx.command_path} {name}"
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; a closed output pipe is no failure."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Python must not try to flush the remaining output at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(exits.OK)
        return result

    # Narrower than click's: only this program calls it, and it never returns.
    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **extra: Any,
    ) -> Any:
        """Runs the program and exits with a code of `cli/exits.py`."""
        arguments = list(sys.argv[1:] if args is None else args)
        set_proxies(proxies.proxy_of)
        extra.update(standalone_mode=False, obj=Session(json="--json" in arguments))
        # After the session has read the environment and before numpy is loaded: idle BLAS threads
        # spin, which costs 40 ms of CPU at every start, and the small products computed here take
        # 45 ms with one thread, but 180 ms with two on a busy machine.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        code = _guard(
            lambda: super(LazyGroup, self).main(arguments, prog_name, **extra), extra["obj"]
        )
        sys.exit(code)


def _guard(run: Any, session: Session) -> int:
    """Calls `run` and turns every expected exception into an exit code."""
    try:
        try:
            status = run()
        finally:
            session.meter.stop()
    except IbidemError as error:
        message = str(error)
        if isinstance(error, InvalidInputError) and session.context is not None:
            from ibidem.cli.options import flags

            message = flags.in_flags(message, session.context)
        _report(session, error.kind, message, error.hint)
        return exits.exit_code(error)
    except click.UsageError as error:
        return _report_usage(session, error)
    except click.ClickException as error:
        _report(session, "failed", error.format_message(), None)
        return exits.FAILED
    except (KeyboardInterrupt, click.Abort):
        output.note("interrupted")
        return exits.INTERRUPTED
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        _report(session, "storage", f"{(error.strerror or str(error)).lower()}{where}", None)
        return exits.STORAGE
    return status if isinstance(status, int) else exits.OK


def _report(session: Session, kind: str, message: str, hint: str | None) -> None:
    if session.json:
        output.emit_error(kind, message, hint)
    else:
        output.print_error(message, hint, color=session.colored(sys.stderr))


def _report_usage(session: Session, error: click.UsageError) -> int:
    if isinstance(error, click.NoSuchOption):
        from difflib import get_close_matches

        known = error.possibilities or ()
        likely = get_close_matches(error.option_name, known, n=1, cutoff=_SIMILAR)
        error = click.NoSuchOption(error.option_name, possibilities=likely, ctx=error.ctx)
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not session.json:
        output.note(*message.splitlines())
        return exits.USAGE
    if error.ctx is not None and not session.json:
        output.note(*error.ctx.get_usage().splitlines())
    path = error.ctx.command_path if error.ctx else session.command
    hint = f"see {path} --help"
    if "unexpected extra argument" in message and error.ctx is not None:
        has_at = any("--at" in option.opts for option in error.ctx.command.params)
        at = ", and a revision after --at" if has_at else ""
        hint = f"put an argument of several words in quotes{at}; {hint}"
    elif isinstance(error, click.NoSuchOption) and error.ctx and not error.possibilities:
        if {"query", "question"} & {one.name for one in error.ctx.command.params}:
            hint = f"put -- before a question that begins with -; {hint}"
    elif message.startswith("No such command") and error.ctx is not None:
        group = error.ctx.command
        assert isinstance(group, click.Group), "BUG: a command without subcommands looked for one"
        hint = f"the commands are {', '.join(group.list_commands(error.ctx))}; {hint}"
    _report(session, "usage", message, hint)
    return exits.USAGE


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=exits.exit_code_help(),
)
@click.version_option(__version__, message="ibidem %(version)s")
@repository_option
@color_option
@quiet_option
def cli() -> None:
    """Version control for knowledge graphs, with exactly reproducible retrieval

    \b
    A first session:
      repo init
      repo commit notes/ -m "first notes"
      repo retrieve "how do retries work" --budget 2000
      repo log
    """


def main() -> None:
    """Runs the program as the console script does."""
    gc.set_threshold(OBJECTS_MIN)
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed by the caller; a file of the store had its number
            setattr(sys, stream, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    name = Path(sys.argv[0]).stem
    try:
        cli(prog_name="repo" if name == "__main__" else name)
    finally:
        # Otherwise the interpreter spends 25 ms on a last collection of cycles before it exits.
        gc.freeze()

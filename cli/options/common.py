"""Options that many commands have, with the same names and the same help everywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.session import Function, Session
from ibidem.objects.errors import IbidemError

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository


def repository_option(function: Function) -> Function:
    """Adds `-R/--repo` and `--global`."""
    function = click.option(
        "--global",
        is_flag=True,
        default=None,
        expose_value=False,
        callback=_set("is_global"),
        help="Use the global repository of this user, which `repo init --global` creates.",
    )(function)
    return click.option(
        "-R",
        "--repo",
        metavar="PATH",
        expose_value=False,
        callback=_set("path"),
        help=(
            "Folder, URL of storage (s3, postgresql) or registered name of the repository [env "
            "IBIDEM_REPO; default: the nearest folder at or above the working directory]."
        ),
    )(function)


def color_option(function: Function) -> Function:
    """Adds `--color`."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        expose_value=False,
        callback=_set("color"),
        help="When to use colour; auto honours NO_COLOR and FORCE_COLOR.",
    )(function)


def json_option(function: Function) -> Function:
    """Adds `--json`."""
    return click.option(
        "--json",
        is_flag=True,
        default=None,
        expose_value=False,
        callback=_set("json"),
        help="Print one JSON object instead of text; docs/json.md has its fields.",
    )(function)


def quiet_option(function: Function) -> Function:
    """Adds `--quiet`."""
    return click.option(
        "-q",
        "--quiet",
        is_flag=True,
        default=None,
        expose_value=False,
        callback=_set("is_quiet"),
        help="Show no progress of long work.",
    )(function)


def common_options(function: Function) -> Function:
    """Adds the options of every command that uses a repository and prints data."""
    return repository_option(json_option(color_option(quiet_option(function))))


def pager_option(function: Function) -> Function:
    """Adds `--pager/--no-pager`, passed on as `pager`, for a command whose output may be long."""
    return click.option(
        "--pager/--no-pager",
        default=True,
        help="Use the pager of PAGER if the output is a terminal.",
    )(function)


def at_option(function: Function) -> Function:
    """Adds `--at`, passed on as `at`."""
    return click.option(
        "--at",
        metavar="REV",
        default="HEAD",
        envvar="IBIDEM_AT",
        show_default=True,
        shell_complete=complete_revision,
        callback=_revision,
        help=(
            "Revision to read: a branch, a tag, HEAD~2, a CID or unique prefix, or a time such as "
            "2026-01-31, yesterday or '2 hours ago'."
        ),
    )(function)


def author_option(function: Function) -> Function:
    """Adds `--author`, passed on as `author`."""
    return click.option(
        "--author",
        metavar="NAME",
        help="Author of the commit [env IBIDEM_AUTHOR; default: `repo config`, the login name].",
    )(function)


def commit_options(function: Function) -> Function:
    """Adds `--author`, passed on as `author`, and `--agent` and `--task`, for commands that
    commit."""
    function = _purpose(function, "Agent that commits for the author", "Task of the commit")
    return author_option(function)


def receipt_options(function: Function) -> Function:
    """Adds `--agent` and `--task`, for commands whose answers have receipts."""
    return _purpose(function, "Agent that asks, for the receipt", "Task that it asks for, likewise")


def _purpose(function: Function, agent: str, task: str) -> Function:
    for name, what in (("task", task), ("agent", agent)):
        function = click.option(
            f"--{name}",
            metavar="NAME",
            expose_value=False,
            callback=_set(name),
            help=f"{what} [env IBIDEM_{name.upper()}].",
        )(function)
    return function


def _revision(context: click.Context, _: click.Parameter, value: str) -> str:
    from ibidem.cli.options.dates import revision

    return revision(context.ensure_object(Session).clock(), value)


def complete_revision(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Returns the branches and tags with this prefix; nothing on any error."""
    return _completed(context, incomplete, lambda found: ["HEAD", *found.branches(), *found.tags()])


def complete_label(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Returns the labels at the head with this prefix; nothing on any error."""
    viewer = context.ensure_object(Session).caller
    return _completed(context, incomplete, lambda found: found.at(viewer=viewer()).schema().labels)


def complete_model(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Returns the models that have vectors with this prefix; nothing on any error."""
    viewer = context.ensure_object(Session).caller
    return _completed(context, incomplete, lambda found: found.at(viewer=viewer()).config.models)


def _completed(
    context: click.Context, incomplete: str, names: Callable[[Repository], Iterable[str]]
) -> list[str]:
    try:
        with context.ensure_object(Session).open() as repository:
            return [name for name in names(repository) if name.startswith(incomplete)]
    except (IbidemError, OSError):
        return []


def _set(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        session = context.ensure_object(Session)
        if value is not None:
            setattr(session, name, value)
        if name == "color":
            context.color = session.colored(sys.stdout)

    return callback

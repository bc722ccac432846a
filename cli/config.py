"""`repo config`: shows and changes the settings of a repository; `options/settings.py` has them."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import repos
from ibidem.cli.options import parse, settings
from ibidem.cli.options.common import at_option, commit_options, common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.local_settings import LOG_QUESTIONS, LogQuestions

if TYPE_CHECKING:
    from pathlib import Path

    from ibidem.repo.repository import Repository

DEFAULT = "default"
_local_option = click.option(
    "--local", is_flag=True, help="Only for this copy of the repository; nothing is committed."
)


class ConfigGroup(click.Group):
    """The group of `repo config`. A setting in the place of a subcommand, as git has it, is refused
    by naming the command that was meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns a subcommand, its name and the rest of the arguments."""
        if args and args[0] in settings.SETTINGS:
            meant = "set" if len(args) > 1 else "get"
            raise InvalidInputError(
                f"config: got the setting {args[0]!r}, expected a subcommand",
                hint=f"run '{ctx.command_path} {meant} {shlex.join(args)}'",
            )
        return super().resolve_command(ctx, args)


@click.group("config", cls=ConfigGroup, invoke_without_command=True)
@at_option
@common_options
@pass_session
@click.pass_context
def command(context: click.Context, session: Session, *, at: str) -> None:
    """Show and change the defaults of this repository

    A default of a question, such as the model or the fusion, is committed with the graph: it is
    versioned, copied and merged, and every receipt has its effect. An option of a command always
    wins. Without a subcommand, all settings are listed.

    \b
    Examples:
      repo config
      repo config set model minilm
      repo config set limit 5 --local
    """
    if context.invoked_subcommand is None:
        _list(session, at)


command.add_command(repos.command)


@command.command("list")
@at_option
@common_options
@pass_session
def list_command(session: Session, *, at: str) -> None:
    """List all settings, their values, and where each value comes from

    \b
    Example:
      repo config list
    """
    _list(session, at)


@command.command("get")
@click.argument("name", metavar="KEY")
@at_option
@common_options
@pass_session
def get_command(session: Session, *, name: str, at: str) -> None:
    """Print the value of the setting KEY

    \b
    Example:
      repo config get limit
    """
    settings.setting(name)
    rows, commit = _rows(session, at)
    (row,) = [row for row in rows if row["name"] == name]
    if session.json:
        output.emit("config", {"commit": commit, "settings": [row]})
    else:
        output.say(_shown(row["value"]))


@command.command("set")
@click.argument("name", metavar="KEY")
@click.argument("value")
@_local_option
@commit_options
@common_options
@pass_session
def set_command(
    session: Session, *, name: str, value: str, local: bool, author: str | None
) -> None:
    """Set KEY to VALUE; docs/settings.md lists the keys

    A default of a question is a commit of its own, so `repo undo` takes it back. A setting of the
    machine, such as `author`, is always local.

    \b
    Examples:
      repo config set model minilm
      repo config set token_budget 2000
      repo config set weights '{"dense": 0.5}'
      repo config set author "Ada Lovelace"
    """
    _change(session, name, settings.checked(name, _parsed(name, value)), local, author)


@command.command("unset")
@click.argument("name", metavar="KEY")
@_local_option
@commit_options
@common_options
@pass_session
def unset_command(session: Session, *, name: str, local: bool, author: str | None) -> None:
    """Restore the default of the setting KEY

    \b
    Examples:
      repo config unset model
      repo config unset limit --local
    """
    settings.setting(name)
    _change(session, name, None, local, author)


def _parsed(name: str, text: str) -> Any:
    """Returns the value of a text; a setting that takes a text takes it as it is."""
    return text if settings.setting(name).option.type == "str" else parse.value(text)


def _change(session: Session, name: str, value: Any, local: bool, author: str | None) -> None:
    with session.open() as repository:
        if local or settings.SETTINGS[name].scope == settings.LOCAL:
            if name == LOG_QUESTIONS:
                repository.receipts.log_questions(LogQuestions.RECEIPTS if value is None else value)
            settings.write_local(_file(repository), name, value)
        else:
            message = (
                f"config: unset {name}" if value is None else f"config: {name} {_shown(value)}"
            )
            with repository.transaction(author=session.author(author), message=message) as tx:
                tx.configure(**{name: value})
    rows, commit = _rows(session, "HEAD")
    (row,) = [row for row in rows if row["name"] == name]
    if session.json:
        output.emit("config", {"commit": commit, "settings": [row]})
    else:
        output.say(f"{name} = {_shown(row['value'])}  {output.faint(_origin(row))}".rstrip())


def _list(session: Session, at: str) -> None:
    rows, commit = _rows(session, at)
    if session.json:
        output.emit("config", {"commit": commit, "settings": rows})
        return
    cells = [(row["name"], _shown(row["value"]), output.faint(_origin(row))) for row in rows]
    output.say(*output.table(cells))


def _rows(session: Session, at: str) -> tuple[list[dict[str, Any]], str | None]:
    """Returns every setting with its value and its origin, and the commit that was read."""
    from ibidem.retrieve.query.settings import shown

    with session.open() as repository:
        revision = repository.at(at)
        recorded = shown(revision.config)
        commit = None if revision.commit_cid is None else str(revision.commit_cid)
        own = settings.read_local(_file(repository))
    rows = []
    for name, one in settings.SETTINGS.items():
        origin, value = DEFAULT, one.option.default
        if name == "fusion":
            value = "score_normalised"
        if name in recorded:
            origin, value = settings.ROOT, recorded[name]
        if name in own:
            origin, value = settings.LOCAL, own[name]
        rows.append({"name": name, "value": value, "origin": origin})
    return rows, commit


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return output.one_line(value)
    return "-" if value is None else json.dumps(value, ensure_ascii=False)


def _origin(row: dict[str, Any]) -> str:
    return {DEFAULT: "", settings.ROOT: "committed", settings.LOCAL: "local"}[row["origin"]]


def _file(repository: Repository) -> Path:
    folder = repository.folder
    assert folder is not None, "BUG: a repository of the command line without a folder"
    return folder / settings.NAME

"""`repo config repos`: the registered repositories of a user; `registry.py` has the file."""

from __future__ import annotations

from pathlib import Path

import click

from ibidem.cli.options.common import color_option, json_option, quiet_option
from ibidem.cli.registry import Registry
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session


@click.group("repos", invoke_without_command=True)
@json_option
@color_option
@quiet_option
@pass_session
@click.pass_context
def command(context: click.Context, session: Session) -> None:
    """List, add and remove the names of one's repositories

    A name stands wherever --repo takes a path, and `repo retrieve --all` asks all of them. A
    repository is registered only by `repo init --name`, `repo init --global` or this command. The
    names are in a file of the user, not of a repository.

    \b
    Examples:
      repo config repos
      repo retrieve "parcel" --repo work
    """
    if context.invoked_subcommand is None:
        _show(session)


@command.command("list")
@json_option
@color_option
@quiet_option
@pass_session
def list_command(session: Session) -> None:
    """List the names and what they stand for

    \b
    Example:
      repo config repos list
    """
    _show(session)


@command.command("add")
@click.argument("name")
@click.argument("path", default=".")
@json_option
@color_option
@quiet_option
@pass_session
def add(session: Session, *, name: str, path: str) -> None:
    """Register the repository in PATH, a folder or a URL, as NAME

    \b
    Examples:
      repo config repos add work
      repo config repos add team s3://team/knowledge
    """
    session.path = path if "://" in path else str(Path(path).resolve())
    address = session.address()
    Registry(session.environment).add(name, str(address))
    _show(session)


@command.command("remove")
@click.argument("name")
@json_option
@color_option
@quiet_option
@pass_session
def remove(session: Session, *, name: str) -> None:
    """Remove NAME; the repository stays as it is

    \b
    Example:
      repo config repos remove work
    """
    Registry(session.environment).remove(name)
    _show(session)


def _show(session: Session) -> None:
    from ibidem.store.backends import without_password

    known = {
        name: without_password(address)
        for name, address in Registry(session.environment).all().items()
    }
    if session.json:
        rows = [{"name": name, "location": address} for name, address in known.items()]
        output.emit("repos", {"repositories": rows})
        return
    output.say(*output.table([(name, output.one_line(at)) for name, at in known.items()]))

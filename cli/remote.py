"""`repo remote`: manages the named remote repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli import fetch
from ibidem.cli.options.common import common_options
from ibidem.cli.options.copies import address_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.repo.sync.fetched import FetchedRef


@click.group("remote")
def command() -> None:
    """List, show, add, remove and fetch from remote repositories"""


command.add_command(fetch.command)


@command.command("list")
@common_options
@pass_session
def listed(session: Session) -> None:
    """List the remotes

    \b
    Example:
      repo remote list
    """
    with session.open() as repository:
        remotes = repository.sync.remotes.all()
    if session.json:
        rows = [
            {"name": name, "location": address.location, "token_file": address.token_file}
            for name, address in remotes.items()
        ]
        output.emit("remote-list", {"remotes": rows})
        return
    output.say(
        *output.table(
            [(name, output.one_line(address.location)) for name, address in remotes.items()]
        )
    )


@command.command("show")
@click.argument("name", default="origin")
@common_options
@pass_session
def show(session: Session, *, name: str) -> None:
    """Show the address of the remote NAME and what was fetched of it

    Each of its refs stands with its commit as of the last fetch, and how many commits the branch of
    that name here is ahead and behind. Nothing is contacted.

    \b
    Example:
      repo remote show origin
    """
    with session.open() as repository:
        address = repository.sync.remotes.get(name)
        fetched = repository.sync.fetched(name)
    if session.json:
        refs = [
            {
                "name": one.name,
                "target": str(one.target),
                "ahead_count": one.ahead_count,
                "behind_count": one.behind_count,
            }
            for one in fetched
        ]
        known = {"location": address.location, "token_file": address.token_file}
        output.emit("remote-show", {"name": name, **known, "refs": refs})
        return
    output.say(*output.pairs([("location", output.one_line(address.location))]))
    if address.token_file is not None:
        output.say(*output.pairs([("token file", output.one_line(address.token_file))]))
    output.say(*output.table([(one.name, str(one.target), _distance(one)) for one in fetched]))
    if not fetched:
        output.note(output.faint(f"next: repo remote fetch {name}"))


def _distance(one: FetchedRef) -> str:
    if one.ahead_count is None or one.behind_count is None:
        return "not here"
    if not one.ahead_count and not one.behind_count:
        return "the same here"
    counts = (("ahead", one.ahead_count), ("behind", one.behind_count))
    return ", ".join(f"{count:,} {word}" for word, count in counts if count)


@command.command("add")
@click.argument("name")
@click.argument("location")
@address_options
@common_options
@pass_session
def add(
    session: Session, *, name: str, location: str, token_file: str | None, is_plain_allowed: bool
) -> None:
    """Add the remote NAME with the given LOCATION

    LOCATION is the URL of a `repo serve --remote`, the folder of a repository, or a file written by
    `repo export`. Nothing is contacted or copied yet.

    \b
    Examples:
      repo remote add backup /mnt/backup/notes
      repo remote add team https://notes.example.org --token-file ~/.notes-token
    """
    from ibidem.repo.sync.remotes import address_of

    address = address_of(location, token_file=token_file, is_plain_allowed=is_plain_allowed)
    with session.open() as repository:
        repository.sync.remotes.add(name, address)
    _show(session, name, address.location, removed=False)


@command.command("remove")
@click.argument("name")
@common_options
@pass_session
def remove(session: Session, *, name: str) -> None:
    """Remove the remote NAME; copied data stays

    \b
    Example:
      repo remote remove backup
    """
    with session.open() as repository:
        location = repository.sync.remotes.remove(name).location
    _show(session, name, location, removed=True)


def _show(session: Session, name: str, location: str, *, removed: bool) -> None:
    if session.json:
        output.emit("remote", {"name": name, "location": location, "is_removed": removed})
    elif removed:
        output.say(f"removed remote {name}")
    else:
        output.say(f"remote {name} is {output.one_line(location)}")

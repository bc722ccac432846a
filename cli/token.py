"""`repo trust token`: manages the tokens of `repo serve`, and shows what was read with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.options import parse
from ibidem.cli.options.common import common_options
from ibidem.cli.options.limit import limit_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session, read_viewer

if TYPE_CHECKING:
    from ibidem.serve.read_log import Read
    from ibidem.serve.tokens import Issued, Token

_MICROSECONDS = {"d": 86_400_000_000, "h": 3_600_000_000}
_LINES = 100
"""Number of lines that `repo trust token log` shows by default."""

expires_option = click.option(
    "--expires",
    metavar="TIME",
    help="When it stops working: in 30d or 12h, or a time as for --as-of.",
)


@click.group("token")
def command() -> None:
    """Create, rotate and revoke the tokens of a server

    A token is bound to a viewer: `repo serve` answers its holder as that viewer. Only a hash of a
    token is kept, in `.ibidem/local`, which is never copied. Changes take effect at once, also on a
    server that runs.

    \b
    Examples:
      repo trust token create reader --viewer low:east --expires 90d
      repo trust token create mirror --viewer all --scope write
      repo trust token log
    """


@command.command("create")
@click.argument("name")
@click.option(
    "--viewer",
    metavar="LEVEL[:SCOPES]",
    required=True,
    help="What its holder sees: a level such as medium or 2, then a comma-separated list of scopes "
    "or * for all; `all` sees everything.",
)
@click.option(
    "--scope",
    type=click.Choice(["read", "write"]),
    default="read",
    show_default=True,
    help="Whether its holder may write: facts by `repo mcp`, and with the viewer `all` everything.",
)
@expires_option
@common_options
@pass_session
def create(session: Session, *, name: str, viewer: str, scope: str, expires: str | None) -> None:
    """Create the token NAME and print it, once

    \b
    Example:
      repo trust token create reader --viewer low:east --expires 90d
    """
    from ibidem.serve.tokens import Tokens

    bound = read_viewer(viewer)
    if bound is None:
        raise click.UsageError("--viewer: got an empty text")
    with session.open() as repository:
        now = repository.now()
        issued = Tokens(repository.core.folder).create(
            name, viewer=bound, scope=scope, time=now, expires=_expiry(expires, now)
        )
    _show(session, "trust-token-create", issued)


@command.command("list")
@common_options
@pass_session
def listed(session: Session) -> None:
    """List the tokens, not their texts

    \b
    Example:
      repo trust token list
    """
    from ibidem.serve.tokens import Tokens

    with session.open() as repository:
        now, tokens = repository.now(), Tokens(repository.core.folder).all()
    if session.json:
        rows = [{**_token_json(one), "is_valid": one.is_valid(now)} for one in tokens.values()]
        output.emit("trust-token-list", {"access_tokens": rows})
        return
    output.say(*output.table([(*_columns(one), _until(one, now)) for one in tokens.values()]))


@command.command("rotate")
@click.argument("name")
@expires_option
@common_options
@pass_session
def rotate(session: Session, *, name: str, expires: str | None) -> None:
    """Replace the token NAME by a new one and print it, once

    Viewer and scope stay, and so does the time of expiry if none is given. The old token stops
    working.

    \b
    Example:
      repo trust token rotate reader --expires 90d
    """
    from ibidem.serve.tokens import Tokens

    with session.open() as repository:
        now = repository.now()
        tokens = Tokens(repository.core.folder)
        issued = tokens.rotate(name, time=now, expires=_expiry(expires, now))
    _show(session, "trust-token-rotate", issued)


@command.command("revoke")
@click.argument("name")
@common_options
@pass_session
def revoke(session: Session, *, name: str) -> None:
    """Delete the token NAME, which stops working

    \b
    Example:
      repo trust token revoke reader
    """
    from ibidem.serve.tokens import Tokens

    with session.open() as repository:
        gone = Tokens(repository.core.folder).revoke(name)
    if session.json:
        output.emit("trust-token-revoke", _token_json(gone))
    else:
        output.say(f"revoked token {gone.name}")


@command.command("log")
@click.option("--name", metavar="NAME", help="Only what was asked with this token.")
@limit_option("Newest lines", default=_LINES)
@common_options
@pass_session
def log(session: Session, *, name: str | None, limit: int | None) -> None:
    """Show the audit log: what was asked with which token, oldest first

    A line has no text. A question has its root and a digest, which shows only whether two questions
    are equal. The log is limited in size: old lines are dropped.

    \b
    Examples:
      repo trust token log
      repo trust token log --name reader --limit 20
    """
    from ibidem.serve.read_log import ReadLog

    with session.open() as repository:
        lines = list(ReadLog(repository.core.folder).lines())
    lines = [one for one in lines if name in (None, one.token)]
    lines = lines if limit is None else lines[len(lines) - min(limit, len(lines)) :]
    if session.json:
        output.emit("trust-token-log", {"reads": [_read_json(one) for one in lines]})
        return
    output.say(
        *output.table(
            [
                (
                    *(output.moment(one.time), one.token, _viewer_text(one.viewer), one.route),
                    *(one.result, one.root or "-", one.query or "-"),
                )
                for one in lines
            ]
        )
    )


def _expiry(text: str | None, now: int) -> int | None:
    """Returns the time that a person writes: a duration from now, or a time."""
    match = re.fullmatch(r"([0-9]{1,6})([dh])", text or "")
    if match is None:
        return parse.moment(text, "expires")
    return now + int(match[1]) * _MICROSECONDS[match[2]]


def _show(session: Session, schema: str, issued: Issued) -> None:
    if session.json:
        output.emit(schema, {**_token_json(issued.token), "token": issued.text})
        return
    output.say(issued.text)
    output.note(f"token {issued.token.name}, shown only now", "  ".join(_columns(issued.token)))


def _token_json(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "viewer": _viewer_text(token.viewer.form()),
        "scope": token.scope,
        "created": token.created,
        "expires": token.expires,
    }


def _read_json(line: Read) -> dict[str, Any]:
    from ibidem.serve.read_log import line_json

    return {**line_json(line), "viewer": _viewer_text(line.viewer)}


def _columns(token: Token) -> tuple[str, ...]:
    return token.name, _viewer_text(token.viewer.form()), token.scope


def _until(token: Token, now: int) -> str:
    if token.expires is None:
        return "does not expire"
    return f"{'expires' if token.is_valid(now) else 'expired'} {output.moment(token.expires)}"


def _viewer_text(form: dict[str, Any]) -> str:
    """Returns a viewer as `--viewer` takes it."""
    if form["everything"]:
        return "all"
    scopes = form["scopes"] if isinstance(form["scopes"], str) else ",".join(form["scopes"])
    return f"{form['level']}:{scopes}" if scopes else str(form["level"])

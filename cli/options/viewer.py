"""The option `--viewer`: the caller's level and scopes under a trust policy. It is a convenience,
not a security boundary: whoever can run the command can pass `all`. Access is controlled by file
permissions, or by the token of a server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ibidem.cli.session import Session, parse_level
from ibidem.objects.errors import InvalidInputError

if TYPE_CHECKING:
    from ibidem.retrieve.access.policy import Viewer

Function = TypeVar("Function", bound=Callable[..., Any])


def viewer_option(function: Function) -> Function:
    """Adds `--viewer`, kept in the session."""

    def keep(context: click.Context, _: click.Parameter, value: str | None) -> None:
        context.ensure_object(Session).viewer = value

    return click.option(
        "--viewer",
        metavar="LEVEL[:SCOPES]",
        expose_value=False,
        callback=keep,
        help=(
            "Level and scopes of the caller under a trust policy: a level such as medium or 2, "
            "then a comma-separated list of scopes or * for all; `all` sees everything. Not a "
            "security boundary: whoever can read the repository's files can choose any level [env "
            "IBIDEM_VIEWER]."
        ),
    )(function)


def level_option(what: str) -> Callable[[Function], Function]:
    """Returns a decorator that adds `--level` for something that is derived from nodes, passed on
    as a number or a name.
    """

    def read(_: click.Context, __: click.Parameter, value: str | None) -> int | str | None:
        return None if value is None else parse_level(value)

    return click.option(
        "--level",
        metavar="LEVEL",
        callback=read,
        help=f"Level of the {what}, in place of the highest one of the sources; the commit records "
        "if it is lower.",
    )


def viewer_options(session: Session) -> dict[str, Any]:
    """Returns the caller as a query option; empty if no caller was given."""
    viewer = viewer_of(session)
    return {} if viewer is None else {"viewer": viewer}


def check_owner(session: Session, what: str) -> None:
    """Raises `InvalidInputError` if the given caller may not see everything."""
    if is_restricted(session):
        raise InvalidInputError(
            f"viewer: {what} has no level, expected a caller who may see everything",
            hint="show a node by its id, or pass --viewer all",
        )


def is_restricted(session: Session) -> bool:
    """Returns whether the given caller may not see everything."""
    viewer = viewer_of(session)
    return viewer is not None and not viewer.everything


def viewer_of(session: Session) -> Viewer | None:
    """Returns the caller; None if none was given."""
    return session.caller()

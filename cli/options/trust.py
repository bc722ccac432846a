"""The option `--trust`: the caller's level and scopes under a trust policy. It is a convenience,
not a security boundary: whoever can run the command can pass `all`. Access is controlled by file
permissions, or by the token of a server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ibidem.cli.session import Session

if TYPE_CHECKING:
    from ibidem.retrieve.access.policy import TrustContext

Function = TypeVar("Function", bound=Callable[..., Any])


def trust_option(function: Function) -> Function:
    """Adds `--trust`, kept in the session."""

    def keep(context: click.Context, _: click.Parameter, value: str | None) -> None:
        context.ensure_object(Session).trust = value

    return click.option(
        "--trust",
        metavar="LEVEL[:SCOPES]",
        expose_value=False,
        callback=keep,
        help=(
            "Level and scopes of the caller under a trust policy: a level such as medium or 2, "
            "then a comma-separated list of scopes or * for all; `all` sees everything. Not a "
            "security boundary: whoever can read the repository's files can choose any level [env "
            "IBIDEM_TRUST]."
        ),
    )(function)


def trust_options(session: Session) -> dict[str, Any]:
    """Returns the caller as a query option; empty if no caller was given."""
    trust = trust_of(session)
    return {} if trust is None else {"trust": trust}


def check_owner(session: Session, what: str) -> None:
    """Raises `InvalidInputError` if the given caller may not see everything."""
    if is_restricted(session):
        from ibidem.objects.errors import InvalidInputError

        raise InvalidInputError(
            f"trust: {what} has no level, expected a caller who may see everything",
            hint="show a node by its id, or pass --trust all",
        )


def is_restricted(session: Session) -> bool:
    """Returns whether the given caller may not see everything."""
    trust = trust_of(session)
    return trust is not None and not trust.everything


def trust_of(session: Session) -> TrustContext | None:
    """Returns the caller; None if none was given."""
    return session.caller()

"""Who asks: the option `--trust`, and what a person writes there.

It is a courtesy, not a boundary: whoever can run the command can say `all`. What keeps others out
is the permissions of the files, or the token of a server.
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
        help="Who asks, where there is a trust policy: a level such as medium or 2, then scopes "
        "with commas, or * for every one; `all` sees everything. You choose it yourself: it keeps "
        "nothing from anybody who can read the repository's files [env IBIDEM_TRUST].",
    )(function)


def trust_options(session: Session) -> dict[str, Any]:
    """Returns who asks as an option of a question, none where nobody is said."""
    trust = trust_of(session)
    return {} if trust is None else {"trust": trust}


def check_owner(session: Session, what: str) -> None:
    """Raises `InvalidInputError` where somebody is said to ask who may not see everything."""
    if is_restricted(session):
        from ibidem.objects.errors import InvalidInputError

        raise InvalidInputError(
            f"trust: {what} has no level, expected somebody who may see everything",
            hint="show a node by its id, or ask as the owner: --trust all",
        )


def is_restricted(session: Session) -> bool:
    """Tells whether somebody is said to ask who may not see everything."""
    trust = trust_of(session)
    return trust is not None and not trust.everything


def trust_of(session: Session) -> TrustContext | None:
    """Returns who asks; None where nobody is said."""
    return session.caller()

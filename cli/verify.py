"""`repo key verify`: checks the signatures of commits."""

from __future__ import annotations

from itertools import islice

import click

from ibidem.cli import exits
from ibidem.cli.options.common import common_options, complete_revision
from ibidem.cli.options.limit import limit_option
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session

_MARKS = {"good": output.good, "unsigned": output.faint}


@click.command("verify")
@click.argument("rev", default="HEAD", shell_complete=complete_revision)
@limit_option("Commits", low=1)
@click.option("--allow-unsigned", is_flag=True, help="Accept commits without a signature.")
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context, session: Session, *, rev: str, limit: int | None, allow_unsigned: bool
) -> None:
    """Check the signatures of REV and its ancestors, newest first

    A signature is good if it matches the bytes of the commit and its key is trusted here; that of a
    revoked key only up to the revisions given as good when it was revoked. Exits with 1 if any
    signature is not good.

    \b
    Examples:
      repo key verify
      repo key verify main --limit 1
    """
    with session.open() as repository:
        verdicts = list(islice(repository.keys.verify(rev), limit))
    allowed = {"good", "unsigned"} if allow_unsigned else {"good"}
    is_good = all(verdict.standing in allowed for verdict in verdicts)
    if session.json:
        output.emit(
            "key-verify",
            {
                "is_good": is_good,
                "commits": [
                    {
                        "commit": str(verdict.commit),
                        "standing": str(verdict.standing),
                        "key": verdict.name or None,
                        "public": None if verdict.public is None else verdict.public.hex(),
                    }
                    for verdict in verdicts
                ],
            },
        )
    else:
        rows = [
            (
                _MARKS.get(verdict.standing, output.bad)(str(verdict.standing).ljust(8)),
                shapes.short(verdict.commit),
                verdict.name or ("" if verdict.public is None else verdict.public.hex()),
            )
            for verdict in verdicts
        ]
        output.say(*output.table(rows))
    context.exit(exits.OK if is_good else exits.FAILED)

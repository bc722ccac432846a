"""Options and reports shared by the commands that copy between repositories."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session

if TYPE_CHECKING:
    from ibidem.repo.sync.report import CopyReport

Function = TypeVar("Function", bound=Callable[..., Any])
TOKEN = "IBIDEM_TOKEN"  # noqa: S105 -- the name of the variable


def include_option(function: Function) -> Function:
    """Adds `--include`, passed on as `include`."""
    return click.option(
        "--include",
        type=click.Choice(["notes", "runs", "receipts", "refs"]),
        multiple=True,
        help="Also copy these, in addition to branches and tags; may be repeated.",
    )(function)


def address_options(function: Function) -> Function:
    """Adds the options of a URL, passed on as `token_file` and `is_plain_allowed`."""
    function = click.option(
        "--allow-plain-http",
        "is_plain_allowed",
        is_flag=True,
        help="Allow sending the token to another machine over unencrypted http.",
    )(function)
    return click.option(
        "--token-file",
        metavar="PATH",
        help=(
            "File with the access token for a URL, readable only by its owner [or env "
            "IBIDEM_TOKEN]."
        ),
    )(function)


def token(session: Session) -> str | None:
    """Returns the access token of the environment, None if it has none."""
    return session.environment.get(TOKEN) or None


def show_report(
    session: Session, command: str, report: CopyReport, *, to_stderr: bool = False
) -> None:
    """Prints what was copied.

    Args:
        to_stderr: whether standard output carries the copied data.
    """
    if session.json and not to_stderr:
        output.emit(command, _shape(report))
        return
    tell = output.note if to_stderr else output.say
    moved = [move for move in report.moves if move.before != move.after or move.how == "kept"]
    rows = [
        (output.one_line(move.name), move.how.value, "" if move.after is None else str(move.after))
        for move in moved
    ]
    tell(*output.table(rows))
    size = f"{output.plural(report.block_count, 'block')}, {report.size_bytes:,} bytes"
    tell(size if report.block_count else "nothing had to be copied")
    if report.conflict_count:
        output.note(f"{output.plural(report.conflict_count, 'conflict')}: repo status lists them")
    if report.erasure_count:
        output.note(f"{output.plural(report.erasure_count, 'erasure')} carried out here")
    if report.refused_erasure_count:
        refused = output.plural(report.refused_erasure_count, "erasure")
        output.note(f"{refused} not carried out: not signed by a key that may erase here")


def _shape(report: CopyReport) -> dict[str, Any]:
    return {
        "refs": [
            shapes.fields_json(move, "name", "before", "after", "how") for move in report.moves
        ],
        **shapes.fields_json(
            report,
            *("block_count", "size_bytes", "conflict_count", "erasure_count"),
            "refused_erasure_count",
        ),
    }

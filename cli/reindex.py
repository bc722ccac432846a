"""`repo reindex`: rebuilds the index of the head."""

from __future__ import annotations

import click

from ibidem.cli.render import output
from ibidem.cli.session import Session, common_options, pass_session


@click.command("reindex")
@click.option("--compact", is_flag=True, help="Only merge the existing segments.")
@common_options
@pass_session
def command(session: Session, *, compact: bool) -> None:
    """Rebuild the index of the head from scratch

    Needed only when `repo doctor` suggests it: the index is updated automatically, is derived from
    the blocks, and never changes an answer. With --compact, small segments are merged and dead rows
    dropped, which speeds up searches after many small commits; no blocks are read.

    \b
    Example:
      repo reindex
    """
    with session.open() as repository:
        repository.maintenance.reindex(compact=compact)
        head = repository.head
    if session.json:
        output.emit("reindex", {"head": None if head is None else str(head)})
    else:
        output.say("the index of the head is " + ("compact" if compact else "new"))

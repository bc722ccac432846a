"""`repo reindex`: builds the index of the head again."""

from __future__ import annotations

import click

from ibidem.cli.render import output
from ibidem.cli.session import Session, common_options, pass_session


@click.command("reindex")
@click.option("--compact", is_flag=True, help="Merge the segments that are there instead.")
@common_options
@pass_session
def command(session: Session, *, compact: bool) -> None:
    """Build the index of the head again, from nothing

    Needed only when `repo doctor` says so: the index follows commits by itself, holds nothing that
    is not in the blocks, and changes no answer. With --compact small segments are merged and dead
    rows dropped, which makes many changes as cheap to search as one; nothing is read from blocks.

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

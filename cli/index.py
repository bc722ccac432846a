"""`repo index`: rebuilds or compacts the index of the head, and counts."""

from __future__ import annotations

import click

from ibidem.cli import stats
from ibidem.cli.render import output
from ibidem.cli.session import Session, common_options, pass_session


@click.group("index")
def command() -> None:
    """Rebuild or compact the index, and count what the repository holds

    The index is updated automatically, is derived from the blocks, and never changes an answer.
    """


@command.command("build")
@common_options
@pass_session
def build(session: Session) -> None:
    """Rebuild the index of the head from scratch

    Needed only when `repo doctor` suggests it.

    \b
    Example:
      repo index build
    """
    _make(session, compact=False)


@command.command("compact")
@common_options
@pass_session
def compact(session: Session) -> None:
    """Merge the small segments of the index and drop dead rows

    This speeds up searches after many small commits; no blocks are read.

    \b
    Example:
      repo index compact
    """
    _make(session, compact=True)


def _make(session: Session, *, compact: bool) -> None:
    with session.open() as repository:
        repository.maintenance.reindex(compact=compact)
        head = repository.head
    if session.json:
        output.emit("index", {"head": None if head is None else str(head)})
    else:
        output.say("the index of the head is " + ("compact" if compact else "new"))


command.add_command(stats.command)

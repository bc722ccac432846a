"""`repo index`: rebuilds, compacts, verifies or shares the index of the head, and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli import stats
from ibidem.cli.render import output
from ibidem.cli.session import Session, common_options, pass_session
from ibidem.objects.errors import CorruptError

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository


@click.group("index")
def command() -> None:
    """Rebuild, verify or share the index, and count what the repository holds

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


@command.command("share")
@click.option("--sign", metavar="KEY", help="The private key that signs; default: the only one.")
@common_options
@pass_session
def share(session: Session, sign: str | None) -> None:
    """Put the index of the head beside its blocks, for other machines

    A machine that trusts the key (`repo key trust`) reads these files instead of building its own
    index. They are trusted, not proved; `repo index verify` proves them. Repeat it after large
    changes; what is there already is not put again.

    \b
    Example:
      repo index share -R s3://team-notes/knowledge
    """
    with session.open() as repository:
        size_bytes = repository.maintenance.share_index(sign=sign or True)
        _show(session, repository, f"shared, {size_bytes:,} bytes were put")


@command.command("verify")
@common_options
@pass_session
def verify(session: Session) -> None:
    """Build the index of the head again, in memory, and compare

    Needed only to prove an index that another machine built, or for doubts about a disk.

    \b
    Example:
      repo index verify
    """
    with session.open() as repository:
        problems = repository.maintenance.verify_index()
        if problems:
            more = f", and {len(problems) - 1} more" if problems[1:] else ""
            raise CorruptError(
                f"index: {problems[0]}{more}",
                hint="run 'repo index build'; if another machine built it, revoke its key",
            )
        _show(session, repository, "what the blocks give")


def _make(session: Session, *, compact: bool) -> None:
    with session.open() as repository:
        repository.maintenance.reindex(compact=compact)
        _show(session, repository, "compact" if compact else "new")


def _show(session: Session, repository: Repository, state: str) -> None:
    if session.json:
        head = repository.head
        output.emit("index", {"head": None if head is None else str(head)})
    else:
        output.say(f"the index of the head is {state}")


command.add_command(stats.command)

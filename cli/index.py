"""`repo index`: lists, builds, drops, verifies, compacts and shares indices, and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli import stats
from ibidem.cli.options.common import common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import CorruptError, InvalidInputError

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository

_PROBLEMS_SHOWN = 10
_names_argument = click.argument("names", nargs=-1)
_all_option = click.option("--all", "is_all", is_flag=True, help="Every branch and tag.")


@click.group("index")
def command() -> None:
    """List, build, drop, verify or share the index, and count what the repository holds

    The index is updated automatically, is derived from the blocks, and never changes an answer.
    That of every branch and tag is kept, within the budget `index_budget` of `repo config`.
    """


@command.command("list")
@common_options
@pass_session
def list_command(session: Session) -> None:
    """List what is indexed of every branch and tag, and its size

    An index is current, or stale: then a question brings it up to date. Own bytes are those that
    no other index needs, which `repo index drop` frees.

    \b
    Example:
      repo index list
    """
    with session.open() as repository:
        _list(session, repository)


@command.command("build")
@_names_argument
@_all_option
@common_options
@pass_session
def build(session: Session, names: tuple[str, ...], is_all: bool) -> None:
    """Build the index of branches and tags, or rebuild all

    With NAMES or --all, what is missing or stale is built, the rest stays. Without, every index is
    dropped and that of the current branch is built from scratch, which is needed only when `repo
    doctor` suggests it.

    \b
    Examples:
      repo index build
      repo index build main tags/v1
      repo index build --all
    """
    if not names and not is_all:
        _make(session, compact=False)
        return
    with session.open() as repository:
        repository.maintenance.build_index(_chosen(names, is_all))
        _list(session, repository)


@command.command("drop")
@_names_argument
@_all_option
@common_options
@pass_session
def drop(session: Session, names: tuple[str, ...], is_all: bool) -> None:
    """Drop the index of branches and tags; --all: every index

    The next question builds it again, with the same answer. Heads with the same graph share an
    index.

    \b
    Examples:
      repo index drop old-experiment
      repo index drop --all
    """
    if not names and not is_all:
        raise InvalidInputError("NAMES: got none, expected branches or tags, or --all")
    with session.open() as repository:
        freed = repository.maintenance.drop_index(_chosen(names, is_all))
        if session.json:
            _list(session, repository)
        else:
            output.say(f"{freed:,} bytes were freed")


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
@_names_argument
@_all_option
@common_options
@pass_session
def verify(session: Session, names: tuple[str, ...], is_all: bool) -> None:
    """Build the index of a head again, in memory, and compare

    Without NAMES, that of the current branch. Needed only to prove an index that another machine
    built, or for doubts about a disk.

    \b
    Examples:
      repo index verify
      repo index verify --all
    """
    with session.open() as repository:
        chosen = _chosen(names, is_all)
        problems = repository.maintenance.verify_index(("HEAD",) if chosen == () else chosen)
        if problems:
            more = len(problems) - _PROBLEMS_SHOWN
            raise CorruptError(
                f"index: {'; '.join(problems[:_PROBLEMS_SHOWN])}"
                + (f"; and {more:,} more" if more > 0 else ""),
                hint="'repo fsck' names damaged blocks; if there are none, run 'repo index build', "
                "and revoke the key of the machine that built it",
            )
        _show(session, repository, "what the blocks give", None if chosen == () else "every index")


def _make(session: Session, *, compact: bool) -> None:
    with session.open() as repository:
        repository.maintenance.reindex(compact=compact)
        _show(session, repository, "compact" if compact else "new")


def _chosen(names: tuple[str, ...], is_all: bool) -> tuple[str, ...] | None:
    """Returns the names of the heads that are meant, None for all."""
    if names and is_all:
        raise InvalidInputError("--all: got NAMES too, expected one of the two")
    return None if is_all else names


def _list(session: Session, repository: Repository) -> None:
    rows = repository.maintenance.index_heads()
    if session.json:
        heads = [
            {
                "name": row.name,
                "commit": str(row.commit),
                "root": None if row.root is None else str(row.root),
                "state": str(row.state),
                "size_bytes": row.size_bytes,
                "own_bytes": row.own_bytes,
            }
            for row in rows
        ]
        output.emit("index-heads", {"heads": heads})
        return
    if not rows:
        output.say("there is no branch with a commit")
        return
    cells = [
        (row.name, str(row.state), f"{row.size_bytes:,} bytes", f"{row.own_bytes:,} own")
        for row in rows
    ]
    output.say(*output.table(cells))
    for row in rows:
        if row.root is None:
            reason = f"its commit {row.commit} is missing or damaged"
            output.note(f"warning: {row.name}: {reason}; 'repo fsck' says more")


def _show(session: Session, repository: Repository, state: str, what: str | None = None) -> None:
    if session.json:
        head = repository.head
        output.emit("index", {"head": None if head is None else str(head)})
    else:
        output.say(f"{what or 'the index of the head'} is {state}")


command.add_command(stats.command)

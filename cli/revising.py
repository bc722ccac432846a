"""The commands of `repo memory` that revise, consolidate and prune records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.options import dates
from ibidem.cli.options.common import commit_options, common_options
from ibidem.cli.options.records import memory_of, record_of, record_options, revised
from ibidem.cli.options.viewer import level_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.cli.options.records import Named
    from ibidem.memory.graph.memory import GraphMemory
    from ibidem.objects.ids import NodeId

_REPORTED = ("accepted", "added", "updated", "pruned")
_NAMED_MAX = 5
"""Number of unreadable nodes listed by name."""


@click.command("supersede")
@click.argument("record")
@click.argument("text")
@record_options
@commit_options
@common_options
@pass_session
def supersede_command(
    session: Session, /, *, record: str, text: str, author: str | None, **given: Any
) -> None:
    """Replace RECORD by a new record TEXT and mark it as superseded

    \b
    Examples:
      repo memory supersede 01f5a2 "She prefers tea" --from observation=chat-7
    """
    made = record_of(text, **given)
    revised(
        session,
        author,
        "supersede",
        lambda memory, named: [memory.supersede(named(record), made)],
    )


@click.command("fork")
@click.argument("record")
@click.argument("text")
@record_options
@commit_options
@common_options
@pass_session
def fork_command(
    session: Session, /, *, record: str, text: str, author: str | None, **given: Any
) -> None:
    """Add a record TEXT derived from RECORD, which stays active

    \b
    Examples:
      repo memory fork 01f5a2 "In winter she prefers cocoa"
    """
    made = record_of(text, **given)
    revised(session, author, "fork", lambda memory, named: [memory.fork(named(record), made)])


@click.command("merge")
@click.argument("text")
@click.argument("records", nargs=-1, required=True)
@record_options
@commit_options
@common_options
@pass_session
def merge_command(
    session: Session, /, *, text: str, records: tuple[str, ...], author: str | None, **given: Any
) -> None:
    """Replace RECORDS by one record TEXT and retract them

    \b
    Examples:
      repo memory merge "She likes hot drinks" 01f5a2 02a7
    """
    made = record_of(text, **given)
    revised(
        session,
        author,
        "merge",
        lambda memory, named: [memory.merge([named(one) for one in records], made)],
    )


@click.command("retract")
@click.argument("record")
@commit_options
@common_options
@pass_session
def retract_command(session: Session, /, *, record: str, author: str | None) -> None:
    """Retract RECORD and mark the records derived from it

    \b
    Examples:
      repo memory retract 01f5a2
    """

    def retract(memory: GraphMemory, named: Named) -> list[NodeId]:
        about = named(record)
        memory.retract(about)
        return [about]

    revised(session, author, "retract", retract)


@click.command("contest")
@click.argument("record")
@click.option("--by", metavar="NODE", help="The contradicting record.")
@commit_options
@common_options
@pass_session
def contest_command(
    session: Session, /, *, record: str, by: str | None, author: str | None
) -> None:
    """Mark RECORD as contested

    \b
    Examples:
      repo memory contest 01f5a2 --by 02a7
    """

    def contest(memory: GraphMemory, named: Named) -> list[NodeId]:
        about = named(record)
        memory.contest(about, None if by is None else named(by))
        return [about]

    revised(session, author, "contest", contest)


@click.command("consolidate")
@click.option("--dry-run", is_flag=True, help="Show what would be derived and write nothing.")
@level_option("records")
@commit_options
@common_options
@pass_session
def consolidate_command(
    session: Session, /, *, dry_run: bool, level: int | str | None, author: str | None
) -> None:
    """Derive facts, competences and plans from episodes

    Running it again with the same episodes changes nothing.

    \b
    Examples:
      repo memory consolidate --dry-run
      repo memory consolidate --level low
    """

    def consolidate(memory: GraphMemory, _: Named) -> list[NodeId]:
        found = memory.consolidate(level=level, dry_run=dry_run)
        _note_unreadable(found.unreadable)
        return [*found.added, *found.updated]

    revised(session, author, "consolidate", consolidate)


@click.command("prune")
@click.option("--below", type=float, default=0.001, show_default=True, help="This salience.")
@click.option("--as-of", metavar="TIME", help="Time of the salience [default: now].")
@click.option("--dry-run", is_flag=True, help="Show what would be hidden and write nothing.")
@commit_options
@common_options
@pass_session
def prune_command(
    session: Session, /, *, below: float, as_of: str | None, dry_run: bool, author: str | None
) -> None:
    """Hide records of low salience; older revisions still have them

    \b
    Examples:
      repo memory prune --dry-run
    """
    moment = dates.moment(session.clock(), as_of)

    def prune(memory: GraphMemory, _: Named) -> list[NodeId]:
        _note_unreadable(memory.read().unreadable)
        return memory.prune(below=below, as_of=moment, dry_run=dry_run)

    revised(session, author, "prune", prune)


@click.command("maintain")
@click.option(
    "--sources-min", type=int, metavar="COUNT", help="Accept proposals with this many sources."
)
@click.option("--confidence-min", type=float, metavar="SHARE", help="Accept proposals this sure.")
@click.option(
    "--below", type=float, default=0.001, show_default=True, help="Prune below this salience."
)
@click.option("--dry-run", is_flag=True, help="Show what would be done and write nothing.")
@commit_options
@common_options
@pass_session
def maintain_command(
    session: Session,
    /,
    *,
    sources_min: int | None,
    confidence_min: float | None,
    below: float,
    dry_run: bool,
    author: str | None,
) -> None:
    """Accept proposals by a rule, consolidate and prune, in one commit

    Without a rule no proposal is accepted. Proposals that a fact contradicts are left to a person.

    \b
    Examples:
      repo memory maintain --dry-run
      repo memory maintain --sources-min 2 --confidence-min 0.8
    """
    with session.open() as repository:
        report = memory_of(session, repository, author).maintain(
            sources_min=sources_min, confidence_min=confidence_min, below=below, dry_run=dry_run
        )
    _note_unreadable(report.unreadable)
    done = [(name, str(one)) for name in _REPORTED for one in getattr(report, name)]
    if session.json:
        commit = None if report.commit is None else str(report.commit)
        changes = [{"change": name, "id": one} for name, one in done]
        output.emit("memory-maintain", {"changes": changes, "commit": commit})
        return
    output.say(*(f"{name} {one}" for name, one in done))
    output.note(output.plural(len(done), "change"))


def _note_unreadable(unreadable: Mapping[NodeId, str]) -> None:
    """Lists the unreadable nodes of a record type, with the reasons."""
    for reason in list(unreadable.values())[:_NAMED_MAX]:
        output.note(f"left out: {output.one_line(reason)}")
    if len(unreadable) > _NAMED_MAX:
        output.note(f"left out: {len(unreadable) - _NAMED_MAX} more")


REVISIONS = (
    supersede_command,
    fork_command,
    merge_command,
    retract_command,
    contest_command,
    consolidate_command,
    prune_command,
    maintain_command,
)
"""In the order of the help."""

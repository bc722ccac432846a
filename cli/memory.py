"""`repo memory`: adds, searches, revises, consolidates and prunes typed memory records."""

from __future__ import annotations

from typing import Any

import click

from ibidem.cli import feedback, recall, union
from ibidem.cli.options import dates, flags
from ibidem.cli.options.common import at_option, commit_options, common_options
from ibidem.cli.options.ids import node_at
from ibidem.cli.options.question import question_argument
from ibidem.cli.options.records import (
    TYPES,
    changed,
    memory_of,
    noted,
    pairs_of,
    record_of,
    record_options,
)
from ibidem.cli.options.viewer import viewer_of, viewer_option
from ibidem.cli.proposal import PROPOSALS
from ibidem.cli.render import answer, output, records
from ibidem.cli.revising import REVISIONS
from ibidem.cli.session import Session, pass_session
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.options import OPTIONS


@click.group("memory")
def command() -> None:
    """Keep memory records, recall answers and give feedback on them

    Each record has a salience that decays with time, and typed relations to other records. RECORD
    is an id or a unique prefix.
    """


@command.command("add")
@click.argument("text")
@record_options
@click.option(
    "--relate",
    multiple=True,
    metavar="TYPE=NODE",
    help="Relate it to another record; may be repeated.",
)
@commit_options
@common_options
@pass_session
def add_command(
    session: Session, /, *, text: str, relate: tuple[str, ...], author: str | None, **given: Any
) -> None:
    """Add a record with the given TEXT

    \b
    Examples:
      repo memory add "Ada Lovelace" --type Entity --name "Ada Lovelace" --name Ada
      repo memory add "She likes engines" --relate subject_entity=01f5a2
    """
    record = record_of(text, **given)
    pairs = pairs_of("--relate", relate, "TYPE=NODE")
    with session.open() as repository:
        ties = [(0, etype, node_at(session, repository, node)) for etype, node in pairs]
        memory = memory_of(session, repository, author)
        changed(session, repository, "add", memory.add(record, relations=ties))


@command.command("graph")
@question_argument(required=False)
@click.option(
    "--type", "types", multiple=True, type=click.Choice(TYPES), help="Only records of this type."
)
@click.option(
    "--min-salience",
    type=float,
    default=0.0,
    metavar="SHARE",
    help="Only records with at least this salience.",
)
@click.option(
    "--root-limit", type=int, default=10, show_default=True, help="Ranked records to start from."
)
@click.option("-n", "--limit", type=int, default=25, show_default=True, help="Records in total.")
@click.option(
    "--edge-limit", type=int, default=100, show_default=True, help="Maximal number of relations."
)
@click.option("--hops", type=int, default=1, show_default=True, help="Steps from a ranked record.")
@click.option(
    "--as-of",
    metavar="TIME",
    help="Time of the salience [default: that of the last commit or note].",
)
@click.option(
    "--include-status",
    multiple=True,
    help="Also records with this status: superseded or retracted.",
)
@click.option("--layered", is_flag=True, help="In the order of layers, Working first, then score.")
@flags.added([OPTIONS["degrade"]])
@union.union_options
@viewer_option
@at_option
@common_options
@pass_session
def graph_command(
    session: Session,
    /,
    *,
    query: str | None,
    others: tuple[str, ...],
    is_all: bool,
    at: str,
    **given: Any,
) -> None:
    """Search the records, and show them with their relations

    Without QUERY, lists all records by salience. With --with or --all no events count, because the
    notes are of one repository.

    \b
    Examples:
      repo memory graph "what does Ada like"
      repo memory graph "what does Ada like" --with ../notes
      repo memory graph "what does Ada like" --hops 2 --viewer medium:team-a
    """
    given["types"] = given["types"] or None
    given["as_of"] = dates.moment(session.clock(), given["as_of"])
    with union.source(session, others, is_all=is_all, at=at) as (source, names):
        found = source.records(query, **given)
    if session.json:
        output.emit("memory-graph", {**records.records_json(found), **union.names_json(names)})
        return
    output.note(*answer.warning_lines(found.warnings))
    output.say(*records.records_lines(found, names))
    skipped = sum(records.skipped(found).values())
    output.note(
        f"{output.plural(len(found), 'record')}"
        f"{f', {skipped} more beyond the limits' if skipped else ''}"
    )


@command.command("list")
@click.option("--type", "types", multiple=True, type=click.Choice(TYPES), help="Only of this type.")
@click.option("--include-status", multiple=True, help="Also those superseded or retracted.")
@click.option("--user", metavar="NAME", help="Only records of this user.")
@click.option("--agent", metavar="NAME", help="Only records that this agent added.")
@click.option("--task", metavar="NAME", help="Only records that were added for this task.")
@click.option("-n", "--limit", type=int, default=20, show_default=True, help="Maximal number.")
@viewer_option
@at_option
@common_options
@pass_session
def list_command(
    session: Session,
    /,
    *,
    types: tuple[str, ...],
    include_status: tuple[str, ...],
    user: str | None,
    agent: str | None,
    task: str | None,
    limit: int,
    at: str,
) -> None:
    """List records with who added them, and for what, the newest first

    The agent and the task are those of the commit that added a record; of one that came by a merge,
    those of the merge.

    \b
    Examples:
      repo memory list --agent planner
      repo memory list --task trip-to-rome --type Episodic
    """
    checks.count("limit", limit)
    with session.open() as repository:
        memory = memory_of(session, repository, None)
        kinds, viewer = types or TYPES, viewer_of(session)
        listed = memory.list(
            user=user,
            types=kinds,
            include_status=include_status,
            added_by=agent,
            task=task,
            viewer=viewer,
            at=at,
        )
        added = memory.commits(types=kinds, viewer=viewer, at=at)
    found = {one.id: one for one in listed}
    newest = [(found[node], commit) for node, commit in added.items() if node in found][:limit]
    if session.json:
        shown = [records.added_json(one, commit) for one, commit in newest]
        output.emit("memory-list", {"records": shown})
        return
    for one, commit in newest:
        output.say(*records.added_lines(one, commit))
    output.note(f"{output.plural(len(found), 'record')}, {len(newest):,} shown")


@command.command("salience")
@click.argument("record")
@click.option(
    "--as-of",
    metavar="TIME",
    help="Time of the salience [default: that of the last commit or note].",
)
@viewer_option
@at_option
@common_options
@pass_session
def salience_command(session: Session, /, *, record: str, as_of: str | None, at: str) -> None:
    """Show the salience of RECORD, from 0 to 1

    \b
    Examples:
      repo memory salience 01f5a2
      repo memory salience 01f5a2 --as-of 2026-12-01T00:00:00Z
    """
    with session.open() as repository:
        memory = memory_of(session, repository, None)
        about = node_at(session, repository, record, at)
        value = memory.salience(
            about, at=at, viewer=viewer_of(session), as_of=dates.moment(session.clock(), as_of)
        )
        head = memory.notes.head
    if session.json:
        notes = None if head is None else str(head)
        output.emit("memory-salience", {"record": str(about), "salience": value, "notes": notes})
    else:
        output.say(f"{value:.6f}")


@command.command("reinforce")
@click.argument("record")
@click.option("--gain", type=float, help="Amount [default: the record's own gain].")
@commit_options
@common_options
@pass_session
def reinforce_command(
    session: Session, /, *, record: str, gain: float | None, author: str | None
) -> None:
    """Increase the salience of RECORD because it was useful

    \b
    Examples:
      repo memory reinforce 01f5a2
    """
    noted(
        session,
        author,
        record,
        lambda notes, about, who: notes.reinforce(about, gain=gain, author=who),
    )


@command.command("penalize")
@click.argument("record")
@click.argument("amount", type=float)
@commit_options
@common_options
@pass_session
def penalize_command(
    session: Session, /, *, record: str, amount: float, author: str | None
) -> None:
    """Decrease the salience of RECORD by AMOUNT

    \b
    Examples:
      repo memory penalize 01f5a2 0.3
    """
    noted(
        session,
        author,
        record,
        lambda notes, about, who: notes.penalize(about, amount, author=who),
    )


for _one in (recall.command, recall.slow_command, feedback.command, *REVISIONS, *PROPOSALS):
    command.add_command(_one)

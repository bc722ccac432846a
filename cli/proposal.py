"""The commands of `repo memory` for facts that wait for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import at_option, commit_options, common_options
from ibidem.cli.options.records import memory_of, pairs_of, revised
from ibidem.cli.options.viewer import level_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.cli.options.records import Named
    from ibidem.memory.graph.memory import GraphMemory
    from ibidem.objects.ids import NodeId


@click.command("propose")
@click.argument("subject")
@click.argument("predicate")
@click.argument("object_", metavar="OBJECT")
@click.option("--confidence", type=float, default=0.5, show_default=True, help="From 0 to 1.")
@click.option("--scope", default="", help="Scope of the fact [default: that of its sources].")
@level_option("facts")
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="KIND=REF",
    help="Source of the fact, such as observation=NODE; may be repeated.",
)
@commit_options
@common_options
@pass_session
def propose_command(
    session: Session,
    /,
    *,
    subject: str,
    predicate: str,
    object_: str,
    confidence: float,
    scope: str,
    level: int | str | None,
    sources: tuple[str, ...],
    author: str | None,
) -> None:
    """Add a fact that is not found before it was accepted

    `repo memory retract` rejects it: it is not proposed again.

    \b
    Examples:
      repo memory propose Ada prefers tea --from observation=chat-7
    """
    from ibidem.memory.graph.propose import Triple

    triple = Triple(subject, predicate, object_, confidence)
    provenance = [
        {"kind": kind, "ref": ref} for kind, ref in pairs_of("--from", sources, "KIND=REF")
    ]

    def propose(memory: GraphMemory, _: Named) -> list[NodeId]:
        return memory.propose([triple], scope=scope, level=level, provenance=provenance)

    revised(session, author, "propose", propose)


@click.command("accept")
@click.argument("proposals", nargs=-1)
@click.option("--sources-min", type=int, metavar="COUNT", help="All with so many sources.")
@click.option("--confidence-min", type=float, metavar="SHARE", help="All at least this sure.")
@click.option("--supersede", is_flag=True, help="Supersede the facts that contradict them.")
@click.option("--dry-run", is_flag=True, help="Show what would be accepted and write nothing.")
@commit_options
@common_options
@pass_session
def accept_command(
    session: Session,
    /,
    *,
    proposals: tuple[str, ...],
    sources_min: int | None,
    confidence_min: float | None,
    supersede: bool,
    dry_run: bool,
    author: str | None,
) -> None:
    """Make PROPOSALS facts, or all that meet a condition

    By a condition, only those are accepted that no fact contradicts, unless `--supersede` is given.

    \b
    Examples:
      repo memory accept 01f5a2
      repo memory accept --sources-min 2 --confidence-min 0.8 --dry-run
    """
    by_rule = sources_min is not None or confidence_min is not None
    if by_rule == bool(proposals):
        raise click.UsageError("expected PROPOSALS or a condition, --sources-min, --confidence-min")

    def accept(memory: GraphMemory, named: Named) -> list[NodeId]:
        ids = [named(one) for one in proposals]
        if by_rule:
            found = memory.proposals(
                sources_min=sources_min or 0,
                confidence_min=confidence_min or 0.0,
                conflicting=None if supersede else False,
            )
            ids = [one.id for one in found]
        return ids if dry_run or not ids else memory.accept(ids, supersede=supersede)

    revised(session, author, "accept", accept)


@click.command("proposals")
@click.option("--conflicting", is_flag=True, help="Only those that a fact contradicts.")
@at_option
@common_options
@pass_session
def proposals_command(session: Session, /, *, conflicting: bool, at: str) -> None:
    """List the facts that wait for a decision, with the facts that contradict them

    \b
    Examples:
      repo memory proposals --conflicting
    """
    with session.open() as repository:
        memory = memory_of(session, repository, None)
        found = memory.proposals(conflicting=True if conflicting else None, at=at)
    if session.json:
        listed = [
            {
                "id": str(one.id),
                "text": one.record.text,
                "confidence": one.record.confidence,
                "sources": [dict(source) for source in one.record.provenance],
                "conflicts": [str(other.id) for other in one.conflicts],
            }
            for one in found
        ]
        output.emit("memory-proposals", {"proposals": listed})
        return
    for one in found:
        count = output.plural(len(one.record.provenance), "source")
        output.say(output.one_line(one.record.text))
        output.say(output.faint(f"    {one.id}, confidence {one.record.confidence:.2f}, {count}"))
        for other in one.conflicts:
            output.say(f"    contradicts {other.id} {output.one_line(other.text)}")
    output.note(output.plural(len(found), "proposal"))


PROPOSALS = (propose_command, proposals_command, accept_command)
"""In the order of the help."""

"""`repo query`: every node that passes filters, in id order, without ranking."""

from __future__ import annotations

import click

from ibidem.cli import output, parse, shapes
from ibidem.cli.session import Session, at_option, common_options, pass_session


@click.command("query")
@click.option("--label", multiple=True, help="Only nodes of this type; again for any of several.")
@click.option(
    "--where",
    multiple=True,
    metavar="NAME=VALUE",
    help="Only nodes whose property compares so: = != < <= > >=, or NAME? to exist; again for all.",
)
@click.option("--limit", type=click.IntRange(min=0), help="Nodes at most.")
@at_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    label: tuple[str, ...],
    where: tuple[str, ...],
    limit: int | None,
    at: str,
) -> None:
    """List every node that passes the filters, in id order

    \b
    Examples:
      repo query --label Document
      repo query --label Person --where "born>=1800" --where "born<1900"
    """
    with session.open() as repository:
        found = repository.at(at).query(
            label=label or None, where=parse.conditions(where), limit=limit
        )
    if session.json:
        output.emit("query", {"nodes": [shapes.node_json(node) for node in found]})
        return
    rows = [
        (str(node.id), output.one_line(node.ntype), output.one_line(node.summary or "", width=80))
        for node in found
    ]
    output.say(*output.table(rows))
    output.note(output.faint(output.plural(len(found), "node")))

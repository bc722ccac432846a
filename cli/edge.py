"""`repo edge`: edges one at a time."""

from __future__ import annotations

import click

from ibidem.cli import output, parse
from ibidem.cli.session import Session, common_options, pass_session
from ibidem.objects.ids import NodeId


@click.group("edge")
def command() -> None:
    """Stage single edges"""


@command.command("add")
@click.argument("source")
@click.argument("etype")
@click.argument("target")
@click.option("--weight", type=float, default=1.0, show_default=True, help="How strong it is.")
@click.option("--prop", multiple=True, metavar="NAME=VALUE", help="A property; again for more.")
@click.option("--key", metavar="VALUE", help="Tells it from others between the same nodes.")
@common_options
@pass_session
def add(
    session: Session,
    *,
    source: str,
    etype: str,
    target: str,
    weight: float,
    prop: tuple[str, ...],
    key: str | None,
) -> None:
    """Stage one edge from SOURCE to TARGET, two node ids, and print its id

    \b
    Example:
      repo edge add "$ada" wrote "$notes" --weight 2
    """
    with session.open() as repository, repository.staging() as tx:
        edge_id = tx.add_edge(
            NodeId.parse(source),
            etype,
            NodeId.parse(target),
            weight=weight,
            props=parse.properties(prop),
            key=None if key is None else parse.value(key),
        )
    if session.json:
        output.emit("edge-add", {"id": str(edge_id)})
    else:
        output.say(str(edge_id))

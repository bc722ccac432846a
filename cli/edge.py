"""`repo edge`: stages single edges, and follows them."""

from __future__ import annotations

import click

from ibidem.cli import traverse
from ibidem.cli.options import parse
from ibidem.cli.options.common import common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session


@click.group("edge")
def command() -> None:
    """Add, remove or follow edges"""


command.add_command(traverse.command)


@command.command("add")
@click.argument("source")
@click.argument("etype")
@click.argument("target")
@click.option("--weight", type=float, default=1.0, show_default=True, help="Weight of the edge.")
@click.option(
    "--prop", "props", multiple=True, metavar="NAME=VALUE", help="A property; may be repeated."
)
@click.option("--key", metavar="VALUE", help="Distinguishes parallel edges of the same type.")
@common_options
@pass_session
def add(
    session: Session,
    *,
    source: str,
    etype: str,
    target: str,
    weight: float,
    props: tuple[str, ...],
    key: str | None,
) -> None:
    """Stage a new edge from SOURCE to TARGET and print its id

    SOURCE and TARGET are ids of nodes, or unique prefixes; the nodes may be staged ones.

    \b
    Example:
      repo edge add "$ada" wrote "$notes" --weight 2
    """
    with session.open() as repository, repository.stage.transaction() as tx:
        edge_id = tx.add_edge(
            tx.node_id(source),
            etype,
            tx.node_id(target),
            weight=weight,
            props=parse.properties(props),
            key=None if key is None else parse.value(key),
        )
    if session.json:
        output.emit("edge-add", {"id": str(edge_id)})
    else:
        output.say(str(edge_id))


@command.command("remove")
@click.argument("edges", nargs=-1, required=True, metavar="EDGE...")
@common_options
@pass_session
def remove(session: Session, *, edges: tuple[str, ...]) -> None:
    """Stage the removal of each EDGE; older revisions still have it

    An EDGE is an id or a unique prefix.

    \b
    Example:
      repo edge remove 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081
    """
    with session.open() as repository, repository.stage.transaction() as tx:
        ids = [tx.edge_id(edge) for edge in edges]
        for edge in ids:
            tx.remove_edge(edge)
    if session.json:
        output.emit("edge-remove", {"ids": [str(edge) for edge in ids]})
    else:
        output.say(
            *map(str, ids), f"{output.plural(len(ids), 'edge')} to be removed; run 'repo commit'"
        )

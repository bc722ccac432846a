"""`repo node`: nodes one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ibidem.cli.options import parse
from ibidem.cli.render import output
from ibidem.cli.session import Session, common_options, pass_session

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.transaction.transaction import Transaction


@click.group("node")
def command() -> None:
    """Stage single nodes"""


@command.command("add")
@click.argument("ntype")
@click.option("--summary", help="What the node says; this is ranked.")
@click.option("--context", help="A sentence on where it comes from.")
@click.option("--content", metavar="TEXT|@FILE|@-", help="Bytes to keep with it.")
@click.option("--prop", multiple=True, metavar="NAME=VALUE", help="A property; again for more.")
@click.option("--key", metavar="VALUE", help="Derive the id from this value, JSON or text.")
@click.option("--namespace", default="", help="Whose keys they are.")
@click.option("--replace", is_flag=True, help="Replace a node of the same key that says otherwise.")
@common_options
@pass_session
def add(
    session: Session,
    *,
    ntype: str,
    summary: str | None,
    context: str | None,
    content: str | None,
    prop: tuple[str, ...],
    key: str | None,
    namespace: str,
    replace: bool,
) -> None:
    """Stage one node of the type NTYPE and print its id

    Without a key the id comes from what the node says, so adding the same twice changes nothing.

    \b
    Examples:
      repo node add Person --key ada --summary "Ada Lovelace, mathematician" --prop born=1815
      repo node add Paper --content @paper.pdf --prop 'tags=["engines","notes"]'
    """
    with session.open() as repository, repository.stage.transaction() as tx:
        node_id = tx.add_node(
            ntype,
            summary=summary,
            context_sentence=context,
            content=parse.text_or_file(content),
            props=parse.properties(prop),
            key=None if key is None else parse.value(key),
            namespace=namespace,
            replace=replace,
        )
    if session.json:
        output.emit("node-add", {"id": str(node_id)})
    else:
        output.say(str(node_id))


@command.command("remove")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@common_options
@pass_session
def remove(session: Session, *, nodes: tuple[str, ...]) -> None:
    """Stage that each NODE goes, with its edges and vectors

    A NODE is an id, or the beginning of one. History keeps them; `repo erase` destroys.

    \b
    Example:
      repo node remove 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081
    """
    _stage(session, "node-remove", nodes, "to go", lambda tx, node: tx.remove_node(node))


@command.command("tombstone")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@click.option("--reason", default="", help="Why, for all to read.")
@common_options
@pass_session
def tombstone(session: Session, *, nodes: tuple[str, ...], reason: str) -> None:
    """Stage that each NODE is hidden from now on, and does not come back by itself

    A NODE is an id, or the beginning of one. Older revisions answer as before. `repo node
    untombstone` shows it again; `repo erase` destroys.

    \b
    Example:
      repo node tombstone 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081 --reason "withdrawn"
    """
    _stage(
        session,
        "node-tombstone",
        nodes,
        "to be hidden",
        lambda tx, node: tx.tombstone(node, reason=reason),
    )


@command.command("untombstone")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@common_options
@pass_session
def untombstone(session: Session, *, nodes: tuple[str, ...]) -> None:
    """Stage that each NODE, on which a tombstone stands, is seen again

    A NODE is an id, or the beginning of one.

    \b
    Example:
      repo node untombstone 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081
    """
    _stage(session, "node-untombstone", nodes, "to be seen", lambda tx, node: tx.untombstone(node))


def _stage(
    session: Session,
    name: str,
    nodes: tuple[str, ...],
    what: str,
    change: Callable[[Transaction, NodeId], None],
) -> None:
    """Stages one change to each of some nodes, all or none, and says so."""
    with session.open() as repository, repository.stage.transaction() as tx:
        ids = [tx.node_id(node) for node in nodes]
        for node in ids:
            change(tx, node)
    if session.json:
        output.emit(name, {"ids": [str(node) for node in ids]})
    else:
        output.say(
            *map(str, ids), f"{output.plural(len(ids), 'node')} {what}; repo commit makes it so"
        )

"""`repo node`: stages single nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ibidem.cli.options import parse
from ibidem.cli.options.common import common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.transaction.transaction import Transaction


@click.group("node")
def command() -> None:
    """Add, remove or hide single nodes"""


@command.command("add")
@click.argument("ntype")
@click.option("--summary", help="Text of the node; searched and ranked.")
@click.option("--context", "context_sentence", help="A sentence that puts the text into context.")
@click.option("--content", metavar="TEXT|@FILE|@-", help="Bytes to store with the node.")
@click.option(
    "--prop", "props", multiple=True, metavar="NAME=VALUE", help="A property; may be repeated."
)
@click.option("--key", metavar="VALUE", help="Derive the id from this value, JSON or text.")
@click.option("--namespace", default="", help="Namespace of the key.")
@click.option("--replace", is_flag=True, help="Replace a different node with the same key.")
@common_options
@pass_session
def add(
    session: Session,
    *,
    ntype: str,
    summary: str | None,
    context_sentence: str | None,
    content: str | None,
    props: tuple[str, ...],
    key: str | None,
    namespace: str,
    replace: bool,
) -> None:
    """Stage a new node of the type NTYPE and print its id

    Without a key, the id is derived from the content of the node, so adding the same node twice
    changes nothing.

    \b
    Examples:
      repo node add Person --key ada --summary "Ada Lovelace, mathematician" --prop born=1815
      repo node add Paper --content @paper.pdf --prop 'tags=["engines","notes"]'
    """
    with session.open() as repository, repository.stage.transaction() as tx:
        node_id = tx.add_node(
            ntype,
            summary=summary,
            context_sentence=context_sentence,
            content=parse.text_or_file(content),
            props=parse.properties(props),
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
    """Stage the removal of each NODE, with its edges and vectors

    A NODE is an id or a unique prefix. Older revisions still have the nodes; `repo erase` destroys
    them.

    \b
    Example:
      repo node remove 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081
    """
    _stage(session, "node-remove", nodes, "to be removed", lambda tx, node: tx.remove_node(node))


@command.command("tombstone")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@click.option("--reason", default="", help="Reason, stored in plain text.")
@common_options
@pass_session
def tombstone(session: Session, *, nodes: tuple[str, ...], reason: str) -> None:
    """Stage a tombstone that hides each NODE until it is removed

    A NODE is an id or a unique prefix. Merges and reimports do not bring it back; `repo node
    untombstone` does. Older revisions still show it; `repo erase` destroys it. The sections and
    passages of a document are nodes of their own, which stay visible.

    \b
    Example:
      repo node tombstone 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081 --reason "withdrawn"
    """
    from ibidem.objects.location import document_of, parts_of

    parts: set[NodeId] = set()

    def hide(tx: Transaction, id_: NodeId) -> None:
        tx.tombstone(id_, reason=reason)
        node = tx.node(id_)
        if document_of(node) == id_:
            found = (part.id for part in parts_of(node, tx.find_node))
            parts.update(part for part in found if not tx.is_tombstoned(part))

    ids = _stage(session, "node-tombstone", nodes, "to be hidden", hide)
    shown = len(parts.difference(ids))
    if shown and not session.json:
        output.note(
            f"warning: the text of a document is in its sections and passages, {shown:,} of which "
            "stay visible",
            "'repo rm PATH' removes a document with its parts, 'repo erase PATH' destroys them",
        )


@command.command("untombstone")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@common_options
@pass_session
def untombstone(session: Session, *, nodes: tuple[str, ...]) -> None:
    """Stage the removal of the tombstone of each NODE

    A NODE is an id or a unique prefix.

    \b
    Example:
      repo node untombstone 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081
    """
    _stage(
        session,
        "node-untombstone",
        nodes,
        "to be shown again",
        lambda tx, node: tx.untombstone(node),
    )


def _stage(
    session: Session,
    name: str,
    nodes: tuple[str, ...],
    what: str,
    change: Callable[[Transaction, NodeId], None],
) -> list[NodeId]:
    """Stages one change to each of the nodes, all or none, and reports it; returns their ids."""
    with session.open() as repository, repository.stage.transaction() as tx:
        ids = [tx.node_id(node) for node in nodes]
        for node in ids:
            change(tx, node)
    if session.json:
        output.emit(name, {"ids": [str(node) for node in ids]})
    else:
        output.say(*map(str, ids), f"{output.plural(len(ids), 'node')} {what}; run 'repo commit'")
    return ids

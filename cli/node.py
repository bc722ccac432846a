"""`repo node`: nodes one at a time."""

from __future__ import annotations

import click

from ibidem.cli import output, parse
from ibidem.cli.session import Session, common_options, pass_session


@click.group("node")
def command() -> None:
    """Stage single nodes

    Nodes are removed, and hidden with a tombstone, by a line of JSON that `repo add -` reads:
    {"remove": {"node": ID}} or {"tombstone": {"node": ID}}.
    """


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
    with session.open() as repository, repository.staging() as tx:
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

"""`repo get`: shows one node, its source location and its edges."""

from __future__ import annotations

import click

from ibidem.cli.options.viewer import viewer_of, viewer_option
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, at_option, common_options, pass_session


@click.command("get")
@click.argument("node")
@click.option("--content", is_flag=True, help="Print only the node's content, byte for byte.")
@click.option(
    "--text", is_flag=True, help="Print only the full source text of a document or section."
)
@viewer_option
@at_option
@common_options
@pass_session
def command(session: Session, *, node: str, content: bool, text: bool, at: str) -> None:
    """Show one NODE by its id, with its source and its edges

    NODE is an id, or a unique prefix of four or more digits.

    \b
    Examples:
      repo get 0d6c5a7b
      repo get 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081 --text --at main~1
    """
    if content and text:
        raise click.UsageError("--content and --text exclude each other; give one of them")
    if session.json and (content or text):
        raise click.UsageError("--content and --text print raw bytes and exclude --json")
    with session.open() as repository:
        revision = repository.at(at, viewer=viewer_of(session))
        node_id = revision.node_id(node)
        found = revision.node(node_id)
        if content:
            output.say_bytes(revision.content(node_id))
            return
        if text:
            output.say_bytes(revision.document(node_id).encode("utf-8"))
            return
        location = revision.locate(node_id)
        edges = sorted(revision.edges_of(node_id), key=lambda edge: edge.id)
    if session.json:
        body = {"node": shapes.block_json(found), "location": shapes.location_json(location)}
        output.emit("get", {**body, "edges": [shapes.block_json(edge) for edge in edges]})
        return
    output.say(*shapes.node_lines(found, location))
    if edges:
        output.say("", output.strong("edges"))
    for edge in edges:
        arrow, other = ("->", edge.dst) if edge.src == node_id else ("<-", edge.src)
        output.say(f"  {arrow} {output.one_line(edge.etype)} {other}  {output.faint(str(edge.id))}")

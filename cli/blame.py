"""`repo blame`: shows which commit last set each field and property of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import at_option, common_options
from ibidem.cli.options.ids import node_at
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.repo.history.blame import Blame


@click.command("blame")
@click.argument("node")
@at_option
@common_options
@pass_session
def command(session: Session, *, node: str, at: str) -> None:
    """Show which commit last set each field and property of NODE

    NODE is an id, a unique prefix, or the path of a document. Values that a merge brought in are
    traced to the commit on the side they come from. The commit of each line of a document is on its
    page of `repo view`.

    \b
    Example:
      repo blame 4364acf9b54d3abc400fc473a639a07b --at main~3
    """
    with session.open() as repository:
        node_id = node_at(session, repository, node, at)
        found = repository.history.blame(node_id, at)
    if session.json:
        lines = [{"field": one.field, "commit": shapes.block_json(one.commit)} for one in found]
        output.emit("blame", {"id": str(node_id), "lines": lines})
        return
    rows = [
        (
            output.one_line(one.field),
            shapes.short(one.commit.cid),
            output.moment(one.commit.time, seconds_only=True),
            output.one_line(one.commit.author, width=20),
            _value_text(one),
        )
        for one in found
    ]
    output.say(*output.table(rows))


def _value_text(found: Blame) -> str:
    if found.field == "children":
        return output.plural(len(found.value), "part")
    return output.one_line(shapes.value_text(found.value), width=60)

"""`repo edge traverse`: shows the paths from nodes along edges of given types."""

from __future__ import annotations

import click

from ibidem.cli.options import dates, parse
from ibidem.cli.options.common import at_option, common_options
from ibidem.cli.options.limit import limit_option
from ibidem.cli.options.viewer import viewer_of, viewer_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session


@click.command("traverse")
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
@click.option(
    "--path",
    required=True,
    metavar="STEPS",
    help="Comma-separated steps, each DIRECTION:TYPE: out, in or both, and an edge type or *.",
)
@limit_option("Paths", default=25)
@click.option(
    "--repeats",
    type=click.Choice(["none", "nodes", "all"]),
    default="none",
    show_default=True,
    help="What a path may repeat: nothing; nodes but not edges; anything.",
)
@click.option(
    "--as-of",
    metavar="TIME",
    help="Only edges valid at this time, by their properties valid_from and valid_to.",
)
@viewer_option
@at_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    nodes: tuple[str, ...],
    path: str,
    limit: int | None,
    repeats: str,
    as_of: str | None,
    at: str,
) -> None:
    """Follow edges from each NODE and show every path

    A NODE is an id or a unique prefix.

    \b
    Examples:
      repo edge traverse 0d6c5a7b --path out:cites
      repo edge traverse 0d6c5a7b --path "out:cites,in:author" --limit 100
      repo edge traverse 0d6c5a7b --path "both:*,both:*" --json
    """
    steps = parse.steps(path)
    with session.open() as repository:
        revision = repository.at(at, viewer=viewer_of(session))
        starts = [revision.node_id(node) for node in nodes]
        moment = dates.moment(session.clock(), as_of)
        found = revision.paths(starts, steps, limit=limit, repeats=repeats, as_of=moment)
        ends = {path.nodes[-1] for path in found}
        titles = {} if session.json else {end: revision.node(end) for end in ends}
    if session.json:
        paths = [
            {"nodes": [str(one) for one in path.nodes], "edges": [str(one) for one in path.edges]}
            for path in found
        ]
        output.emit("edge-traverse", {"paths": paths})
        return
    for way in found:
        end = titles[way.nodes[-1]]
        title = f"{output.one_line(end.ntype)}  {output.one_line(end.summary or '', width=60)}"
        output.say(f"{' > '.join(str(one) for one in way.nodes)}  {output.faint(title.rstrip())}")
    more = ", possibly more: raise --limit" if len(found) == limit else ""
    output.note(output.faint(f"{output.plural(len(found), 'path')}{more}"))

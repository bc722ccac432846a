"""`repo query`: lists or counts the nodes that match filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.options import dates, flags, parse
from ibidem.cli.options.common import at_option, common_options, complete_label, pager_option
from ibidem.cli.options.limit import limit_option
from ibidem.cli.options.viewer import viewer_of, viewer_option
from ibidem.cli.render import answer, output, shapes
from ibidem.cli.session import Session, pass_session
from ibidem.retrieve.query.options import OPTIONS, TIMES_OF_RECORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ibidem.repo.history.newest_nodes import WrittenNode
    from ibidem.retrieve.graph.partition import Communities
    from ibidem.retrieve.schema import Schema

_TIMES = [OPTIONS[name] for name in TIMES_OF_RECORDS]


@click.command("query")
@click.option(
    "--label",
    multiple=True,
    shell_complete=complete_label,
    help="Only nodes of this type; may be repeated to allow several.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="NAME=VALUE",
    help=(
        "Only nodes whose property satisfies this: = != < <= > >=, or NAME? if it exists; "
        "repeated conditions must all hold."
    ),
)
@click.option(
    "--as-of",
    metavar="TIME",
    help="Only nodes valid at this time, by their properties valid_from and valid_to.",
)
@flags.added(_TIMES)
@click.option(
    "--order-by",
    metavar="[-]NAME",
    help="Sort by a property, descending with -; nodes without it come last.",
)
@click.option(
    "--newest",
    type=click.Choice(("updated", "created")),
    help="List the nodes that were written last, or added last, with their commits.",
)
@limit_option("Nodes")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Nodes to skip.")
@click.option("--after", metavar="CURSOR", help="Continue after a page, given its `next`.")
@click.option("--count", is_flag=True, help="Print only the number of nodes.")
@click.option(
    "--schema",
    is_flag=True,
    help="List types, edge types and properties with their counts.",
)
@click.option(
    "--overview",
    is_flag=True,
    help="Tell what the collection is about: names and sentences of what belongs together.",
)
@click.option(
    "--resolution",
    default="1",
    metavar="NUMBER",
    help="How small communities are, such as 2 or 1/2.",
    show_default=True,
)
@click.option("--budget", type=int, default=1000, show_default=True, help="Tokens of that text.")
@viewer_option
@at_option
@pager_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    label: tuple[str, ...],
    where: tuple[str, ...],
    as_of: str | None,
    order_by: str | None,
    newest: str | None,
    limit: int | None,
    offset: int,
    after: str | None,
    count: bool,
    schema: bool,
    overview: bool,
    resolution: str,
    budget: int,
    at: str,
    pager: bool,
    **given: Any,
) -> None:
    """List nodes by type and property, without ranking

    All nodes that match the filters, in order of id or --order-by.

    \b
    Examples:
      repo query --label Document
      repo query --label Person --where "born>=1800" --where "born<1900"
      repo query --label Paper --order-by -year --limit 20
      repo query --label Paper --count
      repo query --updated-after yesterday
      repo query --newest created --limit 20
      repo query --schema
      repo query --overview --budget 500
    """
    times = flags.taken(_TIMES, given)
    conditions: dict[str, Any] = {
        "label": label or None,
        "where": parse.conditions(where),
        "as_of": dates.moment(session.clock(), as_of),
        **{name: dates.moment(session.clock(), time, name) for name, time in times.items()},
    }
    if count and (order_by, limit, offset, after) != (None, None, 0, None):
        raise click.UsageError(
            "--count counts all matches and cannot be combined with an order or a page"
        )
    if newest is not None and (count, order_by, offset, after) != (False, None, 0, None):
        raise click.UsageError("--newest is an order and cannot be combined with another or a page")
    plain = (any(conditions.values()), count, order_by, newest, limit, offset, after)
    for flag in [name for name, on in (("schema", schema), ("overview", overview)) if on]:
        if plain != (False, False, None, None, None, 0, None) or (schema and overview):
            raise click.UsageError(f"--{flag} is of all nodes and cannot be combined with others")
    if not overview and (resolution, budget) != ("1", 1000):
        raise click.UsageError("--resolution and --budget are options of --overview")
    with session.open() as repository:
        if overview:
            revision = repository.at(at, viewer=viewer_of(session))
            _print_overview(session, revision.communities(resolution=resolution), budget)
            return
        if schema:
            _print_schema(session, repository.at(at, viewer=viewer_of(session)).schema())
            return
        if newest is not None:
            found = repository.history.newest_nodes(
                at, by=newest, limit=limit, viewer=viewer_of(session), **conditions
            )
            _print_newest(session, found)
            return
        revision = repository.at(at, viewer=viewer_of(session))
        page = revision.page(
            order_by=order_by,
            limit=0 if count else limit,
            offset=offset,
            after=after,
            **conditions,
        )
    output.note(*answer.warning_lines(page.warnings))
    warnings = [one.to_dict() for one in page.warnings]
    if count:
        _print_count(session, page.count, warnings)
        return
    if session.json:
        nodes = [shapes.block_json(node) for node in page.nodes]
        about = {"count": page.count, "next": page.next, "warnings": warnings}
        output.emit("query", {"nodes": nodes, **about})
        return
    name = None if order_by is None else order_by.removeprefix("-")
    output.page(output.table([_row(node, name) for node in page.nodes]), pager=pager)
    if len(page.nodes) == page.count:
        output.note(output.faint(output.plural(page.count, "node")))
    else:
        output.note(output.faint(f"{len(page.nodes):,} of {output.plural(page.count, 'node')}"))
    if page.next is not None:
        output.note(output.faint(f"next page: --after {page.next}"))


def _row(node: Any, order_by: str | None) -> tuple[str, ...]:
    """Returns the line of a node, with its sort key."""
    sorted_by: tuple[str, ...] = ()
    if order_by is not None:
        value = shapes.value_text(node.props[order_by]) if order_by in node.props else ""
        sorted_by = (output.one_line(value, width=40),)
    summary = output.one_line(node.summary or "", width=80)
    return (str(node.id), output.one_line(node.ntype), *sorted_by, summary)


def _print_newest(session: Session, found: list[WrittenNode]) -> None:
    if session.json:
        nodes = [
            {"node": shapes.block_json(one.node), "commit": shapes.block_json(one.commit)}
            for one in found
        ]
        output.emit("query-newest", {"nodes": nodes})
        return
    rows = [
        (
            str(one.node.id),
            output.one_line(one.node.ntype),
            shapes.short(one.commit.cid),
            output.moment(one.commit.time, seconds_only=True),
            output.one_line(one.node.summary or "", width=60),
        )
        for one in found
    ]
    output.say(*output.table(rows))


def _print_schema(session: Session, schema: Schema) -> None:
    if session.json:
        properties = [
            {
                "name": one.name,
                "count": one.count,
                "types": dict(one.types),
                "labels": dict(one.labels),
            }
            for one in schema.properties
        ]
        output.emit(
            "query-schema",
            {
                "labels": dict(schema.labels),
                "edge_types": dict(schema.edge_types),
                "properties": properties,
            },
        )
        return
    for heading, counts in (("types", schema.labels), ("edge types", schema.edge_types)):
        if counts:
            output.say(output.strong(heading), *_indented(counts))
    if schema.properties:
        rows = [
            (f"  {output.one_line(one.name)}", f"{one.count:,}", ", ".join(one.types))
            for one in schema.properties
        ]
        output.say(output.strong("properties"), *output.table(rows))


def _print_overview(session: Session, found: Communities, budget: int) -> None:
    text = found.overview(token_budget=budget)
    if session.json:
        output.emit("query-overview", {**found.to_dict(), "overview": text})
        return
    for line in text.splitlines():
        shown = output.one_line(line)
        output.say(shown if line.startswith("- ") else output.strong(shown))
    output.note(
        f"{output.plural(len(found), 'community')}, {output.plural(found.alone, 'node')} in none"
    )


def _indented(counts: Mapping[str, int]) -> list[str]:
    return output.table(
        [(f"  {output.one_line(name)}", f"{count:,}") for name, count in counts.items()]
    )


def _print_count(session: Session, count: int, warnings: list[Any]) -> None:
    if session.json:
        output.emit("query-count", {"count": count, "warnings": warnings})
    else:
        output.say(str(count))

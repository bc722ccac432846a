"""`repo retrieve`: asks a question and shows the answer with its cost and its receipt."""

from __future__ import annotations

from typing import Any

import click

from ibidem.cli import answer, embedders, output, parse
from ibidem.cli.session import Session, at_option, common_options, pass_session


@click.command("retrieve")
@click.argument("query", required=False)
@click.option("--label", multiple=True, help="Only nodes of this type; again for any of several.")
@click.option(
    "--where",
    multiple=True,
    metavar="NAME=VALUE",
    help="Only nodes whose property compares so: = != < <= > >=, or NAME? to exist; again for all.",
)
@click.option("--model", metavar="MODEL", help="Rank by the vector of QUERY too, as `repo embed`.")
@click.option("--vector", metavar="MODEL=FILE.npy", help="Rank by this query vector too.")
@click.option(
    "--graph",
    type=click.Choice(["ppr", "decay"]),
    help="Rank by what edges lead to as well: personalised PageRank, or best paths.",
)
@click.option(
    "--graph-depth", type=int, metavar="STEPS", help="Steps of a best path; 2 if not given."
)
@click.option(
    "--graph-seeds", type=int, metavar="N", help="Best nodes to begin at; 3 if not given."
)
@click.option(
    "--direction",
    type=click.Choice(["outgoing", "incoming", "both"]),
    help="The way that --graph follows edges; both if not given.",
)
@click.option("--etype", multiple=True, help="Only edges of this type; again for any of several.")
@click.option("--community", is_flag=True, help="Rank by communities of the best nodes too.")
@click.option("--budget", type=int, metavar="TOKENS", help="Tokens the items may cost together.")
@click.option("--limit", type=int, default=10, show_default=True, help="Items at most; 0 for all.")
@click.option("--depth", type=int, default=100, show_default=True, help="Nodes from each lane.")
@click.option("--explain", is_flag=True, help="Show what each lane gave, and what was left out.")
@at_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    query: str | None,
    label: tuple[str, ...],
    where: tuple[str, ...],
    model: str | None,
    vector: str | None,
    graph: str | None,
    graph_depth: int | None,
    graph_seeds: int | None,
    direction: str | None,
    etype: tuple[str, ...],
    community: bool,
    budget: int | None,
    limit: int,
    depth: int,
    explain: bool,
    at: str,
) -> None:
    """Ask QUERY and show the best items that fit the budget

    Filters come before ranking, so they never cost results. Without QUERY and vector, every match
    comes in id order.

    \b
    Examples:
      repo retrieve "how do retries work" --budget 2000
      repo retrieve "retries" --label Passage --where lang=en --where "year>=2024"
      repo retrieve "retries" --model minilm
      repo retrieve "retries" --graph ppr --etype cites
      repo retrieve "retries" --at main~3 --json
    """
    options: dict[str, Any] = {
        "label": label or None,
        "where": parse.conditions(where),
        "embedder": embedders.embedder(session, model) if model else None,
        "vector": parse.vector(vector) if vector else None,
        **_walks(
            graph, community, etype, depth=graph_depth, seeds=graph_seeds, direction=direction
        ),
        "limit": limit or None,
        "token_budget": budget,
        "depth": depth,
    }
    with session.open() as repository:
        revision = repository.at(at)
        result = revision.retrieve(query, **options)
        locations = [revision.locate(item.node.id) for item in result.items]
        receipt = None if result.receipt is None else str(result.receipt.cid)
        commit = None if revision.commit is None else str(revision.commit.cid)
    if session.json:
        output.emit(
            "retrieve",
            {
                "commit": commit,
                "receipt": receipt,
                **answer.answer_json(result, locations),
            },
        )
    else:
        output.note(*answer.warning_lines(result))
        if not result.items:
            output.note(output.faint(_why_nothing(result.candidates_seen)))
        output.say(*answer.answer_lines(result, locations, receipt=receipt, explain=explain))


def _walks(
    graph: str | None, community: bool, etype: tuple[str, ...], **given: Any
) -> dict[str, Any]:
    """Returns the options of the lanes that walk edges."""
    given = {name: value for name, value in given.items() if value is not None}
    types = {"etypes": list(etype)} if etype else {}
    if graph is None and given:
        raise click.UsageError("--graph-depth, --graph-seeds and --direction need --graph")
    if graph is None and not community and etype:
        raise click.UsageError("--etype needs --graph or --community")
    options: dict[str, Any] = {}
    if graph is not None:
        options["graph"] = {"mode": graph, **types, **given}
    if community:
        options["community"] = types
    return options


def _why_nothing(candidates_seen: int) -> str:
    if candidates_seen:
        return "nothing fits: allow more tokens with --budget"
    return "nothing matches: try other words, or fewer filters"

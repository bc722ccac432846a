"""The options of a question, the same wherever one is asked, and what they mean to the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ibidem.cli import embedders
from ibidem.cli.options import parse
from ibidem.cli.options import recall as recalling
from ibidem.cli.options.limit import limit_option
from ibidem.cli.session import Session

Function = TypeVar("Function", bound=Callable[..., Any])
_OPTIONS = (
    click.option(
        "--label", multiple=True, help="Only nodes of this type; again for any of several."
    ),
    click.option(
        "--where",
        multiple=True,
        metavar="NAME=VALUE",
        help="Only nodes whose property compares so: = != < <= > >=, or NAME? to exist; "
        "again for all.",
    ),
    click.option(
        "--model", metavar="MODEL", help="Rank by the vector of QUERY too, as `repo embed`."
    ),
    click.option("--vector", metavar="MODEL=FILE.npy", help="Rank by this query vector too."),
    click.option(
        "--operator",
        type=click.Choice(["or", "and"]),
        help="Whether a text needs any or all of QUERY's terms; any if not given.",
    ),
    click.option("--phrases", is_flag=True, help='Words in "quotes" must stand side by side.'),
    click.option("--fuzzy", is_flag=True, help="Terms one edit away from QUERY's count too."),
    click.option(
        "--graph",
        type=click.Choice(["ppr", "decay"]),
        help="Rank by what edges lead to as well: personalised PageRank, or best paths.",
    ),
    click.option(
        "--graph-depth", type=int, metavar="STEPS", help="Steps of a best path; 2 if not given."
    ),
    click.option(
        "--graph-seeds", type=int, metavar="N", help="Best nodes to begin at; 3 if not given."
    ),
    click.option(
        "--direction",
        type=click.Choice(["outgoing", "incoming", "both"]),
        help="The way that --graph follows edges; both if not given.",
    ),
    click.option(
        "--etype", multiple=True, help="Only edges of this type; again for any of several."
    ),
    click.option("--community", is_flag=True, help="Rank by communities of the best nodes too."),
    click.option(
        "--valid-at",
        metavar="TIME",
        help="Only nodes that hold then, by their properties valid_from and valid_to.",
    ),
    click.option(
        "--fusion",
        type=click.Choice(["rrf", "weighted_rrf", "convex", "score_normalised"]),
        help="How lanes become one score, where not as the repository is configured.",
    ),
    click.option(
        "--mmr",
        type=float,
        metavar="LAMBDA",
        help="Prefer items unlike those before: 1 for relevance alone, 0.7 for some diversity.",
    ),
    *recalling.OPTIONS,
    click.option("--adjacency", type=int, metavar="N", help="Edges shown in each direction."),
    click.option(
        "--estimator",
        metavar="NAME",
        help="What counts tokens: heuristic, tiktoken:ENCODING or tokenizers:FILE.",
    ),
    click.option(
        "--budget", type=int, metavar="TOKENS", help="Tokens the items may cost together."
    ),
    click.option("--depth", type=int, default=100, show_default=True, help="Nodes from each lane."),
)


def question_options(function: Function) -> Function:
    """Adds the options of a question, passed on for `options`."""
    return limited(10)(function)


def limited(default: int) -> Callable[[Function], Function]:
    """Returns what adds the options of a question, with so many items unless it says another."""

    def add(function: Function) -> Function:
        limit = limit_option("Items", default=default)
        for option in reversed((*_OPTIONS, limit)):
            function = option(function)
        return function

    return add


def options(
    session: Session,
    *,
    label: tuple[str, ...],
    where: tuple[str, ...],
    model: str | None,
    vector: str | None,
    operator: str | None,
    phrases: bool,
    fuzzy: bool,
    graph: str | None,
    graph_depth: int | None,
    graph_seeds: int | None,
    direction: str | None,
    etype: tuple[str, ...],
    community: bool,
    valid_at: str | None,
    fusion: str | None,
    mmr: float | None,
    adjacency: int | None,
    estimator: str | None,
    budget: int | None,
    limit: int | None,
    depth: int,
    **recall: bool,
) -> dict[str, Any]:
    """Returns the options of `Revision.retrieve` that a command line gives."""
    return {
        "label": label or None,
        "where": parse.conditions(where),
        "embedder": embedders.embedder(session, model) if model else None,
        "vector": parse.vector(vector) if vector else None,
        **_matching(operator, phrases=phrases, fuzzy=fuzzy),
        **_walks(
            graph, community, etype, depth=graph_depth, seeds=graph_seeds, direction=direction
        ),
        **recalling.taken(recall),
        **_after(valid_at, fusion, mmr, adjacency, estimator),
        "limit": limit,
        "token_budget": budget,
        "depth": depth,
    }


def _matching(operator: str | None, *, phrases: bool, fuzzy: bool) -> dict[str, Any]:
    """Returns the options of how a text matches, those that are given."""
    given = {"operator": operator, "phrases": phrases or None, "fuzzy": fuzzy or None}
    return {name: value for name, value in given.items() if value is not None}


def _after(
    valid_at: str | None,
    fusion: str | None,
    mmr: float | None,
    adjacency: int | None,
    estimator: str | None,
) -> dict[str, Any]:
    """Returns the options of what comes before and after the lanes, those that are given."""
    given = {
        "valid_at": parse.moment(valid_at),
        "fusion": fusion,
        "mmr": None if mmr is None else {"lambda": mmr},
        "adjacency": adjacency,
        "estimator": estimator,
    }
    return {name: value for name, value in given.items() if value is not None}


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

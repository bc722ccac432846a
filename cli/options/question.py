"""The query options, shared by all commands that search, and their library arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from ibidem.cli import embedders
from ibidem.cli.options import dates, flags, parse
from ibidem.cli.options.limit import UNSET, Unset, limit_option
from ibidem.cli.options.settings import question_defaults
from ibidem.cli.session import Session
from ibidem.objects.errors import NotFoundError
from ibidem.retrieve.query.options import (
    FOR_READERS,
    OPTIONS,
    PACKS_ALONE,
    TIMES_OF_RECORDS,
    default,
)

Function = TypeVar("Function", bound=Callable[..., Any])
_FLAGGED = tuple(
    one
    for one in OPTIONS.values()
    if one.flag is not None and one.name not in PACKS_ALONE and one.name != "limit"
)
"""`limit` differs between commands."""
NO_MODEL = "none"
"""The value of `--model` that ranks by words alone; also of `--sparse`, and of `--rerank`, which
rescores nothing."""
_WITH_MODEL = frozenset(("model", "vector"))
_MOMENTS = frozenset(("as_of", *TIMES_OF_RECORDS))
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "where": parse.conditions,
    "vector": lambda text: parse.vector(text) if text else None,
    "queries": list,
    "weights": parse.weights,
}


def question_argument(
    name: str = "query", *, required: bool = True
) -> Callable[[Function], Function]:
    """Returns a decorator that adds the question; it need not be quoted."""
    return click.argument(
        name,
        nargs=-1,
        required=required,
        callback=lambda _, __, words: " ".join(words) if words else None,
    )


summary_option = click.option(
    "--summary",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Show first the N sentences of the answer that say most about QUERY, word for word.",
)
"""The option that summarises an answer, passed on as `summary`."""
assess_option = click.option(
    "--assess",
    is_flag=True,
    help="Show also the words of QUERY that the items lack, their scores, and their neighbours.",
)
"""The option that assesses an answer, passed on as `assess`."""


def question_options(function: Function) -> Function:
    """Adds the query options, passed on for `options`."""
    return limited(default("limit"))(function)


def limited(default: int) -> Callable[[Function], Function]:
    """Returns a decorator that adds the query options and `--limit` with this default."""

    def add(function: Function) -> Function:
        shown = f"[default: {default}, or as `repo config` has it]"
        return flags.added(_FLAGGED)(limit_option("Items", default=None, shown=shown)(function))

    return add


def options(
    session: Session,
    *,
    limit: int | Unset | None,
    text: str | None = None,
    is_listing: bool = False,
    **given: Any,
) -> dict[str, Any]:
    """Returns the arguments of `Revision.retrieve` for a command line; where it says nothing, the
    local settings do, and the answer is for readers.

    Args:
        session: of this run.
        limit: number of items.
        text: the question, if it is asked once and the services of the settings may be asked.
        is_listing: whether there is no question, so that all nodes are shown.
        given: the other options of the command line.
    """
    found: dict[str, Any] = {} if is_listing else dict(FOR_READERS)
    if limit is not UNSET:
        found["limit"] = limit
    for name, value in flags.taken(_FLAGGED, given).items():
        if name in _MOMENTS:
            value = dates.moment(session.clock(), value, name)
        read = _READERS.get(name)
        mapping, _, key = name.rpartition(".")
        (found.setdefault(mapping, {}) if mapping else found)[key] = read(value) if read else value
    assert not given, f"BUG: {sorted(given)} are no query options"
    for name, value in question_defaults(session.settings()).items():
        if name != "model" or not _WITH_MODEL & found.keys():
            found.setdefault(name, value)
    if model := found.pop("model", None):
        if model == NO_MODEL:
            found["model"] = None
        else:
            try:
                found["embedder"] = embedders.embedder(session.environment, model)
            except NotFoundError:
                if "degrade" not in found:
                    raise
                found["model"] = model
    for name in ("imagine", "reword"):
        if name in found:
            found[name] = embedders.language_model(session.environment, found[name], f"--{name}")
    for name in ("rerank", "sparse"):
        if text and text.strip() and name in session.settings():
            found.setdefault(name, session.settings()[name])
    if "sparse" in found:
        found["sparse"] = _sparse(session, found["sparse"])
    if (reranker := found.pop("rerank", None)) and reranker != NO_MODEL:
        found["rerank"] = embedders.reranker(session.environment, reranker)
    return _walks(found)


def _sparse(session: Session, given: str) -> Any:
    """Returns the sparse vector of a file, or the encoder that makes one of the question."""
    if not given or given == NO_MODEL:
        return None
    if given.startswith("tei:") and "=" not in given:
        return embedders.sparse_encoder(session.environment, given)
    return parse.sparse(given)


def _walks(found: dict[str, Any]) -> dict[str, Any]:
    """Returns the options with those of the graph and community lanes; `--etype` is for both."""
    graph = found.pop("graph", {})
    types = {"etypes": list(graph.pop("etypes"))} if "etypes" in graph else {}
    if "mode" not in graph and graph:
        raise click.UsageError("--graph-depth, --graph-seeds and --direction need --graph")
    if "mode" not in graph and "community" not in found and types:
        raise click.UsageError("--etype needs --graph or --community")
    if "mode" in graph:
        found["graph"] = {**graph, **types}
    if "community" in found:
        found["community"] = types
    return found

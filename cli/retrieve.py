"""`repo retrieve`: searches the graph and shows the answer with its cost and its receipt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import union
from ibidem.cli.options import question
from ibidem.cli.options.flags import GroupedCommand
from ibidem.cli.options.viewer import viewer_of, viewer_option
from ibidem.cli.render import answer, output
from ibidem.cli.session import (
    Session,
    at_option,
    common_options,
    pager_option,
    pass_session,
    receipt_options,
)
from ibidem.objects.errors import InvalidInputError

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid, RootCid
    from ibidem.repo.retrieval.neighbours import Neighbour


@click.command("retrieve", cls=GroupedCommand)
@question.question_argument(required=False)
@question.question_options
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--allow-erased", is_flag=True, help="Leave out nodes that have been erased since, with a note."
)
@click.option("--explain", is_flag=True, help="Show the score of each lane, and what was left out.")
@question.summary_option
@question.assess_option
@union.union_options
@viewer_option
@at_option
@pager_option
@receipt_options
@common_options
@pass_session
def command(
    session: Session,
    /,
    *,
    query: str | None,
    strict: bool,
    allow_erased: bool,
    explain: bool,
    summary: int | None,
    assess: bool,
    others: tuple[str, ...],
    is_all: bool,
    at: str,
    pager: bool,
    **given: Any,
) -> None:
    """Ask a question: show the best items that fit the budget

    This is the command for most questions; `repo ask` is the same. Use `repo packs` to read hits
    with the text around them, `repo prompt` to let a model answer with citations, and `repo query`
    to list nodes by type and property without ranking.

    Filters are applied before ranking, so they never reduce the number of results below the
    limit while matches remain. Without QUERY and vector, all matches are listed in id order.

    \b
    Examples:
      repo retrieve "how do retries work" --budget 2000
      repo ask "how do retries work"
      repo retrieve "retries" --label Passage --where lang=en --where "year>=2024"
      repo retrieve "retries" --model minilm
      repo retrieve "retries" --also "backing off" --also "attempts again" --summary 3
      repo retrieve "retries" --graph ppr --etype cites
      repo retrieve "retries" --at main~3 --json
      repo retrieve "retries" --with work --with ../notes
    """
    options = question.options(session, text=query, **given)
    if others or is_all:
        _check_alone(at=at, allow_erased=allow_erased, assess=assess)
    with union.opened(session, others, is_all=is_all) as repositories:
        names: dict[RootCid, str] = {}
        neighbours: list[Neighbour] = []
        erased: list[str] = []
        commit: CommitCid | None = None
        if len(repositories) > 1:
            heads = {name: one.at() for name, one in repositories.items()}
            names = {one.root_cid: name for name, one in reversed(heads.items())}
        if len(names) > 1:
            import ibidem

            result = ibidem.union(heads.values()).retrieve(
                query, strict=strict, viewer=viewer_of(session), **options
            )
        else:
            repository = next(iter(repositories.values()))
            revision = repository.at(at, viewer=viewer_of(session), allow_erased=allow_erased)
            result = revision.retrieve(query, strict=strict, **options)
            neighbours = revision.neighbours(result) if assess else []
            erased = [str(erasure.node) for erasure in getattr(revision, "erasures", ())]
            commit = revision.commit_cid
        # No receipt: nothing keeps a root from which erased nodes were left out.
        made = None if erased else result.receipt
        receipt = None if made is None else str(made.cid)
        if session.json:
            found = {
                "commit": None if commit is None else str(commit),
                "receipt": receipt,
                "erased": erased,
                **answer.answer_json(result, summary),
                **(answer.assessment_json(result, neighbours) if assess else {}),
            }
            if len(names) > 1:
                found["repositories"] = [
                    {"root": str(root), "name": name} for root, name in names.items()
                ]
        else:
            lines = answer.answer_lines(
                result, receipt=receipt, explain=explain, is_partial=bool(erased), names=names
            )
    if session.json:
        output.emit("retrieve", found)
        return
    output.note(*answer.warning_lines(result))
    if erased:
        output.note(f"left out because they were erased: {', '.join(sorted(set(erased)))}")
    if not result.items:
        output.note(output.faint(_why_nothing(result.dropped_counts)))
    if explain:
        from ibidem.cli.render.chart import terminal_chart

        # Above the cost and the receipt, which end every answer.
        lines[-2:-2] = terminal_chart(result, answer.item_titles(result))
    if assess:
        lines[-2:-2] = [*answer.assessment_lines(result, neighbours), ""]
    output.page([*answer.summary_lines(result, summary), *lines], pager=pager)


def _check_alone(**given: object) -> None:
    """Rejects options that are about one repository."""
    for name, value in given.items():
        if value not in (False, "HEAD"):
            raise InvalidInputError(
                f"{name}: got it with --with or --all, expected a question to one repository"
            )


def _why_nothing(dropped_counts: Mapping[str, int]) -> str:
    if dropped_counts["budget"]:
        return "nothing fits: allow more tokens with --budget"
    if dropped_counts["limit"]:
        return "the limit is 0: allow more items with --limit"
    return "nothing matches: try other words or fewer filters"

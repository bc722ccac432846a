"""`repo retrieve`: searches the graph and shows the answer with its cost and its receipt."""

from __future__ import annotations

from typing import Any

import click

from ibidem.cli import union
from ibidem.cli.options import question
from ibidem.cli.options.common import at_option, common_options, pager_option, receipt_options
from ibidem.cli.options.flags import GroupedCommand
from ibidem.cli.options.viewer import viewer_option
from ibidem.cli.render import answer, output
from ibidem.cli.session import Session, pass_session


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
    from ibidem.repo.retrieval.printed_frame import frame_of_items

    is_listing = not (query or given["vector"] or given["sparse"])
    options = question.options(session, text=query, is_listing=is_listing, **given)
    with union.source(
        session, others, is_all=is_all, at=at, allow_erased=allow_erased, assess=assess
    ) as (source, names):
        options["frame"] = frame_of_items(query, options, names.values())
        result = source.retrieve(query, strict=strict, **options)
        neighbours = source.neighbours(result) if assess else []
        erased = [str(erasure.node) for erasure in getattr(source, "erasures", ())]
        commit = source.commit_cid
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
                **union.names_json(names),
            }
        else:
            lines = answer.answer_lines(result, explain=explain, names=names)
    if session.json:
        output.emit("retrieve", found)
        return
    output.note(*answer.warning_lines(result.warnings), *answer.model_lines(result, options))
    if erased:
        output.note(f"left out because they were erased: {', '.join(sorted(set(erased)))}")
    output.note(*answer.empty_lines(result), *answer.skipped_lines(result))
    if explain:
        from ibidem.cli.render.chart import terminal_chart

        lines += terminal_chart(result, answer.item_titles(result))
    if assess:
        lines += [*answer.assessment_lines(result, neighbours), ""]
    output.page([*answer.summary_lines(result, summary), *lines], pager=pager)
    output.note(*answer.end_lines(result, explain=explain, is_partial=bool(erased)))

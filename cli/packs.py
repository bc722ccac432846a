"""`repo packs`: searches and shows each hit with the text around it."""

from __future__ import annotations

from typing import Any

import click

from ibidem.cli import union
from ibidem.cli.options import question
from ibidem.cli.options.flags import GroupedCommand
from ibidem.cli.options.viewer import viewer_option
from ibidem.cli.render import answer, output, packs
from ibidem.cli.session import (
    Session,
    at_option,
    common_options,
    pager_option,
    pass_session,
    receipt_options,
)
from ibidem.retrieve.query.options import LIMIT_OF_PACKS


@click.command("packs", cls=GroupedCommand)
@question.question_argument()
@packs.pack_options
@question.limited(LIMIT_OF_PACKS)
@click.option("--explain", is_flag=True, help="Show the score of every hit in each lane.")
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
    query: str,
    explain: bool,
    summary: int | None,
    assess: bool,
    others: tuple[str, ...],
    is_all: bool,
    at: str,
    pager: bool,
    **given: Any,
) -> None:
    """Ask, and show each hit with the text around it: for reading

    No passage is shown twice: a hit inside an earlier pack belongs to that pack. --limit and
    --budget count packs.

    \b
    Examples:
      repo packs "how do retries work" --budget 2000
      repo packs "retries" --expand section
      repo packs "retries" --with work --with ../notes
      repo packs "retries" --expand edges --walk-etype cites --walk-hops 2
    """
    options = packs.taken(given) | question.options(session, text=query, **given)
    with union.source(session, others, is_all=is_all, at=at, assess=assess) as (source, names):
        found = source.packs(query, **options)
        neighbours = source.neighbours(found) if assess else []
    receipt = None if found.receipt is None else str(found.receipt.cid)
    if session.json:
        commit = None if source.commit_cid is None else str(source.commit_cid)
        output.emit(
            "packs",
            {
                "commit": commit,
                "receipt": receipt,
                **answer.outcome_json(found, summary),
                **(answer.assessment_json(found, neighbours) if assess else {}),
                **union.names_json(names),
            },
        )
        return
    output.note(*answer.warning_lines(found))
    lines = answer.summary_lines(found, summary)
    lines += packs.packs_lines(found, receipt, explain=explain, names=names)
    if assess:
        lines += ["", *answer.assessment_lines(found, neighbours)]
    if explain:
        lines += ["", *found.explain().splitlines()]
    output.page(lines, pager=pager)

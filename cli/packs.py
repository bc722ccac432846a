"""`repo packs`: searches and shows each hit with the text around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import union
from ibidem.cli.options import question
from ibidem.cli.options.common import at_option, common_options, pager_option, receipt_options
from ibidem.cli.options.flags import GroupedCommand
from ibidem.cli.options.viewer import viewer_option
from ibidem.cli.render import answer, output, packs
from ibidem.cli.session import Session, pass_session
from ibidem.retrieve.query.options import LIMIT_OF_PACKS

if TYPE_CHECKING:
    from ibidem.objects.cid import RootCid
    from ibidem.repo.retrieval.pack_stream import PackStream
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.context.pack import Pack


@click.command("packs", cls=GroupedCommand)
@question.question_argument()
@packs.pack_options
@question.limited(LIMIT_OF_PACKS)
@click.option("--explain", is_flag=True, help="Show the score of every hit in each lane.")
@click.option(
    "--stream",
    is_flag=True,
    help="Write each pack as soon as it is certain; with --json, by lines.",
)
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
    stream: bool,
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
      repo packs "retries" --limit 50 --stream --json
      repo packs "retries" --with work --with ../notes
      repo packs "retries" --expand edges --walk-etype cites --walk-hops 2
    """
    from ibidem.repo.retrieval.printed_frame import frame_of_packs

    if stream and (summary is not None or assess):
        raise click.UsageError("--stream has no --summary and no --assess: they need every pack")
    options = packs.taken(given) | question.options(session, text=query, **given)
    with union.source(session, others, is_all=is_all, at=at, assess=assess) as (source, names):
        options["frame"] = frame_of_packs(options, names.values())
        if stream:
            _stream(session, source.stream_packs(query, **options), source, names, explain=explain)
            return
        found = source.packs(query, **options)
        neighbours = source.neighbours(found) if assess else []
    if session.json:
        more = answer.assessment_json(found, neighbours) if assess else {}
        output.emit("packs", {**_json(found, source, names, summary), **more})
        return
    output.note(*answer.empty_lines(found), *answer.skipped_lines(found))
    output.note(*answer.warning_lines(found.warnings), *answer.model_lines(found, options))
    lines = answer.summary_lines(found, summary)
    lines += packs.packs_lines(found, explain=explain, names=names)
    if assess:
        lines += [*answer.assessment_lines(found, neighbours), ""]
    if explain:
        lines += [*found.explain().splitlines(), ""]
    output.page(lines, pager=pager)
    output.note(*answer.end_lines(found, explain=explain))


def _json(
    found: Answer[Pack], source: Any, names: Mapping[RootCid, str], summary: int | None = None
) -> dict[str, Any]:
    return {
        "commit": None if source.commit_cid is None else str(source.commit_cid),
        "receipt": None if found.receipt is None else str(found.receipt.cid),
        **answer.outcome_json(found, summary),
        **union.names_json(names),
    }


def _stream(
    session: Session,
    stream: PackStream,
    source: Any,
    names: Mapping[RootCid, str],
    *,
    explain: bool,
) -> None:
    """Writes packs one by one, then what else there is to say of the answer."""
    for rank, pack in enumerate(stream, 1):
        if session.json:
            output.emit_line({"item": pack.to_dict()})
        else:
            output.say(*packs.pack_lines(rank, pack, names, explain=explain))
    found = stream.answer
    assert found is not None, "BUG: a stream that has ended has its answer"
    if session.json:
        output.emit_line({"schema": "ibidem/packs/1", **_json(found, source, names), "items": []})
        return
    output.note(*answer.empty_lines(found), *answer.skipped_lines(found))
    output.note(*answer.warning_lines(found.warnings))
    if explain:
        output.say(*found.explain().splitlines(), "")
    output.note(*answer.end_lines(found, explain=explain))

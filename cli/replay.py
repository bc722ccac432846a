"""`repo replay`: recomputes the answer of a receipt and compares the bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import union
from ibidem.cli.options.common import common_options
from ibidem.cli.receipt import key_option, read_key
from ibidem.cli.render import answer, output, packs, records
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ibidem.objects.cid import RootCid
    from ibidem.retrieve.answer.answer import Answer


@click.command("replay")
@click.argument("receipt")
@click.option("--show", is_flag=True, help="Print the answer too.")
@click.option("--text", help="The query text, if the receipt is sealed.")
@key_option
@union.union_options
@click.option("--at", help="Use this revision instead, to see whether its answer is the same.")
@common_options
@pass_session
def command(
    session: Session,
    *,
    receipt: str,
    show: bool,
    text: str | None,
    key_file: Path | None,
    others: tuple[str, ...],
    is_all: bool,
    at: str | None,
) -> None:
    """Recompute the answer of RECEIPT and compare the bytes

    RECEIPT is the CID that retrieve prints, or a unique prefix. Exits with 0 if the bytes are the
    same; otherwise with 1, after showing which item, lane and number differ, and why.

    \b
    Examples:
      repo replay bafyr4i... --show
      repo replay bafyr4i... --at main
      repo replay bafyr4i... --with work --with notes
      repo replay bafyr4i... --text "who is owed what" --key-file audit.key
    """
    with union.opened(session, others, is_all=is_all) as repositories:
        repository = next(iter(repositories.values()))
        key = read_key(key_file)
        names: dict[RootCid, str] = {}
        if len(repositories) > 1 and at is not None:
            raise InvalidInputError("at: got it with --with or --all, expected one repository")
        roots: tuple[RootCid, ...] = ()
        if len(repositories) > 1:
            found = repository.receipts.find(receipt)[1]
            roots = union.roots_of(found)
        if len(roots) > 1:
            whole, names = union.union_at(repositories, roots)
            result = whole.replay(found, text=text, key=key)
        else:
            result = repository.receipts.replay(receipt, text=text, key=key, at=at)
        assert result.receipt is not None, "BUG: a replay without the receipt it replayed"
        cid, size_bytes = str(result.receipt.cid), len(result.to_bytes())
        lines = _lines(result, names) if show else []
    if session.json:
        facts = {"receipt": cid, "is_identical": True, "result": str(result.cid)}
        output.emit("replay", {**facts, "size_bytes": size_bytes})
        return
    output.say(f"{output.good('same bytes')}: {size_bytes:,} of them, hash {result.cid}")
    if show:
        output.say("", *lines)
        output.note(*answer.end_lines(result))


def _lines(result: Answer[Any], names: Mapping[RootCid, str]) -> list[str]:
    """Returns an answer, whatever its kind, as lines for people."""
    from ibidem.retrieve.answer.answer import AnswerKind

    if result.kind is AnswerKind.PACKS:
        return packs.packs_lines(result, names=names)
    if result.kind is AnswerKind.RECORDS:
        return records.records_lines(result, names)
    return answer.answer_lines(result, names=names)

"""`repo receipt`: keeps receipts permanently, and shows their contents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import union
from ibidem.cli.options.common import author_option, common_options
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session
from ibidem.objects.ids import NodeId

if TYPE_CHECKING:
    from ibidem.repo.receipts.kept import KeptReceipt
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.sealed import SealedReceipt

_FIELDS = (
    *("is_sealed", "text", "root", "commit", "result", "semantics", "item_count"),
    *("agent", "task"),
)
"""The fields of a listed receipt; null if it cannot be read."""

key_option = click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    help="File with the 32 bytes, or 64 hexadecimal digits, of the key.",
)


def read_key(file: Path | None) -> bytes | None:
    """Returns the key in a file, or None if no file is given."""
    if file is None:
        return None
    data = file.read_bytes()
    text = data.strip()
    if len(text) == 64:
        try:
            return bytes.fromhex(text.decode("ascii"))
        except ValueError:
            return data
    return data


@click.group("receipt")
def command() -> None:
    """Keep and show receipts of answers"""


@command.command("keep")
@click.argument("receipt")
@key_option
@author_option
@common_options
@pass_session
def keep(session: Session, *, receipt: str, key_file: Path | None, author: str | None) -> None:
    """Keep RECEIPT and everything its replay needs, permanently

    RECEIPT is the CID that retrieve prints, or a unique prefix. With a key, only a keyed digest of
    the query text is stored, not the text; a replay then needs both the text and the key.

    \b
    Examples:
      repo receipt keep bafyr4i...
      repo receipt keep bafyr4i... --key-file audit.key
    """
    with session.open() as repository:
        key = read_key(key_file)
        cid = repository.receipts.keep(receipt, key=key, author=session.author(author))
    if session.json:
        output.emit("receipt-keep", {"receipt": str(cid), "is_sealed": key_file is not None})
    else:
        output.say(f"kept receipt {cid}")


@command.command("list")
@common_options
@pass_session
def listed(session: Session) -> None:
    """List the kept receipts

    \b
    Example:
      repo receipt list
    """
    with session.open() as repository:
        found = [_listed(kept) for kept in repository.receipts.list()]
    if session.json:
        output.emit("receipt-list", {"receipts": found})
        return
    output.say(*output.table([_row(one) for one in found]))


@command.command("show")
@click.argument("receipt")
@common_options
@pass_session
def show(session: Session, *, receipt: str) -> None:
    """Show the query, the root and the answer recorded in RECEIPT

    Of a question to several repositories, `repo replay` needs those that have the roots shown.

    \b
    Example:
      repo receipt show bafyr4i...
    """
    with session.open() as repository:
        cid, found = repository.receipts.find(receipt)
    shape = _shape(str(cid), found)
    rows = _items(found)
    roots = union.roots_of(found)
    if session.json:
        items = [
            {
                "id": str(id),
                "score": score,
                "lanes": {name: list(said[name]) for name in said},
                **({} if origin is None else {"root": str(roots[origin])}),
            }
            for id, score, said, origin in rows  # noqa: A001
        ]
        several = {"roots": list(map(str, roots))} if len(roots) > 1 else {}
        history = _history(found)
        output.emit("receipt-show", {**shape, **several, "history": history, "items": items})
        return
    text = "sealed" if shape["is_sealed"] else repr(shape["text"])
    output.say(f"receipt {cid}", f"text    {output.one_line(text)}")
    output.say(*(f"root    {root}" for root in roots))
    output.say(f"commit  {shape['commit'] or '-'}", f"result  {shape['result']}")
    for name in ("agent", "task"):
        if shape[name] is not None:
            output.say(f"{name:7} {output.one_line(shape[name])}")
    for name, base in (_history(found) or {}).items():
        output.say(f"{name}  {base or 'no commit yet'}")
    for rank, (id, score, said, origin) in enumerate(rows, 1):  # noqa: A001
        lanes = ", ".join(
            f"{name} rank {lane[0]} score {lane[1]:g} contribution {lane[2]:g}"
            for name, lane in sorted(said.items())
        )
        home = "" if origin is None else f"  root {shapes.short(roots[origin])}"
        output.say(f"{rank:>3}. {id}{home}  {score:g}  {lanes}")


@command.command("drop")
@click.argument("receipt")
@author_option
@common_options
@pass_session
def drop(session: Session, *, receipt: str, author: str | None) -> None:
    """Stop keeping RECEIPT; `repo gc` then deletes data that only it needed

    \b
    Example:
      repo receipt drop bafyr4i...
    """
    with session.open() as repository:
        cid = repository.receipts.drop(receipt, author=session.author(author))
    if session.json:
        output.emit("receipt-drop", {"receipt": str(cid)})
    else:
        output.say(f"dropped receipt {cid}")


def _listed(kept: KeptReceipt) -> dict[str, Any]:
    """Returns the JSON of a receipt in the list, readable or not."""
    shape = dict.fromkeys(_FIELDS) if kept.receipt is None else _shape(str(kept.cid), kept.receipt)
    unread = {"receipt": str(kept.cid), "is_readable": kept.receipt is not None}
    return {**shape, **unread, "failure": kept.failure}


def _row(one: dict[str, Any]) -> tuple[str, str, str, str]:
    if not one["is_readable"]:
        return one["receipt"], "", f"cannot be read: {output.one_line(one['failure'])}", ""
    said = "sealed" if one["is_sealed"] else output.one_line(str(one["text"] or ""), width=60)
    who = ", ".join(output.one_line(one[name]) for name in ("agent", "task") if one[name])
    return one["receipt"], output.plural(one["item_count"], "item"), said, who


def _shape(cid: str, receipt: Receipt | SealedReceipt) -> dict[str, Any]:
    from ibidem.retrieve.answer.sealed import SealedReceipt

    is_sealed = isinstance(receipt, SealedReceipt)
    block = receipt.block if isinstance(receipt, SealedReceipt) else receipt
    return {
        "receipt": cid,
        "is_sealed": is_sealed,
        "text": None if isinstance(receipt, SealedReceipt) else receipt.query.text,
        "root": str(block.root),
        "commit": None if block.commit is None else str(block.commit),
        "result": str(block.result),
        "semantics": block.semantics,
        "item_count": len(block.items),
        "agent": block.agent,
        "task": block.task,
    }


def _history(receipt: Receipt | SealedReceipt) -> dict[str, str | None] | None:
    """Returns the bases of a question about what is new, by condition; None without one."""
    from ibidem.retrieve.answer.sealed import SealedReceipt

    if isinstance(receipt, SealedReceipt):
        history = receipt.block.query.get("history")
    else:
        history = receipt.query.form().get("history")
    if history is None:
        return None
    return {name: None if base is None else str(base) for name, base in history.items()}


def _items(receipt: Receipt | SealedReceipt) -> list[tuple[Any, float, Any, int | None]]:
    """Returns id, score, lanes and the position of the root, None of one root, of each item."""
    from ibidem.retrieve.answer.sealed import SealedReceipt

    if isinstance(receipt, SealedReceipt):
        rows = receipt.block.items
        return [(NodeId(row[0]), row[2], row[4], row[5] if row[5:] else None) for row in rows]
    return [(item.id, item.score, item.lanes, item.origin) for item in receipt.items]

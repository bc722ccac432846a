"""Kept receipts: refs under `receipts/`, durable, synced, and with all that a replay needs.

The receipt log drops old receipts; a kept receipt stays, and garbage collection keeps its root.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, ReceiptCid
from ibidem.objects.errors import CorruptError, FormatError, InvalidInputError, NotFoundError
from ibidem.objects.links import links
from ibidem.objects.record import record
from ibidem.objects.view import RECEIPTS, View
from ibidem.repo import refs
from ibidem.repo.arguments import checked_time
from ibidem.repo.receipts.log import ambiguous, check_beginning
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.answer.sealed import SealedReceipt, read_receipt, seal

if TYPE_CHECKING:
    from ibidem.objects.blocks import WriteBatch
    from ibidem.repo.core import Core
    from ibidem.repo.state import State


@record
class KeptReceipt:
    """A receipt that is kept, and its identity."""

    cid: ReceiptCid
    receipt: Receipt | SealedReceipt | None
    """None if the receipt cannot be read."""
    failure: str | None = None
    """Why it cannot be read, else None."""


def keep(
    repository: Core,
    receipt: Receipt | SealedReceipt | Cid | str | None,
    *,
    key: bytes | None,
    author: str,
    time: int | datetime | None,
) -> ReceiptCid:
    """Keeps a receipt and returns its CID; keeping it again changes nothing.

    Args:
        receipt: a receipt, the CID of one in the log, or a unique prefix.
        key: 32 bytes; seals the receipt, so that the query text is left out; see
            `retrieve.answer.sealed`.

    Raises:
        NotFoundError: there is no such receipt, or a block that its replay reads is not in this
            repository.
    """
    given = receipt
    check_receipt(given)
    if not isinstance(given, (Receipt, SealedReceipt)):
        given = read_receipt(find(repository, str(given)))
    if key is not None:
        if isinstance(given, SealedReceipt):
            raise InvalidInputError("key: got one for a receipt that is sealed already")
        given = seal(given, key)
    block = given.encode()
    missing = [cid for cid in links(block) if not repository.store.has(cid)]
    if missing:
        raise NotFoundError(
            f"receipt: {_role(given, missing[0])} {missing[0]} is not in this repository",
            hint="keep it where the question was asked, or fetch that history first",
        )
    cid = ReceiptCid.of(block)

    def make(state: State, buffer: WriteBatch) -> View | None:
        if refs.read(buffer, state.view, RECEIPTS + str(cid)) is not None:
            return None
        buffer.put(cid, block)
        moved = refs.changed(state.view, {RECEIPTS + str(cid): cid}, buffer)
        return replace(state.view, refs=moved)

    repository.operation_log.change(
        make, author=author, time=checked_time(time), description=f"keep receipt {cid}"
    )
    return cid


def _role(receipt: Receipt | SealedReceipt, cid: Cid) -> str:
    return "its root" if cid == receipt.root else "what its replay reads,"


def check_receipt(receipt: object) -> None:
    """Raises `InvalidInputError` unless the value is a receipt or can name one."""
    if not isinstance(receipt, (Receipt, SealedReceipt, Cid, str)):
        raise InvalidInputError(
            f"receipt: got {type(receipt).__name__}, expected that of an answer, its CID, or the "
            "beginning of that",
            hint="an answer that left erased nodes out has none" if receipt is None else None,
        )


def drop(
    repository: Core,
    receipt: Cid | str,
    *,
    author: str,
    time: int | datetime | None,
) -> ReceiptCid:
    """Stops keeping a receipt, given by its CID or a unique prefix; returns the CID.

    Raises:
        NotFoundError: kind `not-found`: no such receipt is kept; kind `ambiguous`: several are.
    """
    found = repository.operation_log.retry_if_collected(
        lambda state: named(repository, state.view, str(receipt))
    )
    if found is None:
        raise NotFoundError(f"receipt {str(receipt)!r:.80} is not among those kept")
    name, cid = found

    def make(state: State, buffer: WriteBatch) -> View:
        moved = refs.changed(state.view, {RECEIPTS + name: None}, buffer)
        return replace(state.view, refs=moved)

    repository.operation_log.change(
        make, author=author, time=checked_time(time), description=f"drop receipt {cid}"
    )
    return cid


def listed(repository: Core, view: View) -> Iterator[KeptReceipt]:
    """Yields the kept receipts, by CID text; an unreadable one comes with the reason."""
    for cid in refs.listed(repository.store, view, RECEIPTS).values():
        kept = ReceiptCid(cid.raw)
        block = repository.store.get(kept)
        try:
            yield KeptReceipt(kept, read_receipt(block))
        except (CorruptError, FormatError) as error:
            yield KeptReceipt(kept, None, str(error))


def found(repository: Core, receipt: Cid | str) -> tuple[ReceiptCid, Receipt | SealedReceipt]:
    """Returns a receipt, given by its CID or a unique prefix, with its CID."""
    block = find(repository, str(receipt))
    return ReceiptCid.of(block), read_receipt(block)


def find(repository: Core, text: str) -> bytes:
    """Returns the block of a receipt, given by its CID or a unique prefix: of a kept one, else of
    one in the log.

    Raises:
        NotFoundError: kind `not-found`, or `ambiguous`.
    """

    def read(state: State) -> bytes:
        state = repository.without_interrupted(state)
        found = named(repository, state.view, text)
        return repository.receipts.find(text) if found is None else repository.store.get(found[1])

    return repository.operation_log.retry_if_collected(read)


def named(repository: Core, view: View, text: str) -> tuple[str, ReceiptCid] | None:
    """Returns the name of a kept receipt, which is its CID, and the receipt's CID; None if no name
    has this prefix.

    Raises:
        InvalidInputError: the prefix is too short.
        NotFoundError: kind `ambiguous`.
    """
    check_beginning(text)
    ref = refs.read(repository.store, view, RECEIPTS + text)
    if ref is not None:
        return text, ReceiptCid(ref.target.raw)
    names = refs.listed(repository.store, view, RECEIPTS)
    found = [(name, ReceiptCid(cid.raw)) for name, cid in names.items() if name.startswith(text)]
    if len(found) > 1:
        raise ambiguous(text, (cid for _, cid in found))
    return found[0] if found else None

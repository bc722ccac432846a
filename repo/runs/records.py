"""Checks steps and receipts on import and in `repo fsck`, with the code that reads them.

Spec: sync 5, replay 3, retrieval 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.errors import CorruptError, FormatError, NotFoundError
from ibidem.objects.links import check_kind
from ibidem.objects.receipt import ReceiptBlock
from ibidem.objects.step import Step
from ibidem.repo.runs.shape import read_step
from ibidem.retrieve.answer.sealed import read_receipt

if TYPE_CHECKING:
    from ibidem.objects.block import Block
    from ibidem.objects.blocks import Source

_KINDS: Mapping[type[Block], Mapping[str, str]] = {
    Step: {"previous": "step", "receipt": "receipt", "root": "root"},
    ReceiptBlock: {"root": "root", "notes_head": "commit"},
}
"""The expected kinds of linked blocks, by field of a step or receipt."""


def check_record(source: Source, block: bytes, value: Block | None) -> None:
    """Raises `CorruptError` for a step or receipt with unreadable values, or with a link to a block
    of another kind than its field requires. Other blocks pass.

    A receipt under rules that this program does not have passes, since it may be valid. So does a
    step with a missing part, which is reported where that part is read.

    Args:
        value: the decoded block.
    """
    if isinstance(value, Step | ReceiptBlock):
        _check_links(source, value)
    if isinstance(value, Step):
        try:
            read_step(source, value)
        except NotFoundError:
            return
    elif isinstance(value, ReceiptBlock):
        try:
            read_receipt(block)
        except FormatError:
            return


def _check_links(source: Source, value: Step | ReceiptBlock) -> None:
    for name, kind in _KINDS[type(value)].items():
        cid = getattr(value, name)
        if cid is None:
            continue
        try:
            found = check_kind(codec.decode(source.get(cid)))
        except (NotFoundError, CorruptError, FormatError):
            continue  # told of where it is missed or read
        if found != kind:
            raise CorruptError(f"{value.KIND}.{name}: got the {found} {cid}, expected a {kind}")

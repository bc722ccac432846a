"""Checks steps and receipts as they come in, and as `repo fsck` finds them: by what reads them.

Spec: sync 5, replay 3, retrieval 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibidem.objects.errors import FormatError, NotFoundError
from ibidem.objects.receipt import ReceiptBlock
from ibidem.objects.step import Step
from ibidem.repo.runs.shape import read_step
from ibidem.retrieve.answer.sealed import read_receipt

if TYPE_CHECKING:
    from ibidem.objects.block import Block
    from ibidem.objects.blocks import Source


def check_record(source: Source, block: bytes, value: Block | None) -> None:
    """Raises `CorruptError` for a step or a receipt whose values nobody could read; other blocks
    pass.

    A receipt of rules that this program does not have passes, as it may be well; and so does a step
    with a part that is missing, which is told of where it is missed.

    Args:
        value: what the block holds.
    """
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

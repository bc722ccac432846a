"""Checks steps and receipts as they come in, and as `repo fsck` finds them: by what reads them.

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
"""The kinds of the blocks that the links of a step and of a receipt lead to, by field."""


def check_record(source: Source, block: bytes, value: Block | None) -> None:
    """Raises `CorruptError` for a step or a receipt whose values nobody could read, or that leads
    to a block of another kind than its field says; other blocks pass.

    A receipt of rules that this program does not have passes, as it may be well; and so does a step
    with a part that is missing, which is told of where it is missed.

    Args:
        value: what the block holds.
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

"""Reading a message that somebody else wrote, in its one form."""

from __future__ import annotations

from typing import TypeVar

from ibidem.objects import codec
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.repo.sync.bundle import Bundle, Push

Message = TypeVar("Message", Bundle, Push)


def read_message(cls: type[Message], block: bytes) -> Message:
    """Returns the message in a block.

    Raises:
        CorruptError: it is not canonical, or not the one form of its value.
        FormatError: it is another message, or of another version.
    """
    message = cls.from_map(codec.decode_foreign(block))
    if message.encode() != block:
        raise CorruptError(
            f"{cls.KIND}: got a block in another form than its value has",
            kind=ErrorKind.NON_CANONICAL,
        )
    return message

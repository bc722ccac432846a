"""One message and the blocks that go with it, in one CAR whose root is the message.

Bundles are such files, and so is the body of a push. The message is kept apart from the blocks when
it is read, because it is never stored.

Spec: sync 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError, ErrorKind
from ibidem.repo.sync.bundle import Bundle, Push
from ibidem.repo.sync.car import CarLimits, CarReader, Readable, car_header, car_section
from ibidem.repo.sync.message import Message, read_message


def container(message: Bundle | Push, blocks: Iterable[tuple[Cid, bytes]]) -> Iterator[bytes]:
    """Yields the bytes of a CAR with a message and its blocks, which ascend by CID."""
    block = message.encode()
    cid = Cid.of(block)
    yield car_header([cid])
    is_written = False
    for other, content in blocks:
        if not is_written and other.raw > cid.raw:
            yield car_section(cid, block)
            is_written = True
        yield car_section(other, content)
    if not is_written:
        yield car_section(cid, block)


class Opened:
    """A CAR as it is read: the blocks in the order of the file, the message apart."""

    def __init__(self, stream: Readable, *, limits: CarLimits | None = None) -> None:
        self._reader = CarReader(stream, limits=limits)
        self._message: bytes | None = None

    @property
    def roots(self) -> tuple[Cid, ...]:
        """What the header names."""
        return self._reader.roots

    def blocks(self) -> Iterator[tuple[Cid, bytes]]:
        """Yields every block but the message; to be taken to the end."""
        for cid, block in self._reader:
            if cid == self._reader.roots[0] and _is_message(block):
                self._message = block
            else:
                yield cid, block

    @property
    def has_message(self) -> bool:
        """Whether the root is a message, known once all blocks were taken."""
        return self._message is not None

    def message(self, cls: type[Message]) -> Message:
        """Returns the message, once all blocks were taken.

        Raises:
            CorruptError: there is none, or it is not canonical.
            FormatError: it is another message, or of another version.
        """
        if self._message is None or len(self._reader.roots) != 1:
            raise CorruptError(
                f"car: got no {cls.KIND} as its only root", kind=ErrorKind.BLOCK_NOT_FOUND
            )
        return read_message(cls, self._message)


def _is_message(block: bytes) -> bool:
    fields = codec.decode_foreign(block)
    return type(fields) is dict and fields.get("kind") in (Bundle.KIND, Push.KIND)

"""Strict, streaming reader and writer of CAR version 1: a header with roots, then blocks.

Input is not trusted. A declared length is checked against its limit before it is used, the hash of
every block is verified before the block is returned, and only one block is held at a time. A file
has one canonical form: blocks ascend by CID, each once, so the same blocks and roots give the same
bytes.

Spec: sync 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.cid import CID_BYTES, Cid
from ibidem.objects.constants import BLOCK_BYTES_MAX, CAR_HEADER_BYTES_MAX, RAW_BYTES_MAX
from ibidem.objects.errors import CorruptError, ErrorKind, FormatError, InvalidInputError
from ibidem.objects.record import record

CAR_VERSION = 1
VARINT_BYTES_MAX = 9
_UNIT_BYTES = 64 << 10


class Readable(Protocol):
    """A stream that a CAR is read from."""

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes, none at the end."""
        ...


class Writable(Protocol):
    """A stream that a CAR is written to."""

    def write(self, data: bytes, /) -> object:
        """Writes all of the bytes."""
        ...


@record
class CarLimits:
    """The largest file that is read; a larger one is refused, `limit-exceeded`."""

    size_bytes_max: int = 64 << 30
    """Of the whole file."""
    block_count_max: int = 100_000_000


class CarReader:
    """Yields (cid, block) of every section, in the order of the file; can be iterated once.

    Raises, when created and while iterated:
        CorruptError: `hash-mismatch`, `limit-exceeded`, `non-canonical` or `corrupt`, with the
            offset; a truncated file is `corrupt`.
        FormatError: CAR version 2 or another.
    """

    def __init__(self, stream: Readable, *, limits: CarLimits | None = None) -> None:
        self._stream = stream
        self._limits = CarLimits() if limits is None else limits
        self._offset = 0
        self.block_count = 0
        """How many blocks have been read so far."""
        try:
            self.roots = self._read_header()
        except CorruptError as error:
            hint = "it does not begin as a file of 'repo export' does: is it one, and whole?"
            raise CorruptError(str(error), kind=error.kind, hint=error.hint or hint) from error

    @property
    def size_bytes(self) -> int:
        """How many bytes have been read so far."""
        return self._offset

    def __iter__(self) -> Iterator[tuple[Cid, bytes]]:
        while True:
            size = self._read_varint()
            if size is None:
                return
            start = self._offset
            if self.block_count >= self._limits.block_count_max:
                raise self._over_limit(f"more than {self._limits.block_count_max} blocks")
            if size < CID_BYTES:
                raise _corrupt(
                    start, f"a section of {size} bytes", f"at least the {CID_BYTES} of a cid"
                )
            if size > CID_BYTES + RAW_BYTES_MAX:
                raise self._over_limit(f"a section of {size} bytes")
            cid = self._read_cid()
            limit = RAW_BYTES_MAX if cid.is_raw else BLOCK_BYTES_MAX
            if size - CID_BYTES > limit:
                raise self._over_limit(f"a block of {size - CID_BYTES} bytes")
            block = self._read_exactly(size - CID_BYTES)
            if blake3(block).digest() != cid.raw[4:]:
                raise CorruptError(
                    f"car: got a block at offset {start} with other bytes than its cid {cid} says",
                    kind=ErrorKind.HASH_MISMATCH,
                    hint="copy the file again from where it was made",
                )
            self.block_count += 1
            yield cid, block

    def _read_header(self) -> tuple[Cid, ...]:
        size = self._read_varint()
        if size is None:
            raise _corrupt(0, "an empty file", "a header")
        if not size:
            raise _corrupt(0, "a header of 0 bytes", "a header")
        if size > CAR_HEADER_BYTES_MAX:
            raise self._over_limit(f"a header of {size} bytes")
        header = codec.decode_foreign(self._read_exactly(size))
        if type(header) is not dict or type(header.get("version")) is not int:
            raise _corrupt(0, f"a header {header!r:.80}", "a map with 'roots' and 'version'")
        if header["version"] != CAR_VERSION:
            raise FormatError(
                f"car: got version {header['version']}, expected {CAR_VERSION}",
                hint="convert it, for example with 'car extract-v1'",
            )
        roots = header.get("roots")
        if (
            set(header) != {"roots", "version"}
            or type(roots) is not list
            or not roots
            or not all(isinstance(root, Cid) for root in roots)
        ):
            raise _corrupt(
                0, f"a header {header!r:.80}", "'roots', a list of links, and 'version' only"
            )
        return tuple(roots)

    def _read_cid(self) -> Cid:
        start = self._offset
        raw = self._read_exactly(CID_BYTES)
        try:
            return Cid(raw)
        except CorruptError as error:
            raise CorruptError(f"car: {error} (offset {start})", kind=error.kind) from error

    def _read_varint(self) -> int | None:
        """Returns an unsigned LEB128 number in its shortest form; None at the end of the file."""
        start = self._offset
        value = shift = 0
        for index in range(VARINT_BYTES_MAX):
            byte = self._read_byte(start if index else None)
            if byte is None:
                return None
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if index and not byte:
                    raise CorruptError(
                        f"car: got a length with needless bytes at offset {start}, "
                        "expected the shortest form",
                        kind=ErrorKind.NON_CANONICAL,
                    )
                return value
            shift += 7
        raise _corrupt(start, f"a length of more than {VARINT_BYTES_MAX} bytes", "a length")

    def _read_byte(self, begun: int | None) -> int | None:
        found = self._stream.read(1)
        if not found:
            if begun is None:
                return None
            raise _corrupt(begun, "the end of the file within a length", "all of it")
        self._offset += 1
        return found[0]

    def _read_exactly(self, size: int) -> bytes:
        """Reads in small units, so that a false length does not reserve memory."""
        if self._offset + size > self._limits.size_bytes_max:
            raise self._over_limit(f"more than {self._limits.size_bytes_max} bytes in all")
        start, parts, left = self._offset, [], size
        while left:
            part = self._stream.read(min(left, _UNIT_BYTES))
            if not part:
                raise _corrupt(start, f"the end of the file {left} bytes early", f"{size} bytes")
            parts.append(part)
            left -= len(part)
            self._offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _over_limit(self, found: str) -> CorruptError:
        return CorruptError(
            f"car: got {found} at offset {self._offset}, expected no more than the limit",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )


class CarWriter:
    """Writes a CAR: the header immediately, then each block passed to `put`.

    The blocks must ascend by CID; this is checked, because the bytes of a file depend on it.
    """

    def __init__(self, stream: Writable, roots: Iterable[Cid]) -> None:
        self._stream = stream
        self._last = b""
        self.block_count = 0
        """How many blocks have been written so far."""
        self.size_bytes = 0
        """How many bytes have been written so far."""
        self._write(car_header(roots))

    def put(self, cid: Cid, block: bytes) -> None:
        """Appends a block, whose CID the caller has checked.

        Raises:
            InvalidInputError: its CID does not follow the previous one.
        """
        if cid.raw <= self._last:
            raise InvalidInputError(f"car: got {cid} too late, expected blocks ascending by cid")
        self._last = cid.raw
        self._write(car_section(cid, block))
        self.block_count += 1

    def _write(self, data: bytes) -> None:
        self._stream.write(data)
        self.size_bytes += len(data)


def write_car(stream: Writable, roots: Iterable[Cid], blocks: Iterable[tuple[Cid, bytes]]) -> int:
    """Writes a whole CAR and returns its size in bytes.

    Args:
        blocks: ascending by CID, each once; taken one at a time.

    >>> import io
    >>> block = codec.encode({"kind": "example"})
    >>> file = io.BytesIO()
    >>> write_car(file, [Cid.of(block)], [(Cid.of(block), block)])
    110
    >>> reader = CarReader(io.BytesIO(file.getvalue()))
    >>> [found == block for _, found in reader]
    [True]
    """
    writer = CarWriter(stream, roots)
    for cid, block in blocks:
        writer.put(cid, block)
    return writer.size_bytes


def car_header(roots: Iterable[Cid]) -> bytes:
    """Returns the header, preceded by its length.

    Raises:
        InvalidInputError: no root, or more than a header can hold.
    """
    links = list(roots)
    if not links:
        raise InvalidInputError("car: got no root, expected at least one")
    header = codec.encode({"roots": links, "version": CAR_VERSION})
    if len(header) > CAR_HEADER_BYTES_MAX:
        raise InvalidInputError(
            f"car: got {len(links)} roots, expected as many as {CAR_HEADER_BYTES_MAX} bytes hold",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return varint(len(header)) + header


def car_section(cid: Cid, block: bytes) -> bytes:
    """Returns one block as a section: its length, its CID, its bytes."""
    return b"".join((varint(CID_BYTES + len(block)), cid.raw, block))


def varint(value: int) -> bytes:
    """Returns a count as unsigned LEB128 in its shortest form."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _corrupt(offset: int, found: str, expected: str) -> CorruptError:
    return CorruptError(f"car: got {found} at offset {offset}, expected {expected}")

"""What a reader is given: the path, the limits, and where to report what it leaves out."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import ibidem
from ibidem import ErrorKind, InvalidInputError, NotFoundError


@dataclass(frozen=True)
class ImportLimits:
    """The largest input that is read; a larger one is refused, kind `limit-exceeded`."""

    record_count_max: int = 10_000_000
    element_bytes_max: int = 64 << 20
    """Of one element that is in memory as a whole: a conversation, a JSON line, a block."""
    unpacked_bytes_max: int = 16 << 30
    """Of a file, as unpacked from an archive."""
    depth_max: int = 60
    """Of nested values and XML elements."""


@dataclass(frozen=True)
class MessageRecord:
    """A message of a thread; messages of one thread follow each other."""

    thread: str
    title: str
    """Of the thread; empty for none."""
    message: ibidem.Message


Item = ibidem.NodeRecord | ibidem.EdgeRecord | Any
"""A record of the library, or a message."""
Items = Iterator[tuple[str, Item]]
"""Records, each with its position in the input for errors, such as `line 3`."""


@dataclass
class Source:
    """The input of one import."""

    path: Path
    limits: ImportLimits = field(default_factory=ImportLimits)
    model: str | None = None
    """The name for vectors, where the input does not give one."""
    omitted: Counter[str] = field(default_factory=Counter)

    def omit(self, reason: str, count: int = 1) -> None:
        """Counts what cannot be carried over."""
        if count:
            self.omitted[reason] += count

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Opens the file.

        Raises:
            NotFoundError: there is none.
            InvalidInputError: it is not a plain file.
        """
        if not self.path.exists():
            raise NotFoundError(f"{self.path}: there is no such file")
        if not self.path.is_file():
            raise InvalidInputError(f"{self.path}: got something else, expected a plain file")
        with self.path.open("rb") as stream:
            yield stream

    def vectors_of(self, node: Any, values: Any, model: str | None = None) -> Any:
        """Returns the record of a dense vector.

        Raises:
            InvalidInputError: neither the input nor the caller gives the model a name.
        """
        name = model or self.model
        if not name:
            raise InvalidInputError(
                "model: the input does not name the model of its vectors",
                hint="give it: model=, or --model",
            )
        return ibidem.VectorRecord(node, name, values)

    def props(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Returns properties that a node can have, without those that it cannot; these are
        counted."""
        found = {}
        for name, value in values.items():
            if value is None:
                continue
            try:
                found[str(name)] = self._value(value, self.limits.depth_max)
            except _NotCarriedError as error:
                self.omit(f"property: {error}")
        return found

    def _value(self, value: Any, depth: int) -> Any:
        if depth == 0:
            raise _NotCarriedError(f"nested deeper than {self.limits.depth_max} levels")
        match value:
            case None | bool() | bytes():
                return value
            case str():
                return value.encode("utf-8", "replace").decode("utf-8")
            case int():
                return value if -(1 << 64) <= value < 1 << 64 else str(value)
            case float():
                if not math.isfinite(value):
                    raise _NotCarriedError("a number that is not finite")
                return value + 0.0  # the format has no -0.0
            case datetime():
                return value.isoformat()
            case Mapping():
                return {str(name): self._value(one, depth - 1) for name, one in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self._value(one, depth - 1) for one in value]
        if hasattr(value, "tolist"):  # numpy
            return self._value(value.tolist(), depth)
        return str(value)


class _NotCarriedError(Exception):
    """A value that the format does not have."""


def json_value(data: bytes | str, position: str = "json") -> Any:
    """Returns the value of a JSON text; NaN and infinities are kept for `Source.props` to count.

    Raises:
        InvalidInputError: it is not JSON, or nested too deep.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise InvalidInputError(
            f"{position}: nested too deep", kind=ErrorKind.LIMIT_EXCEEDED
        ) from None
    except ValueError as error:
        raise InvalidInputError(f"{position}: not JSON: {error}") from error


def field_of(value: Any, name: str, kind: type[Any], expected: str) -> Any:
    """Returns a required field of a JSON object.

    Raises:
        InvalidInputError: it is missing, or of another type.
    """
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        raise InvalidInputError(f"{name}: got {found!r:.60}, expected {expected}")
    return found


def microseconds(value: Any) -> int | None:
    """Returns a time in microseconds since 1970 UTC: of seconds, or of ISO 8601 text, which is UTC
    if it has no offset; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float) and math.isfinite(value):
        return round(value * 1_000_000)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return None


@contextmanager
def reading(position: str) -> Iterator[None]:
    """Puts the position in the input before the message of an error."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{position}: {error}", kind=error.kind, hint=error.hint) from error


@contextmanager
def foreign(name: str, *errors: type[Exception]) -> Iterator[None]:
    """Turns errors of a library into ours, with the name of what it reads."""
    try:
        yield
    except errors as error:
        if isinstance(error, ibidem.IbidemError):
            raise
        raise InvalidInputError(f"{name}: {error}", kind=ErrorKind.INVALID_INPUT) from error


def located(path: Path, error: ibidem.IbidemError, position: str = "") -> ibidem.IbidemError:
    """Returns an error with the path of the input, and the position in it, before its message."""
    text = f"{position}: {error}" if position else str(error)
    if not text.startswith(str(path)):
        text = f"{path}: {text}"
    return type(error)(text, kind=error.kind, hint=error.hint)


Reader = Callable[[Source], Items]
"""Yields the records of an input, and does not change it."""

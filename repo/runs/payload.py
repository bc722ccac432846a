"""Payloads of steps: the requests and answers of an agent, as any value that DAG-CBOR can encode.

The outcome of a call is also a payload: a value, or an error that a replay raises again.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec, errors
from ibidem.objects.cid import Cid
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    RecordedError,
)
from ibidem.objects.node import join_content, split_content
from ibidem.objects.step import Content

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source


SHOWN_CHARACTERS = 160
DIFFERENCES_MAX = 8


def pack(field: str, value: Any) -> tuple[Content, dict[Cid, bytes]]:
    """Returns a value as the content of a step, and the raw blocks that it refers to.

    Raises:
        InvalidInputError: the value has no canonical encoding, or one of more than 1 MiB.
    """
    content, parts = split_content(_encoded(field, value))
    return content, {Cid(cid.raw): part for cid, part in parts.items()}


def unpack(source: Source, content: Content, where: str) -> Any:
    """Returns the value in the content of a step, None if there is none.

    Args:
        where: names the content in an error.

    Raises:
        CorruptError: the bytes are not the canonical encoding of a value; steps are untrusted
            input.
    """
    if content is None:
        return None
    block = content if isinstance(content, bytes) else join_content(map(source.get, content))
    try:
        return codec.decode_foreign(block)
    except CorruptError as error:
        raise CorruptError(f"{where}: {error}", kind=error.kind) from error


def settled(field: str, value: Any) -> Any:
    """Returns a value as a replay returns it: a copy, with lists for tuples.

    Raises:
        InvalidInputError: it cannot be recorded.
    """
    return codec.decode(_encoded(field, value))


def _encoded(field: str, value: Any) -> bytes:
    try:
        return codec.encode(value)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{field}: {error}",
            kind=error.kind,
            hint="record text, bytes, numbers, lists and maps of at most 1 MiB; put more than that "
            "into the graph",
        ) from error


def same(one: Any, other: Any) -> bool:
    """Returns whether two values are recorded alike; `True`, 1 and 1.0 are not."""
    return codec.encode(one) == codec.encode(other)


def difference_lines(then: Any, now: Any) -> list[str]:
    """Returns the differing parts of two values, by path, with both values of each."""
    return [
        f"differs{f' in {path}' if path else ''}: {shown(one)} then, {shown(other)} now"
        for path, one, other in islice(_differences("", then, now), DIFFERENCES_MAX)
    ]


def _differences(path: str, then: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    if same(then, now):
        return
    if isinstance(then, dict) and isinstance(now, dict):
        for name in sorted({*then, *now}):
            inner = f"{path}.{name}" if path else str(name)
            yield from _differences(inner, then.get(name), now.get(name))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for index, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from _differences(f"{path}[{index}]", one, other)
    else:
        yield path, then, now


def shown(value: Any) -> str:
    """Returns a value as text on one line, truncated."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


VALUE, ERROR = "value", "error"


def failed(error: BaseException) -> dict[str, Any]:
    """Returns an error as recorded: class, message, and for our errors the kind and hint."""
    kind = type(error)
    row: list[Any] = [f"{kind.__module__}.{kind.__qualname__}", str(error)]
    if isinstance(error, IbidemError):
        row += [str(error.kind), error.hint]
    return {ERROR: row}


def is_failed(outcome: Any) -> bool:
    """Returns whether an answer is a recorded error."""
    return isinstance(outcome, dict) and set(outcome) == {ERROR}


def raised(outcome: Any, known: Iterable[type[BaseException]] = ()) -> BaseException:
    """Returns the recorded error of an outcome, to be raised again.

    Args:
        known: error classes in addition to those of Python and of this project.
    """
    name, message, *ours = outcome[ERROR]
    for cls in known:
        if f"{cls.__module__}.{cls.__qualname__}" == name:
            return cls(message)
    module, _, short = name.rpartition(".")
    # The class of a kind that this version does not know is also unknown.
    own = getattr(errors, short, None) if ours and ours[0] in tuple(ErrorKind) else None
    if isinstance(own, type) and issubclass(own, IbidemError):
        return own(message, kind=ErrorKind(ours[0]), hint=ours[1])
    plain = getattr(builtins, short, None) if module == "builtins" else None
    if isinstance(plain, type) and issubclass(plain, Exception):
        # Some, such as UnicodeDecodeError, cannot be created from a message alone.
        with suppress(TypeError):
            return plain(message)
    return RecordedError(
        f"the call failed when the run was recorded: {name}: {message}",
        hint="name the class in errors= of run.tool, and a replay raises it",
    )


def summary(outcome: Any) -> str:
    """Returns a recorded error as text."""
    name, message = outcome[ERROR][:2]
    return f"{name.removeprefix('builtins.')}: {message}"

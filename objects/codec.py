"""Canonical DAG-CBOR: one value, one sequence of bytes.

An engine (`engine_cbor2`, or `engine_cbrrr` if it is installed) reads and writes the bytes. The
rules that make the result canonical and bounded are here and are the same for both: exact types,
integer range, no -0.0, NaN or infinity, maps sorted by key length and then bytes, depth, size.
`dag-cbor` defines the bytes and is the oracle of the tests; it is never imported here.

`True`, `1` and `1.0` are three values. A `dict` decoded here is in canonical key order.

Spec: format 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any, NoReturn, TypeAlias

from ibidem.objects.cid import Cid
from ibidem.objects.constants import BLOCK_BYTES_MAX, DEPTH_MAX, INTEGER_MAX, INTEGER_MIN
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError
from ibidem.objects.ids import StableId
from ibidem.objects.numpy_value import numpy_value
from ibidem.objects.prescan import prescan

Value: TypeAlias = "bool | int | float | str | bytes | Cid | list[Value] | dict[str, Value] | None"

_PLAIN = frozenset((str, bytes, bool, type(None)))
_engine: ModuleType


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode(value: object) -> bytes:
    """Returns the canonical bytes of `value`; tuples are written as lists, any `Cid` as a link.

    Raises:
        InvalidInputError: a type, number, key or text that the format does not have, a cycle,
            depth over DEPTH_MAX or size over BLOCK_BYTES_MAX (`limit-exceeded`). Nothing is kept
            of the argument.

    Spec: format 4.

    >>> encode({"b": 1, "a": [True, 1.5]}).hex()
    'a2616182f5fb3ff8000000000000616201'
    """
    try:
        return _write(_prepare(value, DEPTH_MAX, [BLOCK_BYTES_MAX]))
    except InvalidInputError as error:
        raise _with_place(error, value) from error


def encode_ordered(fields: dict[str, Any]) -> bytes:
    """Returns the same bytes as `encode`, for a map that is already in canonical order.

    The values are checked as by `encode`; the order of the outermost map is trusted, which saves a
    fifth of the time for a node. Tests compare the two for every kind of block.

    Raises:
        InvalidInputError: as `encode`.
    """
    try:
        return _write(_prepare_items(fields, fields, DEPTH_MAX, [BLOCK_BYTES_MAX]))
    except InvalidInputError as error:
        raise _with_place(error, fields) from error


def decode(block: bytes) -> Any:
    """Returns the value in a block that this program wrote and whose hash was checked; links as
    `Cid`.

    Use `decode_foreign` for any other block: this function trusts lengths and depth.

    Raises:
        CorruptError: the engine could not read it.
    """
    try:
        return _engine.loads(block)
    except MemoryError:
        raise
    except Exception as error:  # the engines raise many types, all with the same meaning
        raise CorruptError(f"block: got {len(block)} bytes that do not decode: {error}") from error


def decode_foreign(block: bytes) -> Any:
    """Returns the value in a block from anywhere, after proving that it is canonical.

    The block is scanned iteratively, decoded, encoded again and compared.

    Raises:
        CorruptError: `limit-exceeded`, `non-canonical` or `corrupt`; see `prescan`.

    Spec: format 4.
    """
    prescan(block)
    value = decode(block)
    try:
        again = encode(value)
    except InvalidInputError as error:
        raise CorruptError(f"block: {error}", kind=ErrorKind.NON_CANONICAL) from error
    if again != block:
        raise CorruptError(
            f"block: got {len(block)} bytes that encode again to others, "
            "expected canonical order and unique keys",
            kind=ErrorKind.NON_CANONICAL,
        )
    return value


def engine_name() -> str:
    """Returns the engine in use, "cbrrr" or "cbor2". The bytes are the same with either."""
    return str(_engine.NAME)


def use_engine(name: str) -> None:
    """Selects the engine for the whole process; for tests and `repo doctor`.

    Raises:
        InvalidInputError: `name` is not an engine, or it is not installed.
    """
    global _engine
    try:
        if name == "cbrrr":
            from ibidem.objects import engine_cbrrr as chosen
        elif name == "cbor2":
            from ibidem.objects import engine_cbor2 as chosen  # type: ignore[no-redef]
        else:
            raise InvalidInputError(f"engine: got {name!r}, expected 'cbrrr' or 'cbor2'")
    except ImportError as error:
        raise InvalidInputError(f"engine: got {name!r}, which is not installed") from error
    _engine = chosen


def _write(prepared: Any) -> bytes:
    try:
        block: bytes = _engine.dumps(prepared)
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"text: got {error.object[:40]!r}, expected text without lone surrogates"
        ) from error
    if len(block) > BLOCK_BYTES_MAX:
        raise InvalidInputError(
            f"block: got {len(block)} bytes, expected at most {BLOCK_BYTES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return block


def _prepare_items(
    value: dict[str, Any], keys: Iterable[str], depth: int, budget: list[int]
) -> dict[str, Any]:
    prepared = {}
    for key in keys:
        item = value[key]
        kind = type(item)
        if kind not in _PLAIN and not (kind is int and INTEGER_MIN <= item <= INTEGER_MAX):
            item = _prepare(item, depth - 1, budget)
        prepared[key] = item
    return prepared


def _prepare(value: Any, depth: int, budget: list[int]) -> Any:
    """Checks `value` and returns it with sorted maps, and links in the form that the engine
    requires.

    `budget` counts entries over the whole value. Each entry takes at least one byte, so a value
    that shares parts or contains itself is rejected before it is written.
    """
    kind = type(value)
    if kind is dict:
        if not depth:
            _refuse_depth()
        budget[0] -= len(value)
        if budget[0] < 0:
            _refuse_size()
        return _prepare_items(value, _sorted_keys(value), depth, budget)
    if kind is list or kind is tuple:
        if not depth:
            _refuse_depth()
        budget[0] -= len(value)
        if budget[0] < 0:
            _refuse_size()
        return [
            item
            if (kind := type(item)) in _PLAIN
            or (kind is int and INTEGER_MIN <= item <= INTEGER_MAX)
            else _prepare(item, depth - 1, budget)
            for item in value
        ]
    if kind is int:
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            raise InvalidInputError(f"integer: got {value}, expected -2^64 to 2^64-1")
        return value
    if kind is float:
        # NaN and the infinities minus themselves are NaN.
        if value - value != 0.0 or (value == 0.0 and str(value) == "-0.0"):
            raise InvalidInputError(
                f"float: got {value!r}, expected a finite number other than -0.0"
            )
        return value
    if kind in _PLAIN:
        return value
    if isinstance(value, Cid):
        return _engine.link(value)
    exact = exact_value(value)
    if exact is not None:
        return _prepare(exact, depth, budget)
    if isinstance(value, datetime):
        raise InvalidInputError(
            f"datetime: got {value.isoformat()}, expected an offset, such as tzinfo=UTC"
        )
    raise InvalidInputError(
        f"value: got {value!r:.80} of type {kind.__name__}, "
        "expected None, bool, int, float, str, bytes, "
        "Cid, a datetime with an offset, list, tuple or dict"
    )


def exact_value(value: Any) -> Any:
    """Returns the plain value that a value of another type stands for, None if there is none.

    An id stands for its text, a scalar of numpy for its number, and a datetime with an offset for
    microseconds since 1970 UTC, as every time in a repository.
    """
    if isinstance(value, StableId):
        return str(value)
    if isinstance(value, datetime):
        # The missing time of pandas has no zone, and cannot be asked for an offset.
        has_offset = value.tzinfo is not None and value.utcoffset() is not None
        return (value - _EPOCH) // timedelta(microseconds=1) if has_offset else None
    return numpy_value(value)


def _sorted_keys(value: dict[str, Any]) -> list[str]:
    keys = list(value)
    try:
        is_ascii = "".join(keys).isascii()
    except TypeError:
        is_ascii = False
    for key in keys:
        if type(key) is not str:
            raise InvalidInputError(
                f"map key: got {key!r:.80} of type {type(key).__name__}, expected str"
            )
    if len(keys) > 1:
        if is_ascii:
            keys.sort()
            keys.sort(key=len)
        else:
            keys.sort(key=_utf8_order)
    return keys


def _utf8_order(key: str) -> tuple[int, bytes]:
    try:
        encoded = key.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"map key: got {key[:40]!r}, expected text without lone surrogates"
        ) from error
    return len(encoded), encoded


def _with_place(error: InvalidInputError, value: object) -> InvalidInputError:
    """Returns the error with the path of the value that caused it, which is searched for only after
    an error."""
    if error.kind is ErrorKind.LIMIT_EXCEEDED:
        return error
    position = _place(value).lstrip(".")
    return InvalidInputError(f"{position}: {error}") if position else error


def _place(value: object) -> str:
    steps: list[tuple[str, object]] = []
    if type(value) is dict:
        steps = [("." + ascii(key)[1:-1][:80], item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        steps = [(f"[{index}]", item) for index, item in enumerate(value)]
    for step, item in steps:
        try:
            _write(_prepare(item, DEPTH_MAX, [BLOCK_BYTES_MAX]))
        except InvalidInputError:
            return step + _place(item)
    return ""


def _refuse_depth() -> NoReturn:
    raise InvalidInputError(
        f"value: got a deeper container or a cycle, expected depth {DEPTH_MAX} at most",
        kind=ErrorKind.LIMIT_EXCEEDED,
    )


def _refuse_size() -> NoReturn:
    raise InvalidInputError(
        f"value: got more than {BLOCK_BYTES_MAX} entries, "
        f"expected a block of {BLOCK_BYTES_MAX} bytes",
        kind=ErrorKind.LIMIT_EXCEEDED,
    )


try:
    use_engine("cbrrr")
except InvalidInputError:
    use_engine("cbor2")

"""Records: what one line of JSON lines says, checked field by field, before anything is looked up.

A reference (`Reference`) names a node by a local name of the same input, by its id, or by its key;
which node that is, is for `ndjson.py` to find out.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ibidem.objects.constants import VECTOR_DIM_MAX
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import EdgeId, NodeId

JSON_DEPTH_MAX = 60

OWN_NAMESPACES = ("document", "section", "passage")
"""A line may refer to a document, but not take its place: its parts would be lost."""

Reference = NodeId | str
"""A node id, or a local name."""


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """`{"node": {...}}`; `key` is None where the line has none (a JSON null key is refused)."""

    name: str | None
    ntype: str
    summary: str | None
    context_sentence: str | None
    props: Mapping[str, Any]
    content: bytes | None
    namespace: str
    key: Any


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    """`{"edge": {...}}`."""

    source: Reference
    etype: str
    target: Reference
    weight: float
    props: Mapping[str, Any]
    key: Any


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """`{"vector": {...}}`; `values`: (d,) float32, finite."""

    node: Reference
    model: str
    values: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SparseRecord:
    """`{"sparse": {...}}`; indices ascending, as many as weights."""

    node: Reference
    vocab: str
    indices: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RemoveRecord:
    """`{"remove": {"node": …}}` or `{"remove": {"edge": …}}`."""

    node: Reference | None
    edge: EdgeId | None


@dataclass(frozen=True, slots=True)
class TombstoneRecord:
    """`{"tombstone": {...}}`."""

    node: Reference
    reason: str


Record = NodeRecord | EdgeRecord | VectorRecord | SparseRecord | RemoveRecord | TombstoneRecord


def parse_record(line: bytes) -> Record:
    """Returns the record on one line.

    Raises:
        InvalidInputError: the line is not one JSON object of a known form; names the field.
    """
    value = _load(line)
    if not isinstance(value, dict) or len(value) != 1:
        _refuse("json", value, f"an object with one of {', '.join(_READERS)}")
    ((form, body),) = value.items()
    reader = _READERS.get(form)
    if reader is None:
        _refuse("json", form, f"one of {', '.join(_READERS)}")
    return reader(_Fields(form, body))


def is_record_line(line: bytes) -> bool:
    """Whether a line has the outer form of a record, so that a file of them is taken for ours."""
    try:
        value = _load(line)
    except InvalidInputError:
        return False
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _READERS


def _load(line: bytes) -> object:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"json: byte {error.start} is not UTF-8") from error
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise InvalidInputError("json: nested too deep") from None
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"json: {error.msg} at column {error.colno}") from error
    except InvalidInputError:
        raise
    except ValueError as error:  # an integer with thousands of digits
        raise InvalidInputError(f"json: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise InvalidInputError(f"json: field {_short(name)} stands twice")
            seen.add(name)
    return result


def _constant(name: str) -> NoReturn:
    raise InvalidInputError(f"json: {name} is not a number")


class _Fields:
    """The fields of a record's body, taken one by one; what is left over is refused."""

    __slots__ = ("_body", "_form")

    def __init__(self, form: str, body: object) -> None:
        if not isinstance(body, dict):
            _refuse(form, body, "an object")
        self._form = form
        self._body: dict[str, Any] = dict(body)

    def has(self, name: str) -> bool:
        return name in self._body

    def take(self, name: str) -> Any:
        if name not in self._body:
            raise InvalidInputError(f"{self._form}.{name}: missing")
        return self._body.pop(name)

    def text(self, name: str) -> str:
        value = self.take(name)
        if not isinstance(value, str) or not value:
            _refuse(f"{self._form}.{name}", value, "text that is not empty")
        return _encodable(f"{self._form}.{name}", value)

    def optional_text(self, name: str, default: str | None = None) -> str | None:
        value = self._body.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, str):
            _refuse(f"{self._form}.{name}", value, "text")
        return _encodable(f"{self._form}.{name}", value)

    def number(self, name: str, default: float) -> float:
        value = self._body.pop(name, default)
        return _finite(f"{self._form}.{name}", value)

    def value(self, name: str) -> Any:
        if name not in self._body:
            return None
        value = self._body.pop(name)
        if value is None:
            _refuse(f"{self._form}.{name}", value, "a value, or no such field")
        _check(f"{self._form}.{name}", value)
        return value

    def props(self) -> Mapping[str, Any]:
        value = self._body.pop("props", {})
        if not isinstance(value, dict):
            _refuse(f"{self._form}.props", value, "an object")
        _check(f"{self._form}.props", value)
        return value

    def reference(self, name: str) -> Reference:
        value = self.take(name)
        field = f"{self._form}.{name}"
        if isinstance(value, dict):
            inner = _Fields(field, value)
            namespace, key = inner.optional_text("namespace", ""), inner.value("key")
            inner.end()
            if key is None:
                _refuse(field, value, 'an object with "key"')
            return node_id(namespace or "", key)
        if not isinstance(value, str) or not value:
            _refuse(field, value, "a local name, a node id or an object with namespace and key")
        return NodeId.parse(value) if _is_id(value) else _encodable(field, value)

    def base64(self, name: str) -> bytes:
        text = self.text(name)
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidInputError(f"{self._form}.{name}: not base64: {error}") from error

    def list(self, name: str) -> list[Any]:
        value = self.take(name)
        if not isinstance(value, list):
            _refuse(f"{self._form}.{name}", value, "a list")
        return value

    def one_of(self, first: str, second: str) -> str:
        if self.has(first) == self.has(second):
            raise InvalidInputError(f"{self._form}: expected either {first!r} or {second!r}")
        return first if self.has(first) else second

    def end(self) -> None:
        if self._body:
            names = ", ".join(_short(name) for name in self._body)
            raise InvalidInputError(f"{self._form}: unknown field {names}")


def _node(fields: _Fields) -> NodeRecord:
    name = fields.optional_text("name")
    if name is not None and (not name or _is_id(name)):
        _refuse("node.name", name, "text that is not empty and not 32 hexadecimal digits")
    content: bytes | None = None
    if fields.has("content") or fields.has("content_base64"):
        if fields.one_of("content", "content_base64") == "content":
            content = fields.text("content").encode("utf-8")
        else:
            content = fields.base64("content_base64")
    record = NodeRecord(
        name=name,
        ntype=fields.text("ntype"),
        summary=fields.optional_text("summary"),
        context_sentence=fields.optional_text("context_sentence"),
        props=fields.props(),
        content=content,
        namespace=fields.optional_text("namespace", "") or "",
        key=fields.value("key"),
    )
    if record.namespace in OWN_NAMESPACES:
        _refuse("node.namespace", record.namespace, "one that ingest does not use for documents")
    if record.namespace and record.key is None:
        _refuse("node.namespace", record.namespace, "a key beside it")
    fields.end()
    return record


def _edge(fields: _Fields) -> EdgeRecord:
    record = EdgeRecord(
        source=fields.reference("source"),
        etype=fields.text("etype"),
        target=fields.reference("target"),
        weight=fields.number("weight", 1.0),
        props=fields.props(),
        key=fields.value("key"),
    )
    fields.end()
    return record


def _vector(fields: _Fields) -> VectorRecord:
    node, model = fields.reference("node"), fields.text("model")
    if fields.one_of("values", "base64_f32") == "values":
        values = _float32(fields.list("values"))
    else:
        data = fields.base64("base64_f32")
        if len(data) % 4:
            _refuse("vector.base64_f32", len(data), "a number of bytes divisible by 4")
        values = np.frombuffer(data, dtype="<f4").astype(np.float32)
    if not 1 <= len(values) <= VECTOR_DIM_MAX:
        _refuse("vector", len(values), f"1 to {VECTOR_DIM_MAX} values")
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        _refuse(f"vector.values[{place}]", float(values[place]), "a finite float32")
    fields.end()
    return VectorRecord(node, model, values)


def _float32(listed: list[Any]) -> npt.NDArray[np.float32]:
    if not set(map(type, listed)) <= {int, float} or any(map(math.isinf, map(_float, listed))):
        for place, value in enumerate(listed):
            _finite(f"vector.values[{place}]", value)
    with np.errstate(over="ignore"):
        return np.array(listed, dtype=np.float64).astype(np.float32)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _sparse(fields: _Fields) -> SparseRecord:
    node, vocab = fields.reference("node"), fields.text("vocab")
    indices, weights = fields.list("indices"), fields.list("weights")
    for place, index in enumerate(indices):
        if type(index) is not int or not 0 <= index < 1 << 32:
            _refuse(f"sparse.indices[{place}]", index, "an integer from 0 to 2^32 - 1")
        if place and indices[place - 1] >= index:
            _refuse(f"sparse.indices[{place}]", index, "indices that ascend")
    if len(indices) != len(weights):
        _refuse("sparse.weights", len(weights), f"as many as indices, {len(indices)}")
    finite = tuple(
        _finite(f"sparse.weights[{place}]", weight) for place, weight in enumerate(weights)
    )
    fields.end()
    return SparseRecord(node, vocab, tuple(indices), finite)


def _remove(fields: _Fields) -> RemoveRecord:
    if fields.one_of("node", "edge") == "node":
        record = RemoveRecord(fields.reference("node"), None)
    else:
        record = RemoveRecord(None, EdgeId.parse(fields.text("edge")))
    fields.end()
    return record


def _tombstone(fields: _Fields) -> TombstoneRecord:
    record = TombstoneRecord(fields.reference("node"), fields.optional_text("reason") or "")
    fields.end()
    return record


_READERS: dict[str, Callable[[_Fields], Record]] = {
    "node": _node,
    "edge": _edge,
    "vector": _vector,
    "sparse": _sparse,
    "remove": _remove,
    "tombstone": _tombstone,
}


def _check(field: str, value: object) -> None:
    """Refuses what the format cannot hold; the codec would too, without the field's name."""
    found = _misfit(value, JSON_DEPTH_MAX)
    if found is not None:
        place, misfit, expected = found
        _refuse(field + place, misfit, expected)


def _misfit(value: object, depth: int) -> tuple[str, object, str] | None:
    """The first value inside that does not fit: (path to it, value, what was expected)."""
    if depth < 0:
        return "", "a deeper value", f"at most {JSON_DEPTH_MAX} levels"
    match value:
        case str():
            return None if _is_encodable(value) else ("", value, "text without lone surrogates")
        case bool() | None:
            return None
        case int():
            fits = -(1 << 64) <= value < 1 << 64
            return None if fits else ("", value, "an integer of at most 64 bits")
        case float():
            if not math.isfinite(value):
                return "", value, "a finite number"
            signed_zero = value == 0 and math.copysign(1.0, value) < 0
            return ("", value, "0.0 without a sign") if signed_zero else None
        case list():
            for place, inner in enumerate(value):
                if (found := _misfit(inner, depth - 1)) is not None:
                    return f"[{place}]{found[0]}", *found[1:]
        case dict():
            for name, inner in value.items():
                if not _is_encodable(name):
                    return "", name, "names without lone surrogates"
                if (found := _misfit(inner, depth - 1)) is not None:
                    return f".{name}{found[0]}", *found[1:]
    return None


def _finite(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(field, value, "a number")
    number = _float(value)
    if not math.isfinite(number):
        _refuse(field, value, "a finite number")
    return number


def _encodable(field: str, text: str) -> str:
    if not _is_encodable(text):
        _refuse(field, text, "text without lone surrogates")
    return text


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_id(text: str) -> bool:
    return len(text) == 32 and all(digit in "0123456789abcdef" for digit in text)


def _refuse(field: str, value: object, expected: str) -> NoReturn:
    raise InvalidInputError(f"{field[:200]}: got {_short(value)}, expected {expected}")


def _short(value: object) -> str:
    text = ascii(value) if not isinstance(value, int) or abs(value) < 10**40 else "a huge integer"
    return text if len(text) <= 80 else text[:80] + "…"

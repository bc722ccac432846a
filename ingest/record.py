"""Records: what a source states, one element at a time, before anything is looked up.

JSON lines are parsed to records here, checked field by field, and `format_record` writes a record
as a line; readers of other formats create records themselves. A reference (`Reference`) names a
node by a local name of the same input, by its id, or by its key; `record_writer.py` resolves it.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from dataclasses import fields as fields_of
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ibidem.ingest.fields import Fields, Reference, finite, is_id, load_json, refuse, to_float
from ibidem.objects.block import empty
from ibidem.objects.child import Child
from ibidem.objects.config import Model
from ibidem.objects.constants import VECTOR_DIM_MAX
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.json_value import to_json
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction

_BASE64 = {"base64_f32": "<f4", "base64_f16": "<f2", "base64_i8": "|i1"}
"""Fields with the components of a vector, each with their type in numpy's notation."""
OWN_NAMESPACES = ("document", "section", "passage")
"""A line may refer to a document, but not replace it: its parts would be lost."""


@record
class NodeRecord:
    """`{"node": {...}}`; `key` is None where the line has none (a JSON null key is rejected)."""

    name: str | None
    ntype: str
    summary: str | None
    context_sentence: str | None
    props: Mapping[str, Any]
    content: bytes | None = None
    namespace: str = ""
    key: Any = None
    id: NodeId | None = None
    """The id, if the source has ids of this kind; by default it is derived."""
    children: tuple[Child, ...] = ()
    tail: str = ""
    replace: bool = True
    """Whether a node with this key or id and other values is replaced; else it is an error."""

    def values(self) -> dict[str, Any]:
        """Returns every field but the local name, as `Transaction.add_node` takes it."""
        found = {each.name: getattr(self, each.name) for each in fields_of(self)[1:]}
        return found | {"replace": self.replace and (self.key is not None or self.id is not None)}


@record
class EdgeRecord:
    """`{"edge": {...}}`."""

    source: Reference
    etype: str
    target: Reference
    weight: float = 1.0
    props: Mapping[str, Any] = field(default_factory=empty)
    key: Any = None
    replace: bool = True
    """Whether an edge of this type, key and ends with other values is replaced."""


class NodeVectorRecord:
    """A vector of a node, of any family."""

    FORM: ClassVar[str]
    node: Reference

    def stage(self, tx: Transaction, node: NodeId) -> None:
        """Stages the vector for a node."""
        raise NotImplementedError


@record
class VectorRecord(NodeVectorRecord):
    """`{"vector": {...}}`; `values`: (d,) float32, float16 or int8, finite."""

    FORM = "vector"
    node: Reference
    model: str
    values: npt.NDArray[Any]
    of: bytes | None = None
    """The digest of the text that it was made from; by default of the node's text at commit."""

    def stage(self, tx: Transaction, node: NodeId) -> None:
        """Stages the vector."""
        tx.set_vector(node, model=self.model, vector=self.values, of=self.of)


@record
class SparseRecord(NodeVectorRecord):
    """`{"sparse": {...}}`; indices ascending, as many as weights."""

    FORM = "sparse"
    node: Reference
    vocab: str
    indices: Sequence[int]
    weights: Sequence[float]
    of: bytes | None = None

    def stage(self, tx: Transaction, node: NodeId) -> None:
        """Stages the vector."""
        tx.set_sparse(
            node, vocab=self.vocab, indices=self.indices, weights=self.weights, of=self.of
        )


@record
class UpdateRecord:
    """`{"update": {...}}`: new values of some fields of a node; the others stay."""

    node: Reference
    values: Mapping[str, Any]
    """By name, as `Transaction.update_node` takes them."""


@record
class RemoveRecord:
    """`{"remove": {"node": …}}` or `{"remove": {"edge": …}}`."""

    node: Reference | None
    edge: EdgeId | None


@record
class TombstoneRecord:
    """`{"tombstone": {...}}`."""

    node: Reference
    reason: str


@record
class ModelRecord:
    """`{"model": {...}}`: what the vectors of a model have in common."""

    name: str
    model: Model


@record
class ConfigRecord:
    """`{"config": {...}}`: the configuration of the graph that was exported, without its models."""

    config: Mapping[str, Any]


Record = (
    NodeRecord
    | EdgeRecord
    | NodeVectorRecord
    | UpdateRecord
    | RemoveRecord
    | TombstoneRecord
    | ModelRecord
    | ConfigRecord
)


def parse_record(line: bytes) -> Record:
    """Returns the record on one line.

    Raises:
        InvalidInputError: the line is not one JSON object of a known form; the message names the
            field.
    """
    value = load_json(line)
    if not isinstance(value, dict) or len(value) != 1:
        refuse("json", value, f"an object with one of {', '.join(_READERS)}")
    ((form, body),) = value.items()
    reader = _READERS.get(form)
    if reader is None:
        refuse("json", form, f"one of {', '.join(_READERS)}")
    return reader(Fields(form, body))


def format_record(record: Record) -> bytes:
    """Returns a record as a line of JSON, with its line feed; `parse_record` gives it back.

    Fields with their default value are left out, and names of properties are sorted, so equal
    records give equal lines.
    """
    match record:
        case NodeRecord():
            form, body = "node", _node_fields(record)
        case EdgeRecord():
            form, body = "edge", _with_reference(record, "source", "target")
        case VectorRecord():
            form, body = "vector", _with_reference(record, "node")
            kind = {"e": "base64_f16", "b": "base64_i8"}.get(body["values"].dtype.char)
            kind = kind or "base64_f32"
            data = body.pop("values").astype(_BASE64[kind]).tobytes()
            body[kind] = base64.b64encode(data).decode("ascii")
        case SparseRecord():
            form, body = "sparse", _with_reference(record, "node")
            body["indices"] = [int(index) for index in record.indices]
            body["weights"] = [float(weight) for weight in record.weights]
        case UpdateRecord():
            form, body = "update", _update_fields(record)
        case TombstoneRecord():
            form, body = "tombstone", _with_reference(record, "node")
        case RemoveRecord(edge=edge) if edge is not None:
            form, body = "remove", {"edge": str(edge)}
        case RemoveRecord():
            form, body = "remove", {"node": str(record.node)}
        case ModelRecord():
            form, body = "model", {"name": record.name, **to_json(record.model.to_map())}
        case ConfigRecord():
            form, body = "config", to_json(record.config)
        case _:
            raise AssertionError(f"BUG: a record without a form: {record!r:.80}")
    if isinstance(body.get("of"), bytes):
        body["of"] = body["of"].hex()
    line = json.dumps({form: body}, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return line.encode("utf-8") + b"\n"


def _node_fields(record: NodeRecord) -> dict[str, Any]:
    body = _stated(record)
    content = body.pop("content", None)
    if content is not None:
        body |= _content_field(content)
    if record.id is not None:
        body["id"] = str(record.id)
    if record.children:
        body["children"] = [
            {one.name: to_json(getattr(child, one.name)) for one in fields_of(child)}
            | {"id": str(child.id)}
            for child in record.children
        ]
    return body


def _update_fields(record: UpdateRecord) -> dict[str, Any]:
    body = {
        name: list(value) if name == "unset_props" else to_json(value)
        for name, value in record.values.items()
        if name != "content"
    }
    if "content" in record.values:
        content = record.values["content"]
        body |= _content_field(content) if content else {"content": None}
    return body | {"node": str(record.node)}


def _content_field(content: bytes) -> dict[str, Any]:
    """Returns content as text if it is UTF-8 and not longer so, else as base64."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is not None and len(json.dumps(text, ensure_ascii=False)) <= 2 * len(text) + 2:
        return {"content": text}
    return {"content_base64": base64.b64encode(content).decode("ascii")}


def _with_reference(record: Any, *names: str) -> dict[str, Any]:
    body = _stated(record)
    body |= {name: str(getattr(record, name)) for name in names}
    return body


def _stated(record: Any) -> dict[str, Any]:
    """Returns the fields of a record that say something, as JSON values."""
    stated = ((one.name, getattr(record, one.name)) for one in fields_of(record))
    return {
        name: to_json(value) if name in ("key", "props") else value
        for name, value in stated
        if value is not None and (name == "key" or not _is_default(value))
    }


def _is_default(value: object) -> bool:
    return value is True or (isinstance(value, str | tuple | Mapping) and not value)


def is_record_line(line: bytes) -> bool:
    """Whether a line has the outer form of a record, so that a file of such lines is recognised."""
    try:
        value = load_json(line)
    except InvalidInputError:
        return False
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _READERS


def _node(fields: Fields) -> NodeRecord:
    name = fields.optional_text("name")
    if name is not None and (not name or is_id(name)):
        refuse("node.name", name, "text that is not empty and not 32 hexadecimal digits")
    record = NodeRecord(
        name=name,
        ntype=fields.text("ntype"),
        summary=fields.optional_text("summary"),
        context_sentence=fields.optional_text("context_sentence"),
        props=fields.props(),
        content=_content(fields),
        namespace=fields.optional_text("namespace", "") or "",
        key=fields.value("key"),
        id=fields.id("id"),
        children=_children(fields),
        tail=fields.optional_text("tail", "") or "",
        replace=fields.flag("replace", default=True),
    )
    if record.namespace in OWN_NAMESPACES and record.id is None:
        refuse(
            "node.namespace",
            record.namespace,
            "one that ingest does not use for documents, or an id as in an export",
        )
    if record.namespace and record.key is None:
        refuse("node.namespace", record.namespace, "a key beside it")
    fields.end()
    return record


def _content(fields: Fields) -> bytes | None:
    if not fields.has("content") and not fields.has("content_base64"):
        return None
    if fields.one_of("content", "content_base64") == "content":
        return fields.text("content").encode("utf-8")
    return fields.base64("content_base64")


def _children(fields: Fields) -> tuple[Child, ...]:
    if not fields.has("children"):
        return ()
    found = []
    for index, listed in enumerate(fields.list("children")):
        child = Fields(f"node.children[{index}]", listed)
        part = child.id("id")
        if part is None:
            refuse(f"node.children[{index}].id", None, "an id")
        sizes = child.take("size_bytes"), child.take("size_lines")
        found.append(Child(part, child.optional_text("lead", "") or "", *sizes))
        child.end()
    return tuple(found)


def _edge(fields: Fields) -> EdgeRecord:
    record = EdgeRecord(
        source=fields.reference("source"),
        etype=fields.text("etype"),
        target=fields.reference("target"),
        weight=fields.number("weight", 1.0),
        props=fields.props(),
        key=fields.value("key"),
        replace=fields.flag("replace", default=True),
    )
    fields.end()
    return record


def _vector(fields: Fields) -> VectorRecord:
    node, model = fields.reference("node"), fields.text("model")
    form = fields.one_of("values", *_BASE64)
    values: npt.NDArray[Any]
    if form == "values":
        values = _float32(fields.list("values"))
    else:
        data, dtype = fields.base64(form), np.dtype(_BASE64[form])
        if len(data) % dtype.itemsize:
            refuse(f"vector.{form}", len(data), f"a number of bytes divisible by {dtype.itemsize}")
        values = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
    if not 1 <= len(values) <= VECTOR_DIM_MAX:
        refuse("vector", len(values), f"1 to {VECTOR_DIM_MAX} values")
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        refuse(f"vector.values[{place}]", float(values[place]), "a finite float32")
    of = fields.digest("of")
    fields.end()
    return VectorRecord(node, model, values, of)


def _float32(listed: list[Any]) -> npt.NDArray[np.float32]:
    if not set(map(type, listed)) <= {int, float} or any(map(math.isinf, map(to_float, listed))):
        for place, value in enumerate(listed):
            finite(f"vector.values[{place}]", value)
    with np.errstate(over="ignore"):
        return np.array(listed, dtype=np.float64).astype(np.float32)


def _sparse(fields: Fields) -> SparseRecord:
    node, vocab = fields.reference("node"), fields.text("vocab")
    indices, weights = fields.list("indices"), fields.list("weights")
    for place, index in enumerate(indices):
        if type(index) is not int or not 0 <= index < 1 << 32:
            refuse(f"sparse.indices[{place}]", index, "an integer from 0 to 2^32 - 1")
        if place and indices[place - 1] >= index:
            refuse(f"sparse.indices[{place}]", index, "indices that ascend")
    if len(indices) != len(weights):
        refuse("sparse.weights", len(weights), f"as many as indices, {len(indices)}")
    checked = tuple(
        finite(f"sparse.weights[{place}]", weight) for place, weight in enumerate(weights)
    )
    of = fields.digest("of")
    fields.end()
    return SparseRecord(node, vocab, tuple(indices), checked, of)


def _update(fields: Fields) -> UpdateRecord:
    node = fields.reference("node")
    values: dict[str, Any] = {}
    if fields.has("ntype"):
        values["ntype"] = fields.text("ntype")
    for name in ("summary", "context_sentence", "tail"):
        if fields.has(name):
            values[name] = fields.optional_text(name, "" if name == "tail" else None)
    if fields.is_null("content"):
        fields.take("content")
        values["content"] = None
    elif (content := _content(fields)) is not None:
        values["content"] = content
    for name in ("props", "set_props"):
        if fields.has(name):
            values[name] = fields.props(name)
    if fields.has("unset_props"):
        values["unset_props"] = fields.names("unset_props")
    fields.end()
    if not values:
        refuse("update", {}, "a field to change beside the node")
    return UpdateRecord(node, values)


def _remove(fields: Fields) -> RemoveRecord:
    if fields.one_of("node", "edge") == "node":
        record = RemoveRecord(fields.reference("node"), None)
    else:
        record = RemoveRecord(None, EdgeId.parse(fields.text("edge")))
    fields.end()
    return record


def _tombstone(fields: Fields) -> TombstoneRecord:
    record = TombstoneRecord(fields.reference("node"), fields.optional_text("reason") or "")
    fields.end()
    return record


def _model(fields: Fields) -> ModelRecord:
    name = fields.text("name")
    return ModelRecord(name, Model.from_map(fields.rest()))


def _config(fields: Fields) -> ConfigRecord:
    return ConfigRecord(fields.rest())


_READERS: dict[str, Callable[[Fields], Record]] = {
    "node": _node,
    "edge": _edge,
    "vector": _vector,
    "sparse": _sparse,
    "model": _model,
    "config": _config,
    "update": _update,
    "remove": _remove,
    "tombstone": _tombstone,
}

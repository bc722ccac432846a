"""Records: the parsed lines of JSON lines, checked field by field, before anything is looked up.

A reference (`Reference`) names a node by a local name of the same input, by its id, or by its key;
`ndjson.py` resolves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields as fields_of
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ibidem.ingest.fields import Fields, Reference, finite, is_id, load_json, refuse, to_float
from ibidem.objects.constants import VECTOR_DIM_MAX
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction

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
    content: bytes | None
    namespace: str
    key: Any

    def values(self) -> dict[str, Any]:
        """Returns every field but the local name, as `Transaction.add_node` takes it."""
        return {each.name: getattr(self, each.name) for each in fields_of(self)[1:]}


@record
class EdgeRecord:
    """`{"edge": {...}}`."""

    source: Reference
    etype: str
    target: Reference
    weight: float
    props: Mapping[str, Any]
    key: Any


class NodeVectorRecord:
    """A vector of a node, of any family."""

    FORM: ClassVar[str]
    node: Reference

    def stage(self, tx: Transaction, node: NodeId) -> None:
        """Stages the vector for a node."""
        raise NotImplementedError


@record
class VectorRecord(NodeVectorRecord):
    """`{"vector": {...}}`; `values`: (d,) float32, finite."""

    FORM = "vector"
    node: Reference
    model: str
    values: npt.NDArray[np.float32]

    def stage(self, tx: Transaction, node: NodeId) -> None:
        """Stages the vector."""
        tx.set_vector(node, model=self.model, vector=self.values)


@record
class SparseRecord(NodeVectorRecord):
    """`{"sparse": {...}}`; indices ascending, as many as weights."""

    FORM = "sparse"
    node: Reference
    vocab: str
    indices: tuple[int, ...]
    weights: tuple[float, ...]

    def stage(self, tx: Transaction, node: NodeId) -> None:
        """Stages the vector."""
        tx.set_sparse(node, vocab=self.vocab, indices=self.indices, weights=self.weights)


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


Record = NodeRecord | EdgeRecord | NodeVectorRecord | RemoveRecord | TombstoneRecord


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
        refuse("node.namespace", record.namespace, "one that ingest does not use for documents")
    if record.namespace and record.key is None:
        refuse("node.namespace", record.namespace, "a key beside it")
    fields.end()
    return record


def _edge(fields: Fields) -> EdgeRecord:
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


def _vector(fields: Fields) -> VectorRecord:
    node, model = fields.reference("node"), fields.text("model")
    if fields.one_of("values", "base64_f32") == "values":
        values = _float32(fields.list("values"))
    else:
        data = fields.base64("base64_f32")
        if len(data) % 4:
            refuse("vector.base64_f32", len(data), "a number of bytes divisible by 4")
        values = np.frombuffer(data, dtype="<f4").astype(np.float32)
    if not 1 <= len(values) <= VECTOR_DIM_MAX:
        refuse("vector", len(values), f"1 to {VECTOR_DIM_MAX} values")
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        refuse(f"vector.values[{place}]", float(values[place]), "a finite float32")
    fields.end()
    return VectorRecord(node, model, values)


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
    fields.end()
    return SparseRecord(node, vocab, tuple(indices), checked)


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


_READERS: dict[str, Callable[[Fields], Record]] = {
    "node": _node,
    "edge": _edge,
    "vector": _vector,
    "sparse": _sparse,
    "remove": _remove,
    "tombstone": _tombstone,
}

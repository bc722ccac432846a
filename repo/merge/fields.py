"""The fields of a node or an edge as merging sees them, and the three-way rule for them.

A property is a field of its own, and so is every field that this version does not know. `children`
and `tail` are one field, `layout`: they say how one source is put together, and halves of two
sources make none. Values are compared by their bytes.

Spec: merge 3.
"""

from __future__ import annotations

from collections.abc import Mapping

from ibidem.objects import codec
from ibidem.objects.block import Block, in_version
from ibidem.objects.conflict import EDGE, NODE
from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.edge import Edge
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import TrustPolicy, strictness

LAYOUT = "layout"
_PROPERTY = "props."
_LAYOUT_PARTS = ("children", "tail")
_FIXED = ("kind", "v", "id")
_WEIGHT_DEFAULT = 1.0

Fields = dict[str, bytes]
"""By name, `props.NAME` for a property, the canonical bytes of each field that is there."""


@record
class Side:
    """One side of a merge of fields."""

    fields: Fields
    settled: frozenset[str] = frozenset()
    """Fields that count as changed here: a conflict about them was settled, or is another."""


@record
class Sensitivity:
    """The property of a node by which a trust policy has its level: of two, the stricter stands."""

    policy: TrustPolicy

    @property
    def name(self) -> str:
        """The name of the field."""
        return _PROPERTY + self.policy.level

    def stricter(self, one: Fields, other: Fields) -> Fields | None:
        """Returns the side whose level hides more; None where both are alike."""
        levels = self._level(one), self._level(other)
        if levels[0] == levels[1]:
            return None
        return one if levels[0] > levels[1] else other

    def _level(self, fields: Fields) -> int:
        value = fields.get(self.name)
        props = {} if value is None else {self.policy.level: codec.decode(value)}
        return strictness(self.policy, props)


def version_of(*blocks: bytes) -> int:
    """Returns the version that a value made of some node or edge blocks has: their highest."""
    return max(int(codec.decode(block)["v"]) for block in blocks)


def fields_of(block: bytes, version: int = FORMAT_VERSION) -> Fields:
    """Returns the fields of a node or edge block, in the form of a version."""
    found = dict(in_version(codec.decode(block), version))
    if found["kind"] == EDGE:
        found.setdefault("weight", _WEIGHT_DEFAULT)
    for name in _FIXED:
        found.pop(name)
    properties = found.pop("props", {})
    parts = [found.pop(name, None) for name in _LAYOUT_PARTS]
    fields = {name: codec.encode(value) for name, value in found.items()}
    fields.update((_PROPERTY + name, codec.encode(value)) for name, value in properties.items())
    if any(part is not None for part in parts):
        fields[LAYOUT] = codec.encode(parts)
    return fields


def block_of(block: bytes, fields: Fields, version: int = FORMAT_VERSION) -> bytes:
    """Returns `block`, that of a node or an edge, in a version and with these fields in place of
    its own.

    Raises:
        InvalidInputError: kind `limit-exceeded`: together they are too large for a block.
    """
    before = in_version(codec.decode(block), version)
    after = {name: before[name] for name in _FIXED}
    properties = {}
    for name, value in fields.items():
        if name == LAYOUT:
            parts = zip(_LAYOUT_PARTS, codec.decode(value), strict=True)
            after.update((part, found) for part, found in parts if found is not None)
        elif name.startswith(_PROPERTY):
            properties[name.removeprefix(_PROPERTY)] = codec.decode(value)
        else:
            after[name] = codec.decode(value)
    if after.get("weight") == _WEIGHT_DEFAULT and after["kind"] == EDGE:
        after.pop("weight")
    if properties:
        after["props"] = properties
    return codec.encode(after)


def merge_fields(
    base: Fields,
    ours: Side,
    theirs: Side,
    *,
    is_ours_first: bool,
    sensitivity: Sensitivity | None = None,
) -> tuple[Fields, frozenset[str]]:
    """Returns the merged fields, and the names of those that both sides changed differently.

    A value that a side has wins over none; of two, that of the first side. Two levels are settled:
    the stricter stands. The order of the fields means nothing.

    Args:
        base: nothing where there was no node or edge before.
        sensitivity: of nodes under a trust policy.

    Spec: merge 3.
    """
    merged: Fields = {}
    clashes = set()
    for name in base.keys() | ours.fields.keys() | theirs.fields.keys():
        was, one, other = base.get(name), ours.fields.get(name), theirs.fields.get(name)
        is_ours_changed = one != was or name in ours.settled
        is_theirs_changed = other != was or name in theirs.settled
        stricter = None
        if sensitivity is not None and name == sensitivity.name:
            # Who puts a node where there was none decides on its level, by saying nothing too.
            is_by_both = not base or (is_ours_changed and is_theirs_changed)
            stricter = sensitivity.stricter(ours.fields, theirs.fields) if is_by_both else None
        if stricter is not None:
            value = stricter.get(name)
        elif one == other or not is_theirs_changed:
            value = one
        elif not is_ours_changed:
            value = other
        else:
            clashes.add(name)
            first, second = (one, other) if is_ours_first else (other, one)
            value = second if first is None else first
        if value is not None:
            merged[name] = value
    return merged, frozenset(clashes)


def class_of(what: str) -> type[Block]:
    """Returns the class of the values that a conflict of this kind links to."""
    return Node if what == NODE else Edge


def with_value(fields: Fields, name: str, values: Mapping[str, bytes]) -> Fields:
    """Returns the fields with one of them as it is in `values`, absent where it is absent there."""
    changed = {other: value for other, value in fields.items() if other != name}
    if name in values:
        changed[name] = values[name]
    return changed

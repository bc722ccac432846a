"""The fields of a node or an edge in a merge, and the three-way rule for them.

A property is a field of its own, and so is every field that this version does not know. `children`
and `tail` are one field, `layout`: together they describe how one source is put together. That of a
document or a part of one is merged child by child. Values are compared by their bytes.

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
from ibidem.repo.merge.layout import merge_layouts, without_sizes
from ibidem.retrieve.access.policy import TrustPolicy, strictness

LAYOUT = "layout"
_PROPERTY = "props."
_LAYOUT_PARTS = ("children", "tail")
_FIXED = ("kind", "v", "id")
_WEIGHT_DEFAULT = 1.0

Fields = dict[str, bytes]
"""The canonical bytes of each present field, by name; `props.NAME` for a property."""


@record
class Side:
    """One side of a merge of fields."""

    fields: Fields
    settled: frozenset[str] = frozenset()
    """Fields that count as changed here, since a conflict about them was resolved or replaced."""


@record
class Sensitivity:
    """The property with the level of a node under a trust policy: the stricter of two wins."""

    policy: TrustPolicy

    @property
    def name(self) -> str:
        """The name of the field."""
        return _PROPERTY + self.policy.level

    def stricter(self, one: Fields, other: Fields) -> Fields | None:
        """Returns the side whose level hides more; None if they are equal."""
        levels = self._level(one), self._level(other)
        if levels[0] == levels[1]:
            return None
        return one if levels[0] > levels[1] else other

    def _level(self, fields: Fields) -> int:
        value = fields.get(self.name)
        props = {} if value is None else {self.policy.level: codec.decode(value)}
        return strictness(self.policy, props)


def version_of(*blocks: bytes) -> int:
    """Returns the format version of a value merged from some node or edge blocks: their highest."""
    return max(int(codec.decode(block)["v"]) for block in blocks)


def fields_of(block: bytes, version: int = FORMAT_VERSION) -> Fields:
    """Returns the fields of a node or edge block, converted to a version."""
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
    """Returns the block of a node or edge, in a version and with its fields replaced by these.

    Raises:
        InvalidInputError: kind `limit-exceeded`: they are too large for one block.
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
    is_ours_first: bool | None,
    is_part: bool = False,
    sensitivity: Sensitivity | None = None,
) -> tuple[Fields, frozenset[str]]:
    """Returns the merged fields, and the names of those that both sides changed differently.

    A value wins over a removal; of two values, that of the first side. Levels never conflict: the
    stricter wins. The order of the fields has no effect.

    Args:
        base: empty if the node or edge did not exist.
        is_ours_first: None if neither side is first: of two values the lower wins.
        is_part: it is a document or a part of one.
        sensitivity: for nodes under a trust policy.

    Spec: merge 3.
    """
    merged: Fields = {}
    clashes = set()
    settled = ours.settled | theirs.settled
    for name in base.keys() | ours.fields.keys() | theirs.fields.keys():
        was, one, other = base.get(name), ours.fields.get(name), theirs.fields.get(name)
        is_ours_changed = one != was or name in ours.settled
        is_theirs_changed = other != was or name in theirs.settled
        stricter = None
        if sensitivity is not None and name == sensitivity.name:
            # A side that adds a node decides on its level, also by leaving it out.
            is_by_both = not base or (is_ours_changed and is_theirs_changed)
            stricter = sensitivity.stricter(ours.fields, theirs.fields) if is_by_both else None
        if stricter is not None:
            value = stricter.get(name)
        elif one == other or not is_theirs_changed:
            value = one
        elif not is_ours_changed:
            value = other
        else:
            value = None
            if name == LAYOUT and is_part:
                value = merge_layouts(was, one, other, is_settled=name in settled)
            if value is None:
                clashes.add(name)
                sides = (one, other) if is_ours_first else (other, one)
                present = [side for side in sides if side is not None]
                value = present[0]
                if is_ours_first is None:
                    value = min(present, key=without_sizes if name == LAYOUT else None)
        if value is not None:
            merged[name] = value
    return merged, frozenset(clashes)


def class_of(what: str) -> type[Block]:
    """Returns the class of the values that a conflict of this kind links to."""
    return Node if what == NODE else Edge


def with_value(fields: Fields, name: str, values: Mapping[str, bytes]) -> Fields:
    """Returns the fields with one of them set to its value in `values`, or removed if it is absent
    there.
    """
    changed = {other: value for other, value in fields.items() if other != name}
    if name in values:
        changed[name] = values[name]
    return changed

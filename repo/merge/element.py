"""Merges one node or edge three ways: its value, and the conflict that may be recorded about it.

Everything here depends on the set of the two sides and never on which is ours: every merge of the
same sides gives the same bytes.

Spec: merge 2, 3, 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ibidem.objects.cid import Cid, ConflictCid
from ibidem.objects.conflict import NODE, Conflict
from ibidem.objects.constants import CONFLICT_LINKS_MAX
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.location import document_of
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.repo.merge.fields import (
    Fields,
    Sensitivity,
    Side,
    block_of,
    fields_of,
    merge_fields,
    version_of,
)
from ibidem.repo.merge.trees import lowest

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source, WriteBatch


@record
class Element:
    """The value and the conflict that one side has under one id."""

    value: Cid | None
    conflict: Cid | None = None


ABSENT = Element(None)


def merge_element(
    what: str,
    base: Element,
    ours: Element,
    theirs: Element,
    buffer: WriteBatch,
    *,
    sensitivity: Sensitivity | None = None,
) -> Element:
    """Returns the merged element; a new value and conflict go into the buffer.

    Args:
        what: NODE or EDGE.
        sensitivity: for a node, if the merged root has a trust policy.

    Spec: merge 2.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    record = _merged_record(base.conflict, ours.conflict, theirs.conflict, buffer)
    if ours.value == theirs.value:
        return Element(ours.value, _put(record, buffer))
    if ours.value is None or theirs.value is None:
        gone, kept = (ours, theirs) if ours.value is None else (theirs, ours)
        if base.value is not None or _is_settled(base, gone):
            sides = _sides(base, kept, buffer)
            record = union(record, what, sides, base.value, deleted=True)
        return Element(kept.value, _put(record, buffer))
    value, clashes = _merged_value(what, base, ours, theirs, buffer, sensitivity)
    if clashes is not None:
        sides = (*_sides(base, ours, buffer), *_sides(base, theirs, buffer))
        record = union(record, what, sides, base.value, fields=clashes)
    return Element(value, _put(record, buffer))


def union(
    known: Conflict | None,
    what: str,
    sides: Iterable[Cid],
    base: Cid | None,
    *,
    fields: Iterable[str] = (),
    deleted: bool = False,
    nodes: Iterable[Cid] = (),
) -> Conflict:
    """Returns the union of a recorded conflict, if any, with another one, of these parts: the same
    in any order and however often.

    Spec: merge 5.
    """
    if known is not None:
        sides = (*known.sides, *sides)
        base = lowest((known.base, base))
        fields = (*known.fields, *fields)
        deleted = known.deleted or deleted
        nodes = (*known.nodes, *nodes)
    names = tuple(sorted({*fields}))
    return Conflict(what, _smallest(sides), base, names, deleted=deleted, nodes=_smallest(nodes))


def read(source: Source, cid: Cid) -> Conflict:
    """Returns the conflict in a block."""
    return Conflict.decode(source.get(cid))


def _merged_value(
    what: str,
    base: Element,
    ours: Element,
    theirs: Element,
    buffer: WriteBatch,
    sensitivity: Sensitivity | None,
) -> tuple[Cid, tuple[str, ...] | None]:
    """Returns the merge of two different values, and the fields in conflict; None if there are
    none.
    """
    assert ours.value is not None, "BUG: a side without a value"
    assert theirs.value is not None, "BUG: a side without a value"
    block, other = buffer.get(ours.value), buffer.get(theirs.value)
    version = version_of(block, other)
    before: Fields = {} if base.value is None else fields_of(buffer.get(base.value), version)
    is_ours_first = _is_first(_sides(base, ours, buffer), _sides(base, theirs, buffer))
    one = Side(fields_of(block, version), _settled(base, ours, buffer))
    two = Side(fields_of(other, version), _settled(base, theirs, buffer))
    fields, clashes = merge_fields(
        before,
        one,
        two,
        is_ours_first=is_ours_first,
        is_part=what == NODE and _is_part(block, other),
        sensitivity=sensitivity,
    )
    try:
        merged = block_of(block, fields, version)
    except InvalidInputError:
        # Each fits a block and both together do not: then the value of one side is used.
        stricter = None if sensitivity is None else sensitivity.stricter(one.fields, two.fields)
        is_ours = block < other if is_ours_first is None else is_ours_first
        is_ours = is_ours if stricter is None else stricter is one.fields
        return (ours.value if is_ours else theirs.value), ()
    cid = type(ours.value).of(merged)
    if cid not in (ours.value, theirs.value):
        buffer.put(cid, merged)
    return cid, tuple(sorted(clashes)) or None


def _is_part(*blocks: bytes) -> bool:
    """Returns whether versions of a node are of one document, or of a part of it."""
    owners = {document_of(Node.decode(block)) for block in blocks}
    return len(owners) == 1 and None not in owners


def _merged_record(
    base: Cid | None, ours: Cid | None, theirs: Cid | None, buffer: WriteBatch
) -> Conflict | None:
    """Returns the merge of the recorded conflicts: one that a side resolved is removed, unless the
    other side has added to it.
    """
    if ours == theirs or theirs == base:
        cid = ours
    elif ours == base:
        cid = theirs
    elif ours is None or theirs is None:
        cid = ours or theirs
    else:
        one, other = read(buffer, ours), read(buffer, theirs)
        return union(
            one,
            other.what,
            other.sides,
            other.base,
            fields=other.fields,
            deleted=other.deleted,
            nodes=other.nodes,
        )
    return None if cid is None else read(buffer, cid)


def _is_settled(base: Element, side: Element) -> bool:
    return base.conflict is not None and side.conflict is None


def _settled(base: Element, side: Element, buffer: WriteBatch) -> frozenset[str]:
    """Returns the fields of the base conflict that a side has resolved, or put into a new conflict;
    they count as changed, whatever their value.
    """
    if base.conflict is None or side.conflict == base.conflict:
        return frozenset()
    return frozenset(read(buffer, base.conflict).fields)


def _sides(base: Element, side: Element, buffer: WriteBatch) -> tuple[Cid, ...]:
    """Returns the values that a side contributes: its own, or those of its conflict if new."""
    if side.conflict is not None and side.conflict != base.conflict:
        return read(buffer, side.conflict).sides
    assert side.value is not None, "BUG: a side without a value"
    return (Cid(side.value.raw),)


def _is_first(ours: tuple[Cid, ...], theirs: tuple[Cid, ...]) -> bool | None:
    """Returns whether ours is the side whose fields are used until a conflict is resolved, by what
    the sides contribute; None if that is the same. A merge contributes what its sides do and is
    before both, so that merging one of them again changes nothing.
    """
    apart = {*ours} ^ {*theirs}
    return min(apart) in ours if apart else None


def _smallest(links: Iterable[Cid]) -> tuple[Cid, ...]:
    return tuple(sorted({Cid(link.raw) for link in links})[:CONFLICT_LINKS_MAX])


def _put(record: Conflict | None, buffer: WriteBatch) -> ConflictCid | None:
    if record is None:
        return None
    block = record.encode()
    cid = ConflictCid.of(block)
    buffer.put(cid, block)
    return cid

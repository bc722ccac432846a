"""Warnings about the conditions of a query: names that no node has, and values of another type.

They are read from the index of the root as the caller sees it, tombstoned nodes included. No node
is read.

Spec: retrieval 9.3, 11.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibidem.retrieve.answer.warning import AnswerWarning, WarningCode
from ibidem.retrieve.filter import matches
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.query.predicate import (
    Between,
    Comparison,
    Equal,
    OneOf,
    Or,
    Predicate,
    Scalar,
    comparisons,
)


def unknown_names(
    snapshot: Snapshot, labels: Iterable[str], properties: Iterable[tuple[str, str]]
) -> Iterator[AnswerWarning]:
    """Yields a warning for each label and then for each property that no node has.

    Args:
        snapshot: the index of the root as the caller sees it.
        labels: in the order of their warnings.
        properties: pairs of an option and a property that it names, in the order of their warnings.
    """
    for name in labels:
        if not snapshot.live & snapshot.label(name):
            yield AnswerWarning(WarningCode.UNKNOWN_LABEL, "label", name)
    for option, name in properties:
        if not snapshot.live & snapshot.exists(name):
            yield AnswerWarning(WarningCode.UNKNOWN_PROPERTY, option, name)


def type_mismatches(snapshot: Snapshot, where: Predicate) -> Iterator[AnswerWarning]:
    """Yields a warning for each property, ascending, that a node has and that a comparison gives
    only numbers or texts, while no value of the property is of such a type."""
    found = {one.name for one in comparisons(where) if _is_of_absent_type(snapshot, one)}
    for name in sorted(found):
        if snapshot.live & snapshot.exists(name):
            yield AnswerWarning(WarningCode.TYPE_MISMATCH, "where", name)


def _is_of_absent_type(snapshot: Snapshot, comparison: Comparison) -> bool:
    types = {type(value) for value in _compared(comparison)}
    if not types or types - {int, float, str} or matches(snapshot, comparison):
        return False
    name = comparison.name
    wanted = [Between(name, "", None)] if str in types else []
    if types != {str}:
        wanted += [Between(name, 0, None), Between(name, None, 0)]
    return not matches(snapshot, Or(tuple(wanted)))


def _compared(comparison: Comparison) -> tuple[Scalar, ...]:
    match comparison:
        case Equal(_, value):
            return (value,)
        case OneOf(_, values):
            return values
        case Between(_, low, high):
            return (high if low is None else low,)
    return ()

"""Filters of LlamaIndex: as a `where`, as far as one says the same or more, and as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from llama_index.core.vector_stores.simple import build_metadata_filter_fn
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilters,
)

from ibidem.adapters.collection import (
    all_of,
    compares,
    equals,
)

_ORDER: Final = {
    FilterOperator.GT: "gt",
    FilterOperator.GTE: "gte",
    FilterOperator.LT: "lt",
    FilterOperator.LTE: "lte",
}


def matches(filters: MetadataFilters | None, metadata: Mapping[str, Any]) -> bool:
    """Returns whether metadata match, as the in-memory store of LlamaIndex says."""
    if filters is None or not filters.filters:
        return True
    found = []
    for one in filters.filters:
        if isinstance(one, MetadataFilters):
            found.append(matches(one, metadata))
        else:
            alone = MetadataFilters(filters=[one])
            found.append(bool(build_metadata_filter_fn(lambda _: metadata, alone)("")))
    if filters.condition == FilterCondition.OR:
        return any(found)
    return not any(found) if filters.condition == FilterCondition.NOT else all(found)


def condition_of(filters: MetadataFilters | None) -> dict[str, object] | None:
    """Returns a condition that everything which matches the filters meets; None for none."""
    if filters is None:
        return None
    all_of("filters", [filters], MetadataFilters)
    if filters.condition == FilterCondition.NOT:
        return None
    parts = [
        condition_of(one) if isinstance(one, MetadataFilters) else _comparison(one)
        for one in filters.filters
    ]
    certain = [one for one in parts if one is not None]
    if filters.condition == FilterCondition.OR:
        return {"or": certain} if certain and len(certain) == len(parts) else None
    return {"and": certain} if certain else None


def _comparison(given: Any) -> dict[str, object] | None:
    if given.operator == FilterOperator.EQ:
        return equals(given.key, given.value)
    if given.operator in _ORDER:
        return compares(given.key, _ORDER[given.operator], given.value)
    if given.operator == FilterOperator.IN and isinstance(given.value, list):
        parts = [equals(given.key, one) for one in given.value]
        return None if None in parts else {"or": parts}
    return None


def join(one: Mapping[str, object], other: Mapping[str, object] | None) -> dict[str, object]:
    """Returns the condition that both are met."""
    return dict(one) if other is None else {"and": [one, other]}

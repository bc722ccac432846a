"""The options of a query as type checkers see them; see `query/signature.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict

from ibidem.embed.language_model import LanguageModel
from ibidem.embed.protocol import Embedder, SparseEncoder
from ibidem.objects.cid import CommitCid, RootCid
from ibidem.retrieve.query.predicate import Predicate
from ibidem.retrieve.query.signature import SharedOptions
from ibidem.retrieve.records.record import RecordType, Status


class RetrieveOptions(SharedOptions, total=False):
    """The options of `retrieve`, without the text."""

    sparse: tuple[str, Any, Any] | SparseEncoder | None
    """A sparse vector, or what computes one."""
    as_of: int | datetime | None
    """A moment with an offset, or microseconds since 1970 UTC, as the other times."""
    created_after: int | datetime | None
    created_before: int | datetime | None
    updated_after: int | datetime | None
    updated_before: int | datetime | None
    notes: CommitCid | str | None
    """A notes head, or the name of a space."""
    imagine: LanguageModel | None
    """Writes an answer, which is asked too."""
    reword: LanguageModel | None
    """Writes other wordings, which are asked too."""
    model: str | None
    embedder: Embedder | None
    degrade: bool
    rerank_timeout: float | None
    strict: bool


class QuestionOptions(RetrieveOptions, total=False):
    """The options of a query, with its text."""

    text: str | None
    packs: Mapping[str, object] | None
    records: Mapping[str, object] | None
    history: Mapping[str, RootCid | None] | None
    moment: int | None


class PacksOptions(RetrieveOptions, total=False):
    """The options of `packs`, without the text."""

    expand: str
    per_hit_neighbors: int
    window_chars: int | None
    merge: str
    rank: str
    spans: bool
    nodes_max: int | None
    etypes: Iterable[str] | None
    hops: int
    fanout: int
    direction: str
    sources: Mapping[str, object] | None


class RecordsOptions(RetrieveOptions, total=False):
    """The options of `records`, without the text."""

    types: Iterable[RecordType | str] | None
    include_status: Iterable[Status | str]
    min_salience: float
    root_limit: int
    edge_limit: int
    hops: int
    direction: str
    top_min: float | None
    gap_min: float | None


class ListingConditions(TypedDict, total=False):
    """The options of `count`."""

    label: str | Iterable[str] | None
    where: Mapping[str, object] | Predicate | None
    as_of: int | datetime | None
    valid_missing: str | None
    created_after: int | datetime | None
    created_before: int | datetime | None
    updated_after: int | datetime | None
    updated_before: int | datetime | None
    include_tombstoned: bool


class ListingOptions(ListingConditions, total=False):
    """The options of `query` and `page`."""

    order_by: str | tuple[str, str] | None
    limit: int | None
    offset: int
    after: str | None


class PathOptions(TypedDict, total=False):
    """The options of `paths`, without starts and steps."""

    limit: int | None
    repeats: str
    include_tombstoned: bool

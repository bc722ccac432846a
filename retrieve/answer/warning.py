"""Warnings: facts that a caller should know about an answer, or a page of a listing, although it is
correct.

The list of codes is closed and the texts are fixed here, so data from a repository cannot get into
the text of a warning.

Spec: retrieval 9.3, 11.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from ibidem.objects.plain import fields_of
from ibidem.objects.record import record

WARNINGS_MAX = 8
"""The largest number of warnings in one result."""


class WarningCode(StrEnum):
    """Stable codes, append-only."""

    NO_QUERY_TERMS = "no_query_terms"
    MODEL_MISSING = "model_missing"
    NO_VECTORS = "no_vectors"
    NO_SPARSE_VECTORS = "no_sparse_vectors"
    STALE_VECTORS = "stale_vectors"
    NO_EDGES = "no_edges"
    FRONTIER_CUT = "frontier_cut"
    UNKNOWN_LABEL = "unknown_label"
    UNKNOWN_PROPERTY = "unknown_property"
    UNKNOWN_EDGE_TYPE = "unknown_edge_type"
    RERANK_FAILED = "rerank_failed"
    OPEN_CONFLICTS = "open_conflicts"
    LOW_COVERAGE = "low_coverage"
    OUTSIDE_WINDOW = "outside_window"
    WARNINGS_TRUNCATED = "warnings_truncated"
    TYPE_MISMATCH = "type_mismatch"


_TEXTS = {
    WarningCode.NO_QUERY_TERMS: "the text has no term to look for",
    WarningCode.MODEL_MISSING: "the model was missing, so words alone rank",
    WarningCode.NO_VECTORS: "no visible node has a vector of this model",
    WarningCode.NO_SPARSE_VECTORS: "no visible node has a sparse vector of this vocabulary",
    WarningCode.STALE_VECTORS: "vectors of returned nodes are missing or of another text",
    WarningCode.NO_EDGES: "no visible edge of these types touches a seed that way",
    WarningCode.FRONTIER_CUT: "nodes were not walked from because there were too many",
    WarningCode.UNKNOWN_LABEL: "no node of this root has such a label",
    WarningCode.UNKNOWN_PROPERTY: "no node of this root has such a property",
    WarningCode.UNKNOWN_EDGE_TYPE: "no edge of this root is of such a type",
    WarningCode.RERANK_FAILED: "the reranker gave nothing to use, the fused order stands",
    WarningCode.OPEN_CONFLICTS: "returned nodes hold one of several values that nobody chose",
    WarningCode.LOW_COVERAGE: "the items together have fewer of the text's terms than required",
    WarningCode.OUTSIDE_WINDOW: "older messages of the thread were not searched",
    WarningCode.WARNINGS_TRUNCATED: "there were more warnings than are shown",
    WarningCode.TYPE_MISMATCH: "no value of this property is of the type that it is compared with",
}


@record
class AnswerWarning:
    """One warning."""

    code: WarningCode
    option: str
    """The option of the query that the warning is about."""
    subject: str | None = None
    """The model, vocabulary, label, property, edge type or thread as the query names it."""
    count: int | None = None
    """The number of nodes concerned, or of messages that were not searched; of `low_coverage`, the
    terms that no item has."""

    @property
    def message(self) -> str:
        """The fixed text."""
        return _TEXTS[self.code]

    def form(self) -> list[object]:
        """Returns the canonical form."""
        return [str(self.code), self.option, self.subject, self.count]

    def to_dict(self) -> dict[str, Any]:
        """Returns the warning as plain data, with its text."""
        return fields_of(self, "code", "option", "subject", "count", "message")


def capped(warnings: Sequence[AnswerWarning]) -> tuple[AnswerWarning, ...]:
    """Returns at most WARNINGS_MAX warnings; if there are more, the last says how many were left
    out."""
    if len(warnings) <= WARNINGS_MAX:
        return tuple(warnings)
    kept = tuple(warnings[: WARNINGS_MAX - 1])
    more = len(warnings) - len(kept)
    return (*kept, AnswerWarning(WarningCode.WARNINGS_TRUNCATED, "warnings", None, more))

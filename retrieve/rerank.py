"""Reranking: a model scores the first nodes of the fused order, and its scores are recorded so that
a replay needs no model.

A reranker is the one part of an answer that this project cannot define, so the scores that were
used become part of the answer. It is called once, and may fail: then the fused order is kept and
the status gives the reason.

Spec: retrieval 6.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, Self

from ibidem.objects.errors import InvalidInputError, ReplayError
from ibidem.objects.ids import ID_BYTES, NodeId
from ibidem.objects.record import record
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import default
from ibidem.retrieve.query.vector import plain

LANE = "rerank"


class Reranker(Protocol):
    """Scores texts for a question; higher is better, None is no opinion on a text."""

    @property
    def name(self) -> str:
        """Names the model for people."""

    @property
    def digest(self) -> bytes:
        """The identity of model, prompt and settings, 32 bytes."""

    def rerank(self, text: str, rendered: Sequence[str]) -> Sequence[float | None]:
        """Returns one score for each text, in their order. Any exception counts as a failure."""


class RerankStatus(StrEnum):
    """How the reranking ended; a closed list."""

    OK = "ok"
    TOO_FEW = "too_few"
    ERROR = "error"
    WRONG_COUNT = "wrong_count"
    NOT_NUMBERS = "not_numbers"
    TIMEOUT = "timeout"


@record
class Rerank:
    """The option of reranking."""

    name: str
    digest: bytes
    text: str
    """The text with which the rendered texts are compared."""
    depth: int = default("rerank_depth")
    """The most nodes of the fused order that are scored."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {
            "name": self.name,
            "digest": self.digest,
            "text": self.text,
            "depth": self.depth,
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the option of a canonical form."""
        return cls.checked(form["name"], form["digest"], form["text"], form["depth"])

    @classmethod
    def checked(cls, name: object, digest: object, text: object, depth: object) -> Self:
        """Returns the option; raises `InvalidInputError` that names what is wrong."""
        if not isinstance(digest, bytes) or len(digest) != 32:
            raise InvalidInputError(f"rerank.digest: got {checks.show(digest)}, expected 32 bytes")
        if not isinstance(text, str) or not text.strip():
            raise InvalidInputError(
                f"rerank_text: got {checks.show(text)}, expected a text that is not blank",
                hint="give a text, or rerank_text when only vectors rank",
            )
        return cls(
            checks.name("rerank.name", name),
            digest,
            checks.name("rerank_text", text),
            option_checks.option("rerank_depth", depth),
        )


def resolve_rerank(
    reranker: object, text: str | None, own_text: object, depth: object
) -> Rerank | None:
    """Returns the option that a caller gave, None if no reranker was given.

    Args:
        reranker: any object with a `name` and a `digest`.
        text: the query's text, which the reranker gets unless `own_text` is given.
        own_text: another text for the reranker, or None.
        depth: the number of nodes to score, or None for the default.
    """
    if reranker is None:
        for name, value in (("rerank_text", own_text), ("rerank_depth", depth)):
            if value is not None:
                raise InvalidInputError(
                    f"{name}: got {checks.show(value)} without rerank, expected both"
                )
        return None
    try:
        name, digest = reranker.name, reranker.digest  # type: ignore[attr-defined]
    except AttributeError as error:
        raise InvalidInputError(
            f"rerank: got {type(reranker).__name__}, expected a reranker: {error}"
        ) from error
    wanted = text if own_text is None else own_text
    return Rerank.checked(name, digest, wanted, depth)


@record
class RerankRecord:
    """The scores of a reranker for the first nodes of one fused order."""

    status: RerankStatus
    scores: tuple[tuple[NodeId, float | None], ...] = ()
    """In the order in which the reranker got them; empty unless the status is `ok`."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        scores = [[node.raw, score] for node, score in self.scores]
        return {"status": str(self.status), "scores": scores}

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the record of a canonical form; raises `InvalidInputError` for others."""
        status, rows = form.get("status"), form.get("scores")
        if status not in tuple(RerankStatus):
            raise InvalidInputError(
                f"rerank.status: got {status!r:.80}, expected one of {', '.join(RerankStatus)}"
            )
        if not isinstance(rows, list) or not all(map(_is_scored, rows)):
            raise InvalidInputError(
                f"rerank.scores: got {rows!r:.80}, expected rows of 16 bytes and a float or null"
            )
        return cls(RerankStatus(status), tuple((NodeId(raw), score) for raw, score in rows))

    def order(self) -> list[int]:
        """Returns the positions of the scored nodes in their new order; empty if nothing moves.

        By score descending; ties keep their order, and nodes without a score follow in their order.
        """
        positions = range(len(self.scores))
        return sorted(
            positions, key=lambda position: (_descending(self.scores[position][1]), position)
        )

    def scored(self) -> list[float]:
        """Returns the scores in the new order, without nodes that have none."""
        return sorted((score for _, score in self.scores if score is not None), reverse=True)


def ask(
    reranker: Reranker | RerankRecord, option: Rerank, shown: Sequence[tuple[NodeId, str]]
) -> RerankRecord:
    """Returns the record of a reranker's scores: newly computed, or those of an earlier record.

    Args:
        reranker: a model, or the record of an earlier answer to the same query.
        option: the option of the query.
        shown: ids and rendered texts of the first nodes of the fused order.

    Raises:
        InvalidInputError: the reranker is not the one that the query names.
        ReplayError: the record is about other nodes.
    """
    if isinstance(reranker, RerankRecord):
        return _checked(reranker, [node for node, _ in shown])
    if (reranker.name, reranker.digest) != (option.name, option.digest):
        raise InvalidInputError(
            f"rerank: got {reranker.name!r} {reranker.digest.hex()}, "
            f"expected the query's {option.name!r} {option.digest.hex()}"
        )
    if len(shown) <= 1:
        return RerankRecord(RerankStatus.TOO_FEW)
    try:
        answer = list(reranker.rerank(option.text, [rendered for _, rendered in shown]))
    except TimeoutError:
        return RerankRecord(RerankStatus.TIMEOUT)
    except Exception:
        return RerankRecord(RerankStatus.ERROR)
    if len(answer) != len(shown):
        return RerankRecord(RerankStatus.WRONG_COUNT)
    try:
        scores = [_score(score) for score in answer]
    except (TypeError, ValueError, OverflowError):
        return RerankRecord(RerankStatus.NOT_NUMBERS)
    ids = (node for node, _ in shown)
    return RerankRecord(RerankStatus.OK, tuple(zip(ids, scores, strict=True)))


def _is_scored(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 2
        and type(row[0]) is bytes
        and len(row[0]) == ID_BYTES
        and (row[1] is None or type(row[1]) is float)
    )


def _checked(record: RerankRecord, ids: list[NodeId]) -> RerankRecord:
    if record.status is RerankStatus.OK and [node for node, _ in record.scores] != ids:
        raise ReplayError(
            f"rerank record: got scores of {len(record.scores)} nodes, "
            f"expected those of the {len(ids)} nodes that come first"
        )
    return record


def _score(value: object) -> float | None:
    """Returns a finite number as float64 without -0.0, or None; raises for anything else."""
    value = plain(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("a score is a number or None")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("a score is finite")
    return number + 0.0


def _descending(score: float | None) -> tuple[bool, float]:
    return (score is None, 0.0 if score is None else -score)

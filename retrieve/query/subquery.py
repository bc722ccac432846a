"""Subqueries: other wordings of a question, parts of it, or an imagined answer to it, each of which
ranks as one more lane of the same fusion.

A subquery is asked under the conditions of the question that it belongs to: the same view,
universe, matching and constants. Its own lanes (words, vector, sparse vector) are fused like those
of the question, and their best nodes are the lane `queries[i]`. So a node that several wordings
find has several shares, and an item shows which wording found it.

Spec: retrieval 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.options import OPTIONS
from ibidem.retrieve.query.vector import VECTOR_OPTIONS, QuerySparse, QueryVector

QUERIES = "queries"
_MEMBERS = ("text", *VECTOR_OPTIONS, "source")


def lane_of(index: int) -> str:
    """Returns the lane of a subquery."""
    return f"{QUERIES}[{index}]"


@record
class Subquery:
    """One of them; it has a text, a vector or a sparse vector."""

    text: str | None = None
    vector: QueryVector | None = None
    sparse: QuerySparse | None = None
    source: str | None = None
    """The name of the model that wrote the text; None if the caller gave it."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {
            "text": self.text,
            "vector": None if self.vector is None else self.vector.form(),
            "sparse": None if self.sparse is None else self.sparse.form(),
            "source": self.source,
        }

    def given(self) -> dict[str, Any]:
        """Returns the question as a caller gives it."""
        found: dict[str, Any] = {"text": self.text, "source": self.source}
        if self.vector is not None:
            found["vector"] = (self.vector.model, self.vector.array())
        if self.sparse is not None:
            found["sparse"] = (self.sparse.vocab, self.sparse.tokens, self.sparse.weights)
        return found

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the question of a canonical form."""
        found = {name: form[name] for name in _MEMBERS}
        for name, each in VECTOR_OPTIONS.items():
            if found[name] is not None:
                found[name] = each.read(found[name])
        return cls(**_checked(QUERIES, found))


def questions_of_form(form: object) -> tuple[Subquery, ...]:
    """Returns the questions of a canonical form."""
    return tuple(Subquery.from_form(one) for one in _listed(form))


def resolve_queries(given: object) -> tuple[Subquery, ...] | None:
    """Returns the questions that a caller gave, in order; None if there are none.

    Args:
        given: texts, or mappings of `text`, `vector`, `sparse` and `source`, of which at least one
            ranks; vectors are as those of the question.

    Raises:
        InvalidInputError: one is of another form; the message begins with its name.
    """
    if given is None or given == [] or given == ():
        return None
    return tuple(_resolved(lane_of(index), one) for index, one in enumerate(_listed(given)))


def _resolved(label: str, given: object) -> Subquery:
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, Mapping) or not given or not set(given) <= set(_MEMBERS):
        raise InvalidInputError(
            f"{label}: got {checks.show(given)}, "
            f"expected a text or a mapping of {', '.join(_MEMBERS)}"
        )
    found = {name: given.get(name) for name in _MEMBERS}
    for name, each in VECTOR_OPTIONS.items():
        if found[name] is not None:
            try:
                found[name] = each.check(found[name])
            except InvalidInputError as error:
                raise InvalidInputError(f"{label}.{error}", kind=error.kind) from error
    return Subquery(**_checked(label, found))


def _checked(label: str, found: dict[str, Any]) -> dict[str, Any]:
    text, name = found["text"], f"{label}.text"
    if text is not None and not checks.sized(name, checks.name(name, text)).strip():
        raise InvalidInputError(f"{name}: got a blank one, expected words")
    if found["source"] is not None:
        checks.name(f"{label}.source", found["source"])
    if all(found[name] is None for name in ("text", *VECTOR_OPTIONS)):
        raise InvalidInputError(f"{label}: got nothing to rank by, expected a text or a vector")
    return found


def _listed(given: object) -> list[Any] | tuple[Any, ...]:
    most = int(OPTIONS[QUERIES].high)
    if not isinstance(given, (list, tuple)) or not 1 <= len(given) <= most:
        size = f" of {len(given)}" if isinstance(given, (list, tuple)) else ""
        raise InvalidInputError(
            f"queries: got {type(given).__name__}{size}, expected a list of 1 to {most} questions"
        )
    return given

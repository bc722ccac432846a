"""The options of a query for records: the time, the notes, the limits of the walk.

Spec: memory 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.options import Option, default, members

_LAYERED = "layered"


@record
class RecordOptions:
    """How records are ranked, and how far their relations are followed."""

    as_of: int
    """The time of salience and recency, microseconds since 1970 UTC."""
    undated: int | None = default("records.undated")
    """The time of records without one: that of the commit. None if there was no commit, which means
    `as_of`; or if every visible record has a time."""
    notes: CommitCid | None = default("records.notes")
    """The notes head whose events count; None for no events."""
    min_salience: float = default("records.min_salience")
    root_limit: int = default("records.root_limit")
    limit: int = default("records.limit")
    edge_limit: int = default("records.edge_limit")
    hops: int = default("records.hops")
    direction: str = default("records.direction")
    top_min: float = default("records.top_min")
    gap_min: float = default("records.gap_min")
    layered: bool = default("records.layered")
    """Whether the records are ordered by layer before anything else."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form, every field present but `layered` where it is false."""
        form = {one.name: getattr(self, one.name) for one in fields(self)}
        if not self.layered:
            del form[_LAYERED]
        return form

    @classmethod
    def from_form(cls, form: object) -> Self:
        """Returns the options of a canonical form."""
        needed = {one.key for one in members("records")} - {_LAYERED}
        if not isinstance(form, dict) or set(form) - {_LAYERED} != needed:
            raise InvalidInputError(f"records: got {checks.show(form)}, expected its eleven fields")
        if form.get(_LAYERED, True) is not True:
            raise InvalidInputError(
                f"records.layered: got {checks.show(form[_LAYERED])}, expected true or no field"
            )
        given = {_LAYERED: False, **form}
        return cls(**{one.key: _checked(one, given[one.key]) for one in members("records")})


def resolve_records(given: object) -> RecordOptions:
    """Returns the options of a caller, checked.

    Raises:
        InvalidInputError: an option is unknown, or of the wrong type or size; the message names it.
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"records: got {checks.show(given)}, expected a map of options")
    known = {one.key: one.default for one in members("records")}
    unknown = sorted(str(name) for name in given if name not in known)
    if unknown:
        raise InvalidInputError(
            f"{unknown[0]}: got an unknown option, expected one of {', '.join(known)}"
        )
    options = {**known, **given}
    return RecordOptions(**{one.key: _checked(one, options[one.key]) for one in members("records")})


def _checked(one: Option, value: object) -> Any:
    """Returns the value of an option, checked by the table; errors name it by its key."""
    if value is None and one.none:
        return None
    if one.key == "notes":
        if not isinstance(value, Cid):
            raise InvalidInputError(f"notes: got {checks.show(value)}, expected a CommitCid")
        return CommitCid(value.raw)
    if one.choices:
        return checks.choice(one.key, value, one.choices)
    if one.type == "bool":
        return checks.flag(one.key, value)
    if one.type == "float":
        return checks.number(one.key, value, low=one.low, high=one.high)
    return checks.count(one.key, value, low=int(one.low), high=int(one.high))

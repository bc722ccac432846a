"""The options of recall, resolved: the part of a query besides its lanes, in one field.

Spec: recall.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.constants import TIME_MAX
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.recall.direct_answer import Direct, resolve_direct
from ibidem.retrieve.recall.factors import (
    IMPORTANCE_DEFAULT,
    Feedback,
    Importance,
    Recency,
    Worth,
)
from ibidem.retrieve.recall.feedback import Penalties


@record
class Recall:
    """The recall options of a query; None for each that is not given."""

    recency: Recency | None = None
    importance: Importance | None = None
    feedback: Feedback | None = None
    worth: Worth | None = None
    direct: Direct | None = None

    @property
    def counts_notes(self) -> bool:
        """Whether the notes affect the answer."""
        return self.feedback is not None or self.worth is not None

    @property
    def notes(self) -> CommitCid | None:
        """The notes head that counts; None if none does, or there are no notes yet."""
        if self.feedback is not None:
            return self.feedback.notes
        return None if self.worth is None else self.worth.notes

    def form(self) -> dict[str, Any]:
        """Returns the canonical form: the options that are given."""
        parts: dict[str, Any] = {}
        for name in ("recency", "direct"):
            part = getattr(self, name)
            if part is not None:
                parts[name] = part.form()
        if self.importance is not None:
            parts["importance"] = self.importance.property
        if self.feedback is not None:
            parts["feedback"] = self.feedback.notes
            if self.feedback.penalties != Penalties():
                parts["penalties"] = self.feedback.penalties.form()
        if self.worth is not None:
            worth = self.worth
            parts["worth"] = [worth.notes, worth.as_of, worth.half_life]
        return parts

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the options of a canonical form."""
        worth = form.get("worth")
        return cls(
            Recency.from_form(form["recency"]) if "recency" in form else None,
            Importance(checks.name("importance", form["importance"]))
            if "importance" in form
            else None,
            Feedback(_notes(form["feedback"]), _penalties(form)) if "feedback" in form else None,
            None if worth is None else Worth(_notes(worth[0]), *_worth_times(worth[1], worth[2])),
            Direct.from_form(form["direct"]) if "direct" in form else None,
        )


def resolve_recall(
    *,
    recency: object = None,
    importance: object = None,
    feedback: object = None,
    worth: object = None,
    direct: object = None,
    moment: int | None = None,
    notes: CommitCid | None = None,
) -> Recall | None:
    """Returns the options that a caller gave, None if there are none.

    Raises:
        InvalidInputError: an option is of the wrong form, or needs a time that is not given.
    """
    if moment is not None and not recency and not worth:
        raise InvalidInputError("moment: got it without recency or worth, expected one of them")
    if notes is not None and not feedback and not worth:
        raise InvalidInputError("notes: got them without feedback or worth, expected one of them")
    found = Recall(
        _recency(recency, moment),
        _importance(importance),
        _feedback(feedback, notes),
        _worth(worth, notes, moment),
        resolve_direct(direct),
    )
    return None if found == Recall() else found


def _recency(given: object, moment: int | None) -> Recency | None:
    parts = option_checks.filled("recency", given)
    if parts is None:
        return None
    return Recency.from_form({**parts, "as_of": _needed("recency", "moment", moment)})


def _importance(given: object) -> Importance | None:
    if given is None or given is False:
        return None
    return Importance(checks.name("importance", IMPORTANCE_DEFAULT if given is True else given))


def _feedback(given: object, notes: CommitCid | None) -> Feedback | None:
    parts = option_checks.filled("feedback", given)
    if parts is None:
        return None
    return Feedback(notes, Penalties(**option_checks.parts("feedback", parts)))


def _penalties(form: Mapping[str, Any]) -> Penalties:
    """Returns the penalties of a canonical form, which has them only where they are not those of
    the table."""
    if "penalties" not in form:
        return Penalties()
    given = form["penalties"]
    if not isinstance(given, dict) or set(given) != {one.name for one in fields(Penalties)}:
        raise InvalidInputError(f"penalties: got {checks.show(given)}, expected its five fields")
    found = Penalties(**option_checks.parts("feedback", given))
    if found == Penalties():
        raise InvalidInputError("penalties: got those of the table, expected no field")
    return found


def _worth(given: object, notes: CommitCid | None, moment: int | None) -> Worth | None:
    parts = option_checks.filled("worth", given)
    if parts is None:
        return None
    times = _worth_times(_needed("worth", "moment", moment), parts["half_life"])
    return Worth(notes, *times)


def _worth_times(as_of: object, half_life: object) -> tuple[int, int | None]:
    return (
        checks.count("worth.as_of", as_of, high=TIME_MAX),
        option_checks.option("worth.half_life", half_life),
    )


def _needed(name: str, other: str, value: Any) -> Any:
    if value is None:
        raise InvalidInputError(f"{name}: got it without {other}, expected both")
    return value


def _notes(value: object) -> CommitCid | None:
    if value is None:
        return None
    if not isinstance(value, Cid):
        raise CorruptError(f"recall.notes: got {checks.show(value)}, expected a link")
    return CommitCid(value.raw)

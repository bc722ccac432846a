"""Validity: the interval of time for which a node holds, as a condition on two properties.

`valid_from` and `valid_to` are numbers, by convention microseconds since 1970 UTC, and the interval
is half-open: a node that ends where another begins never overlaps it. This is time in the world;
time in the repository is `repo.at(time)`. Edges have the same two properties; the index reads them.

Spec: retrieval 3.2.1, 3.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ibidem.objects.constants import VALID_FROM, VALID_TO
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import default
from ibidem.retrieve.query.predicate import And, Between, Equal, Exists, Not, Or, Predicate


@record
class Valid:
    """The condition that a node holds at a time."""

    at: int
    """Microseconds since 1970 UTC."""
    missing: str = default("valid_missing")
    """Whether nodes without a validity `pass` or `drop`."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return {"at": self.at, "missing": self.missing}

    @classmethod
    def checked(cls, at: object, missing: object) -> Self:
        """Returns the option; raises `InvalidInputError` that names what is wrong."""
        wanted = option_checks.option("valid_missing", missing)
        return cls(option_checks.present("as_of", at), wanted)

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the option of a canonical form."""
        return cls.checked(form["at"], form["missing"])

    def condition(self) -> Predicate:
        """Returns the condition on a node's properties."""
        opened = Between(VALID_FROM, None, self.at)
        lasting = Between(VALID_TO, self.at, None, low_open=True)
        parts: tuple[Predicate, ...] = (_open_or(VALID_FROM, opened), _open_or(VALID_TO, lasting))
        return And(parts if self.missing == "pass" else (*parts, Or((opened, lasting))))


def resolve_valid(at: object, missing: object) -> Valid | None:
    """Returns the option that a caller gave, None if it was not given."""
    if at is None:
        if missing is not None:
            raise InvalidInputError(
                f"valid_missing: got {checks.show(missing)} without as_of, expected both"
            )
        return None
    return Valid.checked(at, missing)


def _open_or(name: str, bound: Predicate) -> Predicate:
    """Returns the condition that a property is absent or null, or its bound holds."""
    return Or((Not(Exists(name)), Equal(name, None), bound))

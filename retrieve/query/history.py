"""Conditions on when nodes were written, resolved to roots.

Blocks have no times, so an answer that depended on one would depend on the history too. Instead,
each time is resolved to the root that the branch had just before it, its *base*: a node was created
after the time if the base lacks it, and updated after the time if the base lacks its present
version. The query contains the bases, not the times, and remains a pure function of roots.

Resolving a time is left to the repository, which knows the history (`repo/retrieval/history.py`).

Spec: retrieval 3.2.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.options import TIMES_OF_RECORDS

CREATED_AFTER, CREATED_BEFORE = "created_after", "created_before"
UPDATED_AFTER = "updated_after"


@record
class HistoryFilter:
    """One base for each condition that was given."""

    bases: tuple[tuple[str, RootCid | None], ...]
    """Conditions, ascending, each with its base; None for a time before the first commit."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        return dict(self.bases)

    @classmethod
    def from_form(cls, form: object) -> Self:
        """Returns the conditions of a canonical form, or of a mapping that a caller gave."""
        if not isinstance(form, Mapping) or not form or not set(form) <= {*TIMES_OF_RECORDS}:
            raise InvalidInputError(
                f"history: got {checks.show(form)}, "
                f"expected a mapping of some of {', '.join(TIMES_OF_RECORDS)}"
            )
        return cls(tuple((name, _base(name, form[name])) for name in sorted(form)))


def _base(name: str, value: object) -> RootCid | None:
    if value is None:
        return None
    if not isinstance(value, Cid):
        raise InvalidInputError(
            f"history.{name}: got {checks.show(value)}, expected the CID of a root or None"
        )
    return RootCid(value.raw)

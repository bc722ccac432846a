"""The roots of a question that is asked of several at once.

A question of one root does not name it; its answer and its receipt do. A question of several names
them all, as a set: their order cannot change the answer, because there is none.

Spec: retrieval 3.5.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks

ROOTS_MAX = 64


@record
class RootSet:
    """Several roots, ascending by their bytes."""

    roots: tuple[RootCid, ...]

    @classmethod
    def of(cls, roots: Iterable[RootCid]) -> Self:
        """Returns the set of some roots.

        Raises:
            InvalidInputError: fewer than two are distinct, or there are more than ROOTS_MAX.
        """
        found = tuple(sorted(set(roots), key=lambda root: root.raw))
        if not 2 <= len(found) <= ROOTS_MAX:
            raise InvalidInputError(
                f"union: got {len(found)} roots, expected 2 to {ROOTS_MAX} different ones"
            )
        return cls(found)

    def form(self) -> list[RootCid]:
        """Returns the canonical form."""
        return list(self.roots)

    @classmethod
    def from_form(cls, form: object) -> Self:
        """Returns the set of a canonical form; raises `InvalidInputError` for another form."""
        if not isinstance(form, (list, tuple)) or not all(isinstance(one, Cid) for one in form):
            raise InvalidInputError(f"union: got {checks.show(form)}, expected a list of roots")
        found = cls.of(RootCid(one.raw) for one in form)
        if found.form() != [RootCid(one.raw) for one in form]:
            raise InvalidInputError("union: got roots in another order, expected them ascending")
        return found

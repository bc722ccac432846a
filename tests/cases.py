"""Many small cases in few tests, and more of them the longer the tests may take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

PER_TEST = 40
"""Cases of one test; the first that fails is named in a note of the error."""


def by_suite(values: Iterable[object], *, fast: int = 0, slow: int) -> list[Any]:
    """Returns the values of a parameter, each for the suite that has the time for it.

    Args:
        values: in the order in which they are worth their time.
        fast: how many of the first are in every run.
        slow: how many of the first `.ci/run` has; `.ci/nightly` has the rest.
    """
    found = list(values)
    return [
        *found[:fast],
        *(pytest.param(value, marks=pytest.mark.slow) for value in found[fast:slow]),
        *(pytest.param(value, marks=pytest.mark.nightly) for value in found[slow:]),
    ]


def on_each(cases: Sequence[Any], names: Sequence[str]) -> Callable[[Callable[[Any], None]], Any]:
    """Makes tests of a check that takes one case: a thousand tests of a millisecond take seconds to
    count."""

    def decorate(check: Callable[[Any], None]) -> Any:
        def test(first: int) -> None:
            some = slice(first, first + PER_TEST)
            for case, name in zip(cases[some], names[some], strict=True):
                try:
                    check(case)
                except BaseException as error:
                    error.add_note(f"case: {name}")
                    raise

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        test.__module__, test.__qualname__ = check.__module__, check.__qualname__
        marks = getattr(check, "pytestmark", [])
        firsts = pytest.mark.parametrize("first", range(0, len(cases), PER_TEST))
        test.pytestmark = [*marks, firsts.mark]  # type: ignore[attr-defined]
        return test

    return decorate

"""The parts of a query that few questions have; their modules are loaded by those alone.

A process that asks one question spends most of its time on imports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import InvalidInputError

if TYPE_CHECKING:
    from ibidem.retrieve.context.option import PackOptions
    from ibidem.retrieve.recall.option import Recall


def packs(given: Mapping[str, object]) -> PackOptions:
    """Returns the options of packs that a person gave."""
    from ibidem.retrieve.context.option import resolve_packs

    return resolve_packs(given)


def packs_of_form(form: Any) -> PackOptions:
    """Returns the options of packs of a canonical form."""
    from ibidem.retrieve.context.option import PackOptions

    return PackOptions.from_form(form)


def recall(given: Mapping[str, Any], known: Iterable[str]) -> Recall | None:
    """Returns the options of recall, given by name.

    Args:
        given: the options that are not among those of every query.
        known: those of every query.

    Raises:
        InvalidInputError: one is of neither; or is not as it should be.
    """
    from ibidem.retrieve.recall.option import RECALL_OPTIONS, resolve_recall

    unknown = set(given).difference(RECALL_OPTIONS)
    if unknown:
        names = ", ".join(sorted({*known, *RECALL_OPTIONS}))
        raise InvalidInputError(f"{min(unknown)}: got an unknown option, expected one of {names}")
    return resolve_recall(**given)


def recall_of_form(form: Any) -> Recall:
    """Returns the options of recall of a canonical form."""
    from ibidem.retrieve.recall.option import Recall

    return Recall.from_form(form)

"""The option of what is left out because it repeats an earlier one: an item or a pack.

    text       the same words (of packs the default, with the neighbours of a hit)
    source     of the same document
    section    of the same section, or of the same document where there is none
    near       texts that share at least `percent` percent of their runs of three words
    property   the same value of a property, of its own or else of its document: a rule of your own
               is a property that you write
    none       nothing is left out (of items the default)

Spec: packs 4.1, retrieval 8.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.options import default

NONE, SAME_TEXT, NEAR, PROPERTY, SECTION = "none", "text", "near", "property", "section"
OF_DOCUMENTS = ("source", SECTION)
"""The rules for which a node has to have a place in a document."""


@record
class Dedupe:
    """A rule for what is left out."""

    by: str
    percent: int | None = None
    """With `near`."""
    property: str | None = None
    """With `property`."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form: what the rule uses."""
        found = {"by": self.by, "percent": self.percent, "property": self.property}
        return {name: value for name, value in found.items() if value is not None}


def resolve_dedupe(given: Mapping[str, object], *, usual: str) -> Dedupe | None:
    """Returns the rule of a caller's options, None for the usual one.

    Args:
        given: some of the options `dedupe`, `dedupe_percent`, `dedupe_property`.
        usual: the rule if no other is given.

    Raises:
        InvalidInputError: an option is of the wrong type or size, or has no effect.
    """
    by = option_checks.option("dedupe", given.get("dedupe")) or usual
    for name, of in (("dedupe_percent", NEAR), ("dedupe_property", PROPERTY)):
        if given.get(name) is not None and by != of:
            raise InvalidInputError(
                f"{name}: got it with dedupe {by!r}, where it has no effect, expected {of!r}"
            )
    if by == usual:
        return None
    if by == NEAR:
        percent = given.get("dedupe_percent", default("dedupe_percent"))
        return Dedupe(by, percent=option_checks.option("dedupe_percent", percent))
    if by == PROPERTY:
        if given.get("dedupe_property") is None:
            raise InvalidInputError(
                "dedupe: got 'property' alone, expected it with dedupe_property, its name"
            )
        return Dedupe(by, property=checks.name("dedupe_property", given.get("dedupe_property")))
    return Dedupe(by)


def options_of_form(form: object, *, usual: str) -> dict[str, Any]:
    """Returns the options of a canonical form, which is never that of the `usual` rule."""
    if isinstance(form, dict) and form.get("by") not in (None, usual):
        own = {NEAR: "percent", PROPERTY: "property"}.get(str(form["by"]))
        if form.keys() == {"by"} | ({own} - {None}) and None not in form.values():
            return {"dedupe": form["by"]} | ({f"dedupe_{own}": form[own]} if own else {})
    raise InvalidInputError(f"dedupe: got {checks.show(form)}, expected its fields")

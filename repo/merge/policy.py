"""Merges the trust policy, which says who sees what: no side's decision is lost by chance.

Its fields are merged one by one. Of two values that both sides put, the stricter stands where one
is stricter; two names for the property with the level or the scope have none, and there the merge
is refused: nodes that one side labelled would be open to whoever the other lets in.

Spec: merge 7, trust 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ibidem.objects.errors import ConflictError, InvalidInputError
from ibidem.retrieve.access.policy import TrustPolicy

_STRICTER: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "default_level": max,
    "anonymous_level": min,
    "unscoped": max,
}
"""Of two values that hides more; `deny` comes after `allow`."""


def merge_policy(base: object, ours: object, theirs: object) -> dict[str, Any]:
    """Returns the policy made of two that differ from each other and from the base.

    Args:
        base: the map in `Root.config`, or None where there was no policy.

    Raises:
        ConflictError: each side gave the property with the level, or with the scope, another name;
            or what comes out has one name for both.
        CorruptError: a policy is not of the form.
    """
    one, other = (TrustPolicy.from_form(side).form() for side in (ours, theirs))
    was = {} if base is None else TrustPolicy.from_form(base).form()
    merged: dict[str, Any] = {}
    for name in one:
        if one[name] == other[name] or other[name] == was.get(name):
            merged[name] = one[name]
        elif one[name] == was.get(name):
            merged[name] = other[name]
        elif name in _STRICTER:
            merged[name] = _STRICTER[name](one[name], other[name])
        else:
            raise _refusal(name, one, other)
    try:
        return TrustPolicy(**merged).form()
    except InvalidInputError as error:
        raise _refusal("scope", one, other) from error


def _refusal(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> ConflictError:
    shown = " and ".join(
        f"level {side['level']!r:.80} with scope {side['scope']!r:.80}"
        for side in sorted((one, other), key=lambda side: (side["level"], side["scope"]))
    )
    return ConflictError(
        f"trust.{name}: both sides changed the trust policy, to {shown}; neither is stricter",
        hint="give one side the names of the other first, with "
        "'repo trust enable --level NAME --scope NAME', then try again",
    )

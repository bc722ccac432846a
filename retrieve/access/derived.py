"""Labels of derived nodes: a derived node is visible to callers who may see all of its sources.

A summary of messages or a procedure mined from attempts quotes its sources. So it has the greatest
of their levels and the narrowest of their scopes. No single scope is as narrow as two, so nothing
is derived from nodes of several scopes.

Spec: trust 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.access.policy import NOBODY, TrustPolicy, members, strictness


def derived_labels(
    policy: TrustPolicy | None, sources: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Returns the properties with level and scope of a node that is derived from others.

    A property that no source has is left out: the defaults are the same for all of them. Without a
    policy, properties with a default policy's names are copied if they are levels and one scope, in
    case a policy is added later.

    Args:
        policy: of the root, None if it has none.
        sources: the properties of each node.

    Raises:
        InvalidInputError: with a policy, the sources are of several scopes, or one has a level or
            scope that no caller could be allowed to see.
    """
    names, given = policy or TrustPolicy(), list(sources)
    found: dict[str, Any] = {}
    levels = [strictness(names, props) for props in given if policy or names.level in props]
    known = [level for level in levels if level != NOBODY]
    if policy is not None and len(known) < len(levels):
        raise InvalidInputError(
            f"{names.level}: got a source with another value, expected a level from 0 to 4"
        )
    if known and any(names.level in props for props in given):
        found[names.level] = max(known)
    named = scopes_of(names, given)
    if policy is not None and len(named) > 1:
        listed = ", ".join(f"{scope!r:.40}" for scope in named)
        raise InvalidInputError(
            f"{names.scope}: got sources of {listed}, expected sources of one scope",
            hint="derive from those of each scope apart",
        )
    # If nodes without a scope are visible to nobody, they are the narrowest.
    is_hidden = names.unscoped == "deny" and any(not scopes_of(names, [one]) for one in given)
    if len(named) == 1 and not is_hidden:
        found[names.scope] = named[0]
    return found


def scopes_of(policy: TrustPolicy, sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the distinct scopes of some nodes, ascending; the empty text means no scope."""
    scopes = (one for props in sources for one in members(props, policy.scope, ""))
    return sorted({str(one) for one in scopes if one != ""})

"""Labels of derived nodes: a derived node is visible to callers who may see all of its sources.

A summary of messages or a procedure mined from attempts quotes its sources. So it has the greatest
of their levels and the narrowest of their scopes. No single scope is as narrow as two, so nothing
is derived from nodes of several scopes. Whoever may see the sources may write it lower, explicitly;
the commit then says so in a trailer of its message.

A node that only lists others, such as a thread, has the least strict of their labels instead:
whoever may see one of them may see that they are listed.

Spec: trust 1, 6.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import (
    DENY,
    NOBODY,
    Level,
    TrustPolicy,
    level_of,
    members,
    strictness,
)

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId

TRAILER = "Lowered"
"""The name of the trailer of a commit that wrote a derived node below its sources."""


@record
class Labels:
    """Labels to write in place of those of the sources."""

    level: int | None = None
    """From 0 to 4; None for the greatest of the sources."""
    scope: str | None = None
    """Empty for no scope; None for the scope of the sources."""


AS_SOURCES = Labels()


def labels_of(level: int | str | None, scope: str | None = None) -> Labels:
    """Returns labels, the level as a number or by its name.

    Raises:
        InvalidInputError: it is neither, or the scope is not text.
    """
    if scope is not None and not isinstance(scope, str):
        raise InvalidInputError(f"scope: got {scope!r:.80}, expected text")
    return Labels(None if level is None else int(level_of("level", level)), scope)


@record
class Derived:
    """The labels of a derived node."""

    props: Mapping[str, Any]
    """The properties with level and scope."""
    lowered: Mapping[str, Any] | None
    """If they are below those of the sources: both, as the trailer has them."""

    def trailers(self, node: NodeId) -> tuple[str, ...]:
        """Returns the trailer for the commit that writes the node; none if nothing is lower."""
        if self.lowered is None:
            return ()
        detail = json.dumps(self.lowered, sort_keys=True, separators=(",", ":"))
        return (f"{TRAILER}: {node} {detail}",)


def derived(
    policy: TrustPolicy | None,
    sources: Iterable[Mapping[str, Any]],
    labels: Labels = AS_SOURCES,
) -> Derived:
    """Returns the labels of a node that is derived from others.

    Args:
        policy: of the root, None if it has none.
        sources: the properties of each node.
        labels: replaces those of the sources.

    Raises:
        InvalidInputError: as `derived_labels`, but with a scope in `labels` the sources may be of
            several scopes.
    """
    names, given = policy or TrustPolicy(), list(sources)
    apart = [{key: value for key, value in one.items() if key != names.scope} for one in given]
    found = derived_labels(policy, given if labels.scope is None else apart)
    level = found.get(names.level, names.default_level)
    scopes = scopes_of(names, given)
    if labels.level is not None:
        found[names.level] = labels.level
    if labels.scope is not None:
        found = {key: value for key, value in found.items() if key != names.scope}
        found |= {names.scope: labels.scope} if labels.scope else {}
    if labels == AS_SOURCES:
        return Derived(found, None)
    now, to = found.get(names.level, names.default_level), found.get(names.scope, "")
    if now >= level and all(_is_within(names, to, one) for one in given):
        return Derived(found, None)
    before, after = {"level": level, "scopes": scopes}, {"level": now, "scope": to}
    return Derived(found, {"from": before, "to": after})


def _is_within(policy: TrustPolicy, scope: str, source: Mapping[str, Any]) -> bool:
    """Returns whether every caller whose scopes allow nodes of a scope is allowed the source."""
    if not scope and policy.unscoped == "deny":
        return True
    own = scopes_of(policy, [source])
    return own == [scope] or (not own and policy.unscoped == "allow")


def derived_labels(
    policy: TrustPolicy | None, sources: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Returns the properties with level and scope of a node as visible as its sources.

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


def listing_labels(policy: TrustPolicy, listed: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the properties with level and scope of a node that lists others: the least of their
    levels, and the scope that all of them have, or none. Where nodes without a scope are visible to
    nobody, no labels are for several scopes: then the first scope counts, and no node of another.

    Args:
        policy: of the root.
        listed: the properties of each node; one that nobody may see does not count.

    Spec: trust 6.1.
    """
    given = [
        one
        for one in listed
        if strictness(policy, one) <= Level.HYPER and isinstance(one.get(policy.scope, ""), str)
    ]
    scopes = [one.get(policy.scope, "") for one in given]
    if policy.unscoped == DENY:
        first = next(filter(None, scopes), "")
        given = [one for one, scope in zip(given, scopes, strict=True) if scope == first]
        scopes = [first]
    lowest = min(given, key=lambda one: strictness(policy, one), default={})
    found: dict[str, Any] = {}
    if policy.level in lowest:
        found[policy.level] = strictness(policy, lowest)
    if len(set(scopes)) == 1 and scopes[0]:
        found[policy.scope] = scopes[0]
    return found


def scopes_of(policy: TrustPolicy, sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the distinct scopes of some nodes, ascending; the empty text means no scope."""
    scopes = (one for props in sources for one in members(props, policy.scope, ""))
    return sorted({str(one) for one in scopes if one != ""})

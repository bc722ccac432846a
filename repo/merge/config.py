"""Merges the parts of a root that are not trees: configuration, trust policy, requirements, unknown
fields.

If both sides change the trust policy differently, the stricter value wins, or the merge fails.

Spec: merge 7, trust 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Final

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.config import TRUST_SETTING
from ibidem.objects.errors import ConflictError, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import ALLOW, STUBS, TrustPolicy

_STRICTER: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "default_level": max,
    "anonymous_level": min,
    "unscoped": max,
    STUBS: max,
}
"""Of two values, the one that hides more; `deny` comes after `allow`."""


def merge_policy(base: object, ours: object, theirs: object) -> dict[str, Any]:
    """Returns the merge of two policies that differ from each other and from the base.

    Args:
        base: the map in `Root.config`, or None if there was no policy.

    Raises:
        ConflictError: both sides renamed the property for the level, or for the scope, differently;
            or the result has one name for both.
        CorruptError: a policy is malformed.
    """
    one, other = map(_whole, (ours, theirs))
    was = {} if base is None else _whole(base)
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


def _whole(given: object) -> dict[str, Any]:
    return {STUBS: ALLOW, **TrustPolicy.from_form(given).form()}


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


Map = Mapping[str, Any]
_SUFFIX_DIGITS = 8
_ABSENT: Any = object()


@record(frozen=False)
class Names:
    """The new names of renamed models, for each side, by their old name."""

    ours: dict[str, str] = field(default_factory=dict)
    theirs: dict[str, str] = field(default_factory=dict)


def merge_config(
    base: Map, ours: Map, theirs: Map, *, is_base: bool = False
) -> tuple[dict[str, Any], Names]:
    """Returns the merged configuration, and the models that it renames.

    Args:
        is_base: the result is only the base of another merge.

    Raises:
        ConflictError: the trust policies cannot be merged; never raised with `is_base`.

    Spec: merge 7.
    """
    names = Names()
    sides = [_without(side, "models", TRUST_SETTING) for side in (base, ours, theirs)]
    merged = merge_map(*sides)
    policies = [side.get(TRUST_SETTING, _ABSENT) for side in (base, ours, theirs)]
    policy = _merge_policy(*policies, is_base=is_base)
    if policy is not _ABSENT:
        merged[TRUST_SETTING] = policy
    was, one, other = (side.get("semantics") for side in (base, ours, theirs))
    if type(one) is int and type(other) is int and was not in (one, other):
        merged["semantics"] = max(one, other)
    models = [side.get("models", {}) for side in (base, ours, theirs)]
    found = _merge_models(models[0], models[1], models[2], names)
    if any("models" in side for side in (ours, theirs)):
        merged["models"] = found
    return merged, names


def keep_models(
    config: dict[str, Any], vectors: Iterable[str], sides: Iterable[Map]
) -> dict[str, Any]:
    """Returns the merged configuration with every model that has vectors.

    A model that one side removed stays if the other side has new vectors of it, with the metadata
    of that side.

    Spec: merge 7-e.
    """
    models = dict(config.get("models", {}))
    missing = [name for name in vectors if name not in models]
    if not missing:
        return config
    for side in sides:
        known = side.get("models", {})
        models.update((name, known[name]) for name in missing if name in known)
    return {**config, "models": models}


def merge_map(base: Map, ours: Map, theirs: Map) -> dict[str, Any]:
    """Merges two maps with a base, by name; of two changes, the one with the lower bytes wins.

    A value wins over a removal.
    """
    merged = {}
    for name in base.keys() | ours.keys() | theirs.keys():
        value = _merge_value(*(side.get(name, _ABSENT) for side in (base, ours, theirs)))
        if value is not _ABSENT:
            merged[name] = value
    return merged


def _merge_value(base: Any, ours: Any, theirs: Any) -> Any:
    was, one, other = (_bytes(value) for value in (base, ours, theirs))
    if one == other or other == was:
        return ours
    if one == was or one is None:
        return theirs
    return ours if other is None or one < other else theirs


def _merge_policy(base: Any, ours: Any, theirs: Any, *, is_base: bool) -> Any:
    was, one, other = (_bytes(value) for value in (base, ours, theirs))
    if None in (one, other) or one == other or was in (one, other):
        return _merge_value(base, ours, theirs)
    try:
        return merge_policy(None if base is _ABSENT else base, ours, theirs)
    except ConflictError:
        if is_base:
            return _ABSENT
        raise


def _merge_models(base: Map, ours: Map, theirs: Map, names: Names) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name in sorted(base.keys() | ours.keys() | theirs.keys()):
        was, one, other = (side.get(name, _ABSENT) for side in (base, ours, theirs))
        if _ABSENT in (one, other) or not _are_apart(was, one, other):
            merged.setdefault(name, _merge_model(was, one, other))
            continue
        is_ours_first = codec.encode(one) < codec.encode(other)
        first, second = (one, other) if is_ours_first else (other, one)
        renamed = f"{name}~{blake3(codec.encode(second)).hexdigest()[:_SUFFIX_DIGITS]}"
        merged[name], merged[renamed] = first, second
        (names.theirs if is_ours_first else names.ours)[name] = renamed
    return {name: model for name, model in merged.items() if model is not _ABSENT}


def _merge_model(base: Any, ours: Any, theirs: Any) -> Any:
    if _ABSENT in (ours, theirs):
        return _merge_value(base, ours, theirs)
    return merge_map({} if base is _ABSENT else base, ours, theirs)


def _are_apart(base: Any, ours: Any, theirs: Any) -> bool:
    """Returns whether both sides changed a model so that their vectors are not comparable."""
    known = _bytes(base)
    if _bytes(ours) == _bytes(theirs) or known in (_bytes(ours), _bytes(theirs)):
        return False
    digests = {digest for side in (ours, theirs) if (digest := side.get("digest")) is not None}
    return ours.get("dim") != theirs.get("dim") or len(digests) > 1


def _bytes(value: Any) -> bytes | None:
    return None if value is _ABSENT else codec.encode(value)


def _without(value: Map, *names: str) -> Map:
    return {name: item for name, item in value.items() if name not in names}

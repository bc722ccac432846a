"""The fields of a block as the second merge sees them, and what it knows of single values."""

from __future__ import annotations

from typing import Any

from ibidem.objects import codec

Value = dict[str, Any]
"""A block as a map."""
_LINK = {"kind", "v", "id", "etype", "src", "dst"}
HIDDEN = 9
"""Above every level."""


def fields(value: Value) -> Value:
    found = {}
    for name, each in value.items():
        if name == "props":
            found.update({f"props.{key}": item for key, item in each.items()})
        elif name not in ("kind", "v", "id", "children", "tail"):
            found[name] = each
    if "children" in value or "tail" in value:
        found["layout"] = [value.get("children"), value.get("tail")]
    if value["kind"] == "edge":
        found.setdefault("weight", 1.0)
    return found


def boxed(value: Value) -> dict[str, list[Any]]:
    """Returns the fields, each in a list, so that null is not taken for absence."""
    return {name: [each] for name, each in fields(value).items()}


def whole(like: Value, found: Value) -> Value:
    made = {name: like[name] for name in ("kind", "v", "id")}
    properties = {}
    for name, value in found.items():
        if name.startswith("props."):
            properties[name[6:]] = value
        elif name == "layout":
            parts = zip(("children", "tail"), value, strict=True)
            made.update({part: item for part, item in parts if item is not None})
        elif (like["kind"], name, value) != ("edge", "weight", 1.0):
            made[name] = value
    if properties:
        made["props"] = properties
    return made


def is_derived_link(value: Value) -> bool:
    return value["etype"] == "links_to" and value.keys() == _LINK


def height(policy: Value, box: list[Any] | None) -> int:
    """Returns the level that a boxed property gives a node, HIDDEN where nobody may see it."""
    if box is None:
        return int(policy["default_level"])
    found = box[0] if isinstance(box[0], list) else box
    found = [each for each in found if not isinstance(each, (list, dict))]
    is_known = [type(each) is int and 0 <= each <= 4 for each in found]
    return max(found) if found and all(is_known) else HIDDEN


def same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return codec.encode(one) == codec.encode(other)


def lower(base: Any, ours: Any, theirs: Any) -> Any:
    if same(ours, theirs) or same(theirs, base):
        return ours
    if same(ours, base):
        return theirs
    return min((each for each in (ours, theirs) if each is not None), key=codec.encode)


def rank(name: str, box: list[Any]) -> tuple[bytes, bytes]:
    """Returns what boxed values of a field are ordered by: a layout without its sizes first."""
    bare = box[0]
    if name == "layout":
        children, tail = bare
        bare = [[child[:2] for child in children] if children else None, tail]
    return codec.encode(bare), codec.encode(box)


def lists(parent: Value | None, child: bytes) -> bool:
    return any(each[0] == child for each in (parent or {}).get("children", ()))


class Refused(Exception):
    """The policies of two sides cannot be merged."""


def policy(base: Any, ours: Any, theirs: Any) -> Any:
    """Returns two trust policies merged; raises `Refused` where they cannot be."""
    if ours is None or theirs is None or same(base, ours) or same(base, theirs):
        return lower(base, ours, theirs)
    merged = {}
    for name in ours:
        found = {side[name] for side in (ours, theirs)} - {(base or {}).get(name)}
        match name, sorted(found):
            case _, []:
                merged[name] = ours[name]
            case _, [value]:
                merged[name] = value
            case "default_level", [_, value]:
                merged[name] = value
            case "anonymous_level", [value, _]:
                merged[name] = value
            case "unscoped", _:
                merged[name] = "deny"
            case _:
                raise Refused
    if merged["level"] == merged["scope"]:
        raise Refused
    return merged

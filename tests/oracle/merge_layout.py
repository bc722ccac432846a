"""A second merge of layouts, written from `spec/merge.md` 3.1 over plain lists."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType
from typing import Any

Value = dict[str, Any]
Run = tuple[int, int, tuple[Any, ...]]
EMPTY: Mapping[bytes, list[Value]] = MappingProxyType({})
END = b"the last item"


def document_of(value: Value | None) -> bytes | None:
    namespace, key = (value or {}).get("key", ("", None))
    if namespace == "document":
        return value["id"] if value else None
    is_part = namespace in ("section", "passage") and isinstance(key, list)
    return key[0] if is_part and key and isinstance(key[0], bytes) and len(key[0]) == 16 else None


def items_of(layout: list[Any]) -> list[Any]:
    children, tail = layout
    return [*((each[0], each[1]) for each in children or []), (END, tail or "")]


def layouts_merged(base: list[Any], ours: list[Any], theirs: list[Any]) -> Any:
    """Returns `[children, tail]`; None if they are in conflict."""
    layouts = [base, ours, theirs]
    items = [items_of(layout) for layout in layouts]
    sizes = [{each[0]: tuple(each[2:]) for each in children or []} for children, _ in layouts]
    for id_, size in sizes[0].items():
        for lacking, there in ((1, 2), (2, 1)):
            if id_ not in sizes[lacking] and sizes[there].get(id_, size) != size:
                return None
    result = result_of(*items)
    if result is None:
        return None
    children = []
    for id_, lead in result[:-1]:
        new_sizes = [side[id_] for side in sizes[1:] if id_ in side]
        changed = [size for size in new_sizes if size != sizes[0].get(id_)]
        children.append([id_, lead, *(min(changed) if changed else sizes[0][id_])])
    return [children or None, result[-1][1] or None]


def result_of(base: list[Any], ours: list[Any], theirs: list[Any]) -> list[Any] | None:
    if base in (ours, theirs) or ours == theirs:
        return theirs if ours == base else ours
    items = (base, ours, theirs)
    names = [id_ for id_, _ in base]
    for side in items[1:]:
        common = [names.index(id_) for id_, _ in side if id_ in names]
        if common != sorted(set(common)):
            return None
    mine = [(run, side) for side in (1, 2) for run in runs(items[0], items[side])]
    made: list[Run] = []
    while mine:
        group = [mine.pop()]
        while near := [each for each in mine if any(touch(each[0], other) for other, _ in group)]:
            group += near
            mine = [each for each in mine if each not in near]
        applied = grouped(
            [run for run, side in group if side == 1], [r for r, s in group if s == 2]
        )
        if applied is None:
            return None
        made += applied
    result = list(items[0])
    for start, stop, new in sorted(made, key=lambda run: run[:2], reverse=True):
        result[start:stop] = new
    ids = [id_ for id_, _ in result]
    return result if len(set(ids)) == len(ids) else None


def runs(base: list[Any], side: list[Any]) -> list[Run]:
    kept = [-1, *(index for index, item in enumerate(base) if item in side), len(base)]
    there = [-1, *(side.index(base[index]) for index in kept[1:-1]), len(side)]
    found = []
    for number in range(len(kept) - 1):
        start, stop = kept[number] + 1, kept[number + 1]
        new = tuple(side[there[number] + 1 : there[number + 1]])
        if start < stop or new:
            found.append((start, stop, new))
    return found


def touch(one: Run, other: Run) -> bool:
    return not (one[1] < other[0] or other[1] < one[0])


def length_change(run: Run) -> int:
    return len(run[2]) - run[1] + run[0]


def contained(small: list[Run], big: list[Run]) -> bool:
    """Whether every one of some runs is in one of others."""
    left = [run for run in small if run not in big]
    for run in big:
        inner = sorted(one for one in left if run[0] <= one[0] and one[1] <= run[1])
        wanted = [item for one in inner for item in one[2]]
        if any(length_change(one) < 0 for one in inner):
            return False
        if [item for item in run[2] if item in wanted] != wanted:
            return False
        left = [one for one in left if one not in inner]
    return not left


def divided(side: list[Run]) -> list[Run]:
    found: list[Run] = []
    for start, stop, new in side:
        if stop - start == len(new):
            found += [(start + step, start + step + 1, (item,)) for step, item in enumerate(new)]
        else:
            found.append((start, stop, new))
    return found


def grouped(ours: list[Run], theirs: list[Run]) -> list[Run] | None:
    for one, other in ((ours, theirs), (theirs, ours)):
        if contained(one, other):
            return other
    one, other = divided(ours), divided(theirs)
    for a, b in product(one, other):
        if a in other or b in one or not touch(a, b):
            continue
        is_apart = not set(range(*a[:2])) & set(range(*b[:2]))
        if length_change(a) < 0 or length_change(b) < 0 or not is_apart:
            return None
        if any(
            x[0] == x[1] and (length_change(y) or y[0] < x[0] < y[1]) for x, y in ((a, b), (b, a))
        ):
            return None
    return one + [run for run in other if run not in one]


def listed_below(
    nodes: dict[bytes, Value], document: bytes, others: Mapping[bytes, list[Value]] = EMPTY
) -> list[bytes]:
    """Returns the parts of a document that it lists, directly or through others.

    Args:
        others: further values of nodes, whose lists count too.
    """
    found = [document]
    for id_ in found:
        for value in (nodes[id_], *others.get(id_, ())):
            for child in value.get("children", ()):
                if document_of(nodes.get(child[0])) == document and child[0] not in found:
                    found.append(child[0])
    return found[1:]


def resize(nodes: dict[bytes, Value], document: bytes) -> dict[bytes, Value]:
    """Returns the nodes of a document that 3-j changes; a document of these tests has no loops."""
    changed: dict[bytes, Value] = {}

    def size(id_: bytes) -> tuple[int, int] | None:
        """Returns the size of a section or document, with those below it set right."""
        node = nodes.get(id_)
        if node is None or document_of(node) != document:
            return None
        children = []
        for child, lead, *recorded in node.get("children", ()):
            children.append([child, lead, *(size(child) or recorded)])
        if children != node.get("children", []):
            changed[id_] = {**node, "children": children}
        if node["ntype"] not in ("Document", "Section"):
            return None
        texts = [node.get("tail", ""), *(child[1] for child in children)]
        return (
            sum(len(text.encode()) for text in texts) + sum(child[2] for child in children),
            sum(text.count("\n") for text in texts) + sum(child[3] for child in children),
        )

    size(document)
    return changed

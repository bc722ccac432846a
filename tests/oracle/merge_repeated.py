"""Roots whose merge is easily another one when a side is merged into it again, spelled out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ibidem.objects.cid import Cid

from . import merge_oracle as oracle
from .merge_documents import DOCUMENT, part
from .merge_layout import resize
from .merge_values import Value
from .merge_world import IDS, empty_state

States = tuple[oracle.State, oracle.State, oracle.State]
"""A base and two sides."""
TELLING = {"p": 14, "r": 0, "base": 6}
"""Values for which the order of the CIDs tells whether a merge depends on it."""


def repeated(blocks: dict[Cid, Value]) -> Iterator[tuple[str, str, States]]:
    """Yields names, anchors and roots; blocks get the values in conflict."""
    for name, spec, made in (
        ("a document in conflict, changed in two places, and a clash", "3-c", two_places),
        ("a size below a section whose conflict is resolved", "3-g 3-j", size_below),
        ("one conflict on both sides, and a clash", "3-c 5-b", one_conflict),
        ("a removal in conflict on both sides, and a clash", "3-c 5-c", removal),
        ("two conflicts with two bases", "5-b 5-c", two_bases),
        ("a part that only a conflict of the other side lists", "3-k 3-l", listed_in_conflict),
    ):
        yield name, spec, made(blocks)


def two_places(blocks: dict[Cid, Value]) -> States:
    one, two, three, new, newer = (passage(word) for word in ("one", "two", "three", "1", "3"))
    versions = document(one, two), document(two, three)
    record = conflict(blocks, *versions, fields=["layout"])
    return (
        state(document(one, two, three), one, two, three, record=record),
        state(document(new, two, three, p=TELLING["p"]), new, two, three, record=record),
        state(document(one, two, newer, p="b"), one, two, newer, record=record),
    )


def size_below(blocks: dict[Cid, Value]) -> States:
    def whole(one: Value, two: Value, *, is_open: bool) -> oracle.State:
        inner = section("inner", one, two)
        outer = section("outer", inner)
        made = state(document(outer), outer, inner, one, two)
        if is_open:
            sides = section("outer", inner, tail="\n\n"), section("outer", one)
            made.conflicts[outer["id"]] = conflict(blocks, *sides, fields=["layout"])
        made.nodes.update(resize(made.nodes, DOCUMENT))
        return made

    one, two = passage("one"), passage("two")
    return (
        whole(one, two, is_open=True),
        whole(passage("one!"), two, is_open=True),
        whole(one, passage("two!"), is_open=False),
    )


def one_conflict(blocks: dict[Cid, Value]) -> States:
    record = conflict(blocks, node(q=1), node(q=2), fields=["props.q"])
    return (
        state(node(p=0)),
        state(node(p="a", q=1, r=TELLING["r"]), record=record),
        state(node(p="b", q=1, s=1), record=record),
    )


def removal(blocks: dict[Cid, Value]) -> States:
    record = conflict(blocks, node(q=1), deleted=True)
    return (
        state(node(p=0)),
        state(node(p=1, q=1), record=record),
        state(node(p=2, q=1, r=1), record=record),
    )


def two_bases(blocks: dict[Cid, Value]) -> States:
    value, base, *sides = (node(p=number) for number in range(5))
    other = node(p=TELLING["base"])
    records = (
        conflict(blocks, *sides[:2], base=base, fields=["props.p"]),
        conflict(blocks, *sides[1:], base=other, fields=["props.p"]),
    )
    return state(node(p=9)), *(state(value, record=record) for record in records)


def listed_in_conflict(blocks: dict[Cid, Value]) -> States:
    one, lost = passage("one"), passage("lost")
    record = conflict(blocks, document(lost), document(one), fields=["layout"])
    return (
        state(document(one), one, policy=0),
        state(*(labelled(each, 2) for each in (document(one), one, lost)), policy=0),
        state(*(labelled(each, 3) for each in (document(one), one)), policy=0, record=record),
    )


def cid(value: Value) -> Cid:
    return oracle.cid_of(value)


def state(*nodes: Value, record: Value | None = None, policy: int | None = None) -> oracle.State:
    """Returns a root of some nodes, with a conflict about the first of them."""
    made = empty_state(policy=policy)
    made.nodes = {each["id"]: each for each in nodes}
    if record is not None:
        made.conflicts[nodes[0]["id"]] = record
    return made


def conflict(
    blocks: dict[Cid, Value], *sides: Value, base: Value | None = None, **fields: Any
) -> Value:
    for value in (*sides, *([base] if base else [])):
        blocks[cid(value)] = value
    made = {"kind": "conflict", "v": 1, "what": "node", "sides": sorted(map(cid, sides)), **fields}
    return made | ({"base": cid(base)} if base else {})


def node(**props: Any) -> Value:
    key = ["", "a"]
    return {"kind": "node", "v": 1, "id": IDS[0], "ntype": "Doc", "key": key, "props": props}


def labelled(value: Value, level: int) -> Value:
    return {**value, "props": {"level": level}}


def passage(word: str) -> Value:
    return part("Passage", [DOCUMENT, word, 0], summary=word)


def section(heading: str, *parts: Value, tail: str = "\n") -> Value:
    return part("Section", [DOCUMENT, [heading], 0], children=listed(parts), tail=tail)


def document(*parts: Value, **props: Any) -> Value:
    made = part("Document", "notes.md", children=listed(parts), tail="\n")
    return made | ({"props": props} if props else {})


def listed(parts: tuple[Value, ...]) -> list[Any]:
    return [[each["id"], "\n", len(each.get("summary", "")), 0] for each in parts]

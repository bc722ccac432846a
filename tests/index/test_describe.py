"""Two snapshots are compared by sums of hashes as by all their entries."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import ibidem
from ibidem.index.bounds import bound_problem
from ibidem.index.describe import describe, differences
from ibidem.index.segments.merge_rows import Part
from ibidem.index.segments.segment import Segment
from ibidem.index.snapshot import Snapshot
from ibidem.objects.child import Child
from ibidem.objects.derive import node_id
from ibidem.objects.errors import CorruptError

FIRST = node_id("", 0)


def snapshot(change: Callable[[Any], object] | None = None) -> Any:
    """Returns the snapshot of a small repository after a change, if any."""
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            for number in range(20):
                node = tx.add_node(
                    f"Label{number % 2}",
                    summary=f"word{number} and the same words for all",
                    props={"number": number},
                    key=number,
                    children=[Child(node_id("", number + 10), "", 1, 0)] if number < 10 else (),
                )
                tx.set_vector(node, model="m", vector=[1.0, number])
                tx.set_sparse(node, vocab="v", indices=[number], weights=[1.0])
                tx.add_edge(node, "next", node, weight=0.5, props={"valid_from": number})
        if change is not None:
            with repo.transaction() as tx:
                change(tx)
        return repo.at().snapshot()


@pytest.mark.parametrize(
    "change",
    [
        lambda tx: tx.add_node("Label0", summary="another"),
        lambda tx: tx.update_node(FIRST, summary="word0 and the same words for one"),
        lambda tx: tx.update_node(FIRST, summary="words for all and the same same word0"),
        lambda tx: tx.update_node(FIRST, props={"number": 77}),
        lambda tx: tx.tombstone(FIRST),
        lambda tx: tx.set_vector(FIRST, model="m", vector=[1.0, 77.0]),
        lambda tx: tx.set_sparse(FIRST, vocab="v", indices=[0], weights=[2.0]),
        lambda tx: tx.add_edge(FIRST, "next", FIRST, key=1),
        lambda tx: tx.update_node(FIRST, children=[]),
    ],
)
def test_sections_that_differ_are_named(change: Callable[[Any], object]) -> None:
    held, expected = snapshot(change), snapshot()
    other = describe(expected)
    wrong = [name for name, facts in describe(held).items() if facts != other[name]]
    found = differences(held, expected)
    assert [name for name in other if any(f": {name} differs" in one for one in found)] == wrong
    assert len(found) == len(wrong) > 0


def test_another_text_of_a_sparse_vector_is_a_difference() -> None:
    held = snapshot()
    (part,) = held.state.families["sparse", "v"]
    columns = {**part.segment.columns(), "of": part.segment["of"] ^ 1}
    parts = (Part(Segment("wrong", columns, part.segment.meta, 0)),)
    families = {**held.state.families, ("sparse", "v"): parts}
    state = dataclasses.replace(held.state, families=families)
    (found,) = differences(Snapshot(state, held.root, held.config), held)
    assert "sparse vectors differs in 20 entries" in found


def test_equal_ones_have_no_differences() -> None:
    assert differences(snapshot(), snapshot()) == []


def damaged(held: Snapshot, column: str, row: int) -> Snapshot:
    """Returns a snapshot in which a bit of a column is wrong, in every family that has it."""
    families = {}
    for key, parts in held.state.families.items():
        changed = []
        for part in parts:
            columns = dict(part.segment.columns())
            if column in columns:
                wrong = columns[column].copy()
                wrong[row : row + 1].view("u1")[..., 0] ^= 1
                columns[column] = wrong
            changed.append(Part(Segment("wrong", columns, part.segment.meta, 0), part.dead))
        families[key] = tuple(changed)
    state = dataclasses.replace(held.state, families=families)
    return Snapshot(state, held.root, held.config)


@pytest.mark.parametrize("row", [0, 5])
@pytest.mark.parametrize(
    "column",
    [
        *("ordinals", "set", "ids", "cids", "of", "rows", "token.rows", "token.values"),
        *(
            "lengths",
            "analysers",
            "term.rows",
            "term.values",
            "position.bytes",
            "prop.rows",
            "label.rows",
        ),
        *("child.starts", "child.items", "parent.child", "parent.row", "parent.position"),
        *("source", "target", "weight", "code", "valid.first", "high", "out.node", "in.row"),
    ],
)
def test_one_wrong_bit_of_a_column_is_found(column: str, row: int) -> None:
    held = snapshot()
    wrong = damaged(held, column, row)
    problems: list[str | None] = [bound_problem(segment) for segment in wrong.state.segments()]
    try:
        problems += differences(wrong, held)
    except CorruptError as error:
        problems.append(str(error))
    assert any(problems)

"""Two snapshots are compared by sums of hashes as by all their entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ibidem
from ibidem.index.describe import describe, differences
from ibidem.objects.derive import node_id

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
                )
                tx.set_vector(node, model="m", vector=[1.0, number])
                tx.set_sparse(node, vocab="v", indices=[number], weights=[1.0])
                tx.add_edge(node, "next", node, weight=0.5)
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
    ],
)
def test_sections_that_differ_are_named(change: Callable[[Any], object]) -> None:
    held, expected = snapshot(change), snapshot()
    other = describe(expected)
    wrong = [name for name, facts in describe(held).items() if facts != other[name]]
    found = differences(held, expected)
    assert [name for name in other if any(f": {name} differs" in one for one in found)] == wrong
    assert len(found) == len(wrong) > 0


def test_equal_ones_have_no_differences() -> None:
    assert differences(snapshot(), snapshot()) == []

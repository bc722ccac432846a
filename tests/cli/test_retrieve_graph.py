"""`repo retrieve --graph`: edges change what is found, and the answer says by which way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Run

Data = Callable[..., dict[str, Any]]


@pytest.fixture
def chain(notes: Run, data: Data) -> list[str]:
    lines = b'{"node": {"name": "0", "ntype": "Memo", "key": 0, "summary": "zebra crossing"}}\n'
    for i, word in ((1, b"gravel"), (2, b"tarmac"), (3, b"bitumen")):
        lines += b'{"node": {"name": "%d", "ntype": "Memo", "key": %d, "summary": "%s"}}\n' % (
            i,
            i,
            word,
        )
        etype = b"near" if i < 3 else b"far"
        lines += b'{"edge": {"source": "%d", "etype": "%s", "target": "%d"}}\n' % (i - 1, etype, i)
    data("add", "-", stdin=lines)
    notes("commit")
    found = {
        item["rendered"].split()[0]: item["id"]
        for item in (data("retrieve", "zebra gravel tarmac bitumen", "--limit", "all")["items"])
    }
    return [found[word] for word in ("zebra", "gravel", "tarmac", "bitumen")]


@pytest.mark.parametrize(
    ("options", "reached"),
    [
        (["--graph", "ppr"], {0, 1, 2, 3}),
        (["--graph", "decay"], {0, 1, 2}),
        (["--graph", "decay", "--graph-depth", "1"], {0, 1}),
        (["--graph", "decay", "--graph-depth", "4"], {0, 1, 2, 3}),
        (["--graph", "ppr", "--etype", "near"], {0, 1, 2}),
        (["--graph", "ppr", "--direction", "incoming"], {0}),
        (["--graph", "ppr", "--graph-seeds", "1"], {0, 1, 2, 3}),
        (["--community"], {0, 1, 2}),
        (["--community", "--etype", "far"], {0}),
        ([], {0}),
    ],
)
def test_options_decide_what_is_reached(chain: list[str], data: Data, options, reached):
    items = data("retrieve", "zebra", *options)["items"]
    assert {chain.index(item["id"]) for item in items} == reached


def test_an_item_says_the_way_from_a_seed(chain: list[str], notes: Run, data: Data):
    items = data("retrieve", "zebra", "--graph", "ppr")["items"]
    paths = {item["id"]: item["paths"] for item in items}
    assert paths[chain[2]]["graph"]["nodes"] == chain[:3]
    shown = notes("retrieve", "zebra", "--graph", "ppr", "--explain").stdout
    assert f"graph by {chain[0]} -near-> {chain[1]}" in shown


def test_a_walk_is_replayed(chain: list[str], data: Data):
    found = data("retrieve", "zebra", "--graph", "ppr", "--community")
    assert data("replay", found["receipt"])["is_identical"] is True


def test_options_of_a_walk_need_one(notes: Run):
    assert "--graph" in notes("retrieve", "x", "--graph-depth", "2", code=2).stderr
    assert "--etype" in notes("retrieve", "x", "--etype", "near", code=2).stderr
    assert (
        "--graph-depth: got an unknown option"
        in notes("retrieve", "x", "--graph", "ppr", "--graph-depth", "2", code=2).stderr
    )

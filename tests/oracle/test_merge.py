"""The merge against a second one over dictionaries, on random histories of a few merges."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cases import by_suite

import ibidem
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, RootCid
from ibidem.objects.errors import ConflictError, ErrorKind
from ibidem.objects.links import links
from ibidem.objects.root import Root
from ibidem.repo.maintenance.history_checks import HistoryCheck
from ibidem.repo.maintenance.report import Fault
from ibidem.repo.merge.three_way import merge_roots
from ibidem.repo.merge.tombstones import with_tombstones

from . import merge_oracle as oracle
from .merge_documents import DocumentEditor, merged_layouts, relabelled
from .merge_layout import document_of
from .merge_values import Refused, boxed, height, same
from .merge_world import (
    POLICIES,
    WORDS,
    Editor,
    empty_state,
    kept_as_listed,
    known,
    rooted,
    under_policies,
)

FAST = 100
ASKED = 20
"""One merge in this many is asked a question, which takes longer than the merge; those with
contested nodes always are."""


def run(
    seed: int, met: Counter[str], *, policy: int | None = None, has_lists: bool = False
) -> None:
    """Merges one random history, up to three merges deep; counts what it met."""
    rng = random.Random(seed)
    blocks: dict[Cid, oracle.Value] = {}
    empty = empty_state(policy=policy)
    base = Editor(rng, empty, has_lists=has_lists).edited(rng.randrange(30))
    if rng.random() < 0.1:
        base = empty
    for _ in range(rng.choice((1, 1, 2, 3))):
        ours, theirs = (
            Editor(rng, base, has_lists=has_lists).edited(rng.randrange(1, 12)) for _ in range(2)
        )
        base = merged(base, ours, theirs, blocks, met)


def run_document(seed: int, met: Counter[str], *, policy: int | None = None) -> None:
    """Merges one random history of a document, up to three merges deep; counts what it met."""
    rng = random.Random(seed)
    blocks: dict[Cid, oracle.Value] = {}
    first = DocumentEditor(rng, policy=policy)
    base = first.edited(rng.randrange(4, 24), is_first=True)
    for _ in range(rng.choice((1, 2, 3))):
        ours, theirs = (DocumentEditor(rng, base).edited(rng.randrange(1, 6)) for _ in range(2))
        found = merged(base, ours, theirs, blocks, met)
        met["layouts"] += merged_layouts(found, base, ours, theirs)
        met["labels"] += relabelled(found, base, ours, theirs)
        base = found


def run_nested(
    seed: int, met: Counter[str], *, policy: int | None = None, is_document: bool = False
) -> None:
    """Merges merges: of one base, with and without edits since, and then over an older base, as
    when a change is made again on another branch."""
    rng = random.Random(seed)
    blocks: dict[Cid, oracle.Value] = {}

    def edited(state: oracle.State) -> oracle.State:
        if is_document:
            return DocumentEditor(rng, state).edited(rng.randrange(1, 6))
        return Editor(rng, state, has_lists=seed % 4 == 0).edited(rng.randrange(1, 10))

    base = Editor(rng, empty_state(policy=policy)).edited(rng.randrange(30))
    if is_document:
        base = DocumentEditor(rng, policy=policy).edited(rng.randrange(4, 24), is_first=True)
    first, second, third = (edited(base) for _ in range(3))
    sides = [merged(base, each, second, blocks, met) for each in (first, third)]
    sides = [edited(side) if rng.random() < 0.5 else side for side in sides]
    found = merged(base, *sides, blocks, met)
    older = rng.choice((empty_state(policy=policy), base, first))
    merged(older, edited(found), edited(rng.choice((found, *sides))), blocks, met)


def faults(source: WriteBatch, root: RootCid) -> list[Fault]:
    """Returns what a copy would refuse a root for; states of these tests have no `requires`."""
    check = HistoryCheck(source, lambda _: False, is_well_formed=True)
    check.check(root, None, "the merge")
    check.finish()
    return [fault for fault in check.faults if "root.requires" not in fault.detail]


def merged(
    base: oracle.State,
    ours: oracle.State,
    theirs: oracle.State,
    blocks: dict[Cid, oracle.Value],
    met: Counter[str],
) -> oracle.State:
    states = (base, ours, theirs)
    source = WriteBatch()
    for state in states:
        known(state, blocks)
    for value in blocks.values():
        source.put(oracle.cid_of(value), oracle.codec.encode(value))
    roots = [rooted(state, source) for state in states]
    buffer, mirrored = WriteBatch(source), WriteBatch(source)
    try:
        expected = oracle.merge(*states, blocks)
    except Refused:
        check_refused(roots, source)
        met["refused"] += 1
        return ours
    found = merge_roots(source, *roots, buffer)
    check = WriteBatch()
    assert found == rooted(expected, check)
    assert faults(buffer, found) == []
    assert merge_roots(source, roots[0], roots[2], roots[1], mirrored) == found
    for each in (buffer, mirrored):
        check_whole(found, each)
    for root in (found, roots[1], roots[2]):
        assert merge_roots(buffer, roots[0], found, root, WriteBatch(buffer)) == found
    check_kept(expected, *states)
    versions = (expected.config["analyser"], expected.config["semantics"])
    met["settled"] += settled_levels(expected, *states)
    met["listed"] += kept_as_listed(expected, *states)
    is_open = "trust" not in expected.config
    is_contested = bool(contested(expected, buffer))
    if (met["merges"] % ASKED == 0 or is_contested) and versions == ("english-1", 1) and is_open:
        check_answers(found, buffer, expected)
        met["asked"] += 1
        met["contested"] += is_contested
    met.update(merges=1, conflicts=len(expected.conflicts))
    for conflict in expected.conflicts.values():
        met[f"{conflict['what']}{sorted(conflict.keys() & {'base', 'deleted', 'nodes'})}"] += 1
    return expected


def check_refused(roots: list[RootCid], source: WriteBatch) -> None:
    """Neither order is merged, and both say the same; as a base they are, and have no policy."""
    messages, bases = set(), set()
    for sides in ((roots[1], roots[2]), (roots[2], roots[1])):
        buffer = WriteBatch(source)
        with pytest.raises(ConflictError) as refused:
            merge_roots(source, roots[0], *sides, buffer)
        assert buffer.new == {}
        messages.add(str(refused.value))
        bases.add(merge_roots(source, roots[0], *sides, buffer, is_base=True))
        assert all("trust" not in Root.decode(buffer.get(base)).config for base in bases)
    assert (len(messages), len(bases)) == (1, 1)


def check_whole(root: Cid, source: WriteBatch) -> None:
    """Every block that the root needs is there."""
    waiting = [root]
    while waiting:
        waiting.extend(links(source.get(waiting.pop())))


def check_answers(root: RootCid, source: WriteBatch, merged: oracle.State) -> None:
    """Every lane answers from the merged root at once: exactly the nodes that it should."""
    with ibidem.init("memory:") as repo:
        waiting: list[Cid] = [root]
        while waiting:
            cid = waiting.pop()
            repo.core.store.put({cid: source.get(cid)})
            waiting.extend(links(source.get(cid)))
        at = repo.at(root)
        seen = merged.nodes.keys() - merged.tombstones.keys()
        in_conflict = merged.conflicts.keys() | contested(merged, source)
        for word in WORDS:
            result = at.retrieve(word, limit=50)
            found = {item.node.id.raw for item in result.items}
            assert found == {key for key in seen if word in text_of(merged.nodes[key])}
            assert warned(result) == len(found & in_conflict)
        for label in {node["ntype"] for node in merged.nodes.values()}:
            result = at.retrieve(label=label, limit=1000, token_budget=1_000_000)
            found = {item.node.id.raw for item in result.items}
            assert found == {key for key in seen if merged.nodes[key]["ntype"] == label}
            assert warned(result) == len(found & in_conflict)
        for model, vectors in merged.vectors.items():
            ones = [1.0] * merged.config["models"][model]["dim"]
            result = at.retrieve(vector=(model, ones), limit=50)
            assert {item.node.id.raw for item in result.items} == seen & vectors.keys()


def warned(result: ibidem.Answer[ibidem.Item]) -> int:
    """Returns how many nodes of an answer it says to be in conflict."""
    return sum(one.count or 0 for one in result.warnings if one.code == "open_conflicts")


def contested(merged: oracle.State, source: WriteBatch) -> set[bytes]:
    """[9.3-d]"""
    found: set[bytes] = set()
    for key in merged.conflicts.keys() & merged.nodes.keys():
        conflict = merged.conflicts[key]
        fields, is_deleted = conflict.get("fields", []), conflict.get("deleted", False)
        if fields and "layout" not in fields and not is_deleted:
            continue
        sides = [children_of(oracle.codec.decode(source.get(cid))) for cid in conflict["sides"]]
        sides += [set()] if is_deleted else []
        found |= set.union(*sides) - set.intersection(*sides)
    waiting = found & merged.nodes.keys()
    while waiting:
        below = children_of(merged.nodes[waiting.pop()]) - found
        found |= below
        waiting |= below & merged.nodes.keys()
    return found


def children_of(node: oracle.Value) -> set[bytes]:
    return {child[0] for child in node.get("children", [])}


def text_of(node: oracle.Value) -> str:
    parts = (node.get("context_sentence", ""), node.get("summary", ""))
    return " ".join((*parts, node.get("content", b"").decode()))


def check_kept(
    merged: oracle.State, base: oracle.State, ours: oracle.State, theirs: oracle.State
) -> None:
    """No vector is dropped that a side put and whose node stands; nothing refers to nothing."""
    for side in (ours, theirs):
        for name, vectors in side.vectors.items():
            for key, vector in vectors.items():
                is_new = not same(vector, base.vectors.get(name, {}).get(key))
                if is_new and key in merged.nodes:
                    assert any(key in found for found in merged.vectors.values())
    for edge in merged.edges.values():
        assert {edge["src"], edge["dst"]} <= merged.nodes.keys()
    for attached in (*merged.vectors.values(), *merged.sparse.values()):
        assert attached.keys() <= merged.nodes.keys()


def settled_levels(merged: oracle.State, *sides: oracle.State) -> int:
    """Of two levels the stricter stands, but a part follows its document; returns how often they
    differed."""
    policy = merged.config.get("trust")
    count = 0
    for key, node in merged.nodes.items() if policy else ():
        boxes = [boxed(side.nodes[key]) if key in side.nodes else None for side in sides]
        was, one, other = (box and box.get(f"props.{policy['level']}") for box in boxes)
        if boxes[1] is None or boxes[2] is None or (boxes[0] and was in (one, other)):
            continue
        if document_of(node) not in (None, key):
            continue
        heights = height(policy, one), height(policy, other)
        assert height(policy, boxed(node).get(f"props.{policy['level']}")) == max(heights)
        count += heights[0] != heights[1]
    return count


def test_merges_equal_the_oracle_commute_and_repeat() -> None:
    met: Counter[str] = Counter()
    for seed in range(FAST):
        run(seed, met)
    kinds = [name for name in met if name.startswith(("node", "edge"))]
    assert len(kinds) >= 6, met
    assert met["asked"], met


def test_of_two_levels_the_stricter_stands_under_any_policy() -> None:
    met: Counter[str] = Counter()
    for seed in range(FAST // 2):
        run(seed, met, policy=seed % len(POLICIES))
    assert met["settled"] > FAST // 10, met


def test_two_policies_merge_field_by_field_or_are_refused() -> None:
    met: Counter[str] = Counter()
    for seed in range(FAST * 2):
        merged(*under_policies(random.Random(seed)), {}, met)
    assert met["refused"] > FAST // 10, met
    assert met["merges"] > FAST, met


def test_what_a_node_lists_because_of_a_side_is_there() -> None:
    met: Counter[str] = Counter()
    for seed in range(FAST):
        run(seed, met, has_lists=True)
    assert met["listed"] > FAST // 20, met


@pytest.mark.parametrize("count", [FAST // 2, pytest.param(FAST * 2, marks=pytest.mark.slow)])
def test_layouts_of_documents_merge_child_by_child(count: int) -> None:
    met: Counter[str] = Counter()
    for seed in range(count):
        run_document(seed, met)
    assert met["layouts"] > count // 10, met
    assert met["conflicts"] > count // 20, met
    assert met["contested"] > count // 20, met


@pytest.mark.parametrize("count", by_suite([FAST // 8, FAST // 2, FAST * 3], fast=1, slow=2))
def test_what_one_side_adds_to_a_document_is_as_secret_as_the_other_side_made_it(
    count: int,
) -> None:
    met: Counter[str] = Counter()
    for seed in range(count):
        run_document(seed, met, policy=seed % len(POLICIES))
    assert met["labels"] > count // 5, met


@pytest.mark.parametrize(
    ("seed", "policy"), [(865, 0), (113, 2), (123, 2), (317, 2), (753, None), (1620, None)]
)
def test_documents_that_once_merged_otherwise_again(seed: int, policy: int | None) -> None:
    run_document(seed, Counter(), policy=policy)


@pytest.mark.parametrize("count", by_suite([4, FAST // 5, FAST], fast=1, slow=2))
def test_merges_of_merges_equal_the_oracle_commute_and_repeat(count: int) -> None:
    met: Counter[str] = Counter()
    for seed in range(count):
        policy = (None, *range(len(POLICIES)))[seed % (1 + len(POLICIES))]
        run_nested(seed, met, policy=policy)
        run_nested(seed, met, policy=policy, is_document=True)
    assert met["conflicts"] > count, met


@pytest.mark.parametrize("count", by_suite([1_000, 20_000], slow=1))
def test_many_merges_equal_the_oracle_commute_and_repeat(count: int) -> None:
    met: Counter[str] = Counter()
    seed = FAST
    while met["merges"] < count:
        run(seed, met, policy=seed % 6 // 2 if seed % 2 else None, has_lists=seed % 4 == 0)
        run_document(seed, met)
        seed += 1
    assert met["conflicts"] > count // 10, met
    assert met["settled"] > count // 30, met  # half of all merges are of layouts
    assert met["listed"] > count // 100, met


FOLDER = Path(__file__).parents[2] / "spec" / "vectors" / "merge"
VECTORS = json.loads((FOLDER / "merge.json").read_text("utf-8"))
AGAIN = json.loads((FOLDER / "again.json").read_text("utf-8"))


def blocks_of(vectors: dict[str, Any]) -> WriteBatch:
    source = WriteBatch()
    for cid, block in vectors["blocks"].items():
        source.put(Cid(bytes.fromhex(cid)), bytes.fromhex(block))
    return source


@pytest.mark.parametrize("number", range(len(AGAIN["cases"])))
def test_what_is_made_again_or_gone_back_to_keeps_the_tombstones_of_the_specification(
    number: int,
) -> None:
    case = AGAIN["cases"][number]
    buffer = WriteBatch(blocks_of(AGAIN))
    roots = {
        name: RootCid(bytes.fromhex(value))
        for name, value in case.items()
        if name not in ("name", "spec")
    }
    ours = roots["ours"]
    root = roots.get("state")
    if root is None:
        root = merge_roots(buffer, roots["base"], ours, roots["theirs"], buffer)
    common = roots.get("common")
    base = None if common is None else Root.decode(buffer.get(common)).tombstones
    tombstones = Root.decode(buffer.get(ours)).tombstones
    found, kept = with_tombstones(root, tombstones, buffer, base=base)
    assert found == roots["output"] != root
    assert kept


@pytest.mark.parametrize("number", range(len(VECTORS["cases"])))
def test_vectors_of_the_specification(number: int) -> None:
    case = VECTORS["cases"][number]
    source = blocks_of(VECTORS)
    base, ours, theirs = (RootCid(bytes.fromhex(case[name])) for name in ("base", "ours", "theirs"))
    if case.get("error") is not None:
        assert case["error"] == ErrorKind.CONFLICT
        check_refused([base, ours, theirs], source)
        return
    output = RootCid(bytes.fromhex(case["output"]))
    for one, other in ((ours, theirs), (theirs, ours)):
        buffer = WriteBatch(source)
        assert merge_roots(source, base, one, other, buffer) == output
        check_whole(output, buffer)

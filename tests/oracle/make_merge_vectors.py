"""Writes `spec/vectors/merge`: merges of random graphs as the second merge makes them, and changes
made again, with the tombstones that stay.

PYTHONPATH=src python -m tests.oracle.make_merge_vectors
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid
from ibidem.objects.derive import edge_id, node_id

from . import merge_oracle as oracle
from .merge_documents import DocumentEditor, merged_layouts
from .merge_repeated import repeated
from .merge_values import Refused, same
from .merge_world import (
    POLICIES,
    Editor,
    empty_state,
    kept_as_listed,
    known,
    rooted,
    under_policies,
)

FOLDER = Path(__file__).parents[2] / "spec" / "vectors" / "merge"
CASES = 40
CASES_WITH_POLICY = 12
CASES_OF_POLICIES = 12
CASES_OF_LISTS = 8
CASES_OF_DOCUMENTS = 8
CASES_MADE_AGAIN = 6


def cases() -> dict[str, Any]:
    source = WriteBatch()
    blocks: dict[Cid, oracle.Value] = {}
    found = made(CASES, 1_000_000, None, source, blocks)
    for policy in range(len(POLICIES)):
        count = CASES_WITH_POLICY // len(POLICIES)
        found += made(count, 2_000_000 + policy * 1_000, policy, source, blocks)
    found += of_policies(source, blocks)
    found += of_lists(source, blocks)
    found += of_returned(source, blocks)
    found += of_documents(source, blocks)
    found += of_links(source, blocks)
    found += of_repeated(source, blocks)
    return {"blocks": needed(found, source), "cases": found}


def made(
    count: int, seed: int, policy: int | None, source: WriteBatch, blocks: dict[Cid, oracle.Value]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    met: Counter[str] = Counter()
    prefix = "" if policy is None else "levels; "
    while len(found) < count:
        seed += 1
        rng = random.Random(seed)
        base = Editor(rng, empty_state(policy=policy)).edited(rng.randrange(16))
        for _ in range(2):
            ours, theirs = (Editor(rng, base).edited(rng.randrange(1, 8)) for _ in range(2))
            for state in (base, ours, theirs):
                known(state, blocks)
            merged = oracle.merge(base, ours, theirs, blocks)
            kinds = sorted(
                " ".join([each["what"], *sorted(each.keys() & {"base", "deleted", "nodes"})])
                for each in merged.conflicts.values()
            )
            name = prefix + ("; ".join(kinds) or "nothing in conflict")
            is_telling = policy is None or levels_differ(base, ours, theirs)
            if met[name] < 4 and is_telling:
                met[name] += 1
                spec = "1-b 1-c" if policy is None else "1-b 1-c 3-e"
                states = (base, ours, theirs, merged)
                found.append({"name": name, "spec": spec} | put(states, source, blocks))
            base = merged
    return found[:count]


def of_policies(source: WriteBatch, blocks: dict[Cid, oracle.Value]) -> list[dict[str, Any]]:
    """Both sides change the policy: merged by fields, or an error."""
    found: list[dict[str, Any]] = []
    for seed in range(3_000_000, 3_000_000 + CASES_OF_POLICIES):
        states = list(under_policies(random.Random(seed)))
        for state in states:
            known(state, blocks)
        case: dict[str, Any] = {"name": "policies", "spec": "7-c 7-d"}
        try:
            states.append(oracle.merge(*states, blocks))
        except Refused:
            case = {"name": "policies refused", "spec": "7-d", "error": "conflict"}
        found.append(case | put(states, source, blocks))
    return found


def of_lists(source: WriteBatch, blocks: dict[Cid, oracle.Value]) -> list[dict[str, Any]]:
    """A side took away what a node lists as a child because of the other."""
    found: list[dict[str, Any]] = []
    seed = 4_000_000
    while len(found) < CASES_OF_LISTS:
        seed += 1
        rng = random.Random(seed)
        base = Editor(rng, empty_state(), has_lists=True).edited(12)
        sides = [Editor(rng, base, has_lists=True).edited(4) for _ in range(2)]
        for state in (base, *sides):
            known(state, blocks)
        merged = oracle.merge(base, *sides, blocks)
        if kept_as_listed(merged, base, *sides):
            case = {"name": "listed as a child", "spec": "1-b 1-c 2-f"}
            found.append(case | put((base, *sides, merged), source, blocks))
    return found


def of_documents(source: WriteBatch, blocks: dict[Cid, oracle.Value]) -> list[dict[str, Any]]:
    """Both sides changed the layout of a document or of a section of it."""
    found: list[dict[str, Any]] = []
    met: Counter[str] = Counter()
    seed = 6_000_000
    while len(found) < 2 * CASES_OF_DOCUMENTS:
        seed += 1
        rng = random.Random(seed)
        base = DocumentEditor(rng, has_labels=False).edited(10, is_first=True)
        sides = [
            DocumentEditor(rng, base, has_labels=False).edited(rng.randrange(1, 4))
            for _ in range(2)
        ]
        for state in (base, *sides):
            known(state, blocks)
        merged = oracle.merge(base, *sides, blocks)
        is_open = any("layout" in each.get("fields", ()) for each in merged.conflicts.values())
        name = "layouts in conflict" if is_open else "layouts merged"
        is_telling = is_open or merged_layouts(merged, base, *sides)
        if is_telling and met[name] < CASES_OF_DOCUMENTS:
            met[name] += 1
            spec = f"1-b 1-c 3-g {'3-h' if is_open else '3-i'} 3-j"
            found.append({"name": name, "spec": spec} | put((base, *sides, merged), source, blocks))
    return found


def of_returned(source: WriteBatch, blocks: dict[Cid, oracle.Value]) -> list[dict[str, Any]]:
    """An edge has a conflict that names missing nodes, and both its ends are there."""
    edge, other = ({**cites("a", "b"), "weight": weight} for weight in (2.0, 3.0))
    out = dangling([edge], "b")
    returned = {
        "both sides have the ends again": (state("ab", out), state("abc", out), state("abd", out)),
        "one side brings an end back": (state("a", out), state("ab", out), state("ad", out)),
        "one side has the edge and changed the end": (
            *(state("ab"), state("ab", edges=[edge], summary="new"), state("a", out)),
        ),
        "one side has the edge, the conflict has two sides": (
            *(state("ab"), state("ab", edges=[edge], summary="new")),
            state("a", dangling([edge, other], "b")),
        ),
        "no side changed an edge that has missing nodes on record": (
            *(state(more, out, edges=[edge]) for more in ("ab", "abc", "abd")),
        ),
    }
    found: list[dict[str, Any]] = []
    for name, states in returned.items():
        for one in states:
            known(one, blocks)
        for value in (edge, other, node("b")):
            blocks[oracle.cid_of(value)] = value
        merged = oracle.merge(*states, blocks)
        case = {"name": name, "spec": "1-b 1-c 4-c"}
        found.append(case | put((*states, merged), source, blocks))
    return found


def of_links(source: WriteBatch, blocks: dict[Cid, oracle.Value]) -> list[dict[str, Any]]:
    """A side added an edge `links_to`, and the other removed its target."""
    link = joined("links_to", "a", "b")
    weighted = {**link, "weight": 2.0}
    cases = {
        "a derived link": (state("ab"), state("ab", edges=[link]), state("a")),
        "a derived link again": (state("ab"), state("a"), state("abc", edges=[link])),
        "a link that was made plain": (
            *(state("ab", edges=[weighted]), state("ab", edges=[link]), state("a")),
        ),
        "a link with a weight": (state("ab"), state("ab", edges=[weighted]), state("a")),
        "a link with a property": (
            *(state("ab"), state("ab", edges=[{**link, "props": {"p": 1}}]), state("a")),
        ),
        "a link with a later field": (
            *(state("ab"), state("ab", edges=[{**link, "later": 1}]), state("a")),
        ),
        "another type": (state("ab"), state("ab", edges=[cites("a", "b")]), state("a")),
    }
    found: list[dict[str, Any]] = []
    for name, states in cases.items():
        for one in states:
            known(one, blocks)
        merged = oracle.merge(*states, blocks)
        case = {"name": name, "spec": "1-b 1-c 4-b 4-g"}
        found.append(case | put((*states, merged), source, blocks))
    return found


def of_repeated(source: WriteBatch, blocks: dict[Cid, oracle.Value]) -> list[dict[str, Any]]:
    """A merge, and either side merged into it again."""
    found: list[dict[str, Any]] = []
    for name, spec, (base, ours, theirs) in repeated(blocks):
        for one in (base, ours, theirs):
            known(one, blocks)
        merged = oracle.merge(base, ours, theirs, blocks)
        known(merged, blocks)
        found.append({"name": name, "spec": spec})
        found[-1] |= put((base, ours, theirs, merged), source, blocks)
        for side in (ours, theirs):
            case = {"name": f"{name}; again", "spec": f"1-c {spec}"}
            found.append(case | put((base, merged, side, merged), source, blocks))
    return found


def state(
    letters: str,
    *conflicts: oracle.Value,
    edges: Sequence[oracle.Value] = (),
    summary: str | None = None,
) -> oracle.State:
    """Returns a root of some nodes, the last of them with a summary."""
    made = empty_state()
    for letter in letters:
        value = node(letter)
        if summary is not None and letter == letters[-1]:
            value["summary"] = summary
        made.nodes[value["id"]] = value
    made.edges = {edge["id"]: edge for edge in edges}
    made.conflicts = {cites("a", "b")["id"]: conflict for conflict in conflicts}
    return made


def node(letter: str) -> oracle.Value:
    key = node_id("", letter).raw
    return {"kind": "node", "v": 1, "id": key, "ntype": "Doc", "key": ["", letter]}


def cites(one: str, other: str) -> oracle.Value:
    return joined("cites", one, other)


def joined(etype: str, one: str, other: str) -> oracle.Value:
    ends = node_id("", one), node_id("", other)
    key = edge_id(ends[0], etype, ends[1]).raw
    ends_raw = {"src": ends[0].raw, "dst": ends[1].raw}
    return {"kind": "edge", "v": 1, "id": key, "etype": etype, **ends_raw}


def dangling(sides: Sequence[oracle.Value], missing: str) -> oracle.Value:
    """Returns the conflict of an edge that is out of the graph for want of a node."""
    cids = sorted(oracle.cid_of(side) for side in sides)
    nodes = [oracle.cid_of(node(missing))]
    return {"kind": "conflict", "v": 1, "what": "edge", "sides": cids, "nodes": nodes}


def cases_made_again() -> dict[str, Any]:
    """Reverts, rebases and undos that would lose a tombstone by the rules of merging alone."""
    source = WriteBatch()
    blocks: dict[Cid, oracle.Value] = {}
    found: list[dict[str, Any]] = []
    met: Counter[str] = Counter()
    seed = 5_000_000
    while len(found) < 3 * CASES_MADE_AGAIN:
        seed += 1
        rng = random.Random(seed)
        before = Editor(rng, empty_state()).edited(12)
        after = Editor(rng, before).edited(8)
        head = Editor(rng, after).edited(3)
        for state in (before, after, head):
            known(state, blocks)
        reverted = oracle.merge(after, head, before, blocks)
        # A branch that forgot and showed again, on another that forgot too.
        own = oracle.State(**{**vars(before), "tombstones": after.tombstones})
        rebased = oracle.merge(own, after, before, blocks)
        since = {
            key: stone
            for key, stone in after.tombstones.items()
            if not same([stone], [before.tombstones.get(key)])
        }
        for name, spec, states, result, kept in (
            (
                "revert",
                "9-a",
                {"base": after, "ours": head, "theirs": before},
                reverted,
                head.tombstones,
            ),
            (
                "rebase",
                "9-b",
                {"base": own, "ours": after, "theirs": before, "common": before},
                rebased,
                since,
            ),
            ("undo", "9-c", {"state": before, "ours": head}, before, head.tombstones),
        ):
            output = oracle.with_tombstones(result, kept)
            if (
                met[name] < CASES_MADE_AGAIN
                and output.tombstones.keys() != result.tombstones.keys()
            ):
                met[name] += 1
                roots = put((*states.values(), output), source, blocks, (*states, "output"))
                found.append({"name": name, "spec": spec} | roots)
    return {"blocks": needed(found, source), "cases": sorted(found, key=lambda case: case["spec"])}


def put(
    states: Sequence[oracle.State],
    source: WriteBatch,
    blocks: dict[Cid, oracle.Value],
    names: Sequence[str] = ("base", "ours", "theirs", "output"),
) -> dict[str, str]:
    """Puts states, and returns their roots by the names that a case has for them."""
    for value in blocks.values():
        source.put(oracle.cid_of(value), oracle.codec.encode(value))
    return {name: hexed(rooted(state, source)) for name, state in zip(names, states, strict=False)}


def levels_differ(base: oracle.State, *sides: oracle.State) -> bool:
    """Tells whether both sides gave one node another level, and not the same."""
    name = base.config["trust"]["level"]
    for key in base.nodes.keys() & sides[0].nodes.keys() & sides[1].nodes.keys():
        found = [side.nodes[key].get("props", {}).get(name) for side in (base, *sides)]
        if all(not same([a], [b]) for a, b in combinations(found, 2)):
            return True
    return False


def hexed(cid: Cid) -> str:
    return cid.raw.hex()


def needed(found: list[dict[str, Any]], source: WriteBatch) -> dict[str, str]:
    """Returns the blocks behind what goes into the cases, by CID."""
    from ibidem.objects.links import links

    waiting = [
        Cid(bytes.fromhex(case[side]))
        for case in found
        for side in ("base", "ours", "theirs", "common", "state")
        if side in case
    ]
    blocks: dict[str, str] = {}
    while waiting:
        cid = waiting.pop()
        if hexed(cid) not in blocks:
            block = source.get(cid)
            blocks[hexed(cid)] = block.hex()
            waiting.extend(links(block))
    return dict(sorted(blocks.items()))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, made_cases in (("merge", cases()), ("again", cases_made_again())):
        (FOLDER / f"{name}.json").write_text(json.dumps(made_cases, indent=1) + "\n", "utf-8")

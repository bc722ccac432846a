"""Writes files of spec/vectors/retrieval from the oracle: at the root,
`python -m tests.oracle.make_vectors NAME...`, without names all of them.

A file that was written before a field of the query came shows questions of before, and is kept.

Nothing of `retrieve/` is used but `resolve`, which turns options into canonical forms.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import partial
from pathlib import Path
from typing import Any

import dag_cbor

from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.query.query import resolve
from ibidem.retrieve.query.union import RootSet

from .graph_world import random_walk_options, set_edges, with_edges
from .home_world import home_facts, random_home_options
from .mention_world import named_facts, random_mention_options
from .oracle import World, answer, exact, measure
from .related_world import random_related_options, related_facts
from .repeat_world import random_repeat_options, repeating_facts
from .shown import contain, estimate, render
from .symbol_world import CODE, SIGNED
from .union_world import of_several, part, split
from .world import WORDS, Facts, edited, random_facts, random_history, random_options, with_queries

FOLDER = Path(__file__).parents[2] / "spec" / "vectors" / "retrieval"
STATE_BYTES_MAX = 12_000
STATES, QUERIES_EACH = 14, 6
WALK_STATES = 8
TOLD_STATES = 6
HISTORY_STATES = 4
UNION_STATES = 2
UNION_BYTES_MAX = 24_000
QUERIES_STATES = 4
HOME_ANCHORS = ["7-a", "6.1-a", "4.1.6-a", "4.1.6-b", "4.1.6-d", "4.1.4-d"]
MENTION_ANCHORS = ["5.6-a", "5.6.1-a", "5.6.1-b", "5.6.2-a", "5.6.2-b", "5.6.2-c", "5.6.2-d"]
PASSAGE_ANCHORS = ["4.4-a", "4.4-b"]
RELATED_ANCHORS = ["4.1.8-a", "4.1.8-b", "9-a"]
CODE_ANCHORS = ["4.1.7-b", "4.1.7-c", "8.3-a", "8.3-b", "8.3-c", "8.3-d"]
SYMBOL_ANCHORS = ["4.1.7-a", "4.1.7-b", "8.1-a", "8.2-a", "8.2-b"]
WALK_ANCHORS = [
    "5-a",
    "5-b",
    "5-c",
    "5.1-a",
    "5.2-a",
    "5.2-b",
    "5.3-a",
    "5.3-b",
    "5.4-a",
    "5.4-b",
    "5.5-a",
    "5.5-b",
    "5.5-c",
    "7-b",
    "9.3-a",
]


def main(names: Sequence[str]) -> None:
    """Writes the files of these names, of all for none."""
    made: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "numbers": lambda: [*logarithms(), *exponentials(), *products()],
        "text": texts,
        "answers": answers,
        "walks": walks,
        "mentions": partial(told, "mentions", MENTION_ANCHORS, named_facts, random_mention_options),
        "passages": partial(
            told, "passages", PASSAGE_ANCHORS, linked_facts, random_walk_options, opens
        ),
        "related": partial(told, "related", RELATED_ANCHORS, related_facts, random_related_options),
        "symbols": partial(told, "symbols", SYMBOL_ANCHORS, SIGNED.facts, SIGNED.options),
        "code": partial(told, "code", CODE_ANCHORS, CODE.facts, CODE.options),
        "homes": partial(told, "homes", HOME_ANCHORS, home_facts, random_home_options, has_text),
        "repeats": partial(
            told, "repeats", ["8.4-a"], repeating_facts, random_repeat_options, leaves_out
        ),
        "history": histories,
        "queries": subqueries,
        "union": unions,
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or made:
        text = json.dumps(made[name](), indent=1, ensure_ascii=True)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="ascii")


def logarithms() -> list[dict[str, Any]]:
    pairs = [(1, 1), (2, 1), (8, 3), (202, 3), (10**12, 7), (200_002, 200_001), (3, 200_001)]
    context = Context(prec=50, rounding=ROUND_HALF_EVEN)
    return [
        {
            "name": f"ln({n} / {m})",
            "spec": "2.3",
            "input": {"ln": [n, m]},
            "output": float(context.ln(context.divide(Decimal(n), Decimal(m)))).hex(),
        }
        for n, m in pairs
    ]


def exponentials() -> list[dict[str, Any]]:
    context = Context(prec=50, rounding=ROUND_HALF_EVEN)
    return [
        {
            "name": f"exp({x!r})",
            "spec": "2.3",
            "input": {"exp": x.hex()},
            "output": float(context.exp(Decimal(x))).hex(),
        }
        for x in (0.0, 1.0, -1.0, -3.7, 0.1, -700.5, 20.25)
    ]


def products() -> list[dict[str, Any]]:
    rng = random.Random(7)
    cases = []
    for name, row, query in (
        ("cancels to almost nothing", [2.0**60, 1.0, -(2.0**60)], [1.0, 1.0, 1.0]),
        ("middle of two numbers", [2.0**53, 1.0], [1.0, 1.0]),
        ("above the middle", [2.0**53, 1.0, 2.0**-120], [1.0, 1.0, 1.0]),
        ("zero vector", [0.0, 0.0], [1.0, -1.0]),
        ("subnormal", [2.0**-149, 2.0**-149], [2.0**-149, 2.0**-149]),
        ("huge", [3.0e38, -3.0e38, 1.0], [3.0e38, 3.0e38, 1.0]),
        *((f"random {i}", *(sample(rng, 24) for _ in "xq")) for i in range(4)),
    ):
        row, query = [narrow(x) for x in row], [narrow(x) for x in query]
        cases.append(
            {
                "name": name,
                "spec": ["2.4-a", "4.2-a", "2.2-a"],
                "input": {"x": [x.hex() for x in row], "q": [q.hex() for q in query]},
                "output": {
                    "sum": exact(row, query).hex(),
                    "cosine": measure(row, query, "cosine").hex(),
                    "dot": measure(row, query, "dot").hex(),
                    "euclidean": measure(row, query, "euclidean").hex(),
                },
            }
        )
    return cases


def texts() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = [
        {
            "name": repr(text),
            "spec": ["8.1-c", "8.2-a"],
            "input": {"text": text},
            "output": {"contained": contain(text), "tokens": estimate(text)},
        }
        for text in (
            "",
            "plain",
            "a\r\nb\rc\nd",
            "\x1b[0m\x00\x7f\x9b",
            "\u2028\u2029\x85\t",
            "naïve 東京 🦊",
        )
    ]
    for value in (
        1.0,
        -0.5,
        1e-4,
        1e-5,
        1.5e16,
        123456789012345680.0,
        9007199254740993.0,
        5e-324,
        0.1 + 0.2,
    ):
        node = Node(id=NodeId(bytes(16)), ntype="N", props={"x": value, "y": True, "z": -3})
        cases.append(rendered(f"float {value!r}", node, "", "8.1-d"))
    full = Node(
        id=NodeId(bytes(range(16))), ntype="Doc\nid: 1", summary="one\r\ntwo\x1b",
        props={"b": "x\ny", "a": [1], "é": "z", "Z\n": 1},
    )  # fmt: skip
    cases.append(rendered("a text", full, "one\r\ntwo\x1b", ["8.1-a", "8.1-c"]))
    cases.append(rendered("a long text", full, "s" * 8193, "8.1-b"))
    cases.append(rendered("a text with metadata", full, "one\n\ntwo", "8.1-a", metadata=True))
    edges = f"Outgoing:\n  cites -> {'07' * 16}\n"
    cases.append(rendered("a text with edges", full, "one", "8.1-a", edges=edges))
    cases.append(rendered("no text", full, "", ["8.1-a", "8.1-c"]))
    cases.append(rendered("no text with edges", full, "", "8.1-a", edges=edges))
    return cases


def rendered(
    name: str, node: Node, text: str, spec: Any, *, metadata: bool = False, edges: str = ""
) -> dict[str, Any]:
    shown = render(node, text, metadata, edges)
    return {
        "name": name,
        "spec": spec,
        "input": {
            "node": node.encode().hex(),
            "of": text,
            "metadata": metadata,
            "edges": edges,
        },
        "output": {"rendered": shown, "tokens": estimate(shown)},
    }


def answers() -> list[dict[str, Any]]:
    cases = []
    seed = 0
    while len(cases) < STATES:
        seed += 1
        rng = random.Random(seed)
        facts = random_facts(rng, node_count_max=7)
        blocks = {str(cid): block for cid, block in facts.buffer.new.items()}
        if sum(map(len, blocks.values())) > STATE_BYTES_MAX or len(facts.nodes) < 3:
            continue
        world = World(facts.buffer, facts.root)
        queries = []
        for _ in range(QUERIES_EACH):
            options = random_options(rng)
            said = options.get("rerank")
            scores = None if said is None else list(said.scores)
            query = resolve(facts.config, **options)
            case = {
                "query": query.encode().hex(),
                "result": answer(world, query.form(), scores).hex(),
            }
            if scores is not None:
                case["rerank"] = [None if score is None else repr(score) for score in scores]
            queries.append(case)
        cases.append(
            {
                "name": f"state {len(cases)}",
                "spec": ["3", "4", "6", "7", "8.3", "9"],
                "input": {
                    "root": str(facts.root),
                    "blocks": {cid: block.hex() for cid, block in sorted(blocks.items())},
                },
                "output": queries,
            }
        )
    return cases


def walks() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = []
    seed = 0
    while len(cases) < WALK_STATES:
        seed += 1
        rng = random.Random(seed)
        facts = with_edges(rng, random_facts(rng, node_count_max=8), [])
        blocks = {str(cid): block for cid, block in facts.buffer.new.items()}
        if sum(map(len, blocks.values())) > STATE_BYTES_MAX or len(facts.nodes) < 5:
            continue
        world = World(facts.buffer, facts.root)
        queries = []
        while len(queries) < QUERIES_EACH:
            query = resolve(facts.config, **random_walk_options(rng))
            result = answer(world, query.form())
            statuses = dag_cbor.decode(result)["status"]
            if "ok" in (statuses.get("graph"), statuses.get("community")) or rng.random() < 0.05:
                queries.append({"query": query.encode().hex(), "result": result.hex()})
        cases.append(
            {
                "name": f"walk {len(cases)}",
                "spec": WALK_ANCHORS,
                "input": {
                    "root": str(facts.root),
                    "blocks": {cid: block.hex() for cid, block in sorted(blocks.items())},
                },
                "output": queries,
            }
        )
    return cases


def histories() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = []
    seed = 0
    while len(cases) < HISTORY_STATES:
        seed += 1
        rng = random.Random(seed)
        before = random_facts(rng, node_count_max=7)
        facts = edited(rng, before)
        blocks = {str(cid): block for cid, block in facts.buffer.new.items()}
        if sum(map(len, blocks.values())) > STATE_BYTES_MAX or len(before.nodes) < 4:
            continue
        world = World(facts.buffer, facts.root)
        queries = []
        for _ in range(QUERIES_EACH):
            history = random_history(rng, (None, before.root, before.root, facts.root))
            text = rng.choice((None, "retry queue the 東京"))
            query = resolve(facts.config, text=text, history=history, limit=None)
            result = answer(world, query.form()).hex()
            queries.append({"query": query.encode().hex(), "result": result})
        cases.append(
            {
                "name": f"history {len(cases)}",
                "spec": ["3.2-g"],
                "input": {
                    "root": str(facts.root),
                    "blocks": {cid: block.hex() for cid, block in sorted(blocks.items())},
                },
                "output": queries,
            }
        )
    return cases


def unions() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = []
    seed = 0
    while len(cases) < UNION_STATES:
        seed += 1
        rng = random.Random(seed)
        facts = with_edges(rng, random_facts(rng, node_count_max=9), [])
        parts, edges = split(rng, facts, 2)
        whole = set_edges(facts, edges)
        several = [part(whole, parts, index, edges) for index in range(2)]
        blocks = {str(cid): block for cid, block in facts.buffer.new.items()}
        few = min(len(one.nodes) for one in several)
        if sum(map(len, blocks.values())) > UNION_BYTES_MAX or few < 2:
            continue
        world = World(whole.buffer, whole.root)
        home = {node.id.raw: one.root for one in several for node in one.nodes}
        union = RootSet.of(one.root for one in several)
        queries = []
        for _ in range(QUERIES_EACH):
            text = " ".join(rng.choices(WORDS, k=3))
            query = resolve(whole.config, text=text, limit=rng.choice((2, None)))
            over = query.over(union)
            result = of_several(answer(world, query.form()), over, home).hex()
            queries.append({"query": over.encode().hex(), "result": result})
        cases.append(
            {
                "name": f"union {len(cases)}",
                "spec": ["3.5-a", "3.5-b", "3.5-c"],
                "input": {
                    "roots": [str(root) for root in union.roots],
                    "blocks": {cid: block.hex() for cid, block in sorted(blocks.items())},
                },
                "output": queries,
            }
        )
    return cases


def subqueries() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = []
    seed = 0
    while len(cases) < QUERIES_STATES:
        seed += 1
        rng = random.Random(seed)
        facts = random_facts(rng, node_count_max=9)
        blocks = {str(cid): block for cid, block in facts.buffer.new.items()}
        if sum(map(len, blocks.values())) > STATE_BYTES_MAX or len(facts.nodes) < 5:
            continue
        world = World(facts.buffer, facts.root)
        queries: list[dict[str, str]] = []
        while len(queries) < QUERIES_EACH:
            options = with_queries(rng, random_options(rng))
            if "queries" not in options or "rerank" in options:
                continue
            if "text" in options:
                options["coverage_min"] = rng.choice((0, 500, 1000))
            query = resolve(facts.config, **options)
            result = answer(world, query.form()).hex()
            queries.append({"query": query.encode().hex(), "result": result})
        cases.append(
            {
                "name": f"queries {len(cases)}",
                "spec": ["5.7-a", "5.7-b", "5.7-c", "7-b", "9.3-c"],
                "input": {
                    "root": str(facts.root),
                    "blocks": {cid: block.hex() for cid, block in sorted(blocks.items())},
                },
                "output": queries,
            }
        )
    return cases


def has_text(_: World, form: dict[str, Any]) -> bool:
    return form["text"] is not None


def told(
    name: str,
    anchors: list[str],
    facts_of: Callable[..., Facts],
    options_of: Callable[[random.Random], dict[str, Any]],
    depends: Callable[[World, dict[str, Any]], bool] | None = None,
) -> list[dict[str, Any]]:
    """Returns answers most of which depend on what is told of: a lane, a part of `match`, or what
    `depends` says of a question."""
    cases: list[dict[str, Any]] = []
    seed = 0
    while len(cases) < TOLD_STATES:
        seed += 1
        rng = random.Random(seed)
        facts = facts_of(rng, node_count_max=9)
        blocks = {str(cid): block for cid, block in facts.buffer.new.items()}
        if sum(map(len, blocks.values())) > STATE_BYTES_MAX or len(facts.nodes) < 5:
            continue
        world = World(facts.buffer, facts.root)
        queries = []
        for _ in range(10 * QUERIES_EACH):
            query = resolve(facts.config, **options_of(rng))
            result = answer(world, query.form())
            form = query.form()
            is_led = name in dag_cbor.decode(result)["status"] or name in form["match"]
            if depends is not None:
                is_led = depends(world, form)
            if len(queries) < QUERIES_EACH and (is_led or rng.random() < 0.05):
                queries.append({"query": query.encode().hex(), "result": result.hex()})
        if len(queries) < QUERIES_EACH:
            continue
        cases.append(
            {
                "name": f"{name} {len(cases)}",
                "spec": anchors,
                "input": {
                    "root": str(facts.root),
                    "blocks": {cid: block.hex() for cid, block in sorted(blocks.items())},
                },
                "output": queries,
            }
        )
    return cases


def linked_facts(rng: random.Random, *, node_count_max: int) -> Facts:
    return with_edges(rng, random_facts(rng, node_count_max=node_count_max), [])


def opens(world: World, form: dict[str, Any]) -> bool:
    """Returns whether a lane of a question has a heading in whose place a passage stands."""
    before = {name: value for name, value in form.items() if name != "passages"}
    found = [dag_cbor.decode(answer(world, one))["items"] for one in (form, before)]
    return found[0] != found[1]


def leaves_out(world: World, form: dict[str, Any]) -> bool:
    return bool(dag_cbor.decode(answer(world, form))["dropped_counts"].get("dedupe"))


def sample(rng: random.Random, count: int) -> list[float]:
    return [rng.uniform(-1, 1) * 2.0 ** rng.randint(-20, 20) for _ in range(count)]


def narrow(value: float) -> float:
    """Returns the nearest float32."""
    nearest: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return nearest


if __name__ == "__main__":
    main(sys.argv[1:])

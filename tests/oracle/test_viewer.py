"""A viewer learns what a repository without the rest tells him, by whatever he may call.

Spec: trust [6-b], [6-d], [6-e].
"""

from __future__ import annotations

import dataclasses
import random
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import numpy as np
import pytest
from tests.cases import by_suite

from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import Message
from ibidem.memory.graph import GraphMemory, Record
from ibidem.memory.recall import procedures
from ibidem.memory.recall.feedback import Feedback
from ibidem.memory.recall.recall import recall
from ibidem.objects.cid import Cid, ConflictCid, EdgeCid, NodeCid
from ibidem.objects.errors import IbidemError, NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.repo.viewer.repository import ViewerRepository
from ibidem.retrieve.answer.answer import Answer

from .viewer_world import EPOCH, World, random_world

KEPT_CIDS = (NodeCid, ConflictCid, EdgeCid)
SKIPPED = {"result", "root", "commit", "notes", "notes_head", "receipt", "head", "locator"}
"""Fields that name exempt CIDs, or what is computed from them."""


def plain(value: Any) -> Any:
    """Returns a value as lists and texts, its exempt CIDs aside."""
    if isinstance(value, Cid):
        return str(value) if isinstance(value, KEPT_CIDS) else "CID"
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            one.name: plain(getattr(value, one.name))
            for one in dataclasses.fields(value)
            if one.name not in SKIPPED and not one.name.startswith("_")
        }
        return type(value).__name__, fields
    if isinstance(value, Mapping):
        return sorted((plain(key), plain(one)) for key, one in value.items())
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return value.hex()
    return str(value)


def told(ask: Callable[[], Any]) -> Any:
    try:
        found = ask()
        if hasattr(found, "__next__"):
            found = list(found)
        explained = found.explain() if isinstance(found, Answer) else ""
        return plain(found), [
            line for line in str(explained).splitlines() if "root" not in line and "baf" not in line
        ]
    except IbidemError as error:
        return type(error).__name__, error.kind, str(error), error.hint


def asks(rng: random.Random, world: World) -> dict[str, Callable[[ViewerRepository], Any]]:
    """Returns what is asked, by a name."""
    found: dict[str, Callable[[ViewerRepository], Any]] = {}
    texts = rng.sample(("tea milk", "deploy the gateway", "vault", "retry the tea"), 2)
    picked = [*rng.sample(world.ids, min(len(world.ids), 8)), world.ids[-1]]
    for said in texts:
        for name, options in {
            "plain": {},
            "budget": {"token_budget": 40},
            "graph": {"graph": {"mode": "ppr"}},
            "recency": {"recency": True},
            "worth": {"worth": True, "feedback": True},
            "adjacent": {"adjacency": True},
        }.items():
            found[f"retrieve {name} {said}"] = lambda v, s=said, o=options: v.retrieve(s, **o)
        found[f"packs {said}"] = lambda v, s=said: v.packs(s, expand="section")
        found[f"prompt {said}"] = lambda v, s=said: cited(v, s)
        found[f"sources {said}"] = lambda v, s=said: v.context(s, thread="a", token_budget=200)
        found[f"records {said}"] = lambda v, s=said: GraphMemory(v).retrieve_graph(s, hops=2)
        found[f"recall {said}"] = lambda v, s=said: recall(v, s, disclosure="raw")
        found[f"offers {said}"] = lambda v, s=said: procedures.offers(v.at(), s)
        found[f"select {said}"] = lambda v, s=said: Conversations(v).select(s, thread="a")
        found[f"context {said}"] = lambda v, s=said: Conversations(v).context(
            s, thread="a", token_budget=90
        )
        found[f"many {said}"] = lambda v, s=said: v.at().retrieve_many([{"text": s}])
        found[f"places {said}"] = lambda v, s=said: v.at().retrieve(s).locations
        found[f"replay {said}"] = lambda v, s=said: v.receipts.replay(v.retrieve(s).receipt)
    found |= {
        "communities": lambda v: v.at().communities(levels=2).to_dict(),
        "overview": lambda v: v.at().communities().overview(),
        "all records": lambda v: GraphMemory(v).retrieve_graph(),
        "newest": lambda v: [v.at().newest(one) for one in ("time", "created_at", "n")],
        "moment": lambda v: v.at().moment(notes=v.notes.space().head),
        "query": lambda v: v.query(),
        "page": lambda v: v.at().page(order_by="-created_at", limit=2),
        "count": lambda v: v.at().count(label="Note"),
        "nodes": lambda v: v.at().nodes(include_tombstoned=True),
        "edges": lambda v: v.at().edges(),
        "conflicts": lambda v: v.conflicts(),
        "log": lambda v: v.notes.space().log(),
        "branches": lambda v: (v.branches(), v.tags(), v.current_branch),
        "threads": lambda v: [
            (one.name, one.next_ord, one.cleared, one.summaries)
            for one in Conversations(v).threads()
        ],
        "config": lambda v: v.at().config,
        "erasures": lambda v: v.at().erasures,
    }
    for name in ("a", "b", "c"):
        for method in ("thread", "messages", "view"):
            found[f"{method} {name}"] = lambda v, n=name, m=method: getattr(Conversations(v), m)(n)
        found[f"select {name}"] = lambda v, n=name: Conversations(v).select(thread=n, window=2)
    for id_ in picked:
        for method in (
            "node",
            "edges_of",
            "document",
            "content",
            "locate",
            "tombstone",
            "is_visible",
        ):
            found[f"{method} {id_}"] = lambda v, i=id_, m=method: getattr(v.at(), m)(i)
        found[f"found {id_}"] = lambda v, i=id_: v.at().find_nodes([i])
        found[f"paths {id_}"] = lambda v, i=id_: v.at().paths(i, ["*", "*"])
        for digits in (4, 31, 32):
            found[f"id {digits} {id_}"] = lambda v, i=id_, d=digits: v.at().node_id(str(i)[:d])
        found[f"record {id_}"] = lambda v, i=id_: GraphMemory(v).get(i)
        found[f"salience {id_}"] = lambda v, i=id_: GraphMemory(v).salience(i)
        found[f"vector {id_}"] = lambda v, i=id_: (v.at().vector(i, "m"), v.at().sparse(i, "m"))
    for edge in world.edges[:6]:
        found[f"edge {edge.id}"] = lambda v, e=edge: v.at().edge(e.id)
        found[f"edge id {edge.id}"] = lambda v, e=edge: v.at().edge_id(str(e.id)[:9])
    return found


def writes(rng: random.Random, world: World) -> dict[str, Callable[[ViewerRepository], Any]]:
    """Returns what is written, by a name; what comes of it has other ids and times."""
    found: dict[str, Callable[[ViewerRepository], Any]] = {}
    picked = [*rng.sample(world.ids, min(len(world.ids), 5)), world.ids[-1]]

    def write(change: Callable[[Any], Any]) -> Callable[[ViewerRepository], Any]:
        def run(viewer: ViewerRepository) -> Any:
            with viewer.transaction(message="mine") as tx:
                result = change(tx)
            return None if isinstance(result, (NodeId, EdgeId)) else result

        return run

    new = Record("Semantic", "newer", scope="", provenance=({"kind": "observation", "ref": "x"},))
    for id_ in picked:
        other = rng.choice(picked)
        found |= {
            f"tx node {id_}": write(lambda tx, i=id_: tx.node(i)),
            f"tx find {id_}": write(lambda tx, i=id_: tx.find_node(i)),
            f"tx edges {id_}": write(lambda tx, i=id_: tx.edges_of(i)),
            f"tx hidden {id_}": write(lambda tx, i=id_: tx.is_tombstoned(i)),
            f"tx edge {id_}": write(lambda tx, i=id_, o=other: tx.add_edge(i, "new", o)),
            f"tx update {id_}": write(lambda tx, i=id_: tx.update_node(i, set_props={"x": 1})),
            f"tx show {id_}": write(lambda tx, i=id_: tx.untombstone(i)),
            f"vote {id_}": lambda v, i=id_: v.notes.space().vote(i, 1, author="eve"),
            f"reinforce {id_}": lambda v, i=id_: v.notes.space().reinforce(i, author="eve"),
            f"penalize {id_}": lambda v, i=id_: v.notes.space().penalize(i, 1.0, author="eve"),
            f"outcome {id_}": lambda v, i=id_: v.notes.space().outcome(i, True, author="eve"),
            f"relate {id_}": lambda v, i=id_, o=other: GraphMemory(v).relate(i, "of", o),
            f"contest {id_}": lambda v, i=id_, o=other: GraphMemory(v).contest(i, o),
            f"retract {id_}": lambda v, i=id_: GraphMemory(v).retract(i),
            f"supersede {id_}": lambda v, i=id_: bool(GraphMemory(v).supersede(i, new)),
            f"fork {id_}": lambda v, i=id_: bool(GraphMemory(v).fork(i, new)),
            f"merge {id_}": lambda v, i=id_: bool(GraphMemory(v).merge([i], new)),
            f"not useful {id_}": lambda v, i=id_: voted(v, i),
            f"tx hide {id_}": write(lambda tx, i=id_: tx.tombstone(i)),
        }
    for edge in world.edges[:3]:
        found[f"tx drop {edge.id}"] = write(lambda tx, e=edge: tx.remove_edge(e.id))
    return found | conversations(rng)


def conversations(rng: random.Random) -> dict[str, Callable[[ViewerRepository], Any]]:
    """Returns what is said in threads, and then heard there, by a name."""
    found: dict[str, Callable[[ViewerRepository], Any]] = {}
    own = {"level": rng.choice((0, 0, 1, 2, 3))} if rng.random() < 0.7 else {}
    new = [Message("user", f"tea {number}", id=f"m{number % 3}", props=own) for number in range(5)]

    def talk(write: Callable[[Any, str], Any], name: str) -> Callable[[ViewerRepository], Any]:
        def run(viewer: ViewerRepository) -> Any:
            written = write(viewer.conversations, name)
            return written.ords, heard(viewer, name)

        return run

    def whole(talking: Any, name: str) -> list[Message]:
        try:
            seen = talking.messages(name)
        except NotFoundError:
            return new[:1]
        return [*(Message(one.role, one.text, props=own) for one in seen), *new[:2]]

    def staged(viewer: ViewerRepository) -> Any:
        with viewer.transaction(message="mine", time=EPOCH) as tx:
            first = tx.conversations.append("c", new[:2], time=EPOCH)
            second = tx.conversations.append("c", new, time=EPOCH)
            return first.ords, second.ords, heard(tx, "c")

    for name in ("a", "b", "c"):
        found |= {
            f"append {name}": talk(lambda c, n: c.append(n, new[:2], time=EPOCH), name),
            f"append more {name}": talk(lambda c, n: c.append(n, new, time=EPOCH + 9), name),
            f"save {name}": talk(lambda c, n: c.save(n, whole(c, n), time=EPOCH), name),
            f"save another {name}": talk(lambda c, n: c.save(n, new[3:], time=EPOCH), name),
            f"purge {name}": talk(lambda c, n: c.purge(n, 2, time=EPOCH), name),
            f"clear {name}": talk(lambda c, n: c.clear(n, time=EPOCH), name),
            f"save anew {name}": talk(lambda c, n: c.save(n, new[3:], time=EPOCH), name),
            f"append last {name}": talk(lambda c, n: c.append(n, [("user", "x")], time=1), name),
        }
    return {**found, "staged": staged}


def heard(viewer: Any, name: str) -> Any:
    """Returns a thread without the ids of what was added to it."""
    found: list[Any] = [
        [(one.name, one.next_ord, one.summaries) for one in viewer.conversations.threads()]
    ]
    for read in (viewer.conversations.messages, viewer.conversations.view):
        try:
            found.append([(one.ord, one.last, one.role, one.text) for one in read(name)])
        except NotFoundError as error:
            found.append(str(error))
    return found


def cited(viewer: ViewerRepository, text: str) -> Any:
    made = viewer.prompt(text)
    return made, [viewer.verify_citation(one) for one in made.citations]


def voted(viewer: ViewerRepository, node: NodeId) -> Any:
    answer = viewer.retrieve("tea milk vault")
    Feedback(viewer).not_useful(answer, [node], author="eve")
    return bool(Feedback(viewer).vote(answer, node, 1, author="eve"))


def difference(got: Any, expected: Any, where: str = "") -> str:
    """Returns the first place where two plain values differ."""
    is_pair = type(got) is type(expected) and isinstance(got, (list, tuple, dict))
    if is_pair and len(got) == len(expected):
        for name in got if isinstance(got, dict) else range(len(got)):
            if got[name] != expected[name]:
                return difference(got[name], expected[name], f"{where}.{name}")
    return f"{where}: {got!r:.300} where {expected!r:.300} was expected"


def check(seed: int) -> bool:
    """Compares the two repositories of a world; returns whether it has anything hidden."""
    rng = random.Random(seed)
    world = random_world(rng)
    viewers = [one.as_viewer(world.viewer) for one in (world.whole, world.without)]
    for name, ask in {**asks(rng, world), **writes(rng, world)}.items():
        got, expected = (told(lambda v=viewer: ask(v)) for viewer in viewers)  # noqa: B023
        if got != expected:
            pytest.fail(f"seed {seed}: {name}: {difference(got, expected)}", pytrace=False)
    for one in (world.whole, world.without):
        one.close()
    return world.is_anything_hidden


@pytest.mark.parametrize(
    "seeds",
    by_suite([range(2), *(range(at, at + 5) for at in range(0, 300, 5))], fast=1, slow=7),
    ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}",
)
def test_a_viewer_is_told_what_a_repository_without_the_rest_tells(seeds):
    assert sum(map(check, seeds)) > len(seeds) // 2


if __name__ == "__main__":  # python -m tests.oracle.test_viewer FIRST COUNT
    first, count = map(int, sys.argv[1:])
    print(f"{sum(map(check, range(first, first + count)))} of {count} worlds hid something")

"""Random repositories with something hidden, and the same repositories that never had it.

Nodes, edges, documents, tombstones, records, messages, events, conflicts and a history that goes on
with what is hidden. The other repository is made from a look at every node, one by one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import ibidem
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import Message, part_id, thread_id
from ibidem.memory.graph import GraphMemory, Record
from ibidem.objects.child import Child
from ibidem.objects.edge import Edge
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import CONTAINERS, size_of, source_text
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.repo.events import Event
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import (
    ALL,
    ALL_SCOPES,
    Decision,
    TrustPolicy,
    Viewer,
    decide,
)

from .trust_world import trimmed

EPOCH = 1_767_225_600_000_000
DAY = 86_400_000_000
WORDS = ("tea", "milk", "vault", "deploy", "gateway", "retry", "the")
HIDDEN_THREAD = "c"
ODD: tuple[Any, ...] = (9, "odd", True, None, [0, 4], [], {"a": 1})


@record
class World:
    """A repository, the one without what is hidden, and what can be asked about."""

    whole: Repository
    without: Repository
    viewer: Viewer
    ids: tuple[NodeId, ...]
    """Of all nodes, hidden ones too, and of one that is nowhere."""
    edges: tuple[Edge, ...]
    is_anything_hidden: bool


def clock_from(start: int) -> Callable[[], int]:
    now = start

    def clock() -> int:
        nonlocal now
        now += 1_000_000
        return now

    return clock


def random_world(
    rng: random.Random,
    place: Callable[[str], str] = lambda _: "memory:",
    *,
    is_authenticated: bool = False,
) -> World:
    """Returns a world; `place` says where each of its two repositories is made.

    Args:
        is_authenticated: always, as whoever uses the command line is.
    """
    policy = TrustPolicy(
        default_level=rng.choice((0, 1, 2)), unscoped=rng.choice(("allow", "allow", "deny"))
    )
    viewer = Viewer(
        level=rng.choice((0, 1, 1, 2, 3)),
        scopes=rng.choice(((), ("a",), ("a", "b"), ALL_SCOPES)),
        authenticated=rng.random() < 0.9 or is_authenticated,
    )
    whole = ibidem.init(place("whole"), clock=clock_from(EPOCH))
    ids = [NodeId(rng.randbytes(16)) for _ in range(rng.randint(1, 12))]
    disputed = {id_: versions(rng) for id_ in ids[:2] if rng.random() < 0.5}
    fill(rng, whole, ids, disputed)
    speak(rng, whole)
    with whole.transaction(author="ada", message="the secret policy") as tx:
        tx.set_trust_policy(policy)
    whole.tag("v1")
    events = note(rng, whole, [*ids, *(one.id for one in whole.at(viewer=ALL).nodes())])
    later(rng, whole, policy)
    graph = whole.at(viewer=ALL)
    nodes = list(graph.nodes(include_tombstoned=True))
    edges = list(graph.edges())
    without = rebuilt(place("without"), graph, nodes, edges, policy, viewer, disputed)
    visible = {one.id for one in nodes if decide(policy, viewer, one.props) is Decision.FULL}
    visible_events = [
        replace(one, targets=targets)
        for one in events
        if (targets := tuple(target for target in one.targets if target in visible))
    ]
    for one in visible_events:
        without.notes.space().add([one], time=one.time)
    nowhere = NodeId(rng.randbytes(16))
    return World(
        whole,
        without,
        viewer,
        (*(one.id for one in nodes), nowhere),
        tuple(edges),
        len(visible) < len(nodes),
    )


def labels(rng: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if rng.random() < 0.8:
        found["level"] = rng.choice((0, 0, 1, 1, 2, 3, 4, rng.choice(ODD)))
    if rng.random() < 0.5:
        found["scope"] = rng.choice(("", "a", "a", "b", ["a", "b"], 7))
    return found


def text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 4)))


def versions(rng: random.Random) -> tuple[dict[str, Any], ...]:
    """Returns the properties of a node that two branches change differently, and of its base."""
    own = [labels(rng)] * 3 if rng.random() < 0.7 else [labels(rng) for _ in range(3)]
    return tuple({**one, "word": number} for number, one in enumerate(own))


def fill(
    rng: random.Random,
    repo: Repository,
    ids: list[NodeId],
    disputed: dict[NodeId, tuple[dict[str, Any], ...]],
) -> None:
    """Adds conflicts, plain nodes, documents, records, edges and tombstones."""
    settle(repo, disputed)
    with repo.transaction(author="ada", message="what nobody may read", time=EPOCH) as tx:
        for id_ in ids:
            if id_ not in disputed:
                props = {
                    **labels(rng),
                    "created_at": EPOCH + rng.randrange(9),
                    "n": rng.randrange(3),
                }
                label = rng.choice(("Doc", "Note", "Procedure", "Semantic"))
                tx.add_node(label, summary=text(rng), props=props, id=id_)
        for one in random_documents(rng):
            tx.add_node(
                one.ntype,
                summary=one.summary,
                props=one.props,
                id=one.id,
                children=one.children,
                tail=one.tail,
            )
        for _ in range(rng.randint(0, 12)):
            tx.add_edge(rng.choice(ids), rng.choice(("to", "cites")), rng.choice(ids), replace=True)
        for id_ in ids:
            if id_ not in disputed and rng.random() < 0.15:
                tx.tombstone(id_, reason="gone")
    memory = GraphMemory(repo, author="ada")
    records = [
        Record(
            rng.choice(("Semantic", "Entity", "Competence", "Episodic")),
            text(rng),
            scope=rng.choice(("", "", "a", "b")),
            level=rng.choice((0, 1, 2, 4)),
            payload={"mentions": [rng.choice(WORDS)], "canonical_name": rng.choice(WORDS)},
            time=EPOCH + rng.randrange(5) * DAY,
        )
        for _ in range(rng.randint(0, 6))
    ]
    if records:
        made = memory.add(records, time=EPOCH)
        for _ in range(rng.randint(0, 4)):
            memory.relate(rng.choice(made), rng.choice(("about", "supports")), rng.choice(made))


def settle(repo: Repository, disputed: dict[NodeId, tuple[dict[str, Any], ...]]) -> None:
    """Makes a conflict about each of some nodes."""
    if not disputed:
        return
    with repo.transaction(time=EPOCH) as tx:
        for id_, (base, _, _) in disputed.items():
            tx.add_node("Note", summary="tea", props=base, id=id_)
    repo.branch("side")
    for branch, side in (("side", 1), ("main", 2)):
        with repo.transaction(branch=branch, time=EPOCH) as tx:
            for id_, found in disputed.items():
                tx.update_node(id_, props=found[side])
    repo.merge("side", time=EPOCH)
    repo.delete_branch("side")


def random_documents(rng: random.Random) -> list[Node]:
    nodes: list[Node] = []

    def make(ntype: str, parts: list[Node]) -> Node:
        known = {node.id: node for node in nodes}
        children = tuple(
            Child(part.id, "\n", *size_of(source_text(part.id, known.__getitem__)))
            for part in parts
        )
        node = Node(
            NodeId(rng.randbytes(16)),
            ntype,
            text(rng),
            props=labels(rng),
            children=children,
            tail="\n" if ntype in CONTAINERS else "",
        )
        nodes.append(node)
        return node

    for _ in range(rng.randint(0, 2)):
        sections = [
            make("Section", [make("Passage", []) for _ in range(rng.randint(1, 3))])
            for _ in range(rng.randint(0, 2))
        ]
        make("Document", [*sections, *(make("Passage", []) for _ in range(rng.randint(0, 2)))])
    return nodes


def speak(rng: random.Random, repo: Repository) -> None:
    """Adds threads of messages, and summaries of some."""
    memory = Conversations(repo, author="ada", viewer=None)
    for name in rng.sample(("a", "b"), rng.randint(0, 2)):
        said = [
            Message(
                rng.choice(("user", "assistant")),
                text(rng),
                created_at=EPOCH + number * DAY,
                props={key: value for key, value in labels(rng).items() if key == "level"},
            )
            for number in range(rng.randint(1, 5))
        ]
        memory.append(name, said, time=EPOCH)
        if rng.random() < 0.4:
            with suppress(InvalidInputError):
                memory.compact(name, 0, rng.randrange(len(said)), text(rng), time=EPOCH)


def note(rng: random.Random, repo: Repository, ids: list[NodeId]) -> list[Event]:
    found = []
    for number in range(rng.randint(0, 8)):
        targets = tuple(dict.fromkeys(rng.choices(ids, k=rng.randint(1, 2))))
        kind = rng.choice(("reinforce", "penalize", "outcome"))
        one = Event(kind, targets, rng.choice(("ada", "bob")), EPOCH + number * DAY, 1.0)
        repo.notes.space().add([one], time=one.time + rng.randrange(9))
        found.append(one)
    return found


def later(rng: random.Random, repo: Repository, policy: TrustPolicy) -> None:
    """Goes on with the history: commits about what is hidden from most, and raised levels; and a
    thread with hidden messages alone."""
    for number in range(rng.randint(0, 2)):
        secret = Message("user", "tea", props={"level": 4})
        Conversations(repo, viewer=ALL).append(HIDDEN_THREAD, [secret], time=EPOCH + 90 * DAY)
        with repo.transaction(message=f"secret {number}", time=EPOCH + 90 * DAY) as tx:
            made = tx.add_node("Note", summary=text(rng), props={"level": 4}, unique=True)
            found = [one for one in tx.nodes() if not one.children and not tx.is_tombstoned(one.id)]
            other = rng.choice(found)
            with suppress(InvalidInputError):
                policy.check_labels({**other.props, "level": 4})
                tx.add_edge(other.id, "secret", made)
                if rng.random() < 0.3 and other.ntype in ("Doc", "Note"):
                    tx.update_node(other.id, set_props={"level": 4})


def rebuilt(
    place: str,
    graph: Any,
    nodes: list[Node],
    edges: list[Edge],
    policy: TrustPolicy,
    viewer: Viewer,
    disputed: dict[NodeId, tuple[dict[str, Any], ...]],
) -> Repository:
    """Returns a repository that never had what is hidden."""
    known = {one.id: one for one in nodes}
    full = {one.id for one in nodes if decide(policy, viewer, one.props) is Decision.FULL}
    full -= {thread_id(HIDDEN_THREAD), part_id(HIDDEN_THREAD, 0)}
    repo = ibidem.init(place, clock=clock_from(EPOCH + 7 * DAY))
    told = {id_: found for id_, found in disputed.items() if id_ in full}
    settle(repo, told)
    with repo.transaction(author="bob", message="other words") as tx:
        for one in trimmed(known, full):
            if one.id in told:
                continue
            tx.add_node(
                one.ntype,
                summary=one.summary,
                context_sentence=one.context_sentence,
                content=one.content,
                props=one.props,
                key=None if one.key is None else one.key[1],
                namespace="" if one.key is None else one.key[0],
                id=one.id,
                children=one.children,
                tail=one.tail,
            )
            reason = graph.tombstone(one.id)
            if reason is not None:
                tx.tombstone(one.id, reason=reason)
        for edge in edges:
            if edge.src in full and edge.dst in full:
                tx.add_edge(
                    *(edge.src, edge.etype, edge.dst),
                    weight=edge.weight,
                    props=edge.props,
                    key=edge.key,
                )
    with repo.transaction() as tx:
        tx.set_trust_policy(policy)
    repo.tag("v1")
    return repo

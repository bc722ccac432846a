"""Proposals: facts of three parts that wait until a person or a rule accepts them.

Whatever finds facts in texts, a model or a rule, is sometimes wrong, so what it finds is not
retrieved before it was accepted. A proposal is a semantic record with the status `proposed`. Its id
follows from the three parts and from whose fact it is, so proposing the same again adds sources to
one proposal, and what was rejected once stays rejected.

Spec: memory 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ibidem.memory.graph import revise
from ibidem.memory.graph.read import read_records
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.repo.revision import Revision
from ibidem.retrieve.access.derived import Labels, derived
from ibidem.retrieve.access.policy import TrustPolicy, level_of
from ibidem.retrieve.query import checks
from ibidem.retrieve.records.record import (
    CONFIDENCE_DEFAULT,
    STANDING,
    Record,
    RecordType,
    Status,
    term_of,
)

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction

NAMESPACE = "ibidem.proposed"
SUBJECT, OBJECT = "subject_entity", "object_entity"
"""The relations of an accepted fact to the entities that it names."""
_PARTS = ("subject", "predicate", "object")


@record
class Triple:
    """A fact of three parts, such as ("Ada", "prefers", "tea")."""

    subject: str
    predicate: str
    object: str
    confidence: float = CONFIDENCE_DEFAULT
    """How sure its finder is, from 0 to 1."""

    def __post_init__(self) -> None:
        for name in _PARTS:
            if not term_of(checks.name(name, getattr(self, name))):
                raise InvalidInputError(f"{name}: got {getattr(self, name)!r:.80}, expected words")
        confidence = checks.number("confidence", self.confidence, high=1.0)
        object.__setattr__(self, "confidence", confidence)

    @property
    def text(self) -> str:
        """The fact as a text."""
        return f"{self.subject} {self.predicate.replace('_', ' ')} {self.object}"


@record
class Proposal:
    """A fact that waits for a decision."""

    record: Record
    conflicts: tuple[Record, ...]
    """Active facts with the same subject and predicate, and another object, by id."""

    @property
    def id(self) -> NodeId:
        """The id of its record."""
        assert self.record.id is not None, "BUG: a proposal is read from a node"
        return self.record.id


def triple_of(given: object) -> Triple:
    """Returns a triple, given as one or as three texts.

    Raises:
        InvalidInputError: it is neither.
    """
    if isinstance(given, Triple):
        return given
    if not isinstance(given, (tuple, list)) or len(given) != len(_PARTS):
        raise InvalidInputError(
            f"triples: got {given!r:.80}, expected subject, predicate and object of each"
        )
    return Triple(*given)


def propose(
    tx: Transaction,
    triples: Sequence[Triple],
    common: Record,
    level: int | str | None,
    policy: TrustPolicy,
) -> list[NodeId]:
    """Stages proposals, and returns the ids of those that are new or have new sources.

    Args:
        common: scope, provenance and names of each; its provenance may name nodes.
        level: of new proposals, in place of the highest one of the nodes in the provenance.
    """
    nodes = _sources(tx, common.provenance)
    labels = Labels(None if level is None else int(level_of("level", level)), common.scope or None)
    own = derived(policy, (tx.node(one).props for one in nodes), labels)
    props = {policy.level: policy.default_level, **own.props}
    made: dict[NodeId, None] = {}
    for triple in triples:
        one = replace(
            common,
            text=triple.text,
            payload=_payload(triple),
            confidence=triple.confidence,
            level=props[policy.level],
            scope=props.get(policy.scope, ""),
        )
        key = [one.scope, one.user, one.agent, one.session, *map(_term(triple), _PARTS)]
        id_ = node_id(NAMESPACE, key)
        before = tx.find_node(id_)
        if before is None:
            tx.add_node(
                str(one.type),
                summary=one.text,
                props=one.props(policy),
                key=key,
                namespace=NAMESPACE,
            )
            tx.add_trailers(own.trailers(id_))
        elif tx.is_tombstoned(id_) or not _add_sources(tx, Record.of(before, policy), one, policy):
            continue
        made[id_] = None
    return list(made)


def proposals(
    revision: Revision,
    *,
    sources_min: int = 0,
    confidence_min: float = 0.0,
    conflicting: bool | None = None,
) -> list[Proposal]:
    """Returns the proposals of a revision that meet some conditions, by id."""
    checks.count("sources_min", sources_min)
    checks.number("confidence_min", confidence_min, high=1.0)
    found = read_records(revision).found
    facts: dict[object, list[Record]] = {}
    for one in found:
        if one.status in STANDING and (about := _about(one)) is not None:
            facts.setdefault(about, []).append(one)
    result = []
    for one in found:
        if one.status is not Status.PROPOSED:
            continue
        object_ = _object(one)
        against = [other for other in facts.get(_about(one), ()) if _object(other) != object_]
        if (
            len(one.provenance) >= sources_min
            and one.confidence >= confidence_min
            and conflicting in (None, bool(against))
        ):
            result.append(Proposal(one, tuple(against)))
    return result


def accept(
    tx: Transaction,
    ids: Iterable[NodeId],
    policy: TrustPolicy,
    now: int,
    *,
    supersede: bool,
) -> None:
    """Stages that proposals are facts, related to the entities that they name.

    Args:
        now: from when a fact that supersedes others is valid.
        supersede: whether each supersedes the facts that contradict it.
    """
    waiting = proposals(tx.at()) if supersede else []
    against = {one.id: one.conflicts for one in waiting}
    for id_ in ids:
        found = Record.of(tx.node(id_), policy)
        if found.status is not Status.PROPOSED:
            raise InvalidInputError(f"record {id_} is {found.status}, expected a proposal")
        tx.update_node(id_, set_props={"status": str(Status.ACTIVE)})
        subject, object_ = (str(found.payload[name]) for name in ("subject", "object"))
        about = _entity(tx, subject, found, policy) or _named(tx, subject, found, policy)
        _relate(tx, id_, SUBJECT, about)
        _relate(tx, id_, OBJECT, _entity(tx, object_, found, policy))
        olds = [old.id for old in against.get(id_, ()) if old.id is not None]
        if olds:
            tx.update_node(id_, set_props={"valid_from": now})
        for old in olds:
            revise.replace_record(tx, old, id_, policy, now)


def _sources(tx: Transaction, provenance: Sequence[Mapping[str, Any]]) -> list[NodeId]:
    """Returns the nodes of the graph that a provenance names, as staged."""
    found = []
    for one in provenance:
        try:
            node = NodeId.parse(one["ref"])
        except InvalidInputError:
            continue  # the address of something outside
        if tx.find_node(node) is not None:
            found.append(node)
    return found


def _add_sources(tx: Transaction, known: Record, one: Record, policy: TrustPolicy) -> bool:
    """Stages the sources that a proposal does not have yet; returns whether there are any."""
    assert known.id is not None, "BUG: a record is read from a node"
    had = [dict(source) for source in known.provenance]
    fresh = [dict(source) for source in one.provenance if dict(source) not in had]
    if not fresh or known.status is not Status.PROPOSED:
        return False
    props = {
        policy.level: max(known.level, one.level),
        "provenance": [*had, *fresh],
        "confidence": max(known.confidence, one.confidence),
    }
    tx.update_node(known.id, set_props=props)
    return True


def _payload(triple: Triple) -> dict[str, Any]:
    parts = {name: getattr(triple, name) for name in _PARTS}
    return {**parts, "mentions": [triple.subject, triple.object]}


def _term(triple: Triple) -> Any:
    return lambda name: term_of(getattr(triple, name))


def _about(one: Record) -> object:
    """Returns what a fact is about and whose it is; None if it has no subject and predicate."""
    parts = [one.payload.get(name) for name in _PARTS]
    if one.type is not RecordType.SEMANTIC or not all(isinstance(part, str) for part in parts):
        return None
    terms = [term_of(str(part)) for part in parts[:2]]
    return one.scope, one.user, one.agent, one.session, *terms


def _object(one: Record) -> str:
    return term_of(one.payload["object"])


def _relate(tx: Transaction, fact: NodeId, etype: str, entity: NodeId | None) -> None:
    if entity is not None:
        tx.add_edge(fact, etype, entity)


def _entity(tx: Transaction, name: str, fact: Record, policy: TrustPolicy) -> NodeId | None:
    """Returns the entity of the fact's scope with a name, that with the least id; None if there is
    none.
    """
    staged = node_id(NAMESPACE, _entity_key(name, fact))
    if tx.find_node(staged) is not None and not tx.is_tombstoned(staged):
        return staged
    base = Revision(tx.before())
    for prop in ("names", "aliases"):
        where = {prop: term_of(name)}
        for node in base.query(label=str(RecordType.ENTITY), where=where):
            now = tx.find_node(node.id)
            is_there = now is not None and not tx.is_tombstoned(node.id)
            if is_there and node.props.get(policy.scope, "") == fact.scope:
                return node.id
    return None


def _named(tx: Transaction, name: str, fact: Record, policy: TrustPolicy) -> NodeId | None:
    """Stages an entity with a name, as visible as a fact; None if it was deleted."""
    if tx.find_node(node_id(NAMESPACE, _entity_key(name, fact))) is not None:
        return None
    entity = Record(
        RecordType.ENTITY,
        name,
        fact.scope,
        level=fact.level,
        payload={"canonical_name": name},
        time=fact.time,
    )
    return tx.add_node(
        str(entity.type),
        summary=name,
        props=entity.props(policy),
        key=_entity_key(name, fact),
        namespace=NAMESPACE,
    )


def _entity_key(name: str, fact: Record) -> list[str]:
    return ["entity", fact.scope, term_of(name)]

"""Consolidation: derives facts, competences and plans from episodes, in one commit. A function of
the graph alone: the same episodes give the same records under the same ids, so running it again
changes nothing, and records revised since are left unchanged. A derived record has the highest
level of its sources, and nothing is derived across scopes.

Spec: memory 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.memory.graph.read import read_records
from ibidem.memory.graph.revise import DERIVED_FROM
from ibidem.objects.cid import CommitCid
from ibidem.objects.config import Config
from ibidem.objects.derive import node_id
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.repo.transaction.writing import writing
from ibidem.retrieve.access.derived import Labels, derived, labels_of
from ibidem.retrieve.access.policy import TrustPolicy
from ibidem.retrieve.records.record import STANDING, Record, RecordType, record_policy

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository
    from ibidem.repo.transaction.transaction import Transaction

NAMESPACE = "ibidem.consolidated"
RULES_VERSION = 1
SUCCESS = "success"
COMPETENCE_SOURCES_MIN, PLAN_STEPS_MIN = 2, 3
FACT_CONFIDENCE, COMPETENCE_CONFIDENCE, PLAN_CONFIDENCE = 0.7, 0.8, 0.7


@record
class Consolidated:
    """The result of a run, or of a dry run."""

    added: tuple[NodeId, ...]
    """By id."""
    updated: tuple[NodeId, ...]
    """Records that have more sources than before, by id."""
    commit: CommitCid | None
    """The commit; None if nothing changed, and for a dry run."""
    unreadable: Mapping[NodeId, str]
    """Nodes with the type of a record that are invalid, by id, with the reason."""


@record
class _Proposal:
    """A record derived from episodes."""

    key: list[Any]
    record: Record
    sources: tuple[Record, ...]

    @property
    def id(self) -> NodeId:
        return node_id(NAMESPACE, self.key)


def consolidate(
    repository: Repository,
    *,
    author: str,
    level: int | str | None,
    dry_run: bool,
    time: int | datetime | None,
) -> Consolidated:
    """Derives records from the episodes at the head; see `GraphMemory.consolidate`."""
    read = read_records(repository.at())
    episodes = [
        record
        for record in read.found
        if record.type is RecordType.EPISODIC
        and record.status in STANDING
        and record.payload.get("outcome") == SUCCESS
    ]
    labels = labels_of(level)
    proposals = [*_facts(episodes), *_competences(episodes), *_plans(episodes)]
    added: list[NodeId] = []
    updated: list[NodeId] = []
    now = repository.now(time)
    with writing(repository, author=author, message="consolidate", time=now) as tx:
        policy = record_policy(Config.from_map(tx.base.config))
        for proposal in sorted(proposals, key=lambda one: one.id.raw):
            outcome = _stage(tx, proposal, policy, labels, dry_run=dry_run)
            if outcome is not None:
                (added if outcome else updated).append(proposal.id)
    head = None if tx.commit is None else tx.commit.cid
    return Consolidated(tuple(added), tuple(updated), head, read.unreadable)


def _stage(
    tx: Transaction, proposal: _Proposal, policy: TrustPolicy, labels: Labels, *, dry_run: bool
) -> bool | None:
    """Stages a proposal, unless it is a dry run; returns True if it is new, False if it has more
    sources, else None.
    """
    before = tx.find_node(proposal.id)
    own = derived(policy, (one.props(policy) for one in proposal.sources), labels)
    level = proposal.record.level if labels.level is None else labels.level
    sources = {one.id for one in proposal.sources if one.id is not None}
    if before is None:
        if dry_run:
            return True
        tx.add_node(
            str(proposal.record.type),
            summary=proposal.record.text,
            props=replace(proposal.record, level=level).props(policy),
            key=proposal.key,
            namespace=NAMESPACE,
        )
        _tie(tx, proposal.id, sources)
        tx.add_trailers(own.trailers(proposal.id))
        return True
    found = Record.of(before, policy)
    known = {edge.dst for edge in tx.edges_of(proposal.id) if _is_source(edge, proposal.id)}
    fresh = sources - known
    if not fresh or found.status not in STANDING or tx.is_tombstoned(proposal.id):
        return None
    if dry_run:
        return False
    raised = replace(
        found,
        level=max(found.level, level) if labels.level is None else level,
        time=max(found.time, proposal.record.time),
        payload={**proposal.record.payload, **_counts(proposal, len(known | sources))},
        provenance=_provenance(known | sources),
    )
    tx.update_node(proposal.id, set_props=raised.props(policy))
    _tie(tx, proposal.id, fresh)
    tx.add_trailers(own.trailers(proposal.id))
    return False


def _tie(tx: Transaction, derived: NodeId, sources: set[NodeId]) -> None:
    for source in sorted(sources):
        tx.add_edge(derived, DERIVED_FROM, source)


def _is_source(edge: Edge, derived: NodeId) -> bool:
    return edge.etype == DERIVED_FROM and edge.src == derived


def _facts(episodes: Sequence[Record]) -> list[_Proposal]:
    """Returns one fact for each observation, in each scope."""
    found = []
    for (scope, event, text), group in _groups(
        episodes, lambda one: (one.scope, _text(one, "event"), one.text)
    ):
        if event:
            payload = {"subject": event, "predicate": "observed_in", "object": text}
            found.append(
                _proposal("fact", [scope, event, text], RecordType.SEMANTIC, text, payload, group)
            )
    return found


def _competences(episodes: Sequence[Record]) -> list[_Proposal]:
    """Returns one competence for each set of tools that succeeded together more than once."""
    found = []
    for (scope, tools), group in _groups(
        episodes, lambda one: (one.scope, tuple(sorted(_tools(one))))
    ):
        if tools and len(group) >= COMPETENCE_SOURCES_MIN:
            text = f"Works with {', '.join(tools)}"
            payload = {"tools": list(tools), "successes": len(group), "failures": 0}
            found.append(
                _proposal(
                    "competence", [scope, list(tools)], RecordType.COMPETENCE, text, payload, group
                )
            )
    return found


def _plans(episodes: Sequence[Record]) -> list[_Proposal]:
    """Returns one plan for each sequence of tools that succeeded, of three steps or more."""
    found = []
    for (scope, steps), group in _groups(episodes, lambda one: (one.scope, tuple(_tools(one)))):
        if len(steps) >= PLAN_STEPS_MIN:
            text = f"First {steps[0]}, then {', then '.join(steps[1:])}"
            payload = {"steps": list(steps), "successes": len(group), "failures": 0}
            found.append(
                _proposal("plan", [scope, list(steps)], RecordType.PLAN_GRAPH, text, payload, group)
            )
    return found


_CONFIDENCE: Mapping[RecordType, float] = {
    RecordType.SEMANTIC: FACT_CONFIDENCE,
    RecordType.COMPETENCE: COMPETENCE_CONFIDENCE,
    RecordType.PLAN_GRAPH: PLAN_CONFIDENCE,
}


def _proposal(
    rule: str,
    signature: list[Any],
    type_: RecordType,
    text: str,
    payload: Mapping[str, Any],
    group: Sequence[Record],
) -> _Proposal:
    record = Record(
        type=type_,
        text=text,
        scope=group[0].scope,
        level=max(one.level for one in group),
        payload=payload,
        confidence=_CONFIDENCE[type_],
        provenance=_provenance({one.id for one in group if one.id is not None}),
        time=max(one.time for one in group),
    )
    return _Proposal([rule, RULES_VERSION, *signature], record, tuple(group))


def _provenance(sources: set[NodeId]) -> tuple[Mapping[str, Any], ...]:
    return tuple({"kind": "record", "ref": str(one)} for one in sorted(sources))


def _counts(proposal: _Proposal, count: int) -> dict[str, int]:
    return {"successes": count} if "successes" in proposal.record.payload else {}


def _groups(episodes: Sequence[Record], key: Any) -> list[tuple[Any, list[Record]]]:
    found: dict[Any, list[Record]] = {}
    for one in episodes:
        found.setdefault(key(one), []).append(one)
    return sorted(found.items(), key=lambda pair: repr(pair[0]))


def _tools(episode: Record) -> list[str]:
    tools = episode.payload.get("tools", ())
    return [one for one in tools if isinstance(one, str)] if not isinstance(tools, str) else []


def _text(episode: Record, name: str) -> str:
    value = episode.payload.get(name, "")
    return value if isinstance(value, str) else ""

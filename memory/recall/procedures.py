"""Procedures: sequences of steps that worked before, found by task and mined from past attempts.

A procedure is a node of type `Procedure` with a goal in its summary, its steps in order, and a
status. Its author says what finds it: an intent, or triggers, each a few words that a question must
contain. No list of verbs decides what a task is. Only active procedures are ever offered; mined
ones are pending until a person has reviewed them.

Spec: recall 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ibidem.index.analysis.fold import fold
from ibidem.objects.config import Config
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.repo.transaction.writing import writing
from ibidem.repo.viewer.exposure import guarded
from ibidem.retrieve.access.derived import Labels, derived, labels_of, scopes_of
from ibidem.retrieve.access.policy import TrustPolicy, policy_of
from ibidem.retrieve.query import checks
from ibidem.retrieve.recall.words import shared, words

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.repo.repository import Repository
    from ibidem.repo.revision import Revision
    from ibidem.repo.transaction.transaction import Transaction
    from ibidem.repo.viewer.revision import ViewerRevision

PROCEDURE, STEP = "Procedure", "Step"
ACTIVE, PENDING, RETIRED = "active", "pending_review", "retired"
STATUSES = (ACTIVE, PENDING, RETIRED)
WORDS_SHARE, INTENT_SHARE = 0.55, 0.45
SCORE_MIN = 0.25
"""The least measure of an offer: nearly half of all words, or a trigger, or the intent."""
TRIGGERS_MAX = 100
LIMIT_DEFAULT, LIMIT_MAX = 2, 10
OCCURRENCES_DEFAULT, STEPS_MIN, STEPS_MAX = 3, 2, 6
NAMESPACE = "procedure"
Cluster = tuple[str, tuple[str, ...], str]
"""What attempts have in common: the goal, the entities, and the scope if there are several."""


@record
class Offer:
    """A procedure that fits a task."""

    node: Node
    score: float
    steps: tuple[str, ...]


@record
class Attempt:
    """One attempt at a task: the input of mining."""

    goal: str
    entities: tuple[str, ...]
    steps: tuple[str, ...]
    is_success: bool
    """False for a partial success."""
    source: NodeId
    """The node that describes the attempt."""


def procedure_score(question: str, text: str, intent: float) -> float:
    """Returns how well a procedure fits, from the shared words and whether the intent is the same.

    Examples:
        >>> procedure_score("deploy the gateway", "deploy gateway now", 1.0) == 0.55 * 2 / 4 + 0.45
        True
    """
    return WORDS_SHARE * shared(_words(question), _words(text)) + INTENT_SHARE * intent


@guarded
def offers(
    revision: Revision | ViewerRevision,
    text: str,
    *,
    intent: str | None = None,
    limit: int = LIMIT_DEFAULT,
    score_min: float = SCORE_MIN,
) -> list[Offer]:
    """Returns the active procedures that fit a text best, by score, then id.

    Args:
        revision: the revision that is searched.
        text: the task, or any question.
        intent: the kind of task, as procedures name it in the property `intent`.
        limit: at most 10.
        score_min: the least score, from 0 to 1. By default an offer has the intent, or a trigger
            that is in the text, or a goal that shares nearly half of all words.
    """
    checks.number("score_min", score_min, high=1.0)
    if type(limit) is not int or not 1 <= limit <= LIMIT_MAX:
        raise InvalidInputError(f"limit: got {limit!r:.80}, expected 1 to {LIMIT_MAX}")
    found = []
    terms = _terms(text)
    for node in revision.query(label=PROCEDURE, where={"status": ACTIVE}):
        is_same = intent is not None and node.props.get("intent") == intent
        is_triggered = any(own and own <= terms for own in map(_terms, _texts(node, "triggers")))
        score = procedure_score(text, node.summary or "", float(is_same or is_triggered))
        if score > 0.0 and score >= score_min:
            found.append(Offer(node, score, _texts(node, "steps")))
    found.sort(key=lambda offer: (-offer.score, offer.node.id))
    return found[:limit]


@guarded
def add_procedure(
    repository: Repository,
    goal: str,
    steps: Sequence[str],
    *,
    intent: str | None = None,
    triggers: Sequence[str] = (),
    status: str = ACTIVE,
    author: str = "",
) -> NodeId:
    """Adds a procedure written by a person; returns its node.

    Args:
        goal: what it reaches; each goal has one procedure.
        intent: the kind of task, which a caller of `offers` may name.
        triggers: words each; a text that has all words of one of them is offered the procedure.
    """
    if isinstance(triggers, str) or not all(isinstance(one, str) for one in triggers):
        raise InvalidInputError(f"triggers: got {triggers!r:.80}, expected a list of texts")
    if len(triggers) > TRIGGERS_MAX or not all(map(_terms, triggers)):
        raise InvalidInputError(
            f"triggers: got {len(triggers)}, expected at most {TRIGGERS_MAX} texts with words"
        )
    with writing(repository, author=author, message=f"procedure {goal:.60}") as tx:
        return tx.add_node(
            PROCEDURE,
            summary=goal,
            props={
                **_props(goal, (), steps, status, (), intent),
                **({"triggers": list(triggers)} if triggers else {}),
            },
            key=_key(goal, ()),
            namespace=NAMESPACE,
        )


@guarded
def set_status(repository: Repository, node: NodeId, status: str, *, author: str = "") -> None:
    """Makes a procedure active, pending or retired."""
    _check_status(status)
    with writing(repository, author=author, message=f"procedure {status}") as tx:
        if tx.node(node).ntype != PROCEDURE:
            raise InvalidInputError(f"node: got {node}, expected a {PROCEDURE}")
        tx.update_node(node, set_props={"status": status})


@guarded
def mine(
    repository: Repository,
    attempts: Iterable[Attempt],
    *,
    occurrences_min: int = OCCURRENCES_DEFAULT,
    success_min: float = 0.75,
    level: int | str | None = None,
    author: str = "",
) -> Commit | None:
    """Adds a pending procedure for each goal that was reached often enough, for a person to review.

    The same goal with the same entities is the same procedure, so mining again changes nothing. A
    procedure has the greatest level of the nodes that describe its attempts, and their scope;
    attempts of several scopes make one procedure in each scope, or none.

    Args:
        attempts: past attempts, in any order.
        occurrences_min: the least number of attempts; 0 mines nothing.
        success_min: the least share of them that succeeded.
        level: of the procedures; by default the greatest of their sources. A lower one is recorded
            in the commit.

    Returns:
        the commit, None if nothing was added.
    """
    if type(occurrences_min) is not int or occurrences_min < 0:
        raise InvalidInputError(
            f"occurrences_min: got {occurrences_min!r:.80}, expected an integer from 0 on"
        )
    labels = labels_of(level)
    with writing(repository, author=author, message="procedures mined") as tx:
        for cluster, found in sorted(_clusters(tx, attempts).items()):
            done = [attempt for attempt in found if attempt.is_success]
            is_often = 0 < occurrences_min <= len(found)
            if not is_often or not cluster[0] or len(done) < success_min * len(found):
                continue
            steps = max(done, key=lambda one: (len(one.steps), one.source)).steps[:STEPS_MAX]
            if len(steps) >= STEPS_MIN:
                _add_mined(tx, cluster, steps, [one.source for one in found], labels)
    return tx.commit


def _clusters(tx: Transaction, attempts: Iterable[Attempt]) -> dict[Cluster, list[Attempt]]:
    """Returns attempts by goal, entities and scope, each list by source.

    The scope is empty if the sources of a goal have at most one scope, because one procedure can
    have it; otherwise it is the scope of the attempt's own source.
    """
    found: dict[tuple[str, tuple[str, ...]], list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda one: one.source):
        place = _plain(attempt.goal), tuple(sorted(set(attempt.entities)))
        found.setdefault(place, []).append(attempt)
    names = policy_of(Config.from_map(tx.base.config)) or TrustPolicy()
    clusters: dict[Cluster, list[Attempt]] = {}
    for (goal, entities), group in found.items():
        scopes = [scopes_of(names, _props_of(tx, [one.source])) for one in group]
        is_one = len({scope for each in scopes for scope in each}) <= 1
        for attempt, own in zip(group, scopes, strict=True):
            if is_one or len(own) <= 1:
                scope = "" if is_one else "".join(own)
                clusters.setdefault((goal, entities, scope), []).append(attempt)
    return clusters


def _add_mined(
    tx: Transaction,
    cluster: Cluster,
    steps: Sequence[str],
    sources: Sequence[NodeId],
    labels: Labels,
) -> None:
    goal, entities, scope = cluster
    key = _key(goal, entities, scope)
    if tx.find_node(node_id(NAMESPACE, key)) is not None:
        return
    policy = policy_of(Config.from_map(tx.base.config))
    own = derived(policy, _props_of(tx, sources), labels)
    props = {**own.props, **_props(goal, entities, steps, PENDING, sources, None)}
    made = tx.add_node(PROCEDURE, summary=goal, props=props, key=key, namespace=NAMESPACE)
    tx.add_trailers(own.trailers(made))


def _props_of(tx: Transaction, nodes: Iterable[NodeId]) -> list[Mapping[str, Any]]:
    """Returns the properties of the nodes that exist."""
    return [found.props for node in nodes if (found := tx.find_node(node))]


def _props(
    goal: str,
    entities: Sequence[str],
    steps: Sequence[str],
    status: str,
    sources: Sequence[NodeId],
    intent: str | None,
) -> dict[str, object]:
    if not goal.strip() or not steps or not all(isinstance(step, str) and step for step in steps):
        raise InvalidInputError("procedure: expected a goal and one or more steps that are texts")
    _check_status(status)
    props: dict[str, object] = {"status": status, "steps": list(steps)}
    if entities:
        props["entities"] = list(entities)
    if sources:
        props["sources"] = [source.raw for source in sources]
    if intent is not None:
        props["intent"] = intent
    return props


def _check_status(status: object) -> None:
    if status not in STATUSES:
        expected = ", ".join(STATUSES)
        raise InvalidInputError(f"status: got {status!r:.80}, expected one of {expected}")


def _key(goal: str, entities: Sequence[str], scope: str = "") -> list[object]:
    return [_plain(goal), list(entities), *([scope] if scope else [])]


def _plain(goal: str) -> str:
    """Returns a goal in the form in which goals are compared: folded, with single spaces."""
    return " ".join(fold(goal).split())


def _texts(node: Node, name: str) -> tuple[str, ...]:
    """Returns the texts in a list that is a property."""
    found = node.props.get(name, ())
    if not isinstance(found, (list, tuple)):
        return ()
    return tuple(one for one in found if isinstance(one, str))


def _words(text: str) -> frozenset[str]:
    return frozenset(words(text, frozenset()))


def _terms(text: str) -> frozenset[str]:
    """Returns all words of a text, short ones too: a trigger may be "open a PR"."""
    return frozenset(words(text, frozenset(), letters_min=1))

"""TR1 to TR3: who may see what, and that whoever asks has to say who that is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from ibidem.memory.graph import GraphMemory
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.repo.access import RestrictedGraph
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import (
    ALL,
    ALL_SCOPES,
    Decision,
    Level,
    TrustPolicy,
    Viewer,
    decide,
)

from .conftest import EPOCH, LOW, POLICY, SECOND, hidden, record


def test_tr1_levels_and_scopes_decide():
    for level, highest in product(Level, Level):
        for scope, scopes, is_in in (
            ("a", ("a", "b"), True),
            ("a", ("b",), False),
            ("a", (), False),
            ("", (), True),
            ("a", ALL_SCOPES, True),
        ):
            decision = decide(
                POLICY,
                Viewer(level=highest, scopes=scopes),
                {"level": int(level), "scope": scope},
            )
            expected = Decision.DENIED
            if is_in and level <= highest:
                expected = Decision.FULL
            elif is_in and level == highest + 1:
                expected = Decision.REDACTED
            assert decision == expected


def test_tr1_a_caller_who_is_not_authenticated_is_capped():
    nobody = Viewer(level=4, scopes=ALL_SCOPES, authenticated=False)
    assert decide(POLICY, nobody, {"level": 0}) == Decision.FULL
    assert decide(POLICY, nobody, {"level": 2}) == Decision.DENIED
    wide = TrustPolicy(anonymous_level=2)
    assert decide(wide, nobody, {"level": 2}) == Decision.FULL


def test_tr1_what_has_no_scope_is_for_all_or_for_none():
    closed = TrustPolicy(unscoped="deny")
    assert decide(POLICY, LOW, {}) == Decision.FULL
    assert decide(closed, LOW, {}) == decide(closed, LOW, {"scope": ""}) == Decision.DENIED


@pytest.mark.parametrize("value", [9, -1, "odd", True, 1.0, None, [0], {}])
def test_tr2_an_unknown_level_is_refused_where_it_is_written(repo: Repository, value: object):
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
        node = tx.add_node("Doc", props={"level": 1})
    with pytest.raises(InvalidInputError, match=r"^props.level"), repo.transaction() as tx:
        tx.add_node("Doc", summary="x", props={"level": value})
    with pytest.raises(InvalidInputError, match=r"^props.level"), repo.transaction() as tx:
        tx.update_node(node, set_props={"level": value})
    with pytest.raises(InvalidInputError, match=r"^props.scope"), repo.transaction() as tx:
        tx.add_node("Doc", summary="x", props={"scope": 7})


@pytest.mark.parametrize("value", [9, -1, "odd", True, 1.0, None, [0, 9], {}, []])
def test_tr2_an_unknown_level_that_is_there_already_shows_to_nobody(
    repo: Repository, value: object
):
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="forged words", props={"level": value})
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
    everyone = Viewer(level=4, scopes=ALL_SCOPES)
    assert repo.retrieve("forged", viewer=everyone).items == ()
    assert repo.at(viewer=everyone).count() == 0
    assert len(repo.retrieve("forged", viewer=ALL).items) == 1
    assert decide(POLICY, everyone, {"level": value}) == Decision.DENIED


ASKING: dict[str, Callable[[Any, NodeId, EdgeId], Any]] = {
    "retrieve": lambda at, node, edge: at.retrieve("words"),
    "retrieve_many": lambda at, node, edge: at.retrieve_many([{"text": "words"}]),
    "query": lambda at, node, edge: at.query(label="Doc"),
    "page": lambda at, node, edge: at.page(),
    "count": lambda at, node, edge: at.count(),
    "paths": lambda at, node, edge: at.paths(node, ["to"]),
    "node": lambda at, node, edge: at.node(node),
    "nodes": lambda at, node, edge: list(at.nodes()),
    "edge": lambda at, node, edge: at.edge(edge),
    "edges": lambda at, node, edge: list(at.edges()),
    "edges_of": lambda at, node, edge: at.edges_of(node),
    "vector": lambda at, node, edge: at.vector(node, "m"),
    "sparse": lambda at, node, edge: at.sparse(node, "m"),
    "tombstone": lambda at, node, edge: at.tombstone(node),
    "content": lambda at, node, edge: at.content(node),
    "document": lambda at, node, edge: at.document(node),
}


@pytest.mark.parametrize("name", ASKING)
def test_tr3_without_a_context_nothing_is_told(repo: Repository, name: str):
    with repo.transaction() as tx:
        one, other = tx.add_node("Doc", summary="words"), tx.add_node("Doc", summary="more words")
        edge = tx.add_edge(one, "to", other)
    open_answer = ASKING[name](repo.at(), one, edge)
    with repo.transaction() as tx:
        tx.set_trust_policy(POLICY)
    with pytest.raises(InvalidInputError) as refused:
        ASKING[name](repo.at(), one, edge)
    assert refused.value.kind is ErrorKind.VIEWER_REQUIRED
    told = ASKING[name](repo.at(viewer=ALL), one, edge)
    if name not in ("retrieve", "retrieve_many"):
        assert told == open_answer


def test_tr3_a_context_says_level_and_scopes():
    for fields in ({"level": 1}, {"scopes": ()}, {}):
        with pytest.raises(InvalidInputError, match=r"^viewer\."):
            Viewer(**fields)
    for fields in (
        {"level": 9},
        {"level": "odd"},
        {"level": True},
        {"level": None},
        {"scopes": "a"},
        {"scopes": [""]},
        {"scopes": [1]},
        {"scopes": None},
        {"authenticated": 1},
        {"reveal": "all"},
    ):
        with pytest.raises(InvalidInputError, match=r"^viewer\."):
            Viewer(**{"level": 1, "scopes": (), **fields})
    assert Viewer(level="medium", scopes=["b", "a", "a"]) == Viewer(level=2, scopes=("a", "b"))


def test_tr3_a_context_where_there_is_no_policy_would_protect_nothing(repo: Repository):
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="words")
    with pytest.raises(InvalidInputError, match="no trust policy"):
        repo.retrieve("words", viewer=LOW)
    assert len(repo.retrieve("words", viewer=ALL).items) == 1
    with pytest.raises(InvalidInputError, match=r"^viewer"):
        repo.retrieve("words", viewer="everything")


def test_tr3_a_revision_opened_for_one_caller_answers_no_other(guarded: GraphMemory):
    guarded.add([record(text="words"), hidden("more words")])
    at = guarded.repository.at(viewer=LOW)
    assert len(at.retrieve("words").items) == 1
    with pytest.raises(InvalidInputError, match="another caller"):
        at.retrieve("words", viewer=ALL)
    with pytest.raises(InvalidInputError, match="history"):
        at.log()
    assert len(list(guarded.repository.at(viewer=ALL).log())) == 2


def test_tr3_a_policy_is_taken_away_by_a_commit_and_older_roots_keep_it(guarded: GraphMemory):
    repo = guarded.repository
    guarded.add(hidden("words"))
    before = repo.head
    with repo.transaction() as tx:
        tx.set_trust_policy(None)
    assert len(repo.retrieve("words").items) == 1
    assert repo.at().root.requires == ()
    with pytest.raises(InvalidInputError):
        repo.at(before).retrieve("words")
    assert repo.at(before).root.requires == ("trust",)


def test_a_receipt_says_who_asked_and_is_replayed_for_them(guarded: GraphMemory):
    guarded.add([record(text="tea"), hidden("tea")])
    repo = guarded.repository
    result = repo.retrieve("tea", viewer=LOW)
    assert result.receipt is not None
    assert result.receipt.query.viewer == LOW
    guarded.add(record(text="tea again"))
    assert repo.receipts.replay(result.receipt).to_bytes() == result.to_bytes()
    assert isinstance(repo.core.graph(viewer=LOW), RestrictedGraph)


def test_other_callers_do_not_share_a_view(guarded: GraphMemory):
    guarded.add([record(text="tea", scope=scope) for scope in ("a", "b")])
    for scopes, count in ((("a",), 1), (("b",), 1), (("a", "b"), 2), ((), 0), (("a",), 1)):
        found = guarded.repository.retrieve("tea", viewer=Viewer(level=1, scopes=scopes))
        assert len(found.items) == count


def test_events_are_no_part_of_what_trust_hides(guarded: GraphMemory):
    (one,) = guarded.add(hidden())
    guarded.notes.reinforce(one)
    with pytest.raises(NotFoundError):
        guarded.salience(one, viewer=LOW)
    with pytest.raises(InvalidInputError):
        guarded.salience(one)
    assert guarded.salience(one, viewer=ALL, as_of=EPOCH + 100 * SECOND) > 0.9

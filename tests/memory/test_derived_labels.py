"""Who may see what is derived: whoever may see every source, and nobody else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

import ibidem
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import SUMMARY, Message
from ibidem.memory.graph import GraphMemory, Record, RecordType
from ibidem.memory.recall.procedures import PROCEDURE, Attempt, mine
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.derived import derived_labels, listing_labels
from ibidem.retrieve.access.policy import ALL, Decision, TrustPolicy, Viewer, decide

Props = Mapping[str, Any]
POLICY = TrustPolicy(level="secrecy", scope="team")


def guarded(policy: TrustPolicy | None = POLICY) -> Repository:
    repo = ibidem.init("memory:")
    if policy is not None:
        with repo.transaction() as tx:
            tx.set_trust_policy(policy)
    return repo


def labels(secrecy: int, team: str = "") -> Props:
    return {"secrecy": secrecy, "team": team} if team else {"secrecy": secrecy}


def compacted(repo: Repository, sources: Sequence[Props]) -> Node:
    memory = Conversations(repo, viewer=ALL)
    memory.append("a", [Message("user", f"{n}", props=props) for n, props in enumerate(sources)])
    memory.compact("a", 0, len(sources) - 1, "it was about the vault")
    (found,) = repo.at(viewer=ALL).query(label=SUMMARY)
    return found


def attempts(repo: Repository, sources: Sequence[Props]) -> list[Attempt]:
    with repo.transaction() as tx:
        nodes = [
            tx.add_node("Episode", summary=f"{number}", props=props)
            for number, props in enumerate(sources)
        ]
    return [Attempt("open the vault", (), ("dial 4711", "pull"), True, node) for node in nodes]


def mined(repo: Repository, sources: Sequence[Props]) -> list[Node]:
    mine(repo, attempts(repo, sources))
    return repo.at(viewer=ALL).query(label=PROCEDURE)


def test_a_summary_is_as_sensitive_as_the_most_sensitive_message_and_in_its_scope():
    repo = guarded()
    found = compacted(repo, [labels(0), labels(3, "east"), {}])
    assert (found.props["secrecy"], found.props["team"]) == (3, "east")
    assert repo.at(viewer=Viewer(level=3, scopes=("east",))).node(found.id).summary
    for level, scopes in ((2, ("east",)), (4, ("west",))):
        caller = repo.at(viewer=Viewer(level=level, scopes=scopes))
        with pytest.raises(LookupError):
            caller.node(found.id)


def test_a_mined_procedure_is_as_sensitive_as_the_most_sensitive_attempt_and_in_its_scope():
    repo = guarded()
    (found,) = mined(repo, [labels(0), labels(4, "east"), labels(1)])
    assert (found.props["secrecy"], found.props["team"]) == (4, "east")
    with pytest.raises(LookupError):
        repo.at(viewer=Viewer(level=3, scopes=("east",))).node(found.id)


def test_nothing_is_summarised_across_scopes():
    repo = guarded()
    memory = Conversations(repo, viewer=ALL)
    said = [Message("user", team, props=labels(1, team)) for team in ("east", "west")]
    memory.append("a", said)
    before = repo.head
    with pytest.raises(InvalidInputError, match=r"^team: got sources of 'east', 'west'"):
        memory.compact("a", 0, 1, "both")
    assert repo.head == before
    assert memory.compact("a", 0, 0, "one").commit is not None


def test_attempts_of_several_scopes_make_a_procedure_in_each_that_has_enough():
    sources = [labels(2, "east")] * 3 + [labels(3, "west")] * 3 + [labels(4), labels(1, "north")]
    numbered = [{**props, "n": number} for number, props in enumerate(sources)]
    repo = guarded()
    found = sorted((one.props["team"], one.props["secrecy"]) for one in mined(repo, numbered))
    assert found == [("east", 2), ("west", 3)]
    head = repo.head
    again = [
        Attempt("open the vault", (), ("dial 4711", "pull"), True, one.id)
        for one in repo.at(viewer=ALL).query(label="Episode")
    ]
    assert mine(repo, again) is None
    assert repo.head == head


def test_without_a_policy_levels_and_a_scope_are_carried_over_for_a_later_one():
    found = compacted(guarded(None), [{"level": 3, "scope": "east"}, {}])
    assert (found.props["level"], found.props["scope"]) == (3, "east")
    plain = compacted(guarded(None), [{}, {"level": "debug"}])
    assert "level" not in plain.props
    assert "scope" not in plain.props


def test_sources_without_labels_leave_them_to_the_defaults():
    found = compacted(guarded(), [{}, {}])
    assert not {"secrecy", "team"} & set(found.props)


def test_a_node_without_a_scope_is_the_narrowest_where_such_nodes_are_for_nobody():
    denying = TrustPolicy(unscoped="deny")
    assert derived_labels(denying, [{"scope": "east"}, {}]) == {}
    assert derived_labels(denying, [{"scope": "east"}]) == {"scope": "east"}


@pytest.mark.parametrize("policy", [POLICY, TrustPolicy("secrecy", "team", unscoped="deny")])
def test_the_least_strict_labels_are_for_whoever_may_see_one_of_the_listed(policy: TrustPolicy):
    each: list[Props] = [{}, *(labels(*one) for one in product((0, 3), ("", "east", "west")))]
    viewers = [Viewer(*one) for one in product(range(5), ((), ("east",), ("west",)))]
    for listed in product(each, repeat=2):
        found = listing_labels(policy, listed)
        teams = {one["team"] for one in listed if one.get("team")}
        for viewer in viewers:
            is_shown = decide(policy, viewer, found) is Decision.FULL
            seen = [decide(policy, viewer, one) is Decision.FULL for one in listed]
            if policy.unscoped == "allow" or len(teams) < 2:
                assert is_shown >= any(seen), (listed, viewer)
            if policy.unscoped == "deny" or len({one.get("team") for one in listed}) < 2:
                assert is_shown <= any(seen), (listed, viewer)


def test_nodes_with_invalid_labels_do_not_count_for_the_least_strict_ones():
    odd = [{"secrecy": "top", "team": "east"}, {"secrecy": 0, "team": ["east"]}]
    assert listing_labels(POLICY, [*odd, labels(2, "west")]) == labels(2, "west")
    assert listing_labels(POLICY, odd) == listing_labels(POLICY, []) == {}


def test_a_source_that_nobody_may_see_is_refused():
    with pytest.raises(InvalidInputError, match=r"^level"):
        derived_labels(TrustPolicy(), [{"level": "top"}])


def test_a_missing_source_says_nothing():
    repo = guarded()
    found = [*attempts(repo, [labels(3, "east")] * 1)]
    gone = [
        Attempt("open the vault", (), ("dial 4711", "pull"), True, NodeId(bytes([n]) * 16))
        for n in (1, 2)
    ]
    mine(repo, [*found, *gone])
    (procedure,) = repo.at(viewer=ALL).query(label=PROCEDURE)
    assert (procedure.props["secrecy"], procedure.props["team"]) == (3, "east")


def message_of(repo: Repository) -> str:
    return repo.commit_at().message


def lowered(node: Node, before: Any, after: Any) -> str:
    said = json.dumps({"from": before, "to": after}, sort_keys=True, separators=(",", ":"))
    return f"\n\nLowered: {node.id} {said}"


def test_a_summary_is_written_lower_explicitly_and_its_commit_says_so():
    repo = guarded()
    memory = Conversations(repo, viewer=ALL)
    said = [Message("user", "4711", props=labels(4, "east")), Message("user", "x", props=labels(1))]
    memory.append("a", said)
    memory.compact("a", 0, 1, "it was about the vault", level="low", scope="")
    (found,) = repo.at(viewer=ALL).query(label=SUMMARY)
    assert found.props["secrecy"] == 1
    assert "team" not in found.props
    assert message_of(repo) == "summary of a" + lowered(
        found, {"level": 4, "scopes": ["east"]}, {"level": 1, "scope": ""}
    )
    low = repo.at(viewer=Viewer(level=1, scopes=()))
    assert [node.summary for node in low.query(label=SUMMARY)] == ["it was about the vault"]


def test_what_is_not_lower_leaves_no_trailer():
    repo = guarded()
    memory = Conversations(repo, viewer=ALL)
    memory.append("a", [Message("user", "1", props=labels(2, "east"))])
    memory.compact("a", 0, 0, "higher", level=3, scope="east")
    assert message_of(repo) == "summary of a"


def test_procedures_and_records_are_written_lower_explicitly():
    repo = guarded()
    mine(repo, attempts(repo, [labels(3)] * 3), level=2)
    (found,) = repo.at(viewer=ALL).query(label=PROCEDURE)
    assert found.props["secrecy"] == 2
    assert message_of(repo).endswith(
        lowered(found, {"level": 3, "scopes": []}, {"level": 2, "scope": ""})
    )

    repo = guarded(None)
    memory = GraphMemory(repo)
    for number in range(2):
        payload = {"outcome": "success", "event": f"e{number}", "tools": ["dial"]}
        memory.add(Record(RecordType.EPISODIC, f"opened {number}", "", level=3, payload=payload))
    made = memory.consolidate(level="public")
    nodes = [repo.at().node(id_) for id_ in made.added]
    assert {node.props["level"] for node in nodes} == {0}
    lines = message_of(repo).split("\n")
    assert lines[:2] == ["consolidate", ""]
    assert [line.split(" ")[:2] for line in lines[2:]] == [
        ["Lowered:", str(node.id)] for node in nodes
    ]
    assert memory.consolidate().commit is None


@pytest.mark.parametrize("level", [5, -1, "secret", True, 1.5])
def test_a_level_that_is_none_is_refused_and_changes_nothing(level: Any):
    repo = guarded()
    found = attempts(repo, [labels(3)] * 3)
    head = repo.head
    with pytest.raises(InvalidInputError, match=r"^level"):
        mine(repo, found, level=level)
    assert repo.head == head

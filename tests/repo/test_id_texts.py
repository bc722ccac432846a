"""An id is its text: it is written as JSON, and wherever an id is taken its text is taken."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime

import numpy as np
import pytest

import ibidem
from ibidem import EdgeId, GraphMemory, InvalidInputError, NodeId, Record
from ibidem.memory.recall.feedback import Feedback


@pytest.fixture
def repo() -> ibidem.Repository:
    repo = ibidem.init("memory:", author="ada")
    with repo.transaction() as tx:
        one = tx.add_node("Fact", summary="tea at five", key="one")
        tx.add_edge(str(one), "after", str(tx.add_node("Fact", summary="lunch", key="two")))
    return repo


def test_an_id_is_text_that_knows_its_bytes():
    id_ = NodeId(bytes(range(16)))
    assert json.loads(json.dumps({"id": id_})) == {"id": str(id_)}
    assert id_ == str(id_) == id_.raw.hex()
    assert NodeId(str(id_)) == id_
    assert {str(id_): 1}[id_] == 1
    assert id_ != EdgeId(id_.raw)
    assert id_ != id_.raw
    for copied in (pickle.loads(pickle.dumps(id_)), copy.deepcopy(id_)):
        assert (type(copied), copied.raw) == (NodeId, id_.raw)
    assert type(str(id_)) is str


def test_reads_take_the_text_of_an_id(repo: ibidem.Repository):
    [item] = repo.retrieve("tea")
    text, now = str(item.id), repo.at()
    assert now.node(text) == item.node
    assert list(now.find_nodes([text])) == [item.id]
    [edge] = now.edges_of(text)
    assert now.edge(str(edge.id)) == edge
    assert now.is_visible(text)
    assert now.tombstone(text) is None
    assert [path.nodes[0] for path in now.paths(text, ["after"])] == [item.id]
    assert repo.history.blame(text)
    assert len(list(repo.history.touching(node=text))) == 1
    assert repo.history.bisect("tea", expect=text).steps is not None


def test_writes_take_the_text_of_an_id(repo: ibidem.Repository):
    answer = repo.retrieve("tea")
    text = str(answer[0].id)
    with repo.transaction() as tx:
        tx.update_node(text, summary="tea at six")
        tx.set_vector(text, model="m", vector=[1.0])
        tx.remove_vector(text, model="m")
        tx.tombstone(text)
        assert tx.is_tombstoned(text)
        tx.untombstone(text)
        tx.update_edge(str(tx.edges_of(text)[0].id), weight=2.0)
        assert tx.node(text).summary == "tea at six"
    Feedback(repo).vote(answer, text, 1, author="ada")
    Feedback(repo).not_useful(answer, [text], author="ada")
    repo.notes.space().reinforce(text)
    repo.maintenance.erase(text)
    with pytest.raises(ibidem.ErasedError):
        repo.at("main~1").node(text)


def test_records_take_the_text_of_an_id(repo: ibidem.Repository):
    memory = GraphMemory(repo)
    source = [{"kind": "event", "ref": "e"}]
    [one, two] = memory.add(
        [Record("Semantic", text, scope="", provenance=source) for text in ("tea", "milk")]
    )
    memory.relate(str(one), "with", str(two))
    assert memory.get(str(one)).text == "tea"
    assert memory.salience(str(one)) > 0
    memory.contest(str(one), str(two))
    new = Record("Semantic", "cocoa", scope="", provenance=source)
    memory.supersede(str(two), new)
    memory.retract(str(one))


def test_properties_take_values_whose_meaning_is_exact(repo: ibidem.Repository):
    id_, time = NodeId(bytes(16)), datetime(2026, 1, 1, tzinfo=UTC)
    with repo.transaction() as tx:
        node = tx.add_node(
            "Fact",
            props={
                "of": id_,
                "time": time,
                "numbers": [np.int8(3), np.float32(0.5), np.bool_(True)],
            },
        )
    props = repo.at().node(node).props
    assert props["of"] == str(id_)
    assert type(props["of"]) is str
    assert props["time"] == 1767225600_000000
    assert [(type(one), one) for one in props["numbers"]] == [(int, 3), (float, 0.5), (bool, True)]
    for value in (datetime(2026, 1, 1), np.zeros(2), np.datetime64("NaT"), np.float64("nan")):  # noqa: DTZ001
        with repo.transaction() as tx, pytest.raises(InvalidInputError):
            tx.add_node("Fact", props={"value": value})


@pytest.mark.parametrize("text", ["junk", "", "ab" * 15, "AB" * 16])
def test_a_text_that_is_no_id_is_named(repo: ibidem.Repository, text: str):
    with pytest.raises(InvalidInputError, match=r"^id: NodeId: got"):
        repo.at().node(text)
    with pytest.raises(InvalidInputError, match=r"^ids: NodeId: got"):
        repo.maintenance.erase(text)
    with pytest.raises(InvalidInputError, match=r"^id: got 7, expected a NodeId or its 32"):
        repo.at().node(7)

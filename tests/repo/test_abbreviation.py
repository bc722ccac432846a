"""A node is named by the beginning of its id, where no other node that is seen begins so."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.repo.id_prefix import resolve_prefix, sorted_from
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer


def shared_digits(first: str, second: str) -> int:
    return next(at for at in range(32) if first[at] != second[at])


@pytest.fixture
def ids(repo: Repository) -> list[str]:
    with repo.transaction() as tx:
        return sorted(str(tx.add_node("Fact", key=str(number))) for number in range(2_000))


def test_enough_digits_name_one_node_and_fewer_none(repo: Repository, ids: list[str]):
    revision = repo.at("HEAD")
    first, second = max(pairwise(ids), key=lambda pair: shared_digits(*pair))
    shared = shared_digits(first, second)
    assert shared >= 4
    assert revision.node_id(first[: shared + 1]) == NodeId.parse(first)
    assert revision.node_id(second[: shared + 1]) == NodeId.parse(second)
    with pytest.raises(NotFoundError, match=f"{first}, {second}.* begin with it") as caught:
        revision.node_id(first[:shared])
    assert caught.value.kind is ErrorKind.AMBIGUOUS


def test_the_first_and_the_last_id_are_found(repo: Repository, ids: list[str]):
    revision = repo.at("HEAD")
    assert revision.node_id(ids[0][:12]) == NodeId.parse(ids[0])
    assert revision.node_id(ids[-1][:12]) == NodeId.parse(ids[-1])


@pytest.mark.parametrize("text", ["", "abc", "ABCD", "xyzw", "é123", "0" * 33])
def test_what_is_no_beginning_is_refused(repo: Repository, text: str):
    with pytest.raises(InvalidInputError, match="hexadecimal digits"):
        repo.at("HEAD").node_id(text)


def test_a_beginning_of_nothing_is_not_found(repo: Repository):
    with pytest.raises(NotFoundError, match="begins '0123'"):
        repo.at("HEAD").node_id("0123")


def test_an_id_as_a_whole_is_taken_as_it_stands(repo: Repository):
    assert repo.at("HEAD").node_id("0" * 32) == NodeId(bytes(16))


def test_what_a_caller_may_not_see_is_no_node(repo: Repository):
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        made = [
            (str(tx.add_node("Fact", key=str(number), props={"level": level})), level)
            for number in range(2_000)
            for level in [1 + 3 * (number % 2)]
        ]
    (seen, _), (hidden, _) = max(
        (sorted(pair, key=lambda one: one[1]) for pair in pairwise(sorted(made))),
        key=lambda pair: (pair[0][1] < pair[1][1], shared_digits(pair[0][0], pair[1][0])),
    )
    shared = seen[: shared_digits(seen, hidden)]
    assert len(shared) >= 4
    low = repo.at("HEAD", viewer=Viewer(level=1, scopes=()))
    assert low.node_id(shared) == NodeId.parse(seen)
    with pytest.raises(NotFoundError):
        low.node_id(hidden[: len(shared) + 1])
    with pytest.raises(NotFoundError, match=hidden):
        repo.at("HEAD", viewer=ALL).node_id(shared)
    with pytest.raises(InvalidInputError, match="trust"):
        repo.at("HEAD").node_id(shared)


def test_what_is_staged_counts_and_what_is_removed_does_not(repo: Repository, ids: list[str]):
    with repo.transaction() as tx:
        new = tx.add_node("Fact", key="new")
        assert tx.node_id(str(new)[:12]) == new
        assert tx.node_id(ids[0][:12]) == NodeId.parse(ids[0])
        tx.remove_node(NodeId.parse(ids[0]))
        with pytest.raises(NotFoundError, match="what is staged"):
            tx.node_id(ids[0][:12])
        edge = tx.add_edge(new, "after", NodeId.parse(ids[1]))
        assert tx.edge_id(str(edge)[:12]) == edge
    assert repo.at().edge_id(str(edge)[:12]) == edge
    assert repo.at().edge_id("0" * 32) == EdgeId(bytes(16))
    with pytest.raises(NotFoundError, match="no edge"):
        repo.at().edge_id("0123456789ab")


def test_an_edge_to_what_a_caller_may_not_see_is_no_edge(repo: Repository):
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        seen = tx.add_node("Fact", key="seen", props={"level": 1})
        hidden = tx.add_node("Fact", key="hidden", props={"level": 4})
        edge = str(tx.add_edge(seen, "about", hidden))
    assert str(repo.at(viewer=ALL).edge_id(edge[:8])) == edge
    with pytest.raises(NotFoundError, match="no edge"):
        repo.at(viewer=Viewer(level=1, scopes=())).edge_id(edge[:8])


def test_many_candidates_are_named_up_to_a_number():
    ids = [NodeId(b"\xab\xcd" + bytes([number]) * 14) for number in range(9)]
    with pytest.raises(NotFoundError, match="and more begin with it") as caught:
        resolve_prefix("abcd", NodeId.parse, sorted_from(reversed(ids)))
    assert [str(one) in str(caught.value) for one in ids] == [True] * 4 + [False] * 5

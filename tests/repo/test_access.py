"""A repository with a trust policy goes on being kept, copied, merged and searched by its owner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects.child import Child
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer

LOW = Viewer(level=1, scopes=())


class Same:
    """An embedder that says the same of every text."""

    name, digest, dim = "same", b"1" * 32, 2

    def embed(self, texts: Any) -> Any:
        return np.ones((len(texts), 2), np.float32)


@pytest.fixture
def kept(disk_repo: Repository) -> tuple[Repository, NodeId, NodeId]:
    with disk_repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        seen = tx.add_node("Fact", summary="tea one", props={"level": 1})
        hidden = tx.add_node("Fact", summary="tea two", props={"level": 4})
        tx.add_edge(seen, "to", hidden)
    return disk_repo, seen, hidden


def test_vectors_are_made_for_all_and_rank_what_is_seen(kept):
    repo, seen, _ = kept
    assert repo.embed(Same()).node_count == 2
    assert [one.id for one in repo.retrieve("tea", model="same", viewer=LOW).items] == [seen]
    assert len(repo.retrieve("tea", model="same", viewer=ALL).items) == 2


def test_questions_asked_together_may_be_of_several_callers(kept):
    repo, _, _ = kept
    repo.embed(Same())
    vector = ("same", [1.0, 0.0])
    asked = [{"vector": vector, "viewer": LOW}, {"vector": vector, "viewer": ALL}]
    together = repo.at().retrieve_many(asked)
    assert [len(one.items) for one in together] == [1, 2]
    assert [one.to_bytes() for one in together] == [
        repo.retrieve(**options).to_bytes() for options in asked
    ]


def test_branches_merge_and_the_policy_stays(kept):
    repo, seen, _ = kept
    repo.branch("side")
    with repo.transaction(branch="side") as tx:
        tx.update_node(seen, summary="tea at the side")
    with repo.transaction() as tx:
        tx.add_node("Fact", summary="coffee", props={"level": 2})
    repo.merge("side")
    assert repo.at().root.requires == ("trust",)
    assert [one.node.summary for one in repo.retrieve("tea", viewer=LOW).items] == [
        "tea at the side"
    ]


OWNED: dict[str, Callable[[Repository, NodeId], Any]] = {
    "fsck": lambda repo, node: repo.maintenance.fsck(),
    "stats": lambda repo, node: repo.maintenance.stats(),
    "blame": lambda repo, node: repo.history.blame(node),
    "log": lambda repo, node: list(repo.history.log()),
    "reindex": lambda repo, node: repo.maintenance.reindex(),
    "bisect": lambda repo, node: repo.history.bisect("tea", expect=node, viewer=LOW),
    "packs": lambda repo, node: repo.packs("tea", viewer=LOW),
    "prompt": lambda repo, node: repo.prompt("tea", viewer=LOW),
    "erase": lambda repo, node: repo.maintenance.erase(node),
}


@pytest.mark.parametrize("name", OWNED)
def test_the_owner_goes_on_as_before(kept, name: str):
    repo, seen, _ = kept
    OWNED[name](repo, seen)


def test_a_citation_can_be_verified(kept):
    repo, _, _ = kept
    (citation,) = repo.prompt("tea", viewer=LOW).citations
    assert repo.verify_citation(citation, viewer=LOW)
    assert repo.at(viewer=LOW).verify_citation(citation)
    assert repo.verify_citation(citation, viewer=ALL)
    with pytest.raises(InvalidInputError, match=r"^viewer") as refused:
        repo.verify_citation(citation)
    assert refused.value.kind is ErrorKind.VIEWER_REQUIRED


def test_a_guess_of_a_hidden_text_is_not_confirmed():
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tx.set_trust_policy(TrustPolicy())
            tx.add_node("Fact", summary="the vault code is 4711", props={"level": 3})
        (true,) = repo.prompt("vault", viewer=ALL).citations
        assert repo.verify_citation(true, viewer=ALL)
        assert not repo.verify_citation(true, viewer=LOW)
        assert not repo.at(viewer=LOW).verify_citation(true)


def test_a_callers_own_citation_is_true_where_its_container_has_a_hidden_part():
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tx.set_trust_policy(TrustPolicy())
            parts = [
                tx.add_node("Passage", summary=text, props={"level": level})
                for text, level in (("it is served at five", 1), ("the code is 4711", 3))
            ]
            children = tuple(Child(part, "", 0, 0) for part in parts)
            box = tx.add_node("Box", summary="how tea is served", children=children)
        (citation,) = repo.prompt("tea", viewer=LOW, expand="edges").citations
        assert [span.id for span in citation.spans] == [box]
        assert repo.verify_citation(citation, viewer=LOW)
        assert repo.at(viewer=LOW).verify_citation(citation)


def test_a_whole_copy_keeps_the_policy(kept, tmp_path: Path):
    repo, _, _ = kept
    repo.sync.export(tmp_path / "whole.car")
    with ibidem.init("memory:") as other:
        other.sync.load(tmp_path / "whole.car")
        assert len(other.retrieve("tea", viewer=ALL).items) == 2
        assert len(other.retrieve("tea", viewer=LOW).items) == 1


def test_a_removed_node_takes_its_edges_to_what_is_hidden_along(kept):
    repo, seen, hidden = kept
    with repo.transaction() as tx:
        tx.remove_node(seen)
    assert repo.at(viewer=ALL).edges_of(hidden) == []

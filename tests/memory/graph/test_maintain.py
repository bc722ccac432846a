"""[9-a]: maintenance in one commit, with a report that a dry run gives too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibidem.memory.graph import GraphMemory, Status
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository

from .conftest import DAY, EPOCH, record, seen_from


def test_it_accepts_consolidates_and_prunes(memory: GraphMemory, repo: Repository):
    faded, *_ = memory.add(
        [
            record("Working", "a draft"),
            record("Episodic", "it is up", payload={"event": "gate", "outcome": "success"}),
        ]
    )
    memory.propose([("Ada", "prefers", "tea")], provenance=seen_from())
    memory.accept(memory.propose([("Bob", "prefers", "tea")], provenance=seen_from()))
    memory.propose([("Bob", "prefers", "cocoa")], provenance=seen_from())
    later, head = EPOCH + 20 * DAY, repo.head
    report = memory.maintain(sources_min=1, dry_run=True, time=later)
    assert repo.head == head
    assert report.commit is None
    assert [memory.get(one).text for one in report.accepted] == ["Ada prefers tea"]
    assert len(report.added) == 1
    assert faded in report.pruned
    done = memory.maintain(sources_min=1, time=later)
    assert replace(done, commit=None) == report
    assert done.commit == repo.head
    assert repo.commit_at().parents == (head,)
    assert memory.get(done.accepted[0]).status == Status.ACTIVE
    again = memory.maintain(sources_min=1, time=later)
    assert (again.accepted, again.added, again.updated, again.pruned) == ((), (), (), ())
    assert again.commit is None
    assert [one.record.text for one in memory.proposals()] == ["Bob prefers cocoa"]


def test_without_a_rule_nothing_is_accepted(memory: GraphMemory):
    memory.propose([("Ada", "prefers", "tea")])
    assert memory.maintain().accepted == ()
    assert len(memory.maintain(confidence_min=0.5).accepted) == 1


def test_in_a_transaction_it_is_staged_and_a_dry_run_is_refused(repo: Repository):
    with repo.transaction() as tx:
        tx.records.propose([("Ada", "prefers", "tea")])
        assert len(tx.records.maintain(sources_min=0).accepted) == 1
        with pytest.raises(InvalidInputError, match="dry_run"):
            tx.records.maintain(dry_run=True)
    assert len(list(repo.history.log())) == 1

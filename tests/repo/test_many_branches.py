"""Answers after switching among more branches than the index keeps snapshots of."""

from __future__ import annotations

from pathlib import Path

import ibidem
from ibidem.index.snapshot_registry import SNAPSHOTS_MAX

BRANCHES = 50


def test_answers_are_equal_after_switching_among_50_branches(tmp_path: Path) -> None:
    assert BRANCHES > SNAPSHOTS_MAX
    names = [f"branch-{number:02}" for number in range(BRANCHES)]
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="a summary of all branches")
        for number, name in enumerate(names):
            repo.branch(name, at="main")
            repo.switch(name)
            with repo.transaction() as tx:
                tx.add_node("Doc", summary=f"a summary of branch {number}")
        first = {}
        for name in names:
            repo.switch(name)
            first[name] = repo.retrieve("summary").to_json()
    assert len(set(first.values())) == BRANCHES
    with ibidem.open(tmp_path) as repo:
        for name in reversed(names):
            repo.switch(name)
            assert repo.retrieve("summary").to_json() == first[name], name
        remembered = repo.core.search_index.current.remembered()
        assert len(remembered) <= SNAPSHOTS_MAX + 1
        repo.core.search_index.current.forget()
        for name in names[::10]:
            repo.switch(name)
            assert repo.retrieve("summary").to_json() == first[name], name

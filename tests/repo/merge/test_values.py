"""What the sides of a conflict have, for a program that decides."""

from __future__ import annotations

import pytest

from ibidem.objects.constants import CONTENT_INLINE_BYTES_MAX
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.repo.repository import Repository


def test_each_value_of_a_field_is_there_once_and_none_for_a_removal(repo: Repository) -> None:
    with repo.transaction() as tx:
        acme = tx.add_node("Firm", summary="gears", props={"staff": 1, "city": "Graz"})
        other = tx.add_node("Firm", summary="belts")
        near = tx.add_edge(acme, "near", other)
    repo.branch("press")
    with repo.transaction() as tx:
        tx.update_node(acme, summary="gears and belts", props={"staff": 2, "city": "Rome"})
        tx.update_edge(near, weight=0.5)
    with repo.transaction(branch="press") as tx:
        tx.update_node(acme, summary="gears and chains", props={"staff": 3})
        tx.update_edge(near, weight=0.25)
    repo.merge("press")
    values = repo.conflict_values(acme)
    assert {name: set(each) for name, each in values.items()} == {
        "summary": {"gears and belts", "gears and chains"},
        "props.staff": {2, 3},
        "props.city": {"Rome", None},
    }
    assert sorted(repo.conflict_values(str(near))["weight"]) == [0.25, 0.5]
    for at, wrong in (("HEAD", other), ("main~1", acme)):
        with pytest.raises(NotFoundError, match=f"conflict {wrong}: it has no conflict"):
            repo.conflict_values(wrong, at)
    with pytest.raises(InvalidInputError, match="got 'mine', expected one of ours, theirs, base,"):
        repo.resolve_conflict(acme, "mine")
    repo.resolve_conflict(acme, value={"props.staff": max(values["props.staff"])})
    assert repo.at().node(acme).props["staff"] == 3


def test_long_content_is_whole(repo: Repository) -> None:
    texts = [letter * CONTENT_INLINE_BYTES_MAX * 2 for letter in (b"a", b"b")]
    with repo.transaction() as tx:
        scan = tx.add_node("Scan", summary="a page", content=b"c")
    repo.branch("press")
    for branch, text in zip(("main", "press"), texts, strict=True):
        with repo.transaction(branch=branch) as tx:
            tx.update_node(scan, content=text)
    repo.merge("press")
    found = repo.conflict_values(scan)["content"]
    assert sorted(found) == texts
    repo.resolve_conflict(scan, value={"content": found[0]})
    assert repo.at().content(scan) == found[0]


def test_a_side_that_was_erased_has_no_values(repo: Repository) -> None:
    with repo.transaction() as tx:
        ada = tx.add_node("Person", summary="Ada", key="ada")
    repo.branch("press")
    with repo.transaction() as tx:
        tx.update_node(ada, summary="Ada of Graz")
    with repo.transaction(branch="press") as tx:
        tx.update_node(ada, summary="Ada of Rome")
    repo.merge("press")
    repo.maintenance.erase(ada, reason="asked to")
    assert repo.conflict_values(ada, "main~1") == {"summary": ()}

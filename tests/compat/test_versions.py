"""Two versions of the format and of the semantics in one history: each block and each receipt is
read by its own. [8-c, 8-d; retrieval 10-e, 10-g; merge 3-f, 7-f] [10-e] [10-g]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.derive import node_id
from ibidem.objects.errors import IbidemError, InvalidInputError, ReplayError
from ibidem.repo.merge.config import merge_config
from ibidem.repo.repository import Repository
from ibidem.repo.sync.clone import clone

from . import two

VECTOR = [1.0, 0.5, -0.5]
QUESTIONS: list[dict[str, Any]] = [
    {"text": "retry queue", "limit": 5},
    {"text": "worker", "vector": ("m", VECTOR), "fusion": "rrf"},
    {"text": "retry", "vector": ("m", VECTOR), "graph": {"mode": "ppr"}, "fusion": "rrf"},
    {"text": "queue", "token_budget": 60},
    {"label": "Doc", "limit": 3},
]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with two.versions_two():
        yield


def clock() -> Any:
    moments = iter(range(1_700_000_000_000_000, 1_800_000_000_000_000, 60_000_000))
    return lambda: next(moments)


def key(number: int) -> Any:
    return node_id("", number)


def fill(repo: Repository, numbers: range, *, branch: str | None = None) -> None:
    with repo.transaction(author="ada", message=f"{numbers}", branch=branch) as tx:
        for number in numbers:
            words = "retry queue worker " * (number % 4 + 1)
            tx.add_node(
                "Doc", summary=f"{words}\nnumber {number}", content=f"{number} " * 9, key=number
            )
            vector = [float(number), 1.0, 0.25 * number]
            tx.set_vector(key(number), model="m", vector=vector)
            if number:
                tx.add_edge(key(number), "after", key(number - 1))


def keep_all(repo: Repository) -> dict[str, str]:
    """Asks every question and keeps the receipts; returns the digests of the answers."""
    found = {}
    for question in QUESTIONS:
        answer = repo.retrieve(**question)
        found[str(repo.receipts.keep(answer.receipt))] = str(answer.cid)
    return found


def versions(repo: Repository) -> dict[int, int]:
    """Returns by number of the node the version of its block at the head."""
    nodes = {node.key[1]: node for node in repo.at().nodes()}
    return {number: node.TABLE.version for number, node in sorted(nodes.items())}


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Repository, dict[str, str]]]:
    """One history: commits of version 1, then of both formats, then of both semantics."""
    with ibidem.init(tmp_path / "both", clock=clock()) as repo:
        fill(repo, range(6))
        kept = keep_all(repo)
        repo.branch("old")
        with two.writing_two():
            fill(repo, range(6, 12))
        kept |= keep_all(repo)
        with repo.transaction(author="ada", message="semantics 2") as tx:
            tx.set_semantics(2)
        kept |= keep_all(repo)
        yield repo, kept


def processes(folder: Path) -> dict[str, str]:
    """Returns what another process gets."""
    script = str(Path(two.__file__))
    done = subprocess.run(
        [sys.executable, script, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_receipts_of_both_replay_in_one_process_and_in_another(
    both: tuple[Repository, dict[str, str]], tmp_path: Path
) -> None:
    repo, kept = both
    assert len(kept) == 3 * len(QUESTIONS)
    assert two.replayed(repo) == kept
    of = [one.receipt.semantics for one in repo.receipts.list() if one.receipt is not None]
    assert sorted(of) == [1] * 2 * len(QUESTIONS) + [2] * len(QUESTIONS)
    assert processes(tmp_path / "both") == kept
    repo.maintenance.reindex()
    assert two.replayed(repo) == kept


def test_the_root_chooses_the_rules_and_the_constants_differ(
    both: tuple[Repository, dict[str, str]],
) -> None:
    repo, _ = both
    before, after = repo.at("HEAD~1"), repo.at("HEAD")
    assert before.root.nodes == after.root.nodes
    one, other = (at.retrieve(**QUESTIONS[1]) for at in (before, after))
    assert (one.query.semantics, other.query.semantics) == (1, 2)
    assert (one.query.b, other.query.b) == (0.7, 0.25)
    first = one.items[0].lanes["lexical"].contribution, other.items[0].lanes["lexical"].contribution
    assert first == (1 / 61, 1 / 62)


def test_every_block_keeps_its_version(both: tuple[Repository, dict[str, str]]) -> None:
    repo, _ = both
    assert versions(repo) == {number: 1 + (number >= 6) for number in range(12)}
    with repo.transaction(message="edit") as tx:
        for number in (1, 7):
            tx.update_node(key(number), set_props={"edited": True})
    assert versions(repo) == {number: 1 + (number >= 6) for number in range(12)}
    node = repo.at().node(key(7))
    block = codec.decode(repo.core.store.get(node.cid))
    assert (block["v"], block["summary"]) == (2, node.summary.split("\n"))
    changes = {change.id for change in repo.history.diff("old", "HEAD") if change.family == "nodes"}
    assert changes == {key(1), *(key(number) for number in range(6, 12))}


def test_roots_of_both_merge_alike_from_both_sides(
    both: tuple[Repository, dict[str, str]],
) -> None:
    repo, kept = both
    with repo.transaction(message="ours") as tx:
        tx.update_node(key(2), summary="ours\ntwice")
    with repo.transaction(message="theirs", branch="old") as tx:
        tx.update_node(key(2), set_props={"side": "theirs"})
        tx.update_node(key(3), summary="only\ntheirs")
    with two.writing_two(), repo.transaction(message="again", branch="main") as tx:
        tx.add_node("Doc", summary="lifted\nand put anew", key=2, replace=True)
    repo.branch("other", at="old")
    repo.merge("old")
    assert repo.at().config.semantics == 2
    merged = repo.at().node(key(2))
    assert (merged.TABLE.version, merged.summary) == (2, "lifted\nand put anew")
    assert merged.props == {"side": "theirs"}
    assert versions(repo)[3] == 1
    other = repo.merge("main~1", branch="other").commit
    assert other is not None
    assert other.root == repo.at("HEAD").root_cid
    assert two.replayed(repo) == kept
    assert repo.maintenance.fsck().is_clean


def test_a_version_is_only_raised_and_only_to_one_that_the_program_has(tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "one", clock=clock()) as repo:
        fill(repo, range(2))
        head = repo.head
        for version in (3, 1, 0, -1, True, "2", None):
            with repo.transaction() as tx:
                with pytest.raises(IbidemError) as error:
                    tx.set_semantics(version)
                is_unknown = version == 3
                assert error.value.kind == (
                    "unsupported-semantics" if is_unknown else "invalid-input"
                )
        assert repo.head == head
        with repo.transaction() as tx:
            tx.set_semantics(2)
            tx.add_node("Doc", summary="asked by the new rules", key=9)
        assert repo.retrieve("rules").query.semantics == 2
        assert repo.at("HEAD~1").retrieve("text").query.semantics == 1
        with repo.transaction() as tx, pytest.raises(InvalidInputError, match="after 2"):
            tx.set_semantics(2)
        repo.revert("HEAD")
        assert repo.at().config.semantics == 1


def test_a_raise_that_lost_a_race_is_merged(tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "one", clock=clock()) as repo:
        fill(repo, range(2))
        with repo.transaction(message="slow") as tx:
            tx.set_semantics(2)
            fill(repo, range(2, 4))
        assert repo.at().config.semantics == 2
        assert len(list(repo.at().nodes())) == 4
        with repo.stage.transaction() as tx:
            tx.add_node("Doc", summary="staged", key=8)
        repo.stage.commit()
        assert repo.at().config.semantics == 2


def test_of_two_versions_that_no_base_has_the_higher_stands() -> None:
    for base in ({}, {"semantics": 1}):
        for sides in ((9, 300), (300, 9)):
            ours, theirs = ({"semantics": version} for version in sides)
            assert merge_config(base, ours, theirs)[0]["semantics"] == 300
    assert merge_config({"semantics": 2}, {"semantics": 1}, {"semantics": 2})[0]["semantics"] == 1


def test_values_in_conflict_may_have_two_versions(
    both: tuple[Repository, dict[str, str]],
) -> None:
    repo, _ = both
    with two.writing_two(), repo.transaction(message="ours") as tx:
        tx.add_node("Doc", summary="ours\nin two", key=2, replace=True)
    with repo.transaction(message="theirs", branch="old") as tx:
        tx.update_node(key(2), summary="theirs\nin one")
    assert repo.merge("old").conflicts
    assert repo.maintenance.fsck().is_clean
    repo.resolve_conflict(key(2), "theirs")
    node = repo.at().node(key(2))
    assert (node.TABLE.version, node.summary) == (2, "theirs\nin one")


def test_copies_have_both(both: tuple[Repository, dict[str, str]], tmp_path: Path) -> None:
    repo, kept = both
    with clone(tmp_path / "both", tmp_path / "copy", include=("receipts",)) as copy:
        assert two.replayed(copy) == kept
        assert versions(copy) == versions(repo)
        with two.writing_two():
            fill(copy, range(12, 14))
        copy.sync.push()
        assert copy.maintenance.fsck(deep=True).is_clean
    assert versions(repo)[13] == 2
    assert repo.maintenance.fsck(deep=True).is_clean


def test_what_is_collected_and_erased_may_have_either(
    both: tuple[Repository, dict[str, str]],
) -> None:
    repo, kept = both
    repo.maintenance.gc(keep_operations=1)
    assert two.replayed(repo) == kept
    text = repo.at().node(key(8)).summary.split("\n")[1]
    repo.maintenance.erase([key(8), key(2)], reason="asked")
    assert repo.maintenance.fsck().is_clean
    assert {2, 8}.isdisjoint(versions(repo))
    blocks = b"".join(
        block for cid in repo.core.store.cids() for block in [repo.core.store.get(cid)]
    )
    assert text.encode() not in blocks
    with pytest.raises(ReplayError):
        two.replayed(repo)

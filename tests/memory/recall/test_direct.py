"""Direct answers: AR22 to AR28, each under its id."""

from __future__ import annotations

import pytest

from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.repo.repository import Repository
from ibidem.retrieve.recall.direct_answer import Direct, Label, Reason, direct_answer

from .helpers import add

QUESTION = "package manager for the project"


def memory(number: int, text: str, **props: object) -> Node:
    known = {"zone": "trusted", "bucket": "decisions", "importance": 0.9, **props}
    return Node(NodeId(bytes(15) + bytes([number])), "Memory", summary=text, props=known)


def ladder(text: str, *nodes: Node, **options: object) -> tuple[Reason, NodeId | None, list[Label]]:
    found = direct_answer(text, nodes, Direct(**options), lambda node: node.summary or "")  # type: ignore[arg-type]
    return found.reason, found.node, list(found.labels)


def test_ar22_the_ladder() -> None:
    right = memory(1, "the project package manager is pnpm")
    assert ladder(QUESTION, right) == (Reason.ELIGIBLE, right.id, [])
    assert ladder(QUESTION)[0] is Reason.NO_CANDIDATES
    assert ladder("the of", memory(1, "x"))[0] in (Reason.EMPTY_QUERY, Reason.BELOW_OVERLAP)
    assert ladder("the and", memory(1, "x"))[0] is Reason.EMPTY_QUERY
    twice = (memory(1, "project package manager"), memory(2, "manager of the project package"))
    assert ladder(QUESTION, *twice)[0] is Reason.AMBIGUOUS
    below = (Reason.BELOW_OVERLAP, None, [Label.OVERLAP])
    assert ladder(QUESTION, memory(1, "unrelated")) == below
    for props, label in (
        ({"zone": "working"}, Label.ZONE),
        ({"status": "archived"}, Label.STATUS),
        ({"bucket": "chat"}, Label.BUCKET),
        ({"importance": 0.699}, Label.IMPORTANCE),
        ({"entity": "proj:b"}, Label.ENTITY),
    ):
        found = ladder(QUESTION, memory(1, QUESTION, **props), entities=("proj:a",))
        assert found == (Reason.NO_ELIGIBLE, None, [label])
    confirmed = memory(1, QUESTION, importance=0.1, confirmed=True)
    assert ladder(QUESTION, confirmed)[0] is Reason.ELIGIBLE
    assert ladder(QUESTION, memory(1, QUESTION), entities=("proj:a",))[0] is Reason.ELIGIBLE


@pytest.mark.parametrize(("others", "reason"), [(99, "eligible"), (100, "no-eligible-candidates")])
def test_the_first_100_of_the_ranking_are_candidates(
    repo: Repository, others: int, reason: str
) -> None:
    """[4-a]"""
    add(repo, *(QUESTION for _ in range(others)), zone="working")
    longer = f"{QUESTION} is told here at length"
    add(repo, longer, zone="trusted", bucket="decisions", importance=0.9)
    found = repo.retrieve(QUESTION, depth=200, direct=True)
    assert found.direct is not None
    assert str(found.direct.reason) == reason


def test_ar23_margins_are_whole_numbers() -> None:
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    asked = " ".join([*words.split(), *(f"w{number}x" for number in range(6))])
    tokens = asked.split()

    def pair(best: int, second: int) -> Reason:
        nodes = (memory(1, " ".join(tokens[:best])), memory(2, " ".join(tokens[:second])))
        return ladder(asked, *nodes, overlap=0)[0]

    assert pair(18, 15) is pair(12, 9) is Reason.ELIGIBLE  # 900 and 750, 600 and 450 of 1000


def test_ar24_nothing_in_common_is_no_answer() -> None:
    assert ladder("alpha beta", memory(1, "gamma"), overlap=0)[0] is Reason.BELOW_OVERLAP


def test_ar25_every_script_has_words() -> None:
    found = ladder("项目 使用 哪个 包管理器", memory(1, "项目 使用 包管理器 pnpm 哪个"))
    assert found[0] is Reason.ELIGIBLE


def test_ar26_equal_answers_of_two_namespaces_are_ambiguous(repo: Repository) -> None:
    props = {"zone": "trusted", "bucket": "decisions", "importance": 0.9}
    with repo.transaction() as tx:
        for namespace in ("one", "two"):
            tx.add_node("Memory", summary=QUESTION, props=props, key="pm", namespace=namespace)
    found = repo.retrieve(QUESTION, direct=True).direct
    assert found is not None
    assert found.reason is Reason.AMBIGUOUS


def test_ar27_a_direct_answer_changes_no_item(repo: Repository) -> None:
    nodes = add(repo, QUESTION, zone="trusted", bucket="decisions", importance=0.9)
    plain, told = repo.retrieve(QUESTION), repo.retrieve(QUESTION, direct=True)
    assert told.direct is not None
    assert told.direct.node == nodes[0]
    assert plain.direct is None
    assert plain.items == told.items
    assert plain.to_bytes() != told.to_bytes()
    assert told.receipt is not None
    assert repo.receipts.replay(told.receipt).direct == told.direct


def test_ar28_not_asked_is_no_work(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    add(repo, *(f"alpha {number}" for number in range(50)))
    for _ in range(3):  # so that what is remembered between questions is
        repo.retrieve("alpha", limit=1)
    read: list[object] = []
    get = repo.core.store.get
    monkeypatch.setattr(repo.core.store, "get", lambda cid: (read.append(cid), get(cid))[1])
    repo.retrieve("alpha", limit=1)
    plain = len(read)
    repo.retrieve("alpha", limit=1, direct=True)
    assert len(read) - plain > plain + 10
    read.clear()
    repo.retrieve("alpha", limit=1)
    assert len(read) == plain

"""Advanced recall: the checks AR1 to AR35 of the fourth seed, each under its id."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from blake3 import blake3

import ibidem
from ibidem.memory.recall.asking import Disclosure, recall
from ibidem.memory.recall.feedback import not_useful, vote
from ibidem.memory.recall.procedures import (
    Attempt,
    add_procedure,
    is_task,
    mine,
    offers,
    procedure_score,
    set_status,
)
from ibidem.memory.recall.reranks import RememberedReranker, remembered
from ibidem.memory.recall.sidecar import SESSIONS_MAX, LastRecall, Sidecar
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.repo.notes import OUTCOME, VOTE, Event
from ibidem.repo.repository import Repository
from ibidem.retrieve.mmr import diversify
from ibidem.retrieve.recall.adjust import DAY, adjusted
from ibidem.retrieve.recall.direct import Direct, Label, Reason, direct_answer
from ibidem.retrieve.recall.expansion import expansions
from ibidem.retrieve.recall.votes import feedback_percent, halved, not_useful_percent, worth
from ibidem.retrieve.rerank import RerankStatus

NOW = 1_700_000_000_000_000


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init(clock=lambda: NOW) as made:
        yield made


def add(repo: Repository, *summaries: str, **props: object) -> list[NodeId]:
    with repo.transaction(author="ada") as tx:
        return [tx.add_node("Doc", summary=one, props=props, unique=True) for one in summaries]


def ids(result: object) -> list[NodeId]:
    return [item.node.id for item in result.items]  # type: ignore[attr-defined]


def shares(result: object, name: str) -> dict[NodeId, float]:
    """The factor of each returned node."""
    return {item.node.id: item.lanes[name].score for item in result.items}  # type: ignore[attr-defined]


class Scripted:
    """A reranker that says what it is told, and counts how often it is asked."""

    name = "scripted"
    digest = blake3(b"scripted").digest()

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.calls = 0

    def rerank(self, text: str, rendered: object) -> object:
        self.calls += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


# -- query expansion ------------------------------------------------------------------------------


def test_ar1_expansion_list() -> None:
    question = "mission control cron issues and timeouts"
    assert expansions(question) == [
        question,
        "mission control cron",
        "mission control",
        "mission",
    ]
    assert expansions("the of and") == ["the of and"]
    assert expansions("deploy deploy deploy") == ["deploy deploy deploy", "deploy"]
    seven = "one two three four five six seven"
    assert expansions(seven, 20) == [seven, "one two three", "one two", "one", "two", "three"]
    assert expansions("  ") == ["  "]
    assert len(expansions("aaa bbb ccc ddd", 20)) == 6
    assert expansions("机器 学习")[0] == "机器 学习"
    assert len(expansions("机器 学习")) > 1


@pytest.mark.parametrize("given", [{"queries": 0}, {"queries": 21}, {"queries": True}, {"x": 1}, 3])
def test_ar1_expansion_options_are_strict(repo: Repository, given: object) -> None:
    add(repo, "alpha")
    with pytest.raises(InvalidInputError, match="expansion"):
        repo.retrieve("alpha", expansion=given)


def test_ar2_only_an_expansion_finds_the_node(repo: Repository) -> None:
    (found,) = add(repo, "mission control")
    question = "mission control cron issues"
    assert ids(repo.retrieve(question, operator="and")) == []
    result = repo.retrieve(question, operator="and", expansion=True)
    assert ids(result) == [found]
    assert list(result.items[0].lanes) == ["expansion"]


@pytest.mark.parametrize("fusion", ["rrf", "convex", "score_normalised"])
@pytest.mark.parametrize("safe", [1, 3, 8])
def test_ar3_what_only_expansions_found_stays_below(
    repo: Repository, fusion: str, safe: int
) -> None:
    own = add(repo, *(f"mission control cron {'x' * number}" for number in range(1, 10)))
    add(repo, *("mission mission mission" for _ in range(30)))
    options = {"operator": "and", "limit": 100, "fusion": fusion}
    plain = repo.retrieve("mission control cron", **options)
    wide = repo.retrieve("mission control cron", expansion={"safe": safe}, **options)
    assert set(ids(plain)) == set(own)
    first = ids(wide)[:safe]
    assert set(first) <= set(own)
    assert set(ids(plain)[:safe]) <= set(ids(wide)[: len(own)])
    assert set(ids(wide)) > set(own)


# -- reranking and diversity ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ([1.0, 2.0, None], RerankStatus.OK),
        ([1.0, float("nan"), 0.0], RerankStatus.NOT_NUMBERS),
        (["1", 2.0, 3.0], RerankStatus.NOT_NUMBERS),
        ([1.0], RerankStatus.WRONG_COUNT),
        ([1.0, 2.0, 3.0, 4.0], RerankStatus.WRONG_COUNT),
    ],
)
def test_ar4_what_a_reranker_may_say(
    repo: Repository, answer: object, status: RerankStatus
) -> None:
    add(repo, "alpha one", "alpha two", "alpha three")
    plain = ids(repo.retrieve("alpha"))
    result = repo.retrieve("alpha", rerank=Scripted(answer))
    assert result.status["rerank"] is status
    expected = [plain[1], plain[0], plain[2]] if status is RerankStatus.OK else plain
    assert ids(result) == expected


def test_ar4_one_candidate_is_not_shown_to_a_model(repo: Repository) -> None:
    add(repo, "alpha")
    model = Scripted([1.0])
    assert repo.retrieve("alpha", rerank=model).status["rerank"] is RerankStatus.TOO_FEW
    assert model.calls == 0


@pytest.mark.parametrize("answer", [TimeoutError(), ValueError("truncated"), None])
def test_ar5_a_failure_is_visible_and_not_kept(repo: Repository, answer: object) -> None:
    add(repo, "alpha one", "alpha two")
    model = Scripted(answer)
    plain = ids(repo.retrieve("alpha"))
    first = repo.retrieve("alpha", rerank=model)
    assert ids(first) == plain
    assert first.status["rerank"] in (RerankStatus.TIMEOUT, RerankStatus.ERROR)
    model.answer = [1.0, 2.0]
    assert ids(repo.retrieve("alpha", rerank=model)) == plain[::-1]
    assert model.calls == 2


@pytest.mark.parametrize("kept", ["in files", "in memory"])
def test_ar6_a_reranker_is_asked_once(repo: Repository, tmp_path: Path, kept: str) -> None:
    folder = tmp_path / "reranks" if kept == "in files" else None
    model = Scripted([1.0, 2.0])
    one, two = ["first", "second"], ["first", "changed"]
    reranker = RememberedReranker(model, folder)
    assert reranker.rerank("alpha", one) == reranker.rerank("alpha", one) == [1.0, 2.0]
    assert model.calls == 1
    reranker.rerank("alpha", two)
    reranker.rerank("beta", one)
    assert model.calls == 3
    other = Scripted([3.0, 4.0])
    other.digest = blake3(b"another prompt").digest()
    assert RememberedReranker(other, folder).rerank("alpha", one) == [3.0, 4.0]
    model.answer = [1.0, float("nan")]
    for _ in range(2):
        reranker.rerank("gamma", one)
    assert model.calls == 5
    add(repo, "alpha one", "alpha two")
    said = remembered(repo, Scripted([1.0, 2.0]))
    first, second = repo.retrieve("alpha", rerank=said), repo.retrieve("alpha", rerank=said)
    assert first.to_bytes() == second.to_bytes()


def test_ar7_a_reranked_answer_replays_without_the_model(repo: Repository) -> None:
    add(repo, "alpha one", "alpha two")
    model = Scripted([1.0, 2.0])
    result = repo.retrieve("alpha", rerank=model)
    assert result.receipt is not None
    assert repo.replay(result.receipt).to_bytes() == result.to_bytes()
    assert model.calls == 1


def test_ar8_diversity_does_not_undo_the_reranking(repo: Repository) -> None:
    add(repo, "alpha one two", "alpha three four", "alpha five six")
    plain = ids(repo.retrieve("alpha"))
    said = repo.retrieve("alpha", rerank=Scripted([2.0, 1.0, 3.0]), mmr={"lambda": 0.7})
    assert ids(said) == [plain[2], plain[0], plain[1]]


def test_ar9_mmr() -> None:
    alike = [[1.0, 0.95, 0.0], [0.95, 1.0, 0.0], [0.0, 0.0, 1.0]]
    scores = [0.95, 0.94, 0.70]
    for share, order in ((0.7, [0, 2, 1]), (1.0, [0, 1, 2])):
        assert diversify(scores, share, lambda one, rest: [alike[one][i] for i in rest]) == order
    assert scores == [0.95, 0.94, 0.70]


# -- feedback -------------------------------------------------------------------------------------


def test_ar10_votes_are_bounded() -> None:
    moved = [feedback_percent(up, down, 0) for up, down in ((1, 0), (9, 0), (0, 9), (9, 9))]
    assert moved == [5, 15, -30, -15]


def test_ar11_votes_and_negatives_together_are_bounded(repo: Repository) -> None:
    (node,) = add(repo, "alpha")
    result = repo.retrieve("alpha")
    for number in range(9):
        vote(repo, result, node, -1, actor=f"actor {number}")
    for number in range(12):
        not_useful(repo, result, [node], actor=f"actor {number}")
    assert shares(repo.retrieve("alpha", feedback=True), "feedback") == {node: 0.7}


@pytest.mark.parametrize(
    ("rank", "factor", "place"), [(1, 0.70, 27), (10, 1.15, 1), (11, 1.15, 2), (20, 1.15, 10)]
)
def test_ar12_displacement_is_bounded(rank: int, factor: float, place: int) -> None:
    scores = 1.0 / (60.0 + np.arange(1, 101, dtype=np.float64))
    moved, _ = adjusted(
        scores,
        [("feedback", lambda one: factor if one == rank - 1 else 1.0)],
        lambda values: np.argsort(-values, kind="stable").tolist(),
    )
    order = np.argsort(-moved, kind="stable").tolist()
    assert order.index(rank - 1) + 1 == place


def test_ar13_what_is_hated_is_still_found(repo: Repository) -> None:
    (node,) = add(repo, "alpha")
    result = repo.retrieve("alpha")
    for number in range(30):
        vote(repo, result, node, -1, actor=f"actor {number}")
    assert ids(repo.retrieve("alpha", feedback=True)) == [node]


def test_ar14_one_actor_has_one_vote_and_the_last_counts(repo: Repository) -> None:
    (node,) = add(repo, "alpha")
    result = repo.retrieve("alpha")
    for number in range(100):
        vote(repo, result, node, 1, actor="ada", time=NOW + number)
    assert shares(repo.retrieve("alpha", feedback=True), "feedback") == {node: 1.05}
    vote(repo, result, node, -1, actor="ada", time=NOW + 1000)
    assert shares(repo.retrieve("alpha", feedback=True), "feedback") == {node: 0.9}


def test_ar15_votes_are_pinned(repo: Repository) -> None:
    one, _ = add(repo, "alpha one", "alpha two")
    before, root = repo.head, repo.at().root_cid
    result = repo.retrieve("alpha", feedback=True)
    notes = vote(repo, result, one, -1, actor="ada")
    seen = repo.retrieve("alpha", feedback=True)
    vote(repo, result, one, 1, actor="bob")
    assert (repo.head, repo.at().root_cid) == (before, root)
    again = repo.retrieve("alpha", feedback=True, notes=notes)
    assert again.to_bytes() == seen.to_bytes()
    assert seen.receipt is not None
    assert seen.receipt.notes_head == notes
    assert repo.replay(seen.receipt).to_bytes() == seen.to_bytes()
    assert result.receipt is not None
    assert repo.replay(result.receipt).to_bytes() == result.to_bytes()


def test_ar16_negatives_count_for_questions_like_theirs(repo: Repository) -> None:
    (node,) = add(repo, "alpha beta gamma delta")
    first = repo.retrieve("alpha beta")
    other = repo.retrieve("gamma delta", feedback=True)
    not_useful(repo, first, [node], actor="ada")
    later = repo.retrieve("gamma delta", feedback=True)
    assert [item.score for item in later.items] == [item.score for item in other.items]
    assert shares(later, "feedback") == {node: 1.0}
    assert shares(repo.retrieve("beta alpha", feedback=True), "feedback") == {node: 0.95}


def test_ar17_negatives_saturate() -> None:
    assert [not_useful_percent(hits) for hits in (1, 4, 5, 6, 12)] == [5, 20, 25, 25, 25]


def test_ar18_a_batch_says_what_it_means(repo: Repository) -> None:
    one, two = add(repo, "alpha one", "alpha two")
    (elsewhere,) = add(repo, "beta")
    result = repo.retrieve("alpha")
    for given in ({}, {"nodes": []}, {"useful": []}, {"nodes": [one], "useful": [two]}):
        with pytest.raises(InvalidInputError):
            not_useful(repo, result, actor="ada", **given)
    with pytest.raises(InvalidInputError, match="of the answer"):
        not_useful(repo, result, [elsewhere], actor="ada")
    with pytest.raises(InvalidInputError, match="of the answer"):
        vote(repo, result, elsewhere, 1, actor="ada")
    with pytest.raises(InvalidInputError, match="left over"):
        not_useful(repo, result, useful=[one, two], actor="ada")
    with pytest.raises(InvalidInputError, match="actor"):
        not_useful(repo, result, [one], actor="")
    assert repo.notes().head is None
    not_useful(repo, result, useful=[one], actor="ada")
    assert [event.targets for event in repo.notes().log().events] == [(two,)]


def test_ar19_concurrent_votes_are_all_there(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        node = add(repo, "alpha")[0]
        errors: list[BaseException] = []

        def votes(writer: int) -> None:
            try:
                for number in range(VOTES_EACH):
                    repo.notes().vote(node, 1, actor=f"{writer} {number}")
            except BaseException as error:  # told by the test's own thread
                errors.append(error)

        threads = [threading.Thread(target=votes, args=(writer,)) for writer in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        actors = {event.actor for event in repo.notes().log().of_kind(VOTE)}
        assert len(actors) == 20 * VOTES_EACH


VOTES_EACH = 5


# -- the sidecar ----------------------------------------------------------------------------------


def entry(session: str, time: int) -> LastRecall:
    return LastRecall(session, time, "00", 5, None, "result", ("a",))


def test_ar20_last_recall(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        found = recall(repo, "alpha", session="one")
        sidecar = Sidecar(repo.folder)
        last = sidecar.last("one")
        assert last is not None
        assert last.result == str(found.result.cid)
        assert found.result.receipt is not None
        assert last.receipt == str(found.result.receipt.cid)
        assert sidecar.last() == last
        assert sidecar.last("two") is None
        for number in range(60):
            sidecar.remember(entry(f"session {number:02}", NOW + 1 + number))
        assert len(sidecar.sessions()) == SESSIONS_MAX
        assert sidecar.sessions()[0] == "session 10"
        newest = sidecar.last()
        assert newest is not None
        assert newest.session == "session 59"
        with pytest.raises(AttributeError):
            newest.session = "changed"  # type: ignore[misc]


def test_ar21_nothing_keeps_the_words_of_a_question(tmp_path: Path) -> None:
    canary = "zyzzogeton"
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        (node,) = add(repo, "alpha")
        found = recall(repo, f"alpha {canary}", session="s", slow_milliseconds=0)
        vote(repo, found.result, node, 1, actor="ada")
        not_useful(repo, found.result, [node], actor="ada")
    plain = sha256(f"alpha {canary}".encode())
    word = sha256(canary.encode())
    unkeyed = blake3(canary.encode())
    secrets = [canary.encode()]
    for digest in (plain, word, unkeyed):
        secrets += [digest.digest(), digest.hexdigest().encode()]
    places = [tmp_path / ".ibidem" / "local", tmp_path / ".ibidem" / "blocks"]
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    assert any(path.name == "impressions.jsonl" for path in files)
    for path in files:
        data = path.read_bytes()
        assert not [secret for secret in secrets if secret in data], path


def test_ar21_the_sidecar_decides_nothing(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha one", "alpha two")
        before = recall(repo, "alpha").result
        for path in (tmp_path / ".ibidem" / "local").iterdir():
            path.unlink()
        assert recall(repo, "alpha").result.to_bytes() == before.to_bytes()


# -- direct answers -------------------------------------------------------------------------------

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
    assert repo.replay(told.receipt).direct == told.direct


def test_ar28_not_asked_is_no_work(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    add(repo, *(f"alpha {number}" for number in range(50)))
    for _ in range(3):  # so that what is remembered between questions is
        repo.retrieve("alpha", limit=1)
    read: list[object] = []
    get = repo.store.get
    monkeypatch.setattr(repo.store, "get", lambda cid: (read.append(cid), get(cid))[1])
    repo.retrieve("alpha", limit=1)
    plain = len(read)
    repo.retrieve("alpha", limit=1, direct=True)
    assert len(read) - plain > plain + 10
    read.clear()
    repo.retrieve("alpha", limit=1)
    assert len(read) == plain


# -- slow log, procedures, worth, time ------------------------------------------------------------


def test_ar29_the_slow_log_says_nothing_of_the_question(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        recall(repo, "alpha canary", slow_milliseconds=10**9)
        sidecar = Sidecar(repo.folder)
        assert list(sidecar.slow_log()) == []
        recall(repo, "alpha canary", slow_milliseconds=0)
        (line,) = sidecar.slow_log()
    assert set(line) == {"operation", "milliseconds", "items", "candidates", "time"}
    assert "canary" not in str(line)


def test_ar30_procedures(repo: Repository) -> None:
    assert procedure_score("deploy the gateway", "deploy gateway now", 1.0) == pytest.approx(
        0.55 * 2 / 4 + 0.45, abs=0
    )
    assert is_task("deploy the gateway")
    assert not is_task("we deployed it last week")
    nodes = [
        add_procedure(repo, f"deploy the gateway {word}", ["build", "ship"])
        for word in ("now", "slowly", "twice")
    ]
    found = offers(repo.at(), "deploy the gateway")
    assert len(found) == 2
    assert found[0].steps == ("build", "ship")
    assert offers(repo.at(), "we deployed it last week") == []
    for node in nodes:
        set_status(repo, node, "retired")
    assert offers(repo.at(), "deploy the gateway") == []
    with pytest.raises(InvalidInputError, match="limit"):
        offers(repo.at(), "deploy the gateway", limit=11)


def attempts(nodes: list[NodeId], *, successes: int) -> list[Attempt]:
    return [
        Attempt("rotate the key", ("vault",), ("stop", "rotate", "start"), place < successes, node)
        for place, node in enumerate(nodes)
    ]


def test_ar31_the_miner(repo: Repository) -> None:
    nodes = add(repo, "one", "two", "three", "four")
    assert mine(repo, attempts(nodes[:2], successes=2)) is None
    assert mine(repo, attempts(nodes, successes=4), occurrences_min=0) is None
    assert mine(repo, attempts(nodes, successes=2)) is None
    assert mine(repo, attempts(nodes[:3], successes=3)) is not None
    assert mine(repo, attempts(nodes[:3], successes=3)) is None
    (found,) = repo.at().query(label="Procedure")
    assert found.props["status"] == "pending_review"
    assert list(found.props["sources"]) == sorted(node.raw for node in nodes[:3])
    assert offers(repo.at(), "rotate the key") == []
    long = "rotate " + "x" * 600
    two = [Attempt(long + end, (), ("a", "b"), True, node) for end in "yz" for node in nodes[:3]]
    mine(repo, two)
    assert repo.at().count(label="Procedure") == 3


def test_ar32_worth(repo: Repository) -> None:
    assert [worth(*counts) for counts in ((0, 0), (3, 0), (0, 3))] == [1.0, 1.6, 0.4]
    one, two = add(repo, "alpha one", "alpha two")
    for _ in range(3):
        repo.notes().outcome(one, True)
        repo.notes().outcome(two, False)
    assert shares(repo.retrieve("alpha", worth=True), "worth") == {one: 1.6, two: 0.4}
    with pytest.raises(InvalidInputError, match="value"):
        repo.notes().add([Event(OUTCOME, (one,), value=float("nan"))])
    for _ in range(3):
        repo.notes().outcome(one, False, time=NOW - 7 * DAY)
    aged = repo.retrieve("alpha", worth={"half_life": 7 * DAY})
    assert shares(aged, "worth")[one] == worth(3.0, 1.5)
    early = repo.retrieve("alpha", worth=True, as_of=NOW - 8 * DAY)
    assert shares(early, "worth") == {one: 1.0, two: 1.0}


def test_ar33_ages_are_measured_from_the_commit(repo: Repository) -> None:
    add(repo, "alpha", time=NOW - 7 * DAY)
    said = repo.retrieve("alpha", recency=True)
    told = repo.retrieve("alpha", recency=True, as_of=NOW)
    assert said.to_bytes() == told.to_bytes()
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="beta", props={"valid_from": NOW, "valid_to": NOW + 10})
    for at, count in ((NOW - 1, 0), (NOW, 1), (NOW + 9, 1), (NOW + 10, 0)):
        assert len(repo.retrieve("beta", valid_at=at).items) == count


def test_ar34_disclosure(tmp_path: Path) -> None:
    from ibidem.ingest.ingest import ingest_text

    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        with repo.transaction() as tx:
            ingest_text(tx, "# Retries\n\nalpha beta\n\ngamma delta\n", path="a.md")
        near = recall(repo, "alpha beta")
        assert (near.disclosure, near.is_escalated) == (Disclosure.CHUNK, False)
        far = recall(repo, "alpha words that are nowhere here")
        assert (far.disclosure, far.is_escalated) == (Disclosure.SECTION, True)
        assert any("gamma delta" in text for text in far.texts)
        told = recall(repo, "alpha words that are nowhere here", disclosure="chunk")
        assert (told.disclosure, told.is_escalated) == (Disclosure.CHUNK, False)
        raw = recall(repo, "alpha beta", disclosure="raw")
        assert raw.texts == ("# Retries\n\nalpha beta\n\ngamma delta\n",)
        with pytest.raises(InvalidInputError, match="disclosure"):
            recall(repo, "alpha", disclosure="everything")


@pytest.mark.parametrize(
    ("age", "factor"),
    [(0, 1.0), (7 * DAY, 0.8 + 0.2 * 0.5), (14 * DAY, 0.8 + 0.2 * 0.25), (-DAY, 1.0)],
)
def test_ar35_recency(repo: Repository, age: int, factor: float) -> None:
    (node,) = add(repo, "alpha", time=NOW - age)
    (silent,) = add(repo, "alpha beta")
    found = shares(repo.retrieve("alpha", recency=True), "recency")
    assert found == {node: factor, silent: 1.0}
    assert halved(7, 14) == pytest.approx(2**-0.5, abs=1e-15)


def test_x11_every_contribution_adds_up(repo: Repository) -> None:
    one, _ = add(repo, "alpha one", "alpha two", time=NOW - 3 * DAY, importance=0.9)
    vote(repo, repo.retrieve("alpha"), one, 1, actor="ada")
    repo.notes().outcome(one, True)
    options = {"recency": True, "importance": True, "feedback": True, "worth": True}
    for item in repo.retrieve("alpha one", expansion=True, **options).items:
        total = 0.0
        for said in item.lanes.values():
            total += said.contribution
        assert total == item.score
        assert list(item.lanes)[-4:] == ["recency", "importance", "feedback", "worth"]

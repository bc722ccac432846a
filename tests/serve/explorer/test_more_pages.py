"""Graph, health, runs and conversations."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import ibidem
from ibidem.memory.conversation.message import thread_id
from ibidem.pages.neighbourhood import Neighbour, circle_of, positions
from ibidem.serve.explorer import runs as runs_module

from .browsing import Browser, browsing, links
from .conftest import HOSTILE


def test_the_graph_is_a_picture_and_a_list(browser: Browser, repo: ibidem.Repository):
    ada = ibidem.node_id("", "ada")
    page = browser.page(f"/graph/{ada}")
    assert len(page.one("svg").all("circle")) == 2
    assert "member of" in page.one("table").words
    (team,) = set(links(page.one("svg"))) - {f"/graph/{ada}"}
    assert len(browser.page(team).one("svg").all("circle")) == 2


def test_the_graph_of_a_document_has_its_parts(browser: Browser):
    page = browser.page(f"/graph/{ibidem.node_id('document', 'handbook.md')}")
    assert "has part" in page.one("table").words
    assert len(page.one("svg").all("circle")) > 3


def test_a_large_neighbourhood_is_cut_and_says_so():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="hubs") as tx:
            hub = tx.add_node("Hub", summary="middle", key="hub")
            for number in range(60):
                one = tx.add_node("N", summary=f"n {number}", key=number)
                tx.add_edge(hub, "has", one)
                for leaf in range(8):
                    tx.add_edge(one, "has", tx.add_node("L", summary="leaf", key=(number, leaf)))
        with browsing(repo) as browser:
            page = browser.page(f"/graph/{ibidem.node_id('', 'hub')}?hops=3")
            assert len(page.one("svg").all("circle")) == 300
            assert "The nearest 300 nodes" in page.words
            assert browser.send("GET", "/graph/x?hops=9", cookie=browser.cookie)[0].status in (
                400,
                404,
            )


def test_positions_are_integers_on_circles():
    ids = [ibidem.node_id("", number) for number in range(40)]
    nodes = [Neighbour(ids[0], "middle", 0, None)]
    nodes += [Neighbour(id_, "near", 1, ids[0]) for id_ in ids[1:20]]
    nodes += [Neighbour(id_, "far", 2, ids[1 + at % 5]) for at, id_ in enumerate(ids[20:])]
    found = positions(nodes)
    assert found[ids[0]] == (0, 0)
    assert len(set(found.values())) == len(nodes), "two nodes are in one place"
    for one in nodes[1:]:
        x, y = found[one.id]
        assert type(x) is int
        radius = one.depth * circle_of(nodes)
        assert abs(x * x + y * y - radius * radius) <= radius * radius // 50


def test_health_names_sizes_refs_and_conflicts(browser: Browser):
    page = browser.page("/health")
    assert "size on disk" in page.words
    assert "indexed nodes" in page.words
    assert "No open conflicts." in page.words
    assert "main" in page.all("table")[0].words
    for check in ("check", "full"):
        assert f"/health?{check}=1" in links(page)
        found = browser.page(f"/health?{check}=1")
        assert found.one("p", role="status").words == "ok all checks passed"
        checks = [row.one("th").words for row in found.all("table")[-1].one("tbody").all("tr")]
        assert {"python", "blocks", "history", "index"} <= set(checks)
        assert ("fsck" in checks) == (check == "full")


def test_health_says_what_failed(tmp_path: Path):
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            id_ = tx.add_node("Note", summary="lost")
        cid = repo.at().node(id_).cid
        with browsing(repo) as browser, pytest.MonkeyPatch.context() as patch:
            get = repo.core.store.get
            patch.setattr(repo.core.store, "get", lambda one: b"x" if one == cid else get(one))
            page = browser.page("/health?check=1")
            assert "failed" in page.one("p", role="status").words
            assert str(cid) in page.all("table")[-1].words


def test_pages_name_a_branch_that_cannot_be_read_beside_the_others():
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tx.add_node("Note", summary="here")
        repo.branch("side")
        ref = repo.core.operation_log.ref("heads/side")
        assert ref is not None
        repo.core.store.delete([ref.cid])
        with browsing(repo) as browser:
            for path in ("/health", "/health?check=1", "/health?full=1"):
                page = browser.page(path)
                assert f"ref {ref.cid}: " in page.words
                assert "main" in page.all("table")[0].words


def test_an_open_conflict_is_listed():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="base", time=1) as tx:
            one = tx.add_node("A", summary="a", key="a")
        repo.branch("side")
        with repo.transaction(message="ours", time=2) as tx:
            tx.update_node(one, summary="b")
        repo.switch("side")
        with repo.transaction(message="theirs", time=3) as tx:
            tx.update_node(one, summary="c")
        repo.switch("main")
        repo.merge("side", message="both", time=4)
        with browsing(repo) as browser:
            assert "changed differently" in browser.page("/health").words


@pytest.fixture(scope="module")
def agents() -> Iterator[Browser]:
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="facts") as tx:
            tx.add_node("Fact", summary="a payment is retried")
        with repo.runs.start("support", agent="bot", task=HOSTILE) as run:
            run.at().retrieve("payment")
            with run.transaction(message="learnt") as tx:
                tx.add_node("Fact", summary="learnt")
        with repo.runs.start("support", agent="bot") as run:
            run.at().retrieve("payment retried")
        talk = [("user", f"message {number} {HOSTILE}") for number in range(60)]
        repo.conversations.append("talk/1", talk)
        with browsing(repo) as browser:
            yield browser


def test_runs_lead_to_their_steps(agents: Browser):
    run, _ = [href for href in links(agents.page("/runs").one("table")) if "/run/" in href]
    page = agents.page(run)
    assert "retrieve" in page.one("ol").words
    assert "payment" in page.one("ol").words
    commits = {href for href in links(page) if href.startswith("/commit/")}
    assert any("learnt" in agents.page(commit).words for commit in commits)
    agents.page("/run/nothing", 404)


def test_a_long_run_is_on_several_pages(monkeypatch: pytest.MonkeyPatch):
    with ibidem.init("memory:") as repo:
        with repo.runs.start("long", agent="bot") as run:
            for number in range(120):
                run.event("tool", number, lambda: "done")
        with browsing(repo) as browser:
            assert "122" in browser.page("/runs").one("tbody").words
            page = browser.page("/run/long/1")
            seen: list[str] = []
            while True:
                seen = [one.words.partition(".")[0] for one in page.all("h3")] + seen
                more = [a for a in page.all("a") if a.words == "Earlier steps"]
                if not more:
                    break
                page = browser.page(more[0].attributes["href"] or "")
            assert seen == [str(number) for number in range(122)]
            browser.page("/run/long/1?last=nothing", 400)
            monkeypatch.setattr(runs_module, "RUNS", 1)
            repo.runs.start("other").__enter__().__exit__(None, None, None)
            page = browser.page("/runs")
            (more,) = [a for a in page.all("a") if a.words == "Further runs"]
            assert "other/1" in browser.page(more.attributes["href"] or "").one("tbody").words


def test_the_answers_of_a_run_are_repeated(agents: Browser):
    page = agents.page("/run/support/1?check=1")
    assert "repeated to the byte" in page.one("p", role="status").words


def test_two_runs_are_compared(agents: Browser):
    page = agents.page("/run/support/1?other=support/2")
    assert "payment retried" in page.one("ol").words
    same = agents.page("/run/support/1?other=support/1")
    assert "the same, step for step" in same.words
    agents.page("/run/support/1?other=nothing", 404)


def test_what_is_chosen_of_a_conversation(agents: Browser):
    page = agents.page(f"/thread/{thread_id('talk/1')}?text=message+7")
    assert "message 7 " in page.one("table").one("tbody").all("tr")[0].words


def test_conversations_lead_to_their_messages(agents: Browser):
    (talk,) = [href for href in links(agents.page("/threads").one("table")) if "/thread/" in href]
    page = agents.page(talk)
    assert "message 49" in page.words
    assert "message 50" not in page.words
    assert not page.all("script")
    (more,) = [a for a in page.all("a") if a.words == "Further messages"]
    assert "message 59" in agents.page(more.attributes["href"] or "").words
    agents.page(f"/thread/{thread_id('nothing')}", 404)


@pytest.mark.parametrize(
    "name", ["?a=b", "#top", "..", ".", "a/../b", "/", "//evil.example", "%2e%2e", "a b\x1b\n", "&"]
)
def test_a_conversation_can_have_any_name(name: str):
    with ibidem.init("memory:") as repo:
        repo.conversations.append(name, [("user", f"message {number}") for number in range(51)])
        with browsing(repo) as browser:
            (talk,) = [
                href for href in links(browser.page("/threads").one("table")) if "/thread/" in href
            ]
            page = browser.page(talk)
            assert "message 7" in page.words
            (more,) = [a for a in page.all("a") if a.words == "Further messages"]
            assert "message 50" in browser.page(more.attributes["href"] or "").words
            action = page.one("main").one("form").attributes["action"]
            assert "message 7" in browser.page(f"{action}?text=7").one("table").words


def test_a_restricted_viewer_walks_what_he_may_see():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="policy", time=1) as tx:
            tx.set_trust_policy(ibidem.TrustPolicy())
            ada = tx.add_node("Person", summary="Ada", props={"level": 1}, key="ada")
            bob = tx.add_node("Person", summary="Bob", props={"level": 3}, key="bob")
            eve = tx.add_node("Person", summary="Eve", props={"level": 1}, key="eve")
            tx.add_edge(ada, "knows", bob)
            tx.add_edge(bob, "knows", eve)
        viewer = repo.as_viewer(ibidem.Viewer(level="low", scopes=()))
        with browsing(viewer) as browser:
            page = browser.page(f"/graph/{ibidem.node_id('', 'ada')}?hops=3")
            assert len(page.one("svg").all("circle")) == 1
            assert "Bob" not in page.words
            assert "Eve" not in page.words
            browser.page(f"/graph/{ibidem.node_id('', 'bob')}", 404)
            browser.page("/threads")
            for path in ("/health", "/runs", "/run/x"):
                browser.page(path, 403)

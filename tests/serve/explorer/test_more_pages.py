"""Graph, health, runs and conversations."""

from collections.abc import Iterator

import pytest

import ibidem
from ibidem.pages.neighbourhood import CIRCLE, Neighbour, positions

from .browsing import Browser, browsing, links
from .conftest import HOSTILE


def test_the_graph_is_a_picture_and_a_list(browser: Browser, repo: ibidem.Repository):
    ada = ibidem.node_id("", "ada")
    page = browser.page(f"/graph/{ada}")
    assert len(page.one("svg").all("circle")) == 2
    assert "member of" in page.one("table").words
    (team,) = set(links(page.one("svg"))) - {f"/graph/{ada}"}
    assert len(browser.page(team).one("svg").all("circle")) == 2


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
        radius = one.depth * CIRCLE
        assert abs(x * x + y * y - radius * radius) <= radius * radius // 100


def test_health_names_sizes_refs_and_conflicts(browser: Browser):
    page = browser.page("/health")
    assert "size on disk" in page.words
    assert "indexed nodes" in page.words
    assert "No open conflicts." in page.words
    assert "main" in page.all("table")[0].words
    whole = browser.page("/health?full=1")
    assert "ok" in whole.one("p", role="status").words


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
        talk = [("user", f"message {number} {HOSTILE}") for number in range(60)]
        repo.conversations.append("talk/1", talk)
        with browsing(repo) as browser:
            yield browser


def test_runs_lead_to_their_steps(agents: Browser):
    (run,) = [href for href in links(agents.page("/runs").one("table")) if "/run/" in href]
    page = agents.page(run)
    assert "retrieve" in page.one("ol").words
    assert "payment" in page.one("ol").words
    commits = {href for href in links(page) if href.startswith("/commit/")}
    assert any("learnt" in agents.page(commit).words for commit in commits)
    agents.page("/run/nothing", 404)


def test_conversations_lead_to_their_messages(agents: Browser):
    (talk,) = [href for href in links(agents.page("/threads").one("table")) if "/thread/" in href]
    page = agents.page(talk)
    assert "message 49" in page.words
    assert "message 50" not in page.words
    assert not page.all("script")
    (more,) = [a for a in page.all("a") if a.words == "Further messages"]
    assert "message 59" in agents.page(more.attributes["href"] or "").words
    agents.page("/thread/nothing", 404)


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

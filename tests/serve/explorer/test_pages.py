"""Compare, history, commits, nodes and documents: what they show, and where they lead."""

import re
from urllib.parse import quote_plus

import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.memory.conversation.message import thread_id
from ibidem.objects.config import Config
from ibidem.pages import edit as edit_page
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.serve.explorer.export import export

from .browsing import Browser, browsing, links
from .conftest import HOSTILE, QUESTION


def commits(repo: ibidem.Repository) -> list[ibidem.Commit]:
    return list(repo.history.log())


def test_a_comparison_leads_to_the_commit_that_caused_it(browser: Browser, repo: ibidem.Repository):
    page = browser.page(f"/compare?text={quote_plus(QUESTION)}&before=HEAD~2&after=HEAD~1")
    (wrong,) = [one for one in commits(repo) if one.author == "Bob"]
    assert f"/commit/{wrong.cid}" in links(page)
    assert "entered" in page.one("main").words
    assert "main" not in page.one("figure").one("svg").all("title")[0].words


def test_an_answer_that_came_about_in_several_commits_is_played(browser: Browser):
    page = browser.page(f"/compare?text={quote_plus(QUESTION)}&before=HEAD~2&after=HEAD")
    states = [
        one for one in page.all("section") if one.attributes.get("id", "").startswith("state-")
    ]
    assert len(states) == 3
    assert "update the limits" in states[1].words


def test_a_comparison_of_a_missing_revision_is_an_error(browser: Browser):
    assert browser.page("/compare?text=x&before=nowhere", 404).one("section", role="alert")


def test_the_search_for_a_commit_is_a_picture_and_leads_to_it(browser: Browser):
    (note,) = [
        href.partition("?")[0].rpartition("/")[2]
        for href in links(browser.page("/ask?text=three+times&at=HEAD~2&limit=1").one("ol"))
        if href.startswith("/node/")
    ]
    form = browser.page("/bisect")
    assert "Searches the commits" in form.words
    path = f"/bisect?text=three+times&limit=1&expect={note[:9]}&good=HEAD~2"
    page = browser.page(path)
    assert len(page.one("figure").one("svg").all("circle")) >= 1
    assert "update the limits by Bob" in page.one("main").all("section")[0].words
    assert "What it changed" in page.words
    assert "seventy" not in page.one("h1").words
    browser.page("/bisect?text=x&expect=ffff00", 404)
    never = f"/bisect?text=zebra&expect={note}&good=HEAD~2"
    assert "One of these" not in browser.page(never).words


def test_a_missing_node_leads_to_the_search(browser: Browser):
    ada = ibidem.node_id("", "ada")
    page = browser.page(f"/ask?text=retried+seventy&missing={ada}&at=HEAD~1")
    (search,) = [href for href in links(page) if href.startswith("/bisect")]
    assert f"expect={ada}" in search
    assert "at=" not in search
    browser.page(search)


def test_the_history_draws_and_names_every_commit(browser: Browser, repo: ibidem.Repository):
    page = browser.page("/history")
    found = commits(repo)
    assert [f"/commit/{one.cid}" for one in found] == [
        href for href in links(page) if href.startswith("/commit/")
    ]
    assert len(page.one("svg").all("circle")) == len(found)
    assert "main" in page.one("ol").words
    assert HOSTILE.split(" ")[0] in page.one("ol").words


def test_older_commits_are_on_further_pages():
    with ibidem.init("memory:") as repo:
        for number in range(60):
            with repo.transaction(message=f"step {number}", time=number) as tx:
                tx.add_node("Step", summary=str(number))
        with browsing(repo) as browser:
            page = browser.page("/history")
            assert "step 59" in page.words
            assert "step 9," not in page.words
            (older,) = [a for a in page.all("a") if a.words == "Older commits"]
            assert "step 0" in browser.page(older.attributes["href"] or "").words


def test_a_merge_is_drawn_with_both_sides():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="base", time=1) as tx:
            tx.add_node("A", summary="a")
        repo.branch("side")
        with repo.transaction(message="ours", time=2) as tx:
            tx.add_node("A", summary="b")
        repo.switch("side")
        with repo.transaction(message="theirs", time=9) as tx:
            tx.add_node("A", summary="c")
        repo.switch("main")
        repo.merge("side", message="both", time=5)
        with browsing(repo) as browser:
            picture = browser.page("/history").one("svg")
            assert {dot.attributes["cx"] for dot in picture.all("circle")} == {"9", "27"}


def test_a_commit_shows_the_words_that_it_changed(browser: Browser, repo: ibidem.Repository):
    (wrong,) = [one for one in commits(repo) if one.author == "Bob"]
    page = browser.page(f"/commit/{wrong.cid}")
    assert "Bob" in page.one("main").one("dl").words
    assert ("three", "seventy") in zip(
        [one.words for one in page.all("del")], [one.words for one in page.all("ins")], strict=False
    )
    assert any(f"at={wrong.cid}" in href for href in links(page) if href.startswith("/node/"))


def test_the_first_commit_and_a_missing_one(browser: Browser, repo: ibidem.Repository):
    assert "It is the first commit" in browser.page(f"/commit/{commits(repo)[-1].cid}").words
    browser.page("/commit/nothing", 404)


def test_a_large_commit_is_on_several_pages():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="first") as tx:
            tx.add_node("N", summary="first")
        with repo.transaction(message="large") as tx:
            for number in range(400):
                tx.add_node("N", summary=f"node {number}", key=number)
        with browsing(repo) as browser:
            page, seen = browser.page("/commit/HEAD"), list[str]()
            while True:
                seen += [one.one("a").attributes["href"] or "" for one in page.all("h3")]
                more = [a for a in page.all("a") if a.words == "Further changes"]
                if not more:
                    break
                page = browser.page(more[0].attributes["href"] or "")
            assert len(seen) == len(set(seen)) == 400
            for beyond in ("x", "nodes", "nodes:zz", "vectors:" + "0" * 32):
                page = browser.page(f"/commit/HEAD?beyond={beyond}", 200 if "v" in beyond else 400)
                assert page.one("section", role="alert")


def test_operations_name_what_reverts_them():
    with ibidem.init("memory:") as repo:
        for number in range(60):
            with repo.transaction(message=f"step {number}", time=number) as tx:
                tx.add_node("Step", summary=str(number))
        repo.history.undo()
        with browsing(repo) as browser:
            page = browser.page("/operations")
            rows = [row.words for row in page.one("tbody").all("tr")]
            assert len(rows) == 50
            assert "repo undo" not in rows[0], "an undo is reverted by redo"
            assert "repo undo" not in rows[1], "it was undone"
            assert rows[2].endswith("repo undo")
            assert rows[3].endswith("repo undo, 2 times")
            (more,) = [a for a in page.all("a") if a.words == "Earlier operations"]
            older = browser.page(more.attributes["href"] or "").one("tbody").all("tr")
            assert len(older) >= 11
        first, second = [one.description for one in repo.history.undoable()][:2]
        assert first in repo.history.undo().operation.description
        assert next(repo.history.undoable()).description == second


def test_a_node_shows_its_edges_validity_and_who_said_so(browser: Browser, repo: ibidem.Repository):
    ada = ibidem.node_id("", "ada")
    page = browser.page(f"/node/{ada}")
    assert "Person: Ada looks after payments." in page.one("h1").words
    assert "member of" in page.words
    assert "add the handbook by Ada" in page.words
    (team,) = [href for href in links(page.all("table")[0]) if href.startswith("/node/")]
    assert "valid" in browser.page(team).one("dl").words


def test_a_node_by_the_start_of_its_id_at_another_revision(browser: Browser):
    ada = str(ibidem.node_id("", "ada"))
    page = browser.page(f"/node/{ada[:8]}?at=HEAD~2")
    assert page.one("main").one("form").all("input", name="at")[0].attributes["value"] == "HEAD~2"
    assert all(
        "at=HEAD~2" in href
        for href in links(page)
        if href.startswith("/node/") and "bafy" not in href
    )


def test_a_document_names_the_commit_of_each_line(browser: Browser):
    page = browser.page(f"/document/{ibidem.node_id('document', 'handbook.md')}")
    rows = {row.all("td")[0].words: row.all("td")[2].words for row in page.one("tbody").all("tr")}
    (wrong,) = [commit for text, commit in rows.items() if "seventy" in text]
    (right,) = [commit for text, commit in rows.items() if "limit is 20" in text]
    assert "by Bob" in wrong
    assert "by Ada" in right
    assert page.one("tbody").all("tr")[0].one("th").words in ("1", "3")


def test_each_line_of_a_part_names_its_own_commit():
    lines = ["one", "two", "three", "four"]
    with ibidem.init("memory:") as repo:
        for number, author in enumerate(("Ada", "Bob", "Eve")):
            lines[number] = f"{lines[number]} by {author}"
            with repo.transaction(message=f"version {number}", author=author, time=number) as tx:
                ibidem.ingest_text(tx, "# Poem\n\n" + "\n".join(lines) + "\n", path="poem.md")
        with browsing(repo) as browser:
            page = browser.page(f"/document/{ibidem.node_id('document', 'poem.md')}")
            rows = [
                (row.one("th").words, row.all("td")[0].words, row.all("td")[2].words)
                for row in page.one("tbody").all("tr")
                if row.all("td")[0].words != "Poem"
            ]
            assert [(start, text) for start, text, _ in rows] == [
                ("3", "one by Ada"),
                ("4", "two by Bob"),
                ("5", "three by Eve"),
                ("6", "four"),
            ]
            assert ["by " + commit.rpartition(" by ")[2][:3] for *_, commit in rows] == [
                "by Ada",
                "by Bob",
                "by Eve",
                "by Ada",
            ]


def test_a_long_document_is_on_several_pages():
    with ibidem.init("memory:") as repo:
        text = "".join(f"Paragraph {number} of the text.\n\n" for number in range(400))
        with repo.transaction(message="long") as tx:
            ibidem.ingest_text(tx, f"# Long\n\n{text}", path="long.md")
        id_ = ibidem.node_id("document", "long.md")
        leaves = [one for one in repo.at().nodes() if not one.children]
        with browsing(repo) as browser:
            page = browser.page(f"/document/{id_}")
            shown = len(page.one("tbody").all("tr"))
            assert shown == min(len(leaves), 50)
            texts: list[str] = []
            while True:
                texts += [row.all("td")[0].words for row in page.one("tbody").all("tr")]
                more = [a for a in page.all("a") if a.words == "Further lines"]
                if not more:
                    break
                page = browser.page(more[0].attributes["href"] or "")
            wanted = [f"Paragraph {number} of the text." for number in range(400)]
            assert [one for one in texts if one.startswith("Paragraph")] == wanted
            for position in ("x", "1..2", "-1", "9" * 2000, "²"):
                browser.page(f"/document/{id_}?position={quote_plus(position)}", 400)
            browser.page(f"/document/{id_}?position=99999")


@pytest.mark.parametrize("path", ["/node/", "/document/"])
def test_a_missing_node_is_an_error(browser: Browser, path: str):
    assert browser.page(path + "f" * 32, 404).one("section", role="alert")


def test_hostile_texts_are_shown_on_every_page(browser: Browser, repo: ibidem.Repository):
    (bad,) = [one for one in repo.at().nodes() if one.ntype == "Note<script>"]
    for path in (
        f"/node/{bad.id}",
        f"/commit/{repo.head}",
        "/history",
        "/operations",
        f"/compare?text=retried+{quote_plus(HOSTILE)}",
    ):
        page = browser.page(path)
        assert not page.all("script")
        assert not page.all("img")
        assert "<script>" in page.words


VIEWER = ibidem.Viewer(level="low", scopes=())


def secret(repo: ibidem.Repository, *, is_hidden: bool) -> str:
    """Fills a repository with a policy; a node is hidden from `VIEWER`, or is not there at all."""
    with repo.transaction(message="policy", time=1) as tx:
        tx.set_trust_policy(ibidem.TrustPolicy())
        ada = tx.add_node("Person", summary="Ada, payments", props={"level": 1}, key="ada")
        if is_hidden:
            bob = tx.add_node("Person", summary="Bob, payments", props={"level": 3}, key="bob")
            tx.add_edge(ada, "boss of", bob)
    return str(ibidem.node_id("", "bob"))


def test_a_hidden_node_and_a_missing_one_are_the_same_page():
    texts = []
    for is_hidden in (True, False):
        with ibidem.init("memory:") as repo:
            bob = secret(repo, is_hidden=is_hidden)
            ada = ibidem.node_id("", "ada")
            with browsing(repo.as_viewer(VIEWER)) as browser:
                paths = (f"/node/{bob}", f"/document/{bob}", f"/node/{ada}", "/ask")
                asked = (f"/ask?text=payments&missing={bob}",)
                shown = [browser.send("GET", path, cookie=browser.cookie)[1] for path in paths]
                answers = [browser.page(path).one("ol", class_="items").words for path in asked]
                assert "Bob" not in "".join(shown + answers)
                texts.append((shown[:3], answers))
    assert texts[0] == texts[1]


GATE = "# Gate\n\nThe gate opens at nine, see [the vault](vault.md).\n\nThe bell rings.\n"
VAULT = (
    "# Vault\n\nThe code is 4711, see [it](gate.md).\n\n## Door\n\nThe door of the gate is blue.\n"
)


def test_a_document_with_a_level_of_its_own_is_on_no_page():
    ids: list[str] = []
    shown = []
    for is_hidden in (True, False):
        with ibidem.init("memory:") as repo:
            with repo.transaction(message="policy", time=1) as tx:
                tx.set_trust_policy(ibidem.TrustPolicy())
                ingest_text(tx, GATE, path="gate.md")
                if is_hidden:
                    ingest_text(tx, f"---\nlevel: 3\n---\n{VAULT}", path="vault.md")
            ids = ids or [str(node.id) for node in repo.at(viewer=ibidem.ALL).nodes()]
            viewer = repo.as_viewer(VIEWER)
            with browsing(viewer) as browser:
                paths = [f"/{page}/{id_}" for id_ in ids for page in ("node", "document", "graph")]
                paths += ["/ask?text=vault+code+of+the+gate", "/ask?text=door", "/ask"]
                pages = [browser.send("GET", path, cookie=browser.cookie) for path in paths]
            texts = [export(viewer, "vault code gate"), *(text for _, text in pages)]
            statuses = [response.status for response, _ in pages]
            shown.append((statuses, [re.sub("bafy[a-z2-7]+", "CID", text) for text in texts]))
            assert "4711" not in "".join(texts)
    assert shown[0] == shown[1]


@pytest.mark.parametrize("path", ["/compare", "/history", "/operations", "/commit/x"])
def test_a_restricted_viewer_has_no_history(path: str):
    with ibidem.init("memory:") as repo:
        secret(repo, is_hidden=True)
        with browsing(repo.as_viewer(VIEWER)) as browser:
            page = browser.page(path, 403)
            assert "is refused to a viewer" in page.words
            assert [a.words for a in page.one("nav").all("a")] == ["Ask", "Conversations"]


def test_the_owner_sees_everything_under_a_policy():
    with ibidem.init("memory:") as repo:
        bob = secret(repo, is_hidden=True)
        with browsing(repo) as browser:
            page = browser.page(f"/node/{bob}")
            assert "level" in page.one("main").one("dl").words
            browser.page("/ask?text=payments")
            browser.page("/compare?text=payments&before=HEAD")
            assert "is the first commit" in browser.page(f"/commit/{repo.head}").words
            with repo.transaction(message="more", time=2) as tx:
                tx.add_node("Person", summary="Eve, payments", props={"level": 3})
            page = browser.page(f"/commit/{repo.head}")
            assert "Eve, payments" in page.words
            page = browser.page("/compare?text=payments&before=HEAD~1")
            assert not page.all("section", role="alert")
            for path in ("/history", "/health?full=1", "/threads", "/runs"):
                assert not browser.page(path).all("section", role="alert")


class CountingStore(ibidem.MemoryStore):
    """Counts blocks, also those of a batch."""

    blocks_read = 0

    def get(self, cid: ibidem.Cid) -> bytes:
        self.blocks_read += 1
        return super().get(cid)


def blocks_of_pages(size: int) -> dict[str, int]:
    """The blocks that pages read of a repository with a node of `size` edges, a document of as many
    lines that one commit changes wholly, a run of as many steps and a thread of as many messages.
    """
    store = CountingStore()
    config = Config.default()
    repo = Repository(Core(bootstrapped(store, config, "", lambda: 0), None, lambda: 0))
    for part in range(2):
        with repo.transaction(message="many", time=part) as tx:
            hub = tx.add_node("Hub", summary="a node of many", key="hub", replace=True)
            for number in range(part * size // 2, (part + 1) * size // 2):
                tx.add_edge(hub, "has", tx.add_node("N", summary=f"node {number}", key=number))
            lines = (f"Line {number} of version {part}.\n\n" for number in range(size))
            ibidem.ingest_text(tx, "# Long\n\n" + "".join(lines), path="long.md")
    many = repo.head
    with repo.transaction(message="one", time=2) as tx:
        text = ibidem.node_id("document", "long.md")
        part = repo.at().node(repo.at().node(text).children[0].id).children[-1].id
        tx.update_node(part, summary="A line that one commit changes.")
    repo.conversations.append("talk", [("user", f"message {each}") for each in range(size)])
    with repo.runs.start("bot", agent="bot") as run:
        for number in range(size):
            run.event("tool", number, lambda: 1)
    repo.retrieve("node")  # builds the index
    last = len(repo.at().node(repo.at().node(text).children[0].id).children) // 2
    found = {}
    with browsing(repo) as browser:
        id_ = ibidem.node_id("", "hub")
        for path in (
            "/ask?text=node",
            f"/node/{id_}",
            f"/node/{text}",
            "/history",
            "/operations",
            f"/commit/{many}",
            "/commit/HEAD~1",
            f"/document/{text}",
            f"/document/{text}?position=0.{last}",
            f"/graph/{id_}",
            "/threads",
            f"/thread/{thread_id('talk')}",
            "/runs",
            "/run/bot/1",
            "/health",
        ):
            store.blocks_read = 0
            page = browser.page(path)
            assert not page.all("section", role="alert"), path
            found[path.replace(f".{last}", "").replace(str(many), "many")] = store.blocks_read
    return found


def test_every_page_reads_a_bounded_number_of_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(edit_page, "LINES_MAX", 20)
    small, large = blocks_of_pages(100), blocks_of_pages(800)
    more = {page: (small[page], count) for page, count in large.items()}
    assert all(after <= before * 5 // 4 + 100 for before, after in more.values()), more

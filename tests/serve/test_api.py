"""The HTTP API: its description, reading with caches, writing with conditions, events, metrics.

Spec: trust [7-f], [7-g], [7-h].
"""

from __future__ import annotations

import asyncio
import http.client
import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import ibidem
from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import ConflictError, ErrorKind, InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import TrustPolicy, Viewer
from ibidem.retrieve.context import assemble
from ibidem.serve import events, openapi
from ibidem.serve.request_keys import RequestKey, RequestKeys
from ibidem.serve.routes import ROUTES
from ibidem.serve.served import Listeners
from ibidem.serve.server import Server

TOKEN = "a-token-of-forty-characters-0123456789ab"
NOW = 1_800_000_000_000_000


@pytest.fixture
def repo() -> Iterator[Repository]:
    with ibidem.init(clock=lambda: NOW) as found:
        with found.transaction(author="ada") as tx:
            tx.set_trust_policy(TrustPolicy())
            open_ = tx.add_node("Fact", summary="the vault opens at nine", props={"level": 1})
            code = tx.add_node("Fact", summary="the vault code is 4711", props={"level": 3})
            tx.add_edge(open_, "about", code)
        yield found


@pytest.fixture
def server(repo: Repository) -> Iterator[Server]:
    with Server(repo, token=TOKEN, port=0) as found:
        yield found.start()


def asked(
    server: Server,
    target: str,
    body: Any = None,
    *,
    token: str = TOKEN,
    **headers: str,
) -> tuple[int, dict[str, str], Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    sent = {"Authorization": f"Bearer {token}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        sent["Content-Type"] = "application/json"
    data = None if body is None else json.dumps(body).encode()
    connection.request("GET" if body is None else "POST", target, data, sent)
    answer = connection.getresponse()
    found = answer.read()
    connection.close()
    fields = {name.lower(): value for name, value in answer.getheaders()}
    if "json" in fields.get("content-type", "") and found:
        return answer.status, fields, json.loads(found)
    return answer.status, fields, found


def node(summary: str, **fields: Any) -> dict[str, Any]:
    return {"node": {"ntype": "Fact", "summary": summary, **fields}}


def test_the_description_is_the_one_checked_in():
    page = Path(__file__).parents[2] / "docs" / "openapi.json"
    assert page.read_bytes() == openapi.description(ROUTES), "run python -m ibidem.serve.routes"


def test_every_route_is_described_and_served(server: Server):
    _, _, found = asked(server, "/v1/openapi.json")
    assert found["paths"].keys() == ROUTES.keys()
    names = [one["operationId"] for path in found["paths"].values() for one in path.values()]
    assert len(set(names)) == len(names) == len(ROUTES)


def test_health_needs_no_token_and_tells_nothing(server: Server):
    assert asked(server, "/v1/health", token="")[0::2] == (200, {"status": "ok"})
    assert asked(server, "/v1/health", Host="evil.example")[0] == 400
    assert asked(server, "/v1/health", {}, token="")[0] == 405


def test_a_problem_has_its_parts(server: Server):
    status, fields, found = asked(server, "/v1/log?limit=0")
    assert (status, fields["content-type"]) == (400, "application/problem+json")
    assert found["field"] == "limit"
    assert found["value"] == "'0'"
    assert found["expected"] == "1 to 1000"
    assert found["kind"] == "invalid-input"


def test_a_node_is_read_by_its_id(server: Server, repo: Repository):
    (first, _) = repo.at(viewer=ibidem.ALL).query(order_by="level")
    status, _, found = asked(server, f"/v1/nodes/{first.id}")
    assert status == 200
    assert found["node"]["summary"] == "the vault opens at nine"
    assert [edge["etype"] for edge in found["edges"]] == ["about"]
    assert found["next"] is None
    page = f"/v1/nodes/{first.id}?limit=1"
    assert asked(server, page)[2]["edges"] == found["edges"]
    assert asked(server, f"{page}&after={found['edges'][0]['id']}")[2]["edges"] == []
    assert asked(server, f"{page}&after=x")[0] == asked(server, f"{page[:-1]}0")[0] == 400
    assert asked(server, f"/v1/nodes/{'0' * 32}")[0] == 404
    assert asked(server, "/v1/nodes/x")[0] == 400


def test_nodes_are_listed_in_pages(server: Server):
    where = quote(json.dumps({"level": {"lte": 2}}))
    found = asked(server, f"/v1/nodes?label=Fact&where={where}")[2]
    assert [one["summary"] for one in found["nodes"]] == ["the vault opens at nine"]
    first = asked(server, "/v1/nodes?limit=1&order_by=level")[2]
    assert first["count"] == 2
    second = asked(server, f"/v1/nodes?limit=1&order_by=level&after={quote(first['next'])}")[2]
    assert [one["summary"] for one in second["nodes"]] == ["the vault code is 4711"]
    assert second["next"] is None


def test_a_page_of_nodes_has_its_warnings(server: Server):
    where = {"level": "high"}
    listed = asked(server, f"/v1/nodes?label=Nope&where={quote(json.dumps(where))}")[2]
    found = asked(server, "/v1/query", {"label": "Nope", "where": where})[2]
    assert found["warnings"] == listed["warnings"]
    codes = [(one["code"], one["option"], one["subject"]) for one in found["warnings"]]
    assert codes == [("unknown_label", "label", "Nope"), ("type_mismatch", "where", "level")]
    assert asked(server, "/v1/nodes")[2]["warnings"] == []


def test_hidden_and_missing_are_one_answer(server: Server, repo: Repository):
    low = server.tokens.create("low", viewer=Viewer(level="low", scopes=()), time=NOW).text
    (_, hidden) = repo.at(viewer=ibidem.ALL).query(order_by="level")
    answers = []
    for one in (str(hidden.id), "0" * 32):
        status, fields, found = asked(server, f"/v1/nodes/{one}", token=low)
        text = json.dumps(found).replace(one, "ID")
        answers.append((status, {**fields, "date": ""}, text))
    assert answers[0] == answers[1]
    listed = asked(server, "/v1/nodes", token=low)[2]
    assert (listed["count"], len(listed["nodes"])) == (1, 1)
    owners = asked(server, "/v1/retrieve", {"text": "vault"})[2]["receipt"]
    assert asked(server, f"/v1/replay/{owners}", token=low)[0] == 404
    assert asked(server, f"/v1/replay/b{'a' * 58}", token=low)[0] in (400, 404)


def test_what_a_cid_names_is_cached_and_what_a_name_names_is_asked_again(
    server: Server, repo: Repository
):
    for at, expected in (("main", "private, no-cache"), (str(repo.head), "immutable")):
        status, fields, _ = asked(server, f"/v1/nodes?at={at}")
        assert (status, fields["cache-control"].endswith(expected)) == (200, True)
        again = asked(server, f"/v1/nodes?at={at}", If_None_Match=fields["etag"])
        assert again[0] == 304
        assert again[2] == b""
    assert "no-store" in asked(server, "/v1/branches")[1]["cache-control"]


def test_an_answer_is_replayed_by_its_receipt(server: Server):
    _, fields, found = asked(server, "/v1/retrieve", {"text": "vault"})
    assert fields["etag"] == f'"{found["result"]}"'
    status, fields, again = asked(server, f"/v1/replay/{found['receipt']}")
    assert (status, again["result"], again["items"]) == (200, found["result"], found["items"])
    assert fields["etag"] == f'"{found["result"]}"'
    assert fields["cache-control"].endswith("immutable")


def test_a_context_is_what_the_library_gives(server: Server, repo: Repository):
    status, _, found = asked(server, "/v1/context", {"text": "vault", "token_budget": 300})
    expected = repo.at(viewer=ibidem.ALL).context("vault", token_budget=300)
    assert (status, found) == (200, json.loads(expected.to_json()))
    assert asked(server, "/v1/context", {})[2]["detail"].startswith("text")


def test_packs_are_what_the_library_gives(server: Server, repo: Repository):
    status, fields, found = asked(server, "/v1/packs", {"text": "vault", "limit": 1})
    expected = repo.at(viewer=ibidem.ALL).packs("vault", limit=1)
    assert (status, found) == (200, json.loads(expected.to_json()))
    assert fields["etag"] == f'"{expected.cid}"'
    assert asked(server, "/v1/packs", {"expand": "all"})[2]["field"] == "expand"


def lines_of(
    server: Server, body: Any, token: str = TOKEN, accept: str = "application/x-ndjson"
) -> Iterator[bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    kinds = {"Content-Type": "application/json", "Accept": accept}
    headers = {"Authorization": f"Bearer {token}", **kinds}
    try:
        connection.request("POST", "/v1/packs", json.dumps(body), headers)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
        yield from answer
    finally:
        connection.close()


def test_streamed_packs_are_the_whole_answer_in_parts(server: Server):
    body = {"text": "vault", "limit": None}
    _, _, whole = asked(server, "/v1/packs", body)
    *items, last = map(json.loads, lines_of(server, body))
    assert len(items) == 2
    answer = {**last["answer"], "items": [one["item"] for one in items]}
    assert json.dumps(answer) == json.dumps(whole)
    assert asked(server, f"/v1/replay/{answer['receipt']}")[2]["result"] == answer["result"]


def test_the_first_pack_is_sent_before_the_last_is_made(
    server: Server, repo: Repository, monkeypatch: pytest.MonkeyPatch
):
    is_read, make, made = threading.Event(), assemble._Making._pack, 0

    def waiting(self: Any, group: Any) -> Any:
        nonlocal made
        made += 1
        assert made == 1 or is_read.wait(60)
        return make(self, group)

    monkeypatch.setattr(assemble._Making, "_pack", waiting)
    lines = lines_of(server, {"text": "vault code", "limit": None})
    first = json.loads(next(lines))
    assert first["item"]["text"] == "the vault code is 4711"
    is_read.set()
    assert [next(iter(json.loads(one))) for one in lines] == ["item", "answer"]
    assert made == 2


def test_each_pack_of_a_stream_is_made_in_one_of_the_threads_that_answer(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    make, workers = assemble._Making._pack, server._application._limited.workers
    taken: list[float] = []

    def counting(self: Any, group: Any) -> Any:
        taken.append(workers.borrowed_tokens)
        return make(self, group)

    monkeypatch.setattr(assemble._Making, "_pack", counting)
    assert len(list(lines_of(server, {"text": "vault code", "limit": None}))) == 3
    assert taken == [1, 1]


def test_an_error_on_the_way_is_the_last_line(server: Server, monkeypatch: pytest.MonkeyPatch):
    make, made = assemble._Making._pack, 0

    def failing(self: Any, group: Any) -> Any:
        nonlocal made
        made += 1
        if made > 1:
            raise InvalidInputError("text: it broke")
        return make(self, group)

    monkeypatch.setattr(assemble._Making, "_pack", failing)
    *items, last = map(json.loads, lines_of(server, {"text": "vault", "limit": None}))
    assert len(items) == 1
    assert (last["error"]["kind"], last["error"]["detail"]) == ("invalid-input", "text: it broke")


def test_an_unknown_failure_on_the_way_is_the_last_line(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    make, made = assemble._Making._pack, 0

    def failing(self: Any, group: Any) -> Any:
        nonlocal made
        made += 1
        if made > 1:
            raise ValueError("a secret")
        return make(self, group)

    monkeypatch.setattr(assemble._Making, "_pack", failing)
    *items, last = map(json.loads, lines_of(server, {"text": "vault", "limit": None}))
    assert len(items) == 1
    assert (last["error"]["status"], last["error"]["kind"]) == (500, "remote")
    assert "secret" not in str(last)


def test_an_error_before_the_first_line_has_its_status(server: Server):
    body = {"text": "vault", "label": "Nothing", "strict": True}
    whole, lines = (
        asked(server, "/v1/packs", body, Accept=kind)
        for kind in ("application/json", "application/x-ndjson")
    )
    assert (lines[0], lines[2]) == (whole[0], whole[2])
    assert lines[0] == 400
    assert "application/problem+json" in lines[1]["content-type"]
    assert [one.result for one in server.reads.lines()][-2:] == ["invalid-input"] * 2


@pytest.mark.parametrize(
    "accept",
    [
        "application/x-ndjson; charset=utf-8",
        "application/x-ndjson, application/problem+json",
        "Application/X-NDJSON",
    ],
)
def test_lines_are_accepted_beside_other_types(server: Server, accept: str):
    *items, last = map(json.loads, lines_of(server, {"text": "vault"}, accept=accept))
    assert items
    assert last["answer"]


def test_log_diff_and_compare(server: Server, repo: Repository):
    before = str(repo.head)
    asked(server, "/v1/transactions", {"records": [node("the vault is blue", props={"level": 1})]})
    found = asked(server, "/v1/log?limit=1")[2]["commits"]
    assert [one["author"] for one in found] == ["owner"]
    found = asked(server, f"/v1/diff?before={before}")[2]
    assert [one["action"] for one in found["changes"]] == ["added"]
    assert found["is_complete"]
    found = asked(server, "/v1/compare", {"before": before, "text": "blue vault"})[2]
    assert found["is_different"]
    assert found["items"][0]["kind"] == "entered"
    assert [one["commit"]["cid"] for one in found["causes"]] == [str(repo.head)]


def test_a_transaction_is_one_commit_or_nothing(server: Server, repo: Repository):
    before = repo.head
    records = [node("one", name="a"), node("two", name="b")]
    edge = {"edge": {"source": "a", "etype": "to", "target": "b"}}
    status, fields, found = asked(
        server, "/v1/transactions", {"records": [*records, edge], "message": "why", "author": "bob"}
    )
    assert status == 200
    assert found["commit"] == str(repo.head) == fields["etag"].strip('"')
    commit = repo.commit_at()
    assert (commit.author, commit.message, commit.parents) == ("bob", "why", (before,))
    head = repo.head
    status, _, found = asked(
        server, "/v1/transactions", {"records": [node("three"), {"edge": {"source": "a"}}]}
    )
    assert (status, repo.head) == (400, head)
    assert "line 2" in found["detail"]
    assert asked(server, "/v1/transactions", {"records": []})[2]["commit"] is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"records": {}},
        {"records": [7]},
        {"records": [], "author": 7},
        {"records": [], "viewer": "all"},
        {"records": [node("x")], "branch": "not there/.."},
    ],
)
def test_a_bad_transaction_changes_nothing(server: Server, repo: Repository, body: Any):
    head = repo.head
    status, _, found = asked(server, "/v1/transactions", body)
    assert 400 <= status < 500
    assert found["kind"]
    assert repo.head == head


def test_messages_are_appended_in_one_commit(server: Server, repo: Repository):
    said = [
        {"role": "user", "content": "my printer is on fire", "id": "m-1"},
        {"role": "assistant", "content": [{"type": "text", "text": "call for help"}]},
    ]
    body = {"thread": "support-17", "messages": said}
    before = repo.head
    status, fields, found = asked(server, "/v1/messages", body, Idempotency_Key="k-1")
    assert status == 200
    assert found["commit"] == str(repo.head) == fields["etag"].strip('"')
    commit = repo.commit_at()
    assert (commit.author, commit.parents) == ("owner", (before,))
    assert commit.message.startswith("messages of support-17")
    conversations = ibidem.Conversations(repo, viewer=ibidem.ALL)
    shown = [(one.role, one.text) for one in conversations.messages("support-17")]
    assert shown == [("user", "my printer is on fire"), ("assistant", "call for help")]
    again = asked(server, "/v1/messages", body, Idempotency_Key="k-1")
    assert again[2] == found
    assert asked(server, "/v1/messages", {**body, "messages": said[:1]})[2]["commit"] is None
    assert len(conversations.messages("support-17")) == 2
    status, _, found = asked(server, "/v1/messages", body, If_Match=f'"{before}"')
    assert (status, found["kind"]) == (412, "head-moved")


@pytest.mark.parametrize(
    "body",
    [
        {"messages": []},
        {"thread": "a"},
        {"thread": 7, "messages": []},
        {"thread": "", "messages": [{"role": "user", "content": "x"}]},
        {"thread": "a", "messages": {"role": "user", "content": "x"}},
        {"thread": "a", "messages": [{"role": "user", "content": "x"}, {"content": 7}]},
        {"thread": "a", "messages": [7]},
        {"thread": "a", "messages": [{"role": "user", "text": "x", "raw": 5}]},
        {"thread": "a", "messages": [{"role": "user", "text": "x", "tool_results": 5}]},
        {"thread": "a", "messages": [], "records": []},
        {
            "thread": f"a\nRequest: {'0' * 32} {'1' * 32}",
            "messages": [{"role": "user", "content": "x"}],
        },
    ],
)
def test_bad_messages_change_nothing(server: Server, repo: Repository, body: Any):
    head = repo.head
    status, _, found = asked(server, "/v1/messages", body)
    assert (status, found["kind"]) == (400, "invalid-input")
    assert repo.head == head


def test_a_condition_that_does_not_hold_changes_nothing(server: Server, repo: Repository):
    body = {"records": [node("one")]}
    first = repo.head
    status, fields, _ = asked(server, "/v1/transactions", body, If_Match=f'"{first}"')
    assert status == 200
    body = {"records": [node("two")]}
    status, _, found = asked(server, "/v1/transactions", body, If_Match=f'"{first}"')
    assert (status, found["kind"]) == (412, "head-moved")
    assert str(repo.head) == fields["etag"].strip('"')
    assert asked(server, "/v1/transactions", body, If_None_Match="*")[0] == 412
    assert asked(server, "/v1/transactions", body, If_Match="x")[0] == 400


def test_a_request_that_is_sent_again_is_done_once(server: Server, repo: Repository):
    body = {"records": [node("one", props={"level": 1})]}
    given = {"Idempotency_Key": "k-1", "If_Match": f'"{repo.head}"'}
    first = asked(server, "/v1/transactions", body, **given)
    assert first[0] == 200
    asked(server, "/v1/transactions", {"records": [node("two")]})
    head = repo.head
    again = asked(server, "/v1/transactions", body, **given)
    assert again[2] == first[2]
    assert again[1]["idempotency-replayed"] == "true"
    assert repo.head == head
    status, _, found = asked(server, "/v1/transactions", {"records": []}, Idempotency_Key="k-1")
    assert (status, repo.head) == (400, head)
    assert "another transaction" in found["detail"]
    with Server(repo, token=TOKEN, port=0) as other:  # it stands in the commit, not in the server
        assert asked(other.start(), "/v1/transactions", body, **given)[2] == first[2]
    assert asked(server, "/v1/transactions", body, Idempotency_Key=" ")[0] == 400


def test_a_message_cannot_claim_a_key(server: Server, repo: Repository):
    body = {"records": [node("one")]}
    asked(server, "/v1/transactions", body, Idempotency_Key="k-1")
    head = repo.head
    assert head is not None
    line = repo.commit_at(head).message.splitlines()[-1]
    assert line.startswith("Request: ")
    for message in (line, f"a reason\n\n{line}\nmore"):
        body = {"records": [node("two")], "message": message}
        status, _, found = asked(server, "/v1/transactions", body)
        assert (status, repo.head) == (400, head)
        assert "names a key" in found["detail"]


def test_the_key_of_a_merged_branch_is_found():
    clock = iter(range(10**15, 10**16, 10**6)).__next__
    repo = ibidem.init("memory:", clock=clock)
    with repo.transaction() as tx:
        tx.add_node("T", summary="the base")
    repo.branch("other")
    keys = RequestKeys(repo)
    key = keys.read("k", "owner", b"")
    with repo.transaction(branch="other", message=key.trailer) as other:
        other.add_node("T", summary="of another server")
    with repo.transaction() as tx:
        tx.add_node("T", summary="later")
    assert keys.find(key, repo.head) is None
    repo.merge("other")
    assert keys.find(key, repo.head) == other.commit.cid


def test_two_requests_with_one_key_do_not_run_at_once(repo: Repository):
    keys = RequestKeys(repo)
    key = keys.read("k", "owner", b"")
    with keys.claim(key), pytest.raises(ConflictError) as error, keys.claim(key):
        pass
    assert error.value.kind is ErrorKind.LOCKED
    with keys.claim(key):
        pass


def test_two_servers_that_are_sent_one_request_do_it_once(tmp_path: Path):
    """Spec: trust [7-h]."""
    path = tmp_path / "kb"
    ibidem.init(path).close()
    body = {"thread": "talk", "messages": [{"role": "user", "content": "once"}]}
    ready = threading.Barrier(2)
    with ibidem.open(path) as one, ibidem.open(path) as two:
        with Server(one, token=TOKEN, port=0) as first, Server(two, token=TOKEN, port=0) as second:
            servers = [first.start(), second.start()]

            def send(server: Server, key: str) -> Any:
                ready.wait()
                return asked(server, "/v1/messages", body, Idempotency_Key=key)

            with ThreadPoolExecutor(2) as pool:
                for number in range(10):
                    found = list(pool.map(send, servers, [f"k-{number}"] * 2))
                    assert [status for status, _, _ in found] == [200, 200]
                    assert found[0][2]["commit"] == found[1][2]["commit"]
        assert len(list(one.history.log())) == 10


class Late(RequestKeys):
    """Keys of a server that looks for one just before another server commits with it."""

    meanwhile: Any = None

    def find(self, key: RequestKey, head: CommitCid | None) -> CommitCid | None:
        found = super().find(key, head)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return found


def test_a_request_that_cannot_be_done_twice_is_answered_on_both_servers(tmp_path: Path):
    """Spec: trust [7-h]."""
    with ibidem.init(tmp_path / "kb") as one, ibidem.open(tmp_path / "kb") as two:
        with one.transaction() as tx:
            gone = tx.add_node("Note", key=1)
        body = {"records": [{"remove": {"node": str(gone)}}]}
        with Server(one, token=TOKEN, port=0) as first, Server(two, token=TOKEN, port=0) as second:
            application, keys = second._application, Late(two)
            application.served = replace(application.served, keys=keys)
            for server in (first, second):
                server.start()
            found: list[Any] = []

            def send(server: Server) -> None:
                found.append(asked(server, "/v1/transactions", body, Idempotency_Key="k"))

            keys.meanwhile = lambda: send(first)
            send(second)
            assert [status for status, _, _ in found] == [200, 200]
            assert found[0][2] == found[1][2]
            assert found[1][1]["idempotency-replayed"] == "true"


def test_a_listener_is_not_disturbed_by_a_damaged_ref(tmp_path: Path):
    with ibidem.init(tmp_path / "kb") as repo:
        with repo.transaction() as tx:
            tx.add_node("Note", key=1)
        repo.branch("side")
        cid, heads = events._now(repo.core)
        ref = repo.core.operation_log.ref("heads/side")
        assert ref is not None
        with repo.transaction() as tx:
            tx.add_node("Note", key=2)
        repo.core.store.delete([ref.cid])
        listeners = Listeners()

        async def read() -> list[bytes]:
            found = []
            async for part in events._moves(repo.core, listeners, cid, heads):
                found.append(part)
                if b"moved" in part:
                    break
            return found

        (event,) = (part for part in asyncio.run(read()) if b"moved" in part)
        assert json.loads(event.split(b"data: ")[1])["branch"] == "main"


def test_a_listener_beyond_the_limit_is_told_to_come_again(repo: Repository):
    listeners = Listeners()
    listeners.count = events.LISTENERS_MAX
    cid, heads = events._now(repo.core)

    async def read() -> list[bytes]:
        return [part async for part in events._moves(repo.core, listeners, cid, heads)]

    assert asyncio.run(read()) == [events.FULL]
    assert listeners.count == events.LISTENERS_MAX


def test_a_token_to_read_writes_nothing(server: Server, repo: Repository):
    text = server.tokens.create("reader", viewer=ibidem.ALL, time=NOW).text
    head = repo.head
    status, _, found = asked(server, "/v1/transactions", {"records": [node("x")]}, token=text)
    assert (status, found["kind"], repo.head) == (403, "not-permitted", head)
    with Server(repo, token=TOKEN, port=0, is_read_only=True) as other:
        assert asked(other.start(), "/v1/transactions", {"records": [node("x")]})[0] == 403
    assert repo.head == head


def followed(server: Server, count: int, **headers: str) -> list[dict[str, str]]:
    """Returns the first events of a stream."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {TOKEN}"} | headers)
    answer = connection.getresponse()
    assert answer.status == 200
    found: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    while len(found) < count:
        line = answer.readline().decode().rstrip("\n")
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            found.append(fields)
            fields = {}
    answer.close()
    connection.close()
    return found


def test_a_listener_is_told_of_moves_also_of_those_that_it_missed(server: Server, repo: Repository):
    (first,) = followed(server, 1)
    before = repo.head
    repo.add("the vault is green", props={"level": 1})
    _, second = followed(server, 2, **{"Last-Event-ID": first["id"]})
    assert json.loads(second["data"]) == {
        "branch": "main",
        "before": str(before),
        "after": str(repo.head),
    }
    while server.listener_count:  # those above, whose end has to be noticed
        time.sleep(0.01)
    seen: list[dict[str, str]] = []
    listening = threading.Thread(target=lambda: seen.extend(followed(server, 2)))
    listening.start()
    while not server.listener_count:
        time.sleep(0.01)
    repo.add("the vault is red", props={"level": 1})
    listening.join(60)
    assert json.loads(seen[1]["data"])["after"] == str(repo.head)
    assert asked(server, "/v1/events", Last_Event_ID="x")[0] == 400
    assert asked(server, "/v1/events", Last_Event_ID=str(repo.head))[0] == 422


def test_metrics_count_by_route_and_never_by_what_was_sent(server: Server):
    asked(server, "/v1/retrieve", {"text": "vault"})
    asked(server, "/v1/secret-4711")
    status, fields, found = asked(server, "/v1/metrics")
    assert (status, fields["content-type"].startswith("text/plain")) == (200, True)
    text = found.decode()
    assert 'ibidem_requests_total{method="POST",route="/v1/retrieve",status="200"} 1' in text
    assert 'route="unknown",status="404"' in text
    assert "4711" not in text
    assert "ibidem_requests_in_progress 1" in text


def test_without_the_extra_the_error_names_it(repo: Repository, monkeypatch: pytest.MonkeyPatch):
    for name in ("uvicorn", "ibidem.serve.application"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'ibidem\[server\]'") as error:
        Server(repo, token=TOKEN, port=0)
    assert error.value.kind is ErrorKind.MISSING_PACKAGE

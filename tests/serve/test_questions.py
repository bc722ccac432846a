"""Served questions: a client is the viewer of its token, and everything it asks is recorded.

Spec: trust [7-c], [7-d], [7-e].
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.repo.repository import Repository
from ibidem.repo.sync import wire
from ibidem.repo.sync.remotes import RemoteAddress
from ibidem.repo.viewer.exposure import EXPOSURES, Exposure
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.retrieve.query.options import OPTIONS, PACKS_ALONE
from ibidem.serve import read_log
from ibidem.serve.question import NOT_SERVED, RETRIEVE, served
from ibidem.serve.read_log import FILE, ReadLog
from ibidem.serve.routes import ROUTES
from ibidem.serve.server import Server
from ibidem.serve.tokens import FILE as TOKENS

TOKEN = "a-token-of-forty-characters-0123456789ab"
LOW = Viewer(level="low", scopes=("east",))
NOW = 1_800_000_000_000_000


def filled(path: Path, *, has_hidden: bool) -> Repository:
    repo = ibidem.init(path, clock=lambda: NOW)
    with repo.transaction(author="ada") as tx:
        tx.set_trust_policy(TrustPolicy())
        one = tx.add_node("Fact", summary="the vault opens at nine", props={"level": 1}, key=1)
        tx.set_vector(one, model="m", vector=[1.0, 0.0])
        tx.set_sparse(one, vocab="v", indices=[1, 2], weights=[1.0, 0.5])
        east = {"level": 1, "scope": "east", "at": b"\x00"}
        tx.add_node("Fact", summary="the vault of the east is empty", props=east, key=2)
        if has_hidden:
            tx.add_node("Fact", summary="the vault code is 4711", props={"level": 3}, key=3)
    return repo


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    with filled(tmp_path / "whole", has_hidden=True) as found:
        yield found


@pytest.fixture
def server(repo: Repository) -> Iterator[Server]:
    with Server(repo, token=TOKEN, port=0, is_remote=True) as found:
        yield found.start()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for what changes nothing: stopping one takes a fifth of a second."""
    with (
        filled(tmp_path_factory.mktemp("shared"), has_hidden=True) as repository,
        Server(repository, token=TOKEN, port=0, is_remote=True) as found,
    ):
        yield found.start()


@pytest.fixture(scope="module")
def token(shared: Server) -> str:
    """A restricted viewer's, of the shared server."""
    return issued(shared)


def issued(server: Server, viewer: Viewer = LOW, name: str = "reader", **given: Any) -> str:
    return server.tokens.create(name, viewer=viewer, time=NOW, **given).text


@contextmanager
def connected(
    server: Server, token: str, body: Any, *, path: str, method: str, content_type: str
) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
    connection.request(method, path, sent, headers)
    with connection.getresponse() as answer:
        yield answer
    connection.close()


def asked(
    server: Server,
    token: str,
    body: Any,
    *,
    path: str = RETRIEVE,
    method: str = "POST",
    content_type: str = "application/json",
) -> tuple[int, Any]:
    given = {"path": path, "method": method, "content_type": content_type}
    with connected(server, token, body, **given) as answer:
        found = answer.read()
    kind = answer.headers.get_content_type()
    return answer.status, codec.decode(found) if kind == wire.CBOR else json.loads(found)


class Sides:
    name, dim, digest = "m", 2, bytes(32)

    def embed(self, texts: Sequence[str]) -> Any:
        return np.array([[1.0, len(text)] for text in texts], np.float32)


def test_a_text_is_embedded_by_the_server_and_without_its_model_a_client_may_degrade(
    server: Server, repo: Repository
):
    with repo.transaction(author="ada") as tx:
        tx.configure(model="m")
    token = issued(server)
    status, found = asked(server, token, {"text": "vault"})
    assert (status, found["kind"]) == (400, "unknown-model")
    _, found = asked(server, token, {"text": "vault", "degrade": True})
    assert [warning["code"] for warning in found["warnings"]] == ["model_missing"]
    repo.use_embedder(Sides())
    _, found = asked(server, token, {"text": "vault", "degrade": True})
    missing = [(warning["code"], warning["count"]) for warning in found["warnings"]]
    assert missing == [("stale_vectors", 1)]
    assert any("dense" in item["lanes"] for item in found["items"])


OPTIONS_GIVEN: list[dict[str, Any]] = [
    {"text": "vault"},
    {"text": "vault code", "limit": 1, "token_budget": 50, "operator": "and"},
    {"label": "Fact", "where": {"level": {"lte": 3}}},
    {"text": "vault", "graph": {"mode": "ppr"}, "recency": True, "mmr": {"lambda": 0.5}},
    {
        "text": "vault",
        "as_of": "2027-01-31T12:00:00Z",
        "recency": True,
        "at": "main",
    },
    {"text": "vault", "vector": ["m", [1.0, 0.0]], "sparse": ["v", [1], [1.0]]},
    {"text": "vault", "queries": ["code", {"text": "key", "sparse": ["v", [1], [1.0]]}]},
]


@pytest.mark.parametrize("options", OPTIONS_GIVEN)
def test_a_token_gets_the_answer_that_the_library_gives_to_its_viewer(
    server: Server, repo: Repository, options: dict[str, Any]
):
    status, found = asked(server, issued(server), options)
    assert status == 200
    given = {name: value for name, value in options.items() if name != "at"}
    for name in ("vector", "sparse"):
        if name in given:
            given[name] = tuple(given[name])
    if "queries" in given:
        given["queries"] = ["code", {"text": "key", "sparse": ("v", [1], [1.0])}]
    if "as_of" in given:
        given["as_of"] = 1_801_396_800_000_000
    expected = repo.as_viewer(LOW, author="reader").at().retrieve(**given)
    assert found == json.loads(expected.to_json())
    assert found["result"] == str(expected.cid)
    assert "4711" not in json.dumps(found)


def test_the_owner_gets_everything_and_a_viewer_what_a_repository_without_the_rest_gives(
    server: Server, tmp_path: Path
):
    status, found = asked(server, TOKEN, {"text": "vault"})
    assert (status, len(found["items"])) == (200, 3)
    low = asked(server, issued(server), {"text": "vault"})[1]
    with (
        filled(tmp_path / "without", has_hidden=False) as without,
        Server(without, token=TOKEN, port=0) as other,
    ):
        token = other.start().tokens.create("reader", viewer=LOW, time=NOW).text
        same = asked(other, token, {"text": "vault"})[1]
    named = ("root", "result", "receipt")
    assert {**low, **{name: same[name] for name in named}} == same
    assert low["root"] != same["root"]


@pytest.fixture(scope="module")
def writer(shared: Server) -> str:
    return issued(shared, name="writer", scope="write")


@pytest.mark.parametrize("scope", ["token", "writer"])
@pytest.mark.parametrize("path", sorted(ROUTES))
def test_a_restricted_viewer_gets_of_every_route_what_the_table_says(
    shared: Server, path: str, scope: str, request: pytest.FixtureRequest
):
    route, token = ROUTES[path], request.getfixturevalue(scope)
    sent = b'{"text": "vault"}' if route.body == "application/json" else b""
    sent = b"{}" if path == "/v1/query" else sent
    found = asked(shared, token, {"text": "vault"})[1]
    place = path.format(id=found["items"][0]["id"], receipt=found["receipt"])
    kind = route.body or ""
    with connected(shared, token, sent, path=place, method=route.method, content_type=kind) as one:
        if EXPOSURES[path] is Exposure.REFUSED:
            assert one.status == 403
            assert json.loads(one.read())["kind"] == "not-permitted"
        else:
            assert one.status == 200


def test_a_route_without_a_row_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch):
    token = issued(server)
    monkeypatch.delitem(EXPOSURES, RETRIEVE)
    status, found = asked(server, token, {"text": "vault"})
    assert (status, found["kind"]) == (403, "not-permitted")


def test_a_restricted_token_copies_nothing(server: Server, tmp_path: Path):
    text = issued(server)
    with ibidem.init() as ours:
        ours.sync.remotes.add("origin", RemoteAddress(server.url))
        with pytest.raises(InvalidInputError) as error:
            ours.sync.fetch(token=text)
        assert error.value.kind is ErrorKind.NOT_PERMITTED
        assert ours.head is None


def test_a_token_to_read_pulls_but_does_not_push(server: Server):
    text = issued(server, ALL)
    with ibidem.init() as ours:
        ours.sync.remotes.add("origin", RemoteAddress(server.url))
        ours.sync.pull(token=text)
        with ours.transaction() as tx:
            tx.add_node("Fact", summary="new", props={"level": 1})
        with pytest.raises(InvalidInputError, match="may only read") as error:
            ours.sync.push(token=text)
        assert error.value.kind is ErrorKind.NOT_PERMITTED
        ours.sync.push(
            token=server.tokens.create("mirror", viewer=ALL, scope="write", time=NOW).text
        )


def test_rotation_revocation_and_expiry_take_effect_on_a_running_server(server: Server):
    question = {"text": "vault"}
    first = issued(server, expires=NOW + 1)
    assert asked(server, first, question)[0] == 200
    second = server.tokens.rotate("reader", time=NOW).text
    assert [asked(server, one, question)[0] for one in (first, second)] == [401, 200]
    server.tokens.revoke("reader")
    status, found = asked(server, second, question)
    assert (status, found["kind"]) == (401, "unauthorized")
    late = server.tokens.create("late", viewer=LOW, time=NOW - 9, expires=NOW).text
    assert asked(server, late, question)[0] == 401


def test_a_damaged_registry_lets_nobody_in(server: Server, repo: Repository):
    token = issued(server)
    folder = repo.core.folder
    assert folder is not None
    (folder / TOKENS).write_text("{}")
    for one in (token, TOKEN):
        status, found = asked(server, one, {"text": "vault"})
        assert (status, found["detail"]) == (503, "server: its tokens cannot be read")


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b"", "body"),
        (b"\xff", "body"),
        (b"[]", "body"),
        (b'{"text": NaN}', "NaN"),
        (b'{"text": "a", "text": "b"}', "twice"),
        (b"[" * 100_000, "body"),
        ({"viewer": {"level": 4, "scopes": "*"}}, "viewer"),
        ({"trust": "all"}, "trust"),
        ({"estimator": "tokenizers:/etc/passwd"}, "estimator"),
        ({"model": "m"}, "model"),
        ({"text": 7}, "text"),
        ({"limit": -1}, "limit"),
        ({"where": {"a": {"b": 1}}}, "where"),
        ({"as_of": "soon"}, "as_of: got"),
        ({"created_after": "2026-01-31T12:00:00"}, "created_after: got"),
        ({"as_of": 1_767_225_600_000}, "milliseconds"),
        ({"at": "main~1"}, "revision"),
        ({"at": 7}, "revision"),
    ],
)
def test_a_bad_question_is_a_typed_error(shared: Server, token: str, body: Any, names: str):
    status, found = asked(shared, token, body)
    assert status in (400, 403)
    assert found["type"] == f"urn:ibidem:problem:{found['kind']}"
    assert names in found["detail"]


def test_a_time_of_sources_has_the_forms_of_any_time(shared: Server):
    body = {"text": "printers", "as_of": "2026-01-31T12:00:00Z"}
    moments = (None, "2026-01-31T12:00:00Z", 1_769_860_800_000_000)
    found = [
        asked(shared, TOKEN, {**body, "sources": {"as_of": one}}, path="/v1/prompt")
        for one in moments
    ]
    assert [status for status, _ in found] == [200, 200, 200]
    assert len({answer["receipt"] for _, answer in found}) == 1


def test_every_option_is_served_or_says_why_not():
    plain_options = {name for name in OPTIONS if "." not in name} - PACKS_ALONE.keys()
    assert set(served("retrieve")) | NOT_SERVED == plain_options
    assert not set(served("retrieve")) & NOT_SERVED


def test_every_request_with_a_token_leaves_a_line_without_text(server: Server, repo: Repository):
    token = issued(server)
    asked(server, token, {"text": "vault"})
    asked(server, token, {"text": "vault"})
    asked(server, token, {"text": "the code 4711"})
    asked(server, token, {"limit": -1})
    asked(server, token, b"", path=wire.REFS, method="GET")
    asked(server, token, b"", path="/v1/secret-4711", method="GET")
    asked(server, "wrong" * 5, {"text": "vault"})
    asked(server, TOKEN, b"", path=f"{wire.REFS}?prefix=heads/", method="GET")
    lines = list(server.reads.lines())
    assert [(one.token, one.route, one.result) for one in lines] == [
        *(("reader", RETRIEVE, "ok"),) * 3,
        ("reader", RETRIEVE, "invalid-input"),
        ("reader", wire.REFS, "not-permitted"),
        ("reader", "unknown", "not-found"),
        ("owner", wire.REFS, "ok"),
    ]
    first, second, third, bad, *_ = lines
    assert first == second
    assert first.query != third.query
    assert (first.time, first.viewer) == (NOW, LOW.form())
    assert first.root == str(repo.at(viewer=ALL).root_cid)
    assert (bad.root, bad.query) == (first.root, None)
    folder = repo.core.folder
    assert folder is not None
    data = (folder / FILE).read_bytes()
    assert b"vault" not in data
    assert b"4711" not in data
    assert token.encode() not in data
    assert (folder / FILE).stat().st_mode & 0o777 == 0o600


def test_the_log_is_limited_in_size(server: Server, repo: Repository, monkeypatch):
    monkeypatch.setattr(read_log, "LOG_BYTES_MAX", 2000)
    log, token = ReadLog(repo.core.folder), server.tokens.create("x", viewer=LOW, time=NOW).token
    for time in range(100):
        log.append(token, RETRIEVE, time=time, result="ok", subject=read_log.Subject())
    folder = repo.core.folder
    assert folder is not None
    kept = [one.time for one in log.lines()]
    assert kept == list(range(kept[0], 100))
    sizes = [path.stat().st_size for path in (folder / "local").glob("reads.*")]
    assert len(sizes) == 2
    assert sum(sizes) < 5000


def test_without_a_line_there_is_no_answer(server: Server, repo: Repository):
    token = issued(server)
    folder = repo.core.folder
    assert folder is not None
    (folder / FILE).mkdir()
    status, found = asked(server, token, {"text": "vault"})
    assert status == 503
    assert "items" not in found


def test_without_the_remote_nothing_is_copied(repo: Repository):
    with Server(repo, token=TOKEN, port=0) as server:
        server.start()
        assert asked(server, TOKEN, {"text": "vault"})[0] == 200
        assert asked(server, TOKEN, b"", path=wire.REFS, method="GET")[0] == 404

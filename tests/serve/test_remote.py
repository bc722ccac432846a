"""The HTTP server: who may ask, what is answered, and how little a stranger can make it do."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import (
    ConflictError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    RemoteError,
)
from ibidem.repo.repository import Repository
from ibidem.repo.sync import wire
from ibidem.repo.sync.files import read_token, token_in
from ibidem.repo.sync.http_client import HttpRemote
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.remotes import RemoteAddress
from ibidem.serve.connection import CONNECTIONS_MAX
from ibidem.serve.guard import hosts_of
from ibidem.serve.limited import REQUESTS_MAX
from ibidem.serve.server import Server
from ibidem.serve.tokens import owner_token

TOKEN = "a-token-of-forty-characters-0123456789ab"
PATIENCE_SECONDS = 120
"""What a test waits before it says that something never comes; a busy machine is slow."""


@pytest.fixture
def theirs() -> Iterator[Repository]:
    with ibidem.init() as repository:
        with repository.transaction(author="ada") as tx:
            for number in range(40):
                tx.add_node("Doc", summary=f"retry number {number}", key=number)
        yield repository


@pytest.fixture
def server(theirs: Repository) -> Iterator[Server]:
    with Server(theirs, token=TOKEN, port=0, is_remote=True) as found:
        yield found.start()


@pytest.fixture(scope="module")
def shared() -> Iterator[Server]:
    """A server for what changes nothing: stopping one takes a fifth of a second."""
    with ibidem.init() as repository:
        repository.add("nothing comes of it")
        with Server(repository, token=TOKEN, port=0, is_remote=True) as found:
            yield found.start()


@pytest.fixture
def ours(server: Server) -> Iterator[Repository]:
    with ibidem.init() as repository:
        repository.sync.remotes.add("origin", RemoteAddress(server.url))
        yield repository


def asked(
    server: Server,
    method: str = "GET",
    target: str = f"{wire.REFS}?prefix=heads%2F",
    *,
    body: bytes | None = None,
    without: tuple[str, ...] = (),
    **headers: str,
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    sent = {"Host": f"127.0.0.1:{server.port}", "Authorization": f"Bearer {TOKEN}"}
    if body is not None:
        sent |= {"Content-Type": wire.CBOR, "Content-Length": str(len(body))}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    for name, value in sent.items():
        if name not in without:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS)


def raw(server: Server, data: bytes) -> bytes:
    with connected(server) as connection:
        connection.sendall(data)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_pull_push_and_clone_over_http(
    ours: Repository, theirs: Repository, server: Server, tmp_path: Path
):
    ours.sync.pull(token=TOKEN)
    assert ours.retrieve("retry").to_bytes() == theirs.retrieve("retry").to_bytes()
    with ours.transaction() as tx:
        tx.add_node("Doc", summary="new here")
    ours.sync.push(token=TOKEN)
    assert theirs.head == ours.head
    with ibidem.clone(server.url, tmp_path / "copy", token=TOKEN) as copy:
        assert copy.retrieve("retry").to_bytes() == theirs.retrieve("retry").to_bytes()
        assert copy.maintenance.fsck().faults == ()


def test_the_bytes_of_a_push_follow_the_change(
    ours: Repository, theirs: Repository, server: Server
):
    ours.sync.pull(token=TOKEN)
    with ours.transaction() as tx:
        tx.add_node("Doc", summary="new here")
    remote = HttpRemote(server.url, token=TOKEN)
    from ibidem.repo.sync.fetch_push import push

    report = push(ours.core, remote, None, {"heads/main": ours.head})
    assert report.block_count <= 5
    assert remote.sent_bytes < 8000
    assert remote.received_bytes < 1000


def test_a_push_that_lost_the_race_is_told_so(ours: Repository, theirs: Repository):
    ours.sync.pull(token=TOKEN)
    for repository in (ours, theirs):
        with repository.transaction() as tx:
            tx.add_node("Doc", summary=f"new {id(repository)}")
    with pytest.raises(ConflictError) as error:
        ours.sync.push(token=TOKEN)
    assert error.value.kind is ErrorKind.NOT_FAST_FORWARD
    with pytest.raises(ConflictError) as error:
        HttpRemote(ours.sync.remotes.get("origin").location, token=TOKEN).push(
            *lost_push(ours, theirs)
        )
    assert error.value.kind in (ErrorKind.HEAD_MOVED, ErrorKind.NOT_FAST_FORWARD)


def lost_push(ours: Repository, theirs: Repository):
    from ibidem.repo.sync.erasures import is_erased_in
    from ibidem.repo.sync.messages import Push, Tip, Update
    from ibidem.repo.sync.pack import Pack

    head = ours.head
    assert head is not None
    base = ours.commit_at().parents[0]
    pack = Pack(ours.core.store, [head], [base], is_erased=is_erased_in(ours.core.store))
    return Push({"heads/main": Update(head, Tip(base, 0))}), pack


@pytest.mark.parametrize(
    "given",
    [
        *("", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN.upper()}", f"Basic {TOKEN}"),
        *(TOKEN, f"Bearer{TOKEN}", f"Bearer x {TOKEN}", f"Bearer {TOKEN} x", "é", "Bearer é"),
    ],
)
def test_a_wrong_token_opens_nothing(shared: Server, given: str):
    for target in (wire.REFS, wire.KNOWN, wire.FETCH, wire.PUSH, "/", "/x"):
        status, body = asked(shared, target=target, Authorization=given)
        assert status == 401
        assert TOKEN.encode() not in body
    assert asked(shared, without=("Authorization",))[0] == 401


@pytest.mark.parametrize("given", ["bearer ", "BEARER ", "bEaReR ", "Bearer   "])
def test_the_scheme_of_the_token_may_be_in_any_case(shared: Server, given: str):
    assert asked(shared, Authorization=given + TOKEN)[0] == 200


def test_the_client_says_that_it_was_not_let_in(ours: Repository):
    with pytest.raises(RemoteError) as error:
        ours.sync.pull(token="b" * 40)
    assert error.value.kind is ErrorKind.UNAUTHORIZED
    with pytest.raises(InvalidInputError):
        ours.sync.pull()


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost", "127.0.0.1:1", "[::1]", "", "a:b:c"]
)
def test_a_name_that_is_not_ours_is_not_answered(shared: Server, host: str):
    """A page whose own name was made to resolve to this machine sends that name."""
    status, body = asked(shared, Host=host)
    assert status == 400
    assert json.loads(body)["kind"] == "invalid-input"


def test_names_of_this_machine_are_answered(shared: Server):
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        assert asked(shared, Host=f"{name}:{shared.port}")[0] == 200
    assert asked(shared, without=("Host",))[0] == 400


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://127.0.0.1"])
def test_a_web_page_is_not_answered(shared: Server, origin: str):
    assert asked(shared, Origin=origin)[0] == 400
    assert asked(shared, Sec_Fetch_Site="cross-site")[0] == 400


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/"),
        ("GET", "/v1/refs/"),
        ("GET", "/v1/../v1/refs"),
    ],
)
def test_there_is_nothing_at_other_paths(shared: Server, method: str, target: str):
    assert asked(shared, method, target)[0] == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "X", "POST"])
def test_other_methods_are_not_there(shared: Server, method: str):
    assert asked(shared, method)[0] == 405


@pytest.mark.parametrize(
    "query",
    ["", "?", "?x=1", "?prefix=remotes%2F", "?prefix=", "?prefix", "?" + "prefix=heads/&" * 99],
)
def test_other_queries_are_refused(shared: Server, query: str):
    assert asked(shared, target=wire.REFS + query)[0] in (200, 400)
    if "=" in query or query == "?prefix":
        assert asked(shared, target=wire.REFS + query)[0] == 400


@pytest.mark.parametrize(
    ("target", "body", "status"),
    [
        (wire.KNOWN, b"", 422),
        (wire.KNOWN, b"\xa0", 422),
        (wire.KNOWN, b"\x81" * 5000, 413),
        (wire.KNOWN, b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 422),
        (wire.KNOWN, codec.encode({"commits": [1]}), 422),
        (wire.KNOWN, codec.encode({"commits": [CommitCid.of(bytes([n])) for n in range(9)]}), 200),
        (wire.FETCH, codec.encode({"want": [], "have": []}), 400),
        (wire.FETCH, codec.encode({"want": [CommitCid.of(b"x")], "have": []}), 404),
        (wire.FETCH, codec.encode({"want": [CommitCid.of(b"x")]}), 422),
    ],
)
def test_other_bodies_are_refused(shared: Server, target: str, body: bytes, status: int):
    assert asked(shared, "POST", target, body=body)[0] == status


def test_too_many_commits_in_one_question_are_refused(shared: Server):
    commits = [CommitCid.of(n.to_bytes(4, "big")) for n in range(1025)]
    assert asked(shared, "POST", wire.KNOWN, body=codec.encode({"commits": commits}))[0] == 413


@pytest.mark.parametrize("body", [b"", b"\xff" * 100, b"\x3a" + b"x" * 200])
def test_a_push_of_anything_is_refused(server: Server, theirs: Repository, body: bytes):
    before = theirs.core.store.cell("head")
    status, _ = asked(server, "POST", wire.PUSH, body=body, Content_Type=wire.CAR)
    assert status in (400, 413, 422)
    assert theirs.core.store.cell("head") == before


@pytest.mark.slow
def test_a_body_needs_its_type_and_its_length(shared: Server):
    body = wire.write_known([])
    post = {"method": "POST", "target": wire.KNOWN, "body": body}
    assert asked(shared, **post)[0] == 200
    assert asked(shared, **post, Content_Type="text/plain")[0] == 400
    assert asked(shared, **post, without=("Content-Type",))[0] == 400
    assert asked(shared, **post, without=("Content-Length",))[0] == 400
    assert asked(shared, **post, Transfer_Encoding="chunked")[0] == 400
    assert asked(shared, **post, Content_Encoding="gzip")[0] == 400
    for length in ("-1", "x", "1e3", "+1", "99999999999999999999999"):
        assert asked(shared, **post, Content_Length=length)[0] in (400, 413)
    assert asked(shared, **post, Content_Length=str(1 << 40))[0] == 413


def test_a_request_that_is_none_is_answered_in_form(shared: Server):
    for data in (
        b"\r\n\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /v1/known HTTP/1.1\r\nExpect: 100-continue\r\n\r\n",
    ):
        answer = raw(shared, data)
        assert b" 200 " not in answer
        assert b"Traceback" not in answer
    assert asked(shared)[0] == 200


HEAD = b"GET /v1/refs HTTP/1.1\r\n"
LET_IN = (
    b"POST /v1/known HTTP/1.1\r\nHost: HERE\r\nAuthorization: Bearer TOKEN\r\n"
    b"Content-Type: application/cbor\r\n"
)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"GET / HTTP/0.9\r\n\r\n", 400),
        (b"GET / HTTP/1.1.1\r\n\r\n", 400),
        (b"GET / HTTP/x\r\n\r\n", 400),
        (b"GET / HTTP/" + b"1" * 9000 + b".1\r\n\r\n", 400),
        (b"GET / HTTQ/1.1\r\n\r\n", 400),
        (b"GET / / HTTP/1.1\r\n\r\n", 400),
        (b"GET /v1/refs\r\n\r\n", 400),
        (b"POST /v1/push\r\n\r\n", 400),
        (b"x\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"   \r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) * 4, 400),
        (bytes(range(256)) * 1024, None),
        (b"\xff" * 100_000 + b"\n", 431),
        (b"\x00\x00\r\n", 400),
        (HEAD + b"no colon\r\n\r\n", 400),
        (HEAD + b" begins with a space: x\r\n\r\n", 400),
        (HEAD + b"Authorization : x\r\n\r\n", 400),
        (HEAD + b": x\r\n\r\n", 400),
        (HEAD + b"X: " + b"y" * 140_000 + b"\r\n\r\n", 431),
        (HEAD + b"X: y\r\n" * 70_000 + b"\r\n", 431),
        (HEAD + b"Expect: 100-continue\r\n\r\n", 400),
        (HEAD + b"X: \xff\x00\x80\r\n\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\nHost: HERE\r\nAuthorization: Bearer TOKEN\r\n\r\n", 404),
        (LET_IN + b"Content-Length: \xb2\r\n\r\n", 400),
        (LET_IN + b"Content-Length: 9\r\nContent-Length: 8\r\n\r\n", 400),
        (LET_IN + b"Content-Length: 9, 8\r\n\r\n", 400),
        (LET_IN + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (LET_IN + b"\r\n", 400),
    ],
)
def test_whatever_is_no_request_gets_a_status_and_a_reason(
    shared: Server, data: bytes, status: int | None
):
    here = f"127.0.0.1:{shared.port}".encode()
    answer = raw(shared, data.replace(b"HERE", here).replace(b"TOKEN", TOKEN.encode()))
    line, _, rest = answer.partition(b"\r\n")
    version, code, phrase = line.split(b" ", 2)
    assert (version, int(code)) == (b"HTTP/1.1", int(code) if status is None else status)
    assert int(code) >= 400
    assert phrase
    head, _, body = rest.partition(b"\r\n\r\n")
    assert b"content-length: %d" % len(body) in head.lower()
    assert {"type", "title", "status", "detail", "kind", "hint"} <= json.loads(body).keys()


@pytest.mark.parametrize("data", [b"GET", HEAD, HEAD + b"X: y\r\n"])
def test_a_request_that_stops_is_told_that_time_is_up(theirs: Repository, data: bytes):
    with Server(theirs, token=TOKEN, port=0, is_remote=True, idle_seconds=0.2) as server:
        server.start()
        assert raw(server, data).startswith(b"HTTP/1.1 408 ")
        assert raw(server, b"") == b""


@pytest.mark.parametrize("data", [b"\r\n", b"GET", HEAD, b"\xff" * 9])
def test_a_request_that_is_cut_off_is_answered(shared: Server, data: bytes):
    with connected(shared) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_a_body_that_never_comes_is_given_up(theirs: Repository):
    with Server(theirs, token=TOKEN, port=0, is_remote=True, idle_seconds=0.3) as server:
        server.start()
        head = (
            f"POST {wire.KNOWN} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {TOKEN}\r\nContent-Type: {wire.CBOR}\r\n"
            "Content-Length: 1000\r\n\r\nabc"
        )
        assert raw(server, head.encode()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.slow
def test_a_head_that_drips_is_given_up(theirs: Repository):
    with Server(theirs, token=TOKEN, port=0, is_remote=True, idle_seconds=0.5) as server:
        server.start()
        begun = time.monotonic()
        with connected(server) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nX: ")
            with pytest.raises(OSError):  # noqa: PT012
                while time.monotonic() - begun < PATIENCE_SECONDS:
                    time.sleep(0.1)
                    connection.sendall(b"a")
        assert asked(server)[0] == 200


def asked_in_the_end(server: Server) -> tuple[int, bytes]:
    """Asks until there is room: it comes a moment after a connection was closed."""
    begun = time.monotonic()
    while True:
        try:
            return asked(server)
        except OSError:
            assert time.monotonic() - begun < PATIENCE_SECONDS
            time.sleep(0.01)


def test_silent_connections_do_not_keep_others_out_for_long(theirs: Repository):
    with Server(theirs, token=TOKEN, port=0, is_remote=True, idle_seconds=0.4) as server:
        server.start()
        silent = [connected(server) for _ in range(80)]
        for connection in silent:
            assert connection.recv(1) == b""  # let go of, by whoever had it
            connection.close()
        assert asked_in_the_end(server)[0] == 200


def test_silent_connections_keep_nobody_waiting(server: Server):
    """Nothing here ends because a time is up: of so many, the ones that wait longest make room."""
    silent = [connected(server) for _ in range(3 * CONNECTIONS_MAX)]
    for number, connection in enumerate(silent):
        if number % 2:
            connection.sendall(b"GET / HTTP/1.1\r\nX: ")
    for _ in range(2 * CONNECTIONS_MAX):
        assert asked(server)[0] == 200
    for connection in silent:
        connection.close()


def began(server: Server, number: int, body: bytes) -> list[socket.socket]:
    """Begins requests that are let in, and waits until they are; their bodies are still to come."""
    found = [connected(server) for _ in range(number)]
    head = (
        f"POST {wire.KNOWN} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Type: {wire.CBOR}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    for connection in found:
        connection.sendall(head.encode() + body[:1])
    begun = time.monotonic()
    while server.busy_count < number:
        assert time.monotonic() - begun < PATIENCE_SECONDS
        time.sleep(0.001)
    return found


def test_a_request_that_was_let_in_is_not_let_go_for_others(server: Server):
    body = wire.write_known([])
    (mine,) = began(server, 1, body)
    silent = [connected(server) for _ in range(2 * CONNECTIONS_MAX)]
    assert asked(server)[0] == 200
    mine.sendall(body[1:])
    assert mine.recv(65536).startswith(b"HTTP/1.1 200 ")
    for connection in (mine, *silent):
        connection.close()


def test_a_server_that_answers_as_many_as_it_can_says_so(server: Server):
    body = wire.write_known([])
    mine = began(server, REQUESTS_MAX, body)
    status, message = asked(server)
    assert (status, json.loads(message)["hint"]) == (503, "try again")
    for connection in mine:
        connection.sendall(body[1:])
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.close()
    assert asked_in_the_end(server)[0] == 200


def test_a_server_that_only_gives_out_takes_nothing(theirs: Repository):
    with (
        ibidem.init() as ours,
        Server(theirs, token=TOKEN, port=0, is_remote=True, is_read_only=True) as server,
    ):
        server.start()
        ours.sync.remotes.add("origin", RemoteAddress(server.url))
        ours.sync.pull(token=TOKEN)
        with ours.transaction() as tx:
            tx.add_node("Doc", summary="new")
        before = theirs.head
        with pytest.raises(InvalidInputError):
            ours.sync.push(token=TOKEN)
        assert theirs.head == before


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_other_machines_are_not_served_by_accident(theirs: Repository, host: str):
    with pytest.raises(InvalidInputError):
        Server(theirs, token=TOKEN, host=host, port=0)


@pytest.mark.parametrize("token", ["", "short", "a" * 15, "é" * 40, "a\n" * 20])
def test_a_weak_token_is_refused(theirs: Repository, token: str):
    with pytest.raises(InvalidInputError):
        Server(theirs, token=token, port=0)


def test_a_port_that_is_taken_is_said(theirs: Repository, server: Server):
    with pytest.raises(RemoteError):
        Server(theirs, token=TOKEN, port=server.port)


def test_a_token_is_not_sent_in_the_clear_to_another_machine():
    with pytest.raises(InvalidInputError):
        HttpRemote("http://192.0.2.1:7465", token=TOKEN)
    HttpRemote("https://192.0.2.1", token=TOKEN)
    HttpRemote("http://192.0.2.1:7465", token=TOKEN, is_plain_allowed=True)


def test_nobody_there_is_a_remote_error():
    with pytest.raises(RemoteError, match=r"http://127\.0\.0\.1:9 cannot be reached"):
        HttpRemote("http://127.0.0.1:9", token=TOKEN, timeout_seconds=2).refs(["heads/"])


def test_a_clone_that_fails_leaves_no_folder(tmp_path: Path):
    with pytest.raises(RemoteError):
        ibidem.clone("http://127.0.0.1:9", tmp_path / "copy", token=TOKEN)
    assert not (tmp_path / "copy").exists()


def test_a_token_file_is_for_its_owner_only(tmp_path: Path):
    path = tmp_path / "token"
    token = token_in(path)
    assert len(token) >= 40
    assert token_in(path) == token
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(InvalidInputError):
        read_token(path)


def test_hosts_with_a_port_stand_as_they_are():
    assert "repo.example:8443" in hosts_of("127.0.0.1", 1, ("repo.example:8443",))
    assert "repo.example:1" in hosts_of("127.0.0.1", 1, ("repo.example",))
    with pytest.raises(IbidemError):
        owner_token("short")


def test_a_fault_of_the_server_is_told(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("words of the repository")

    with monkeypatch.context() as patch:
        patch.setattr(LocalRemote, "refs", broken)
        status, body = asked(server)
    assert status == 500
    assert json.loads(body)["detail"] == "the server failed: KeyError"
    assert asked(server)[0] == 200

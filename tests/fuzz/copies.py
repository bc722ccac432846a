"""Targets about what comes from elsewhere: CAR files, and requests to the server of a remote.

A file is tried as it is, and its blocks once more under CIDs that are theirs, so that what lies
behind the check of hashes is reached too.
"""

from __future__ import annotations

import io
import socket
from contextlib import suppress
from functools import cache

import ibidem
from ibidem.objects.cid import Cid
from ibidem.objects.errors import IbidemError
from ibidem.repo.repository import Repository
from ibidem.repo.sync import wire
from ibidem.repo.sync.car import CarReader, write_car
from ibidem.serve.server import Server

from .seeds import small

TOKEN = "a-token-of-forty-characters-0123456789ab"
BETWEEN = b"\xff\xfe\xfd"
"""Between blocks, in the seeds of `blocks_of_car`."""
PATHS = (wire.REFS, wire.KNOWN, wire.FETCH, wire.PUSH)


def car(data: bytes) -> None:
    """A CAR file or bundle into an empty repository."""
    with ibidem.init(clock=lambda: 0) as repo:
        _imported(repo, data, None)


def blocks_of_car(data: bytes) -> None:
    """Any blocks, each under its own CID, the last one the root, into an empty repository."""
    blocks = data.split(BETWEEN)
    pairs = [(Cid.of(block), block) for block in blocks]
    stream = io.BytesIO()
    in_order = sorted(dict(pairs).items(), key=lambda pair: pair[0].raw)
    write_car(stream, [pairs[-1][0]], in_order)
    with ibidem.init(clock=lambda: 0) as repo:
        _imported(repo, stream.getvalue(), "copy")


def http(data: bytes) -> None:
    """Bytes to the server: as a whole request, or as the body of one that is let in."""
    server = _server()
    kind, body = data[:1] or b"\0", data[1:]
    path = PATHS[kind[0] % len(PATHS)]
    head = (
        f"{'GET' if path == wire.REFS else 'POST'} {path} HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: {wire.CAR if path == wire.PUSH else wire.CBOR}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    request = body if kind[0] >= 128 else head.encode() + body
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        with suppress(OSError):  # the server may have closed already
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError):
            while part := connection.recv(65536):
                answer += part
    assert not answer.startswith(b"HTTP/1.1 500"), answer[:500]


def _imported(repo: Repository, data: bytes, branch: str | None) -> None:
    before = repo.core.view
    try:
        repo.sync.load(io.BytesIO(data), branch=branch)
    except IbidemError:
        assert repo.core.view == before, "a refused file has changed something"
    else:
        assert repo.maintenance.fsck().faults == (), "an imported file is not sound"


@cache
def _server() -> Server:
    served = ibidem.init(clock=lambda: 0)
    with served.transaction() as tx:
        tx.add_node("Doc", summary="retry", key=1)
    return Server(served, token=TOKEN, port=0, is_remote=True, idle_seconds=2).start()


def cars() -> list[bytes]:
    """A bundle, and an empty file with a root."""
    bundle, bare = io.BytesIO(), io.BytesIO()
    small().sync.export(bundle)
    head = small().head
    assert head is not None
    write_car(bare, [head], [])
    return [bundle.getvalue(), bare.getvalue()]


def blocks() -> list[bytes]:
    """The blocks of a repository, its head last; and each alone."""
    stream = io.BytesIO()
    small().sync.export(stream)
    stream.seek(0)
    found = [block for _, block in CarReader(stream)]
    head = small().head
    assert head is not None
    whole = [block for block in found if Cid.of(block).raw != head.raw]
    return [BETWEEN.join([*whole, small().core.store.get(head)]), *found]


def requests() -> list[bytes]:
    """Bodies of the four requests, and whole requests."""
    head = small().head
    assert head is not None
    fetch = wire.write_fetch([head], [])
    known = wire.write_known([head])
    raw = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    return [b"\0", b"\1" + known, b"\2" + fetch, b"\3" + cars()[0], b"\xff" + raw]

"""What is fuzzed: each target takes any bytes and raises only where something is wrong.

A typed error of ours is an answer. Everything else is a finding: another exception, a value that
does not write back to its bytes, a refused input that changed something.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from blake3 import blake3

import ibidem
from ibidem.ingest.ingest import ingest
from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.errors import IbidemError
from ibidem.objects.links import links
from ibidem.objects.verify import read_foreign, verify_block
from ibidem.repo.repository import Repository
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.testing.golden import parse

from . import copies

Target = Callable[[bytes], None]


def block(data: bytes) -> None:
    """A block from elsewhere: decoded, read as a value, walked, checked against its CID."""
    try:
        value = codec.decode_foreign(data)
    except IbidemError:
        return
    assert codec.encode(value) == data, "decoded bytes do not write back to themselves"
    try:
        read = read_foreign(data)
        found = list(links(data))
    except IbidemError:
        return
    verify_block(Cid.of(data), data)
    assert read is None or read.encode() == data
    assert all(type(cid) is Cid for cid in found)


def receipt(data: bytes) -> None:
    """A receipt from elsewhere."""
    try:
        read = Receipt.decode(data)
    except IbidemError:
        return
    assert read.encode() == data, "a receipt does not write back to itself"


def golden(data: bytes) -> None:
    """A file of recorded answers, edited by anybody, and again with the checksum put right."""
    body = data.rpartition(b"checksum ")[0]
    for text in (data, body + f"checksum {blake3(body).hexdigest()}\n".encode()):
        with suppress(IbidemError):
            assert parse(text).text().encode() == text


def ndjson(data: bytes) -> None:
    """JSON lines into a transaction that is then rolled back."""
    _ingested(data, "application/x-ndjson", "input.ndjson")


def markdown(data: bytes) -> None:
    """A document into a transaction that is then rolled back."""
    _ingested(data, "text/markdown", "input.md")


def question(data: bytes) -> None:
    """Any text as a question: the same bytes twice."""
    text = data.decode("utf-8", "replace")
    repo = _asked()
    try:
        first = repo.retrieve(text, fuzzy=True, depth=5)
        second = repo.retrieve(text, fuzzy=True, depth=5)
    except IbidemError:
        return
    assert first.to_bytes() == second.to_bytes()


def revision(data: bytes) -> None:
    """Any text as the name of a revision, a branch and a tag."""
    text = data.decode("utf-8", "replace")
    repo = _asked()
    before = repo.branches(), repo.tags()
    with suppress(IbidemError):
        repo.resolve(text)
    try:
        repo.delete_tag(text)
    except IbidemError:
        assert (repo.branches(), repo.tags()) == before


class _RollBackError(Exception):
    pass


def _ingested(data: bytes, media_type: str, path: str) -> None:
    repo = _empty()
    before = repo.head
    try:
        with repo.transaction() as tx:
            ingest(tx, ["-"], media_type=media_type, stdin=io.BytesIO(data), stdin_path=path)
            raise _RollBackError
    except (_RollBackError, IbidemError):
        assert repo.head == before


@cache
def _empty() -> Repository:
    return ibidem.init(clock=lambda: 0)


@cache
def _asked() -> Repository:
    repo = ibidem.init(clock=lambda: 0)
    with repo.transaction() as tx:
        for number in range(40):
            tx.add_node(
                "Doc",
                summary=f"retry number {number} of the queue, café 机器 {'x' * (number % 5)}",
                props={"n": number},
                key=("doc", number),
            )
    repo.tag("v1")
    return repo


TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        *(block, receipt, golden, ndjson, markdown, question, revision),
        *(copies.car, copies.blocks_of_car, copies.http),
    )
}

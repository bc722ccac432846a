"""The messages of the HTTP protocol: small DAG-CBOR messages, CAR files, and errors as problem
details in JSON.

Client and server encode and decode them here, so that they cannot disagree. A message is decoded as
untrusted input: scanned, canonical, of its one shape.

Spec: sync 7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    ErasedError,
    ErrorKind,
    FormatError,
    IbidemError,
    InvalidInputError,
    NotFoundError,
    RemoteError,
    ReplayError,
    StorageError,
)
from ibidem.objects.view import target_class
from ibidem.repo.sync.names import check_ref
from ibidem.repo.sync.report import Move, RefMove

CBOR = "application/cbor"
CAR = "application/vnd.ipld.car"
PROBLEM = "application/problem+json"
PART = "application/vnd.ibidem.part"
"""A request to a worker, and its answer."""
WORK = "/v1/work"
REFS, KNOWN, FETCH, PUSH = "/v1/refs", "/v1/known", "/v1/fetch", "/v1/push"
MESSAGE_BYTES_MAX = 1 << 20
"""Maximal size of a message that is not a CAR."""
TEXT_CHARACTERS_MAX = 500
_PARTS = re.compile(
    r"(?P<field>[^\s:][^:]*): got (?P<value>.*), expected (?P<expected>.*)", re.DOTALL
)
_CLASSES = (
    (ConflictError, ("conflict", "head-moved", "not-fast-forward", "locked")),
    (ErasedError, ("erased",)),
    (NotFoundError, ("not-found", "block-not-found", "revision-not-found", "ambiguous")),
    (CorruptError, ("corrupt", "non-canonical", "hash-mismatch", "limit-exceeded")),
    (FormatError, ("unsupported-format", "unsupported-semantics")),
    (ReplayError, ("replay-mismatch",)),
    (
        InvalidInputError,
        (
            *("invalid-input", "not-permitted", "id-collision", "forgotten", "unknown-model"),
            *("dangling-reference", "dimension-mismatch", "model-mismatch", "viewer-required"),
        ),
    ),
)


def write_known(cids: Sequence[Cid]) -> bytes:
    """Encodes a list of commits, for both request and response."""
    return codec.encode({"commits": list(cids)})


def read_known(message: bytes) -> list[CommitCid]:
    """Decodes the commits in a message."""
    fields = _fields(message, "commits")
    return [CommitCid(cid.raw) for cid in _links(fields, "commits")]


def write_fetch(want: Sequence[Cid], have: Sequence[Cid]) -> bytes:
    """Encodes a request for blocks."""
    return codec.encode({"want": list(want), "have": list(have)})


def read_fetch(message: bytes) -> tuple[list[Cid], list[Cid]]:
    """Decodes a request for blocks: those wanted, and those that the receiver has."""
    fields = _fields(message, "want", "have")
    return _links(fields, "want"), _links(fields, "have")


def write_moves(moves: Sequence[RefMove]) -> bytes:
    """Encodes the ref moves of a push."""
    rows = [
        {"name": move.name, "before": move.before, "after": move.after, "how": move.how.value}
        for move in moves
    ]
    return codec.encode({"moves": rows})


def read_moves(message: bytes) -> list[RefMove]:
    """Decodes the ref moves of a push."""
    rows = _fields(message, "moves")["moves"]
    if type(rows) is not list:
        raise CorruptError(f"moves: got {rows!r:.80}, expected a list")
    return [_read_move(row) for row in rows]


def write_problem(error: IbidemError, status: int) -> bytes:
    """Encodes an error as problem details (RFC 9457): its kind, its sentence, and apart from each
    other the parts of a sentence that reads `FIELD: got VALUE, expected EXPECTATION`.
    """
    text = str(error)
    parts = _PARTS.fullmatch(text)
    found = {
        "type": f"urn:ibidem:problem:{error.kind}",
        "title": error.kind.replace("-", " "),
        "status": status,
        "detail": text,
        "kind": error.kind.value,
        "hint": error.hint,
        **({} if parts is None else parts.groupdict()),
    }
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")


def read_problem(status: int, message: bytes) -> IbidemError:
    """Decodes the problem that a server reports; its text is shortened and stripped of control
    characters.
    """
    try:
        fields = json.loads(message)
        kind, text, hint = (fields[name] for name in ("kind", "detail", "hint"))
    except (ValueError, TypeError, KeyError, RecursionError):
        kind = text = hint = None
    if not isinstance(kind, str) or not isinstance(text, str):
        return RemoteError(f"remote: it answered with status {status} and no reason")
    said = f"remote: {harmless(text)}"
    advice = harmless(hint) if isinstance(hint, str) else None
    if kind == ErrorKind.UNAUTHORIZED:
        return RemoteError(said, kind=ErrorKind.UNAUTHORIZED, hint=advice)
    for cls, kinds in _CLASSES:
        if kind in kinds:
            return cls(said, kind=ErrorKind(kind), hint=advice)
    return RemoteError(said, hint=advice)


def status_of(error: IbidemError) -> int:
    """Returns the HTTP status for an error."""
    if error.kind is ErrorKind.UNAUTHORIZED:
        return 401
    if error.kind is ErrorKind.NOT_PERMITTED:
        return 403
    if error.kind is ErrorKind.LIMIT_EXCEEDED:
        return 413
    for cls, status in (
        (ConflictError, 409),
        (NotFoundError, 404),
        (CorruptError, 422),
        (FormatError, 422),
        (ReplayError, 422),
        (InvalidInputError, 400),
        (StorageError, 503),
    ):
        if isinstance(error, cls):
            return status
    return 500


def harmless(text: str) -> str:
    """Returns a text from elsewhere without terminal control characters, truncated if too long."""
    kept = "".join(c if c.isprintable() else "?" for c in text[:TEXT_CHARACTERS_MAX])
    return kept if len(text) <= TEXT_CHARACTERS_MAX else kept + "…"


def _fields(message: bytes, *names: str) -> dict[str, Any]:
    fields = codec.decode_foreign(message)
    if type(fields) is not dict or set(fields) != set(names):
        raise CorruptError(f"message: got {fields!r:.80}, expected the fields {sorted(names)}")
    return fields


def _links(fields: dict[str, Any], name: str) -> list[Cid]:
    value = fields[name]
    if type(value) is not list or not all(isinstance(cid, Cid) for cid in value):
        raise CorruptError(f"message.{name}: got {value!r:.80}, expected a list of links")
    return value


def _read_move(row: object) -> RefMove:
    if type(row) is not dict or set(row) != {"name", "before", "after", "how"}:
        raise CorruptError(f"moves: got {row!r:.80}, expected 'name', 'before', 'after', 'how'")
    try:
        name, how = check_ref("moves.name", row["name"]), Move(row["how"])
    except ValueError as error:
        raise CorruptError(f"moves: {error}") from error
    cls = target_class(name)
    ends = []
    for end in (row["before"], row["after"]):
        if end is not None and not isinstance(end, Cid):
            raise CorruptError(f"moves: got {end!r:.80}, expected a link or null")
        ends.append(None if end is None else cls(end.raw))
    return RefMove(name, ends[0], ends[1], how)

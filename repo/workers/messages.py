"""What a driver and its workers say to each other: a question for some segments, and its answer.

A message is a map in canonical DAG-CBOR after its length, in four bytes. In an answer two columns
follow, ids and scores as float64. Messages are bytes, so that HTTP, Ray or a call in one process
can carry them. An error is an answer too, so that every carrier brings back the same one.

Every request names the root and the layout of its segments. A worker answers for exactly these, or
refuses; so two processes can never mix states.

Spec: retrieval 13.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Self

import numpy as np

from ibidem.index.analysis import ANALYSERS
from ibidem.objects import codec
from ibidem.objects.cid import RootCid
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    RemoteError,
    unknown_version,
)
from ibidem.objects.record import record
from ibidem.retrieve.partition import DENSE, LANES, Counts, Top
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.semantics import read_query

Carrier = Callable[[bytes], bytes]
"""Brings a request to a worker, and back its answer."""
VERSION = 1
_LENGTH_BYTES = 4
_COUNT_MAX = 1 << 48
_ID_BYTES = 16
_SCORE_BYTES = 8


class Ask(StrEnum):
    """What a driver wants."""

    LAYOUT = "layout"
    """The segments of a lane, and a digest of the rows of each."""
    COUNTS = "counts"
    """The integers that BM25 needs of some segments."""
    TOP = "top"
    """The best rows of some segments."""


@record
class Request:
    """A question for a part of an answer."""

    ask: Ask
    root: RootCid
    lane: str
    query: Query
    """With the options of the lane, and the viewer."""
    segments: Mapping[str, bytes]
    """By name, the digest of its rows; none for a layout."""
    counts: Counts | None = None
    """Of the whole, for a top of the lexical lane."""

    def encode(self) -> bytes:
        """Returns the bytes to send."""
        fields: dict[str, Any] = {
            "v": VERSION,
            "ask": str(self.ask),
            "root": self.root,
            "lane": self.lane,
            "query": self.query.form(),
            "segments": dict(self.segments),
        }
        if self.counts is not None:
            fields["counts"] = _counts_form(self.counts)
        return _framed(fields)

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Returns the request in a message.

        Raises:
            CorruptError: it is none.
            FormatError: it is of another version.
        """
        fields, rest = _fields(message)
        version = fields.get("v")
        if version != VERSION or type(version) is not int:
            raise unknown_version("worker", version, [VERSION])
        try:
            counts = fields.get("counts")
            found = cls(
                Ask(fields["ask"]),
                RootCid(fields["root"].raw),
                fields["lane"],
                read_query(fields["query"]),
                dict(fields["segments"]),
                None if counts is None else _counts_of(counts),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, IbidemError):
                raise
            raise CorruptError(
                f"worker: got a message that is no request: {error!r:.80}"
            ) from error
        if found.lane not in LANES or rest:
            raise CorruptError(f"worker.lane: got {found.lane!r:.80}, expected one of {LANES}")
        if found.lane == DENSE and found.query.vector is None:
            raise CorruptError("worker.query: got no vector, expected one for the dense lane")
        return found


@record
class Layout:
    """The segments of a lane."""

    segments: Mapping[str, bytes]

    def encode(self) -> bytes:
        """Returns the bytes to send."""
        return _framed({"segments": dict(self.segments)})

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Returns the layout in an answer.

        Raises:
            RemoteError: it has none; other errors are those that the worker reports.
        """
        fields, rest = _answer(message)
        found = fields.get("segments")
        if not isinstance(found, dict) or not _is_map(found, bytes) or rest:
            raise _unexpected()
        return cls(found)


def encode_counts(counts: Counts) -> bytes:
    """Returns the counts of some segments as bytes to send."""
    return _framed({"counts": _counts_form(counts)})


def decode_counts(message: bytes) -> Counts:
    """Returns the counts in an answer; raises as `Layout.decode` does."""
    fields, rest = _answer(message)
    try:
        if rest:
            raise _unexpected()
        return _counts_of(fields["counts"])
    except (KeyError, TypeError, ValueError) as error:
        raise _unexpected() from error


def encode_top(top: Top) -> bytes:
    """Returns the best rows of some segments as bytes to send."""
    return b"".join(
        (
            _framed({"count": int(top.scores.shape[0]), "has_rows": top.has_rows}),
            np.ascontiguousarray(top.ids, np.uint8).tobytes(),
            top.scores.astype("<f8").tobytes(),
        )
    )


def decode_top(message: bytes) -> Top:
    """Returns the top in an answer; raises as `Layout.decode` does."""
    fields, rest = _answer(message)
    count, has_rows = fields.get("count"), fields.get("has_rows")
    if type(count) is not int or type(has_rows) is not bool:
        raise _unexpected()
    if count < 0 or len(rest) != count * (_ID_BYTES + _SCORE_BYTES):
        raise _unexpected()
    split = count * _ID_BYTES
    ids = np.frombuffer(rest[:split], np.uint8).reshape(count, _ID_BYTES)
    scores = np.frombuffer(rest[split:], "<f8").astype(np.float64)
    if not np.isfinite(scores).all():
        raise _unexpected()
    return Top(ids, scores, has_rows)


def encode_error(error: IbidemError) -> bytes:
    """Returns an error as bytes to send."""
    return _framed({"error": error.kind.value, "message": str(error)[:500]})


def _answer(message: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        fields, rest = _fields(message)
    except CorruptError as error:
        raise _unexpected() from error
    kind = fields.get("error")
    if kind is None:
        return fields, rest
    if kind not in tuple(ErrorKind):
        raise _unexpected()
    raise RemoteError(str(fields.get("message"))[:500], kind=ErrorKind(kind))


def _unexpected() -> RemoteError:
    return RemoteError("worker: its answer does not fit the request")


def _counts_form(counts: Counts) -> dict[str, Any]:
    return {
        "documents": counts.documents,
        "terms": counts.terms,
        "longest": counts.longest,
        "analysers": {str(one): count for one, count in counts.by_analyser.items()},
        "frequencies": dict(counts.frequencies),
    }


def _counts_of(form: Mapping[str, Any]) -> Counts:
    documents, terms, longest = form["documents"], form["terms"], form["longest"]
    by_analyser, frequencies = form["analysers"], form["frequencies"]
    if not (_is_map(by_analyser, int) and _is_map(frequencies, int)):
        raise ValueError("counts: expected numbers by name")
    every = [documents, terms, longest, *by_analyser.values(), *frequencies.values()]
    if any(type(one) is not int or not 0 <= one <= _COUNT_MAX for one in every):
        raise ValueError("counts: expected numbers from 0 to 2^48")
    held = Counter({int(one): count for one, count in by_analyser.items()})
    if not held.keys() <= set(range(len(ANALYSERS))):
        raise ValueError("counts: got an analyser that is unknown here")
    return Counts(documents, terms, longest, held, Counter(frequencies))


def _is_map(value: object, kind: type) -> bool:
    return isinstance(value, dict) and all(type(one) is kind for one in value.values())


def _framed(fields: dict[str, Any]) -> bytes:
    block = codec.encode(fields)
    return len(block).to_bytes(_LENGTH_BYTES, "big") + block


def _fields(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Returns the map of a message, and the bytes after it."""
    start = _LENGTH_BYTES
    stop = start + int.from_bytes(message[:start], "big")
    if len(message) < stop:
        raise CorruptError(f"worker: got {len(message)} bytes, expected {stop} at least")
    found = codec.decode_foreign(message[start:stop])
    if not isinstance(found, dict):
        raise CorruptError("worker: got a message without fields")
    return found, message[stop:]


def refused_layout(names: str) -> InvalidInputError:
    """Returns the error of a worker that has other segments than a request names."""
    return InvalidInputError(
        f"segments: got {names}, expected those of this worker", kind=ErrorKind.INDEX_UNAVAILABLE
    )

"""Golden answers as text: question and answer, to be reviewed and compared in tests.

A file holds the checks of one test, or of one `repo snapshot record`. Its last line is the hash of
everything before it, so a change of any byte is noticed; and a file that is read must serialise to
the same bytes. The resolved query is stored completely, so a file can be checked without its test.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, NodeCid, ReceiptCid, ResultCid, RootCid
from ibidem.objects.errors import CorruptError, IbidemError, InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.printable import printable_json
from ibidem.repo.history.compare import Placed, placed
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.lane_score import LaneScore
from ibidem.retrieve.context.pack import Pack
from ibidem.retrieve.query.query import Query
from ibidem.retrieve.semantics import read_query
from ibidem.store.files import medium_error, read_file, write_file

HEAD = (
    "ibidem retrieval golden 1\n"
    "Written by `pytest --retrieval-update` or `repo snapshot record`; edits by hand are refused.\n"
)
TITLE_CHARACTERS = 80
_FIELDS = (
    *("query", "semantics", "options", "mode", "root", "commit", "receipt", "result", "answer"),
    *("tokens", "candidates", "left-out", "warnings"),
)
_ITEM = re.compile(r"  (\d+)\. ([0-9a-f]{32}) score (\S+) tokens (\d+) (\".*)")
_LANE = re.compile(r"     (\".*\") rank (\d+) score (\S+) adds (\S+)")
_NODE = "     node "


@dataclass(frozen=True, slots=True)
class Check:
    """One recorded answer."""

    name: str
    query: Query
    mode: Mapping[str, Any]
    """`name`, and the numbers of a tolerance."""
    root: RootCid
    commit: CommitCid | None
    receipt: ReceiptCid | None
    result: ResultCid
    answer: str
    """`answer_digest` of the result."""
    tokens_used: int
    candidates_seen: int
    dropped_counts: Mapping[str, int]
    warnings: tuple[str, ...]
    items: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Golden:
    """The checks of one test, by name, in the order in which they were made."""

    test: str
    checks: Mapping[str, Check]

    def text(self) -> str:
        """Returns the file's text, its checksum included."""
        parts = [HEAD, f"test {_json(self.test)}\n"]
        parts += [_check_text(check) for check in self.checks.values()]
        body = "".join(parts)
        return body + f"checksum {blake3(body.encode()).hexdigest()}\n"

    def write(self, path: Path) -> None:
        """Writes the file atomically.

        Raises:
            StorageError: a disk error.
        """
        write_below(path, self.text().encode())


def write_below(path: Path, data: bytes) -> None:
    """Writes a file atomically, and the folders above it.

    Raises:
        StorageError: a disk error.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise medium_error(path.parent, error) from error
    write_file(path, data)


def record(name: str, result: Answer[Any], mode: Mapping[str, Any]) -> Check:
    """Returns the record of an answer under a name."""
    receipt = result.receipt
    return Check(
        name=name,
        query=result.query,
        mode=MappingProxyType(dict(mode)),
        root=result.root,
        commit=None if receipt is None else receipt.commit,
        receipt=None if receipt is None else receipt.cid,
        result=result.cid,
        answer=answer_digest(result),
        tokens_used=result.tokens_used,
        candidates_seen=result.candidates_seen,
        dropped_counts=MappingProxyType(dict(result.dropped_counts)),
        warnings=tuple(str(warning.code) for warning in result.warnings),
        items=placed(result),
    )


def answer_digest(result: Answer[Any]) -> str:
    """Returns the hash of an answer without its root, which every commit changes, and its question.

    Both are compared on their own.
    """
    hasher = blake3()
    if result.graph is not None:
        hasher.update(codec.encode(result.graph.form()))
        for one in result.items:
            hasher.update(one.encode())
    for item in result.items:
        if isinstance(item, Pack):
            hasher.update(item.encode())
            continue
        lanes = {name: list(lane) for name, lane in item.lanes.items()}
        shown = blake3(item.rendered.encode()).digest()
        parts = [item.node.id.raw, item.cid, item.score, shown, item.tokens, lanes]
        hasher.update(codec.encode(parts))
    for drop in result.dropped:
        hasher.update(codec.encode([drop.id.raw, str(drop.reason), drop.tokens, drop.score]))
    for warning in result.warnings:
        hasher.update(codec.encode(warning.form()))
    rest = {
        "tokens_used": result.tokens_used,
        "candidates_seen": result.candidates_seen,
        "dropped_counts": dict(result.dropped_counts),
        "status": {lane: str(status) for lane, status in result.status.items()},
    }
    return hasher.update(codec.encode(rest)).hexdigest()


def read(path: Path) -> Golden:
    """Returns the golden answers of a file.

    Raises:
        NotFoundError: there is no such file.
        CorruptError: its bytes were changed.
        InvalidInputError: it is another kind of file.
        StorageError: it cannot be read.
    """
    data = read_file(path)
    if data is None:
        raise NotFoundError(f"golden: there is no file {path}")
    return parse(data, str(path))


def parse(data: bytes, source: str = "golden") -> Golden:
    """Returns the golden answers that `Golden.text` wrote; `source` names them in errors.

    Raises:
        CorruptError: kind `hash-mismatch` and others.
        InvalidInputError: something else than golden answers.
    """
    if not is_golden(data):
        raise InvalidInputError(
            f"{source}: got a file of another kind, "
            "expected one of `repo snapshot record` or `pytest --retrieval-update`"
        )
    body, _, last = data.removesuffix(b"\n").rpartition(b"\n")
    body += b"\n"
    if last != b"checksum " + blake3(body).hexdigest().encode() or not data.endswith(b"\n"):
        raise CorruptError(
            f"{source}: the checksum is not that of the text, so it was edited or truncated",
            hint=_damage_hint(data),
        )
    try:
        golden = _parsed(body.decode())
    except (IbidemError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise CorruptError(f"{source}: got {error}, expected a golden of version 1") from error
    if golden.text().encode() != data:
        raise CorruptError(f"{source}: got text that does not serialise to itself")
    return golden


def is_golden(data: bytes) -> bool:
    """Returns whether bytes are golden answers, perhaps damaged ones: they begin or end so."""
    head = HEAD.encode()
    return data[:24] == head[:24] or head.startswith(data) or b"\nchecksum " in data[-80:]


def _damage_hint(data: bytes) -> str:
    if b"\r\n" in data:
        return (
            "its lines end in CRLF: put '**/__retrieval__/** -text' into .gitattributes, so that "
            "git leaves them alone, and restore the file"
        )
    if b"\n>>>>>>> " in data:
        return "it has the markers of a merge conflict: record it again and review the difference"
    return "restore the file, or record it again and review the difference"


def question_form(query: Query) -> dict[str, Any]:
    """Returns the options of a query except its text and defaults, as JSON."""
    plain = Query(text=query.text, semantics=query.semantics).form()
    form = query.form()
    return {
        key: _to_json(value)
        for key, value in form.items()
        if key not in plain or value != plain[key]
    }


def _check_text(check: Check) -> str:
    values = {
        "query": _json(check.query.text),
        "semantics": str(check.query.semantics),
        "options": _json(question_form(check.query)),
        "mode": _json(dict(check.mode)),
        "root": str(check.root),
        "commit": str(check.commit or "-"),
        "receipt": str(check.receipt or "-"),
        "result": str(check.result),
        "answer": check.answer,
        "tokens": str(check.tokens_used),
        "candidates": str(check.candidates_seen),
        "left-out": _json(dict(check.dropped_counts)),
        "warnings": _json(list(check.warnings)),
    }
    lines = ["", f"check {_json(check.name)}"]
    lines += [f"  {name} {values[name]}" for name in _FIELDS]
    for item in check.items:
        title = _json(item.title[:TITLE_CHARACTERS])
        lines.append(
            f"  {item.rank}. {item.id} score {item.score!r} tokens {item.tokens} "
            f"{_json(item.label)} {title}"
        )
        lines.append(f"{_NODE}{item.cid}")
        lines += [
            f"     {_json(name)} rank {lane.rank} score {lane.score!r} adds {lane.contribution!r}"
            for name, lane in item.lanes.items()
        ]
    return "\n".join(lines) + "\n"


def _parsed(body: str) -> Golden:
    if not body.startswith(HEAD):
        raise ValueError(body.partition("\n")[0][:60])
    first, *sections = body.removeprefix(HEAD).split("\n\ncheck ")
    checks = [_check(section.rstrip("\n").split("\n")) for section in sections]
    test = json.loads(first.strip().removeprefix("test "))
    return Golden(test, MappingProxyType({check.name: check for check in checks}))


def _check(lines: list[str]) -> Check:
    values = {}
    for name, line in zip(_FIELDS, lines[1:], strict=False):
        if not line.startswith(f"  {name} "):
            raise ValueError(line[:60])
        values[name] = line.removeprefix(f"  {name} ")
    commit, receipt = values["commit"], values["receipt"]
    return Check(
        name=json.loads(lines[0]),
        query=_query(values),
        mode=MappingProxyType(json.loads(values["mode"])),
        root=RootCid.parse(values["root"]),
        commit=None if commit == "-" else CommitCid.parse(commit),
        receipt=None if receipt == "-" else ReceiptCid.parse(receipt),
        result=ResultCid.parse(values["result"]),
        answer=values["answer"],
        tokens_used=int(values["tokens"]),
        candidates_seen=int(values["candidates"]),
        dropped_counts=MappingProxyType(json.loads(values["left-out"])),
        warnings=tuple(json.loads(values["warnings"])),
        items=_items(lines[1 + len(_FIELDS) :]),
    )


def _query(values: Mapping[str, str]) -> Query:
    text, semantics = json.loads(values["query"]), int(values["semantics"])
    plain = Query(text=text, semantics=semantics).form()
    return read_query({**plain, **_from_json(json.loads(values["options"]))})


def _items(lines: list[str]) -> tuple[Placed, ...]:
    items: list[Placed] = []
    lanes: dict[str, LaneScore] = {}
    at = 0
    while at < len(lines):
        match = _ITEM.fullmatch(lines[at])
        if match is None or not lines[at + 1].startswith(_NODE):
            raise ValueError(lines[at][:60])
        cid = NodeCid.parse(lines[at + 1].removeprefix(_NODE))
        lanes, at = {}, at + 2
        while at < len(lines) and (lane := _LANE.fullmatch(lines[at])):
            lanes[json.loads(lane[1])] = LaneScore(int(lane[2]), float(lane[3]), float(lane[4]))
            at += 1
        label, end = json.JSONDecoder().raw_decode(match[5])
        title = json.loads(match[5][end:])
        id_ = NodeId.parse(match[2])
        rank, score, tokens = int(match[1]), float(match[3]), int(match[4])
        items.append(Placed(id_, rank, cid, score, tokens, label, title, MappingProxyType(lanes)))
    return tuple(items)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return printable_json(text)


def _to_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"/": {"bytes": base64.b64encode(value).decode().rstrip("=")}}
    if isinstance(value, Cid):
        return {"/": str(value)}
    if isinstance(value, Mapping):
        return {key: _to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(inner) for inner in value]
    return value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        inner = value.get("/")
        if len(value) == 1 and isinstance(inner, str):
            return Cid.parse(inner)
        if len(value) == 1 and isinstance(inner, dict) and list(inner) == ["bytes"]:
            text = inner["bytes"]
            return base64.b64decode(text + "=" * (-len(text) % 4))
        return {key: _from_json(one) for key, one in value.items()}
    return [_from_json(one) for one in value] if isinstance(value, list) else value

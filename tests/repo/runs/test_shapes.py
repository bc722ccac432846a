"""Values in steps, receipts and notes that are of another shape than their place demands.

Refused where they would come in and named by `repo fsck`; where one is inside already, reading it
is a typed error that hides none of its neighbours.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

import ibidem
from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, ReceiptCid, RootCid, StepCid
from ibidem.objects.commit import Commit
from ibidem.objects.derive import node_id
from ibidem.objects.errors import CorruptError, ErrorKind, IbidemError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tree import EMPTY_TREE, build
from ibidem.objects.view import View
from ibidem.repo import refs
from ibidem.repo.events import Event
from ibidem.repo.maintenance.report import FaultKind
from ibidem.repo.repository import Repository
from ibidem.repo.state import State
from ibidem.repo.sync.messages import Bundle, Tip, container
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.answer.sealed import read_receipt, seal

Blocks = dict[Cid, bytes]
E = codec.encode
BEGIN = {"agent": "a", "task": "t", "author": ""}
KEY = bytes(range(32))


def chain(*steps: dict[str, Any]) -> tuple[Cid, Blocks]:
    """A run of some steps; a request or answer that is no bytes is encoded."""
    blocks: Blocks = {}
    tip: Cid | None = None
    for index, step in enumerate(steps):
        fields = {"kind": "step", "v": 1, "index": index, "time": index, **step}
        for name in ("request", "answer"):
            if name in fields and not isinstance(fields[name], bytes):
                fields[name] = E(fields[name])
        if tip is not None:
            fields["previous"] = tip
        block = E(fields)
        tip = Cid.of(block)
        blocks[tip] = block
    assert tip is not None
    return tip, blocks


def bundle(name: str, target: Cid, blocks: Blocks) -> io.BytesIO:
    cls = StepCid if name.startswith("runs/") else ReceiptCid
    cls = CommitCid if name.startswith("notes/") else cls
    message = Bundle({name: Tip(cls(target.raw), 0)}, "heads/main")
    return io.BytesIO(b"".join(container(message, sorted(blocks.items()))))


def written(repo: Repository, name: str, target: Cid, blocks: Blocks) -> None:
    """Puts blocks and a ref below every check but that of hashes."""
    cls = StepCid if name.startswith("runs/") else ReceiptCid
    cls = CommitCid if name.startswith("notes/") else cls

    def make(state: State, buffer: WriteBatch) -> View:
        for cid, block in blocks.items():
            buffer.put(cid, block)
        moved = refs.changed(state.view, {name: cls(target.raw)}, buffer)
        return replace(state.view, refs=moved)

    repo.core.operation_log.change(make, author="", time=1, description="written below the gate")


def refused(repo: Repository, name: str, target: Cid, blocks: Blocks) -> IbidemError:
    view = repo.core.view
    with pytest.raises(CorruptError) as error:
        repo.sync.load(bundle(name, target, blocks))
    assert repo.core.view == view
    assert not repo.core.store.has(target)
    return error.value


END = {"action": "end", "answer": {"value": "finished"}}
FIRST = {"action": "begin", "name": "bad", "request": BEGIN}
BAD: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "begin with a number": ({**FIRST, "request": 5}, END, "request"),
    "begin with nothing": ({"action": "begin"}, END, "request"),
    "begin by a list": ({**FIRST, "request": {**BEGIN, "agent": [1]}}, END, "request.agent"),
    "begin without an author": ({**FIRST, "request": {"agent": "", "task": ""}}, END, "author"),
    "end with nothing": (FIRST, {"action": "end"}, "answer"),
    "end with a map": (FIRST, {"action": "end", "answer": {"a": 1}}, "answer"),
    "end with a list": (FIRST, {"action": "end", "answer": [1]}, "answer"),
    "end by half an error": (FIRST, {"action": "end", "answer": {"error": ["x"]}}, "answer.error"),
    "end by an error of numbers": (
        FIRST,
        {"action": "end", "answer": {"error": [1, 2]}},
        "answer.error",
    ),
    "read without a revision": (FIRST, {"action": "read", "request": {}}, "request.at"),
    "read at a number": (FIRST, {"action": "read", "request": {"at": 7}}, "request.at"),
    "retrieve at nothing": (FIRST, {"action": "retrieve", "request": {"text": "x"}}, "request.at"),
    "transaction by a number": (
        FIRST,
        {"action": "transaction", "request": {"author": 3}},
        "request.author",
    ),
    "random text": (FIRST, {"action": "random", "answer": "x"}, "answer"),
    "event with a bare answer": (FIRST, {"action": "event", "answer": {"a": 1}}, "answer"),
    "call without an answer": (FIRST, {"action": "call", "name": "now", "request": {}}, "answer"),
    "call of now with text": (
        FIRST,
        {"action": "call", "name": "now", "request": {}, "answer": {"value": "x"}},
        "answer.value",
    ),
    "call of branches with a list": (
        FIRST,
        {"action": "call", "name": "branches", "request": {}, "answer": {"value": [1]}},
        "answer.value",
    ),
    "commit that is a step": (
        FIRST,
        {
            "action": "commit",
            "commit": E({"kind": "step", "v": 1, "action": "x", "index": 0, "time": 0}),
        },
        "commit",
    ),
    "commit that is nothing": (FIRST, {"action": "commit", "commit": b"x"}, "commit"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_step_of_another_shape_is_refused_and_named_and_hides_nothing(
    repo: Repository, name: str
):
    first, last, field = BAD[name]
    tip, blocks = chain(first, last)
    assert field in str(refused(repo, "runs/bad/1", tip, blocks))
    with repo.runs.start("good") as run:
        run.event("tool", "x")
    written(repo, "runs/bad/1", tip, blocks)
    (fault,) = repo.maintenance.fsck().faults
    assert fault.kind is FaultKind.MALFORMED
    assert field in fault.detail
    assert fault.cid in blocks
    assert [one.name for one in repo.runs.list()] == ["bad/1", "good/1"]
    assert repo.runs.list()[1].is_readable
    damaged = repo.runs.open("bad/1")
    assert any("cannot be read" in line and field in line for line in damaged.lines())
    with pytest.raises(CorruptError):
        list(damaged.read())
    with pytest.raises(IbidemError), damaged.replay() as replay:
        _play(replay)


def _play(replay: Any) -> None:
    for do in (
        lambda: replay.at("x"),
        lambda: replay.retrieve("x"),
        replay.now,
        replay.branches,
        lambda: replay.event("tool"),
        lambda: replay.event(""),
        lambda: replay.transaction(),
    ):
        do()


def test_a_run_that_cannot_be_read_is_listed_with_the_reason(repo: Repository):
    tip, blocks = chain({**FIRST, "request": 5}, END)
    written(repo, "runs/bad/1", tip, blocks)
    (found,) = repo.runs.list()
    assert not found.is_readable
    assert found.failure == "run 'bad/1': step 0, 'begin': request: got 5, expected a map"
    assert (found.tip, found.begun) == (tip, None)
    repo.runs.drop("bad/1")
    assert repo.runs.list() == []


def test_an_event_may_ask_for_anything(repo: Repository):
    asked = [
        {"arguments": 5, "options": 6},
        {"arguments": [1], "options": {}},
        [],
        None,
    ]
    steps = [{"action": "event", "name": "tool", "request": one} for one in asked]
    tip, blocks = chain(FIRST, *steps, {"action": "novel", "request": 1, "answer": [2]}, END)
    repo.sync.load(bundle("runs/odd/1", tip, blocks))
    assert len(repo.runs.open("odd/1").lines()) == 7
    assert repo.maintenance.fsck().is_clean


def test_an_error_of_a_kind_that_is_not_known_here_is_raised_again(repo: Repository):
    row = ["ibidem.objects.errors.NotFoundError", "gone", "novel-kind", None]
    tip, blocks = chain(
        FIRST,
        {"action": "event", "name": "tool", "answer": {"error": row}},
        END,
    )
    repo.sync.load(bundle("runs/odd/1", tip, blocks))
    with pytest.raises(IbidemError, match="gone"):
        repo.runs.open("odd/1").replay().event("tool")


NOT_CANONICAL = {
    "nan": b"\xfb\x7f\xf8" + bytes(6),
    "half float": b"\xf9\x3c\x00",
    "indefinite list": b"\x9f\x01\xff",
    "bignum": b"\xc2\x49\x01" + bytes(8),
    "unsorted keys": b"\xa2\x61b\x00\x61a\x01",
    "duplicate keys": b"\xa2\x61a\x00\x61a\x01",
    "not minimal": b"\x18\x00",
    "undefined": b"\xf7",
    "date": b"\xc1\x00",
    "cycle": b"\xd8\x1c\x81\xd8\x1d\x00",
    "cut off": b"\x82\x01",
    "surrogate": b"\x63\xed\xa0\x80",
    "deep": b"\x81" * 500 + b"\0",
    "deeper": b"\x81" * 4000 + b"\0",
}


@pytest.mark.parametrize("name", NOT_CANONICAL)
@pytest.mark.parametrize("where", ["request", "answer"])
def test_bytes_in_a_step_that_are_not_canonical_are_refused_by_both_engines(
    repo: Repository, engine: str, name: str, where: str
):
    event = {"action": "event", "name": "tool", where: NOT_CANONICAL[name]}
    tip, blocks = chain(FIRST, event, END)
    error = refused(repo, "runs/bad/1", tip, blocks)
    assert f"step 1, 'event': {where}" in str(error)
    written(repo, "runs/bad/1", tip, blocks)
    (fault,) = repo.maintenance.fsck().faults
    assert fault.kind is FaultKind.MALFORMED
    assert "cannot be read" in repo.runs.open("bad/1").lines()[1]


def test_a_value_of_eight_megabytes_of_brackets_is_refused_at_once(engine: str, repo: Repository):
    part = b"\x81" * (1 << 20)
    raw = ibidem.objects.cid.BlobCid.of(part)
    event = {"action": "event", "name": "tool"}
    tip, blocks = chain(FIRST, event)
    fields = codec.decode(blocks[tip])
    for count in (1, 8):
        block = E({**fields, "request": [Cid(raw.raw)] * count})
        sent = {**blocks, Cid.of(block): block, Cid(raw.raw): part}
        assert refused(repo, "runs/bad/1", Cid.of(block), sent).kind is ErrorKind.LIMIT_EXCEEDED


def receipts(repo: Repository) -> tuple[Receipt, dict[str, Any]]:
    with repo.transaction() as tx:
        tx.add_node("Note", summary="a mill")
    found = repo.retrieve("mill").receipt
    assert found is not None
    return found, codec.decode(found.encode())


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


def bad_receipts(fields: dict[str, Any]) -> dict[str, tuple[dict[str, Any], str]]:
    query, (row, *_) = fields["query"], fields["items"]
    return {
        "an empty query": ({**fields, "query": {}}, "query"),
        "no depth": ({**fields, "query": without(query, "depth")}, "query.depth"),
        "fusion of a number": ({**fields, "query": {**query, "fusion": 5}}, "query.fusion"),
        "fusion without k": ({**fields, "query": {**query, "fusion": {}}}, "query.fusion"),
        "a vector of text": ({**fields, "query": {**query, "vector": "x"}}, "query.vector"),
        "where of a list": ({**fields, "query": {**query, "where": [1]}}, "query.where"),
        "labels of a number": ({**fields, "query": {**query, "labels": 7}}, "query.label"),
        "a lane of a number": ({**fields, "items": [[*row[:4], {"lexical": 5}]]}, "items"),
        "a lane of two": ({**fields, "items": [[*row[:4], {"lexical": [1, 2.0]}]]}, "items"),
        "a reranking of nothing": ({**fields, "rerank": {"a": 1}}, "rerank.status"),
    }


NAMES = tuple(
    bad_receipts({"query": {}, "items": [[1, 2, 3, 4]]}),
)


@pytest.mark.parametrize("is_sealed", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_receipt_that_cannot_be_read_is_refused_and_named_and_hides_nothing(
    repo: Repository, name: str, is_sealed: bool
):
    receipt, _ = receipts(repo)
    whole = seal(receipt, KEY) if is_sealed else receipt
    fields, said = bad_receipts(codec.decode(whole.encode()))[name]
    block = E(fields)
    with pytest.raises(CorruptError) as error:
        read_receipt(block)
    assert said in str(error.value)
    assert "expected" in str(error.value)
    assert "argument" not in str(error.value)
    cid = Cid.of(block)
    other = ibidem.init("memory:", clock=lambda: 1)
    sent = {
        found: repo.core.store.get(found) for found in repo.core.store.cids() if not found.is_raw
    }
    with pytest.raises(CorruptError):
        other.sync.load(bundle(f"receipts/{cid}", cid, {**sent, cid: block}))
    assert not other.receipts.list()
    kept = repo.receipts.keep(receipt)
    written(repo, f"receipts/{cid}", cid, {cid: block})
    assert {(one.cid, one.receipt is None) for one in repo.receipts.list()} == {
        (kept, False),
        (cid, True),
    }
    assert any(said in (one.failure or "") for one in repo.receipts.list())
    faults = [fault for fault in repo.maintenance.fsck().faults if fault.cid == cid]
    assert [fault.kind for fault in faults] == [FaultKind.MALFORMED]
    repo.receipts.drop(str(cid))
    assert [one.cid for one in repo.receipts.list()] == [kept]


TARGET = node_id("", "target")
PROPS = {"kind": "vote", "targets": [TARGET.raw], "author": "ada", "time": 1, "value": 1.0}
BAD_EVENTS = {
    "no kind": without(PROPS, "kind"),
    "no targets": without(PROPS, "targets"),
    "targets of a number": {**PROPS, "targets": 7},
    "targets of numbers": {**PROPS, "targets": [7]},
    "a short target": {**PROPS, "targets": [b"x"]},
    "no author": without(PROPS, "author"),
    "a time of text": {**PROPS, "time": "now"},
    "a value of text": {**PROPS, "value": "up"},
    "a vote of 2": {**PROPS, "value": 2.0},
    "a vote of nothing": without(PROPS, "value"),
    "a question of a number": {**PROPS, "question": 5},
    "words of a number": {**PROPS, "kind": "not_useful", "words": 5},
    "no words": {**PROPS, "kind": "not_useful"},
    "nothing at all": {},
}


def noted(repo: Repository, *nodes: Node) -> tuple[CommitCid, Blocks]:
    """A commit of notes with what is noted here and some nodes more."""
    buffer = WriteBatch(repo.core.store)
    head = repo.notes.space().head
    entries: dict[bytes, Cid] = {}
    parents: tuple[CommitCid, ...] = ()
    if head is not None:
        root = Root.decode(repo.core.store.get(Commit.decode(repo.core.store.get(head)).root))
        entries = dict(ibidem.objects.tree.Tree(repo.core.store, root.nodes).items())
        parents = (head,)
    entries.update((node.id.raw, node.cid) for node in nodes)
    root = Root(build(sorted(entries.items()), buffer), EMPTY_TREE, EMPTY_TREE, EMPTY_TREE)
    build([], buffer)
    commit = Commit(RootCid(root.cid.raw), parents)
    blocks: Blocks = {**buffer.new, **{node.cid: node.encode() for node in nodes}}
    return commit.cid, {**blocks, root.cid: root.encode(), commit.cid: commit.encode()}


@pytest.mark.parametrize("name", BAD_EVENTS)
def test_a_note_that_is_no_event_is_refused_and_named_and_hides_nothing(
    repo: Repository, name: str
):
    bad = Node(NodeId(bytes(16)), "Event", props=BAD_EVENTS[name])
    target, blocks = noted(repo, bad)
    refused(repo, "notes/memory", target, blocks)
    with repo.transaction() as tx:
        tx.add_node("Note", summary="a mill", key="target")
    repo.notes.space().vote(TARGET, 1, author="ada")
    before = repo.retrieve("mill", feedback=True)
    target, blocks = noted(repo, bad)
    written(repo, "notes/memory", target, blocks)
    log = repo.notes.space().log()
    assert [event.kind for event in log.events] == ["vote"]
    assert [id_ for id_, _ in log.damaged] == [bad.id]
    after = repo.retrieve("mill", feedback=True)
    assert [one.score for one in after.items] == [one.score for one in before.items]
    (fault,) = repo.maintenance.fsck().faults
    assert (fault.kind, fault.cid) == (FaultKind.MALFORMED, bad.cid)
    assert repo.notes.space().reinforce(TARGET)


def test_a_note_of_another_type_is_no_event(repo: Repository):
    target, blocks = noted(repo, Node(NodeId(bytes(16)), "Note", props=PROPS))
    assert "expected 'Event'" in str(refused(repo, "notes/memory", target, blocks))


def test_events_that_nobody_could_read_are_not_written(repo: Repository):
    with pytest.raises(ibidem.objects.errors.InvalidInputError, match="vote"):
        repo.notes.space().add([Event("vote", (TARGET,), "ada", value=3.0)])
    with pytest.raises(ibidem.objects.errors.InvalidInputError, match="words"):
        repo.notes.space().add([Event("not_useful", (TARGET,), "ada")])
    assert repo.notes.space().head is None


# -- what a step or a receipt leads to -----------------------------------------------------------


def one_of_each(repo: Repository) -> dict[str, Cid]:
    """Returns a block of each kind that is here, by kind."""
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="retry queue", key=1)
    with repo.runs.start("good") as run:
        receipt = run.retrieve("retry").receipt
    repo.receipts.keep(receipt)
    kept = next(iter(repo.receipts.list())).cid
    step = repo.runs.open("good").tip
    assert repo.head is not None
    return {"commit": repo.head, "root": receipt.root, "receipt": kept, "step": step}


LINKS = {"previous": "step", "receipt": "receipt", "root": "root", "notes_head": "commit"}


@pytest.mark.parametrize(
    ("owner", "field"),
    [
        ("step", "previous"),
        ("step", "receipt"),
        ("step", "root"),
        ("receipt", "root"),
        ("receipt", "notes_head"),
    ],
)
@pytest.mark.parametrize("found", LINKS.values())
@pytest.mark.parametrize("is_here", [True, False])
def test_what_a_step_or_a_receipt_leads_to_is_of_the_kind_that_its_field_says(
    owner: str, field: str, found: str, is_here: bool
):
    """Whether the block is new, or lies here for something else."""
    with ibidem.init(clock=lambda: 0) as theirs, ibidem.init(clock=lambda: 0) as repo:
        there = one_of_each(theirs)
        blocks = {cid: theirs.core.store.get(cid) for cid in theirs.core.store.cids()}
        if is_here:
            file = io.BytesIO()
            theirs.sync.export(file, include=["runs", "receipts"])
            repo.sync.load(io.BytesIO(file.getvalue()))
        if owner == "step":
            fields = {"kind": "step", "v": 1, "action": "note", "time": 0}
            fields["index"] = 1 if field == "previous" else 0
            name = "runs/bad/1"
        else:
            fields = codec.decode(blocks[there["receipt"]])
            name = "receipts/" + "a" * 59
        block = E({**fields, field: Cid(there[found].raw)})
        target = Cid.of(block)
        blocks[target] = block
        if found == LINKS[field]:
            repo.sync.load(bundle(name, target, blocks))
            assert repo.maintenance.fsck().is_clean
            return
        error = refused(repo, name, target, blocks)
        expected = f"{owner}.{field}: got the {found} {there[found]}, expected a {LINKS[field]}"
        assert str(error) == expected
        written(repo, name, target, blocks)
        faults = repo.maintenance.fsck().faults
        assert (FaultKind.MALFORMED, expected) in {(one.kind, one.detail) for one in faults}

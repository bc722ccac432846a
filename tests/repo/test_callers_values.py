"""Values as programs have them: numbers of numpy, times, paths; errors name what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError, StorageError
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import TrustPolicy, Viewer

DAY = datetime(2026, 1, 1, tzinfo=UTC)
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001


class Nowhere(tzinfo):
    """A time zone that says nothing."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        return None


class Missing(datetime):
    """As the missing time of pandas."""

    def utcoffset(self) -> timedelta | None:
        raise ValueError("a missing time has no offset")


MISSING = Missing(2026, 1, 1)
LOST = datetime(2026, 1, 1, tzinfo=Nowhere())
WIDE = np.longdouble(1.5)


@pytest.fixture
def filled(repo: Repository) -> Repository:
    with repo.transaction(author="ada") as tx:
        gate = tx.add_node("Gate", summary="the gate", props={"n": np.int64(3), "built": DAY})
        wall = tx.add_node("Wall", summary="the wall", props={"n": 4, "name": np.str_("east")})
        tx.add_edge(gate, "beside", wall, weight=np.float32(0.5))
        tx.add_edge(wall, "beside", gate, weight=np.float64(0.25))
    return repo


def test_weights_of_numpy_are_weights(filled: Repository):
    assert sorted(edge.weight for edge in filled.at().edges()) == [0.25, 0.5]
    ids = [node.id for node in filled.at().nodes()]
    tx = filled.transaction()
    with pytest.raises(InvalidInputError, match=r"edge.weight: got nan, expected a finite"):
        tx.add_edge(ids[0], "beside", ids[1], weight=np.float64("nan"))


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ({"n": np.int64(3)}, 1),
        ({"n": {"gte": np.int32(3)}}, 2),
        ({"n": {"in": [np.int64(3), 4]}}, 2),
        ({"built": DAY}, 1),
        ({"built": {"lt": DAY}}, 0),
        ({"name": np.str_("east")}, 1),
        ({"n": np.bool_(True)}, 0),
    ],
)
def test_a_condition_takes_what_a_property_takes(filled: Repository, where: Any, count: int):
    assert len(filled.query(where=where)) == count
    plain = filled.retrieve("gate wall", where=where, limit=np.int64(9), k1=np.float32(1.25))  # type: ignore[arg-type]
    assert len(plain) == count
    receipt = ibidem.ReceiptCid(plain.receipt.cid.raw)  # type: ignore[union-attr]
    assert filled.receipts.replay(receipt) == plain


def test_a_time_in_a_number_of_numpy_is_a_time(filled: Repository):
    now = filled.now(DAY)
    assert filled.now(np.int64(now)) == now  # type: ignore[arg-type]
    as_of = {"as_of": np.int64(now), "created_before": np.int64(now)}
    assert filled.retrieve("gate", **as_of) == filled.retrieve(  # type: ignore[arg-type]
        "gate", as_of=DAY, created_before=DAY
    )


def test_an_embedder_is_not_run_when_it_is_registered(repo: Repository):
    class Remote:
        name, digest, embed = "remote", bytes(32), None

        @property
        def dim(self) -> int:
            raise StorageError("the service does not answer")

    repo.use_embedder(Remote())  # type: ignore[arg-type]
    with pytest.raises(StorageError):
        repo.embed(Remote())  # type: ignore[arg-type]


def test_a_node_is_asked_for_by_an_id_in_a_property(repo: Repository):
    with repo.transaction() as tx:
        ada = tx.add_node("Person", summary="Ada")
        tx.add_node("Letter", summary="a letter", props={"sender": ada})
    assert [node.ntype for node in repo.query(where={"sender": ada})] == ["Letter"]


def test_a_document_is_named_by_a_path(repo: Repository):
    repo.ingest(text="# Gate\n", path=Path("notes") / "gate.md")
    repo.ingest(text="# Gate\n", path="notes/gate.md")
    assert [node.props["source"] for node in repo.query(label="Document")] == ["notes/gate.md"]


def added(**fields: Any) -> Callable[[Repository], object]:
    def call(repo: Repository) -> object:
        with repo.transaction() as tx:
            return tx.add_node("Note", **fields)

    return call


MISTAKES: list[tuple[Callable[[Repository], object], str, str | None]] = [
    (added(key=Path("a")), "key: value: got .*Path", None),
    (added(key={"at": Path("a")}), "key.at: value: got .*Path", None),
    (added(props={"at": NAIVE}), "props.at: datetime: got 2026-01-01T00:00:00, expected an", None),
    (added(props={"at": np.datetime64("2026-01-01", "ns")}), "props.at: .*a datetime with", None),
    (added(props={"at": MISSING}), "props.at: datetime: got 2026-01-01T00:00:00, expected", None),
    (lambda repo: repo.query(as_of=MISSING), "as_of: got 2026-01-01T00:00:00, expected an", None),
    (added(props={"at": LOST}), "props.at: datetime: got 2026-01-01T00:00:00, expected an", None),
    (added(props={"at": WIDE}), "props.at: value: got .*longdouble, expected None", None),
    (lambda repo: repo.query(where={"at": LOST}), "where.at: got datetime", None),
    (lambda repo: repo.query(where={"at": WIDE}), "where.at: got .*1.5", None),
    (lambda repo: repo.add(None), "text: got None, expected text", None),  # type: ignore[arg-type]
    (lambda repo: repo.add(""), "text: got '', expected text", None),
    (lambda repo: repo.add("x", label=None), "label: got None, expected text", None),  # type: ignore[arg-type]
    (lambda repo: repo.retrieve("x", as_of=NAIVE), "as_of: got 2026.*, expected an off", "tzinfo"),
    (lambda repo: repo.retrieve("x", as_of="2026"), "as_of: got '2026', expected a datetime", None),  # type: ignore[arg-type]
    (lambda repo: repo.query(as_of=1.5), "as_of: got 1.5, expected a datetime with", None),  # type: ignore[arg-type]
    (lambda repo: repo.retrieve("x", created_after=NAIVE), "created_after: got 2026-", "tzinfo"),
    (lambda repo: repo.context("x", as_of=NAIVE), "as_of: got 2026-01-01", "tzinfo"),
    (lambda repo: repo.conversations.select(thread="a", as_of=NAIVE), "as_of: got 2026", "tzinfo"),
    (lambda repo: repo.retrieve("x", limit=DAY), "limit: got datetime", None),  # type: ignore[arg-type]
    (lambda repo: repo.retrieve("x", limit=np.bool_(True)), "limit: got True, expected an", None),  # type: ignore[arg-type]
    (lambda repo: repo.at(5), "revision: got 5, expected a branch", "a time by a datetime"),
    (lambda repo: repo.at(date(2026, 1, 1)), "revision: got datetime.date", "such as 2026-01-31"),
    (lambda repo: repo.revert(repo.commit_at()), "revision: got Commit", "named by its cid"),
    (lambda repo: repo.retrieve("x", embedder=len), "embedder: got builtin.* 'name'", None),  # type: ignore[arg-type]
    (lambda repo: repo.embed(len), "embedder: got builtin.* without 'name'", None),  # type: ignore[arg-type]
    (lambda repo: repo.use_embedder(len), "embedder: got builtin.* without 'name'", None),  # type: ignore[arg-type]
    (lambda repo: repo.receipts.replay(None), "receipt: got NoneType", "has none"),
]


@pytest.mark.parametrize(("mistake", "message", "hint"), MISTAKES)
def test_a_mistake_is_named(
    repo: Repository,
    mistake: Callable[[Repository], object],
    message: str,
    hint: str | None,
):
    repo.conversations.append("a", [("user", "hello")])
    with pytest.raises(InvalidInputError, match=message) as raised:
        mistake(repo)
    assert hint is None or hint in str(raised.value.hint)


@pytest.mark.parametrize(
    ("unit", "number"),
    [
        ("seconds", 1_767_225_600),
        ("milliseconds", 1_767_225_600_000),
        ("nanoseconds", 1_767_225_600_000_000_000),
    ],
)
@pytest.mark.parametrize("name", ["as_of", "created_after", "updated_before"])
def test_a_time_in_another_unit_is_refused_by_that_unit(
    filled: Repository, name: str, unit: str, number: int
):
    with filled.transaction(time=DAY, author="ada") as tx:
        tx.add_node("Gate", summary="a real clock")
    expected = rf"^{name}: got {number}, expected microseconds .*; as {unit}, it is 2026-01-01T"
    options: Any = {name: number}
    with pytest.raises(InvalidInputError, match=expected):
        filled.retrieve("gate", **options)
    with pytest.raises(InvalidInputError, match=expected) as caught:
        filled.query(**options)
    assert caught.value.hint == "in microseconds, that is 1767225600000000"


def test_a_clock_in_another_unit_goes_on_working():
    seconds = 1_767_225_600
    repo = ibidem.init("memory:", clock=lambda: seconds)
    with repo.transaction(author="ada") as tx:
        tx.add_node("Gate", summary="the gate")
    moment = repo.at().moment()
    assert moment == seconds
    assert len(repo.retrieve("gate", as_of=moment)) == 1
    assert len(repo.query(created_before=moment + 1)) == 1


@pytest.mark.parametrize(
    "number", [1_767_225_600, 1_767_225_600_000, 1_767_225_600_000_000_000], ids=str
)
def test_a_time_that_nobody_gave_is_not_refused(number: int):
    """A restricted caller's default time is that of the newest visible node, in any unit."""
    repo = ibidem.init("memory:")
    with repo.transaction(author="ada") as tx:
        tx.set_trust_policy(TrustPolicy())
    low = repo.as_viewer(Viewer(level="low", scopes=()))
    low.conversations.append("a", [("user", "the gate is red")], time=number)
    with repo.transaction(time=DAY, author="ada") as tx:
        tx.add_node("Semantic", summary="the gate", props={"time": number})
    moment = low.at().moment()
    assert moment == number
    assert [one.node.summary for one in low.at().records("gate")] == ["the gate"]
    assert len(low.retrieve("gate", as_of=moment)) > 0
    assert [one.text for one in low.conversations.select("gate").messages] == ["the gate is red"]
    assert "the gate is red" in low.context("gate", thread="a", token_budget=500).text


def test_a_restricted_caller_is_told_of_another_unit_too():
    repo = ibidem.init("memory:")
    with repo.transaction(time=DAY, author="ada") as tx:
        tx.set_trust_policy(TrustPolicy())
        tx.add_node("Semantic", summary="the gate", props={"time": 1_767_225_600_000_000})
    low = repo.as_viewer(Viewer(level="low", scopes=()))
    with pytest.raises(InvalidInputError, match=r"^as_of: .*as seconds"):
        low.retrieve("gate", as_of=1_767_225_600)


def test_the_default_time_of_a_root_without_a_commit_is_not_refused():
    seconds = 1_767_225_600
    repo = ibidem.init("memory:", clock=lambda: seconds)
    with repo.transaction(author="ada") as tx:
        gate = tx.add_node("Semantic", summary="the gate")
    repo.feedback.outcome(gate, True)
    assert len(repo.at(repo.at().root_cid).records("gate")) == 1


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda repo: repo.at().find_nodes(None), "ids: got None"),
        (lambda repo: repo.at().locate_many(None), "ids: got None"),
        (lambda repo: repo.at().paths(None, ["*"]), "starts: got None"),
        (lambda repo: repo.at().retrieve_many(None), "questions: got None"),
        (lambda repo: repo.at().retrieve_many([5]), r"questions\[0\]: got 5"),
        (lambda repo: repo.maintenance.gc(keep_operations=1.5), "keep_operations: got 1.5"),
        (lambda repo: repo.maintenance.gc(keep_operations=True), "keep_operations: got True"),
        (lambda repo: repo.runs.start("a", watch=5), "watch: got 5"),
        (lambda repo: repo.records.add(None), "records: got None"),
        (lambda repo: repo.records.supersede("0" * 32, None), "new: got None"),
        (lambda repo: repo.records.fork("0" * 32, None), "new: got None"),
        (lambda repo: repo.records.merge(["0" * 32], None), "new: got None"),
    ],
)
def test_a_value_of_another_type_is_named(ask: Callable[[Any], Any], match: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{match}"):
        ask(ibidem.init("memory:"))


def test_a_label_that_is_no_unicode_is_named() -> None:
    transaction = ibidem.init("memory:").transaction()
    with transaction as tx, pytest.raises(InvalidInputError, match=r"^label: got a lone surrogate"):
        list(tx.nodes(label="\ud800"))

"""`ibidem.open("http://…")`: reading and writing through a server, as if it were here."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem import aio
from ibidem.objects.errors import (
    ConflictError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    NotFoundError,
    RemoteError,
)
from ibidem.repo.repository import Repository
from ibidem.serve.server import Server
from ibidem.store import http_pool

TOKEN = "a-token-of-forty-characters-0123456789ab"
NOW = 1_800_000_000_000_000


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Repository, Repository]]:
    """A repository, and a client of its server, for what changes nothing."""
    with ibidem.init(clock=lambda: NOW) as repository:
        repository.add("nothing comes of it")
        with Server(repository, token=TOKEN, port=0) as server:
            server.start()
            with ibidem.open(server.url, token=TOKEN) as found:
                yield repository, found


@pytest.fixture
def here() -> Iterator[Repository]:
    with ibidem.init(clock=lambda: NOW) as repository:
        with repository.transaction(author="ada", message="first") as tx:
            for number in range(5):
                tx.add_node("Doc", summary=f"retry number {number}", key=number)
        yield repository


@pytest.fixture
def there(here: Repository) -> Iterator[Repository]:
    with Server(here, token=TOKEN, port=0) as server:
        server.start()
        with ibidem.open(server.url, token=TOKEN) as found:
            yield found


def test_an_answer_is_printed_with_the_places_of_its_items(here: Repository, there: Repository):
    here.ingest(text="# Refunds\n\nMoney is back in 30 days.\n", path="shop.md")
    found: Any = there.retrieve("money back")
    assert found.locations == here.retrieve("money back").locations
    assert "[1] shop.md:3 > Refunds\n    Money is back in 30 days." in str(found)
    assert str(found).endswith(f"receipt {found.receipt}")
    assert there.retrieve("retry", limit=1).locations == (None,)  # type: ignore[attr-defined]


def test_a_question_has_the_answer_of_the_library(here: Repository, there: Repository):
    found: Any = there.retrieve("retry", limit=3)
    expected = here.retrieve("retry", limit=3)
    assert found.cid == expected.cid
    assert found.to_dict() == expected.to_dict()
    assert (found.text, found.tokens_used) == (expected.text, expected.tokens_used)
    assert [item.id for item in found] == [item.node.id for item in expected]
    assert str(found.receipt) == str(expected.receipt)
    assert found.explain()
    at = str(here.head)
    assert there.at(at).retrieve("retry").to_json() == here.at(at).retrieve("retry").to_json()
    with here.transaction(author="ada") as tx:
        tx.set_vector(expected[0].node.id, model="m", vector=[1.0, 0.0])
    options: Any = {
        "vector": ("m", np.array([1.0, 0.0], np.float32)),
        "as_of": datetime(2026, 1, 1, tzinfo=UTC),
        "graph": {"mode": "ppr", "etypes": ("to",)},
    }
    asked: Any = there.retrieve("retry", **options)
    assert asked.cid == here.retrieve("retry", **options).cid


def test_a_context_has_the_text_of_the_library(here: Repository, there: Repository):
    found, expected = (
        there.context("retry", token_budget=200),
        here.context("retry", token_budget=200),
    )
    assert found.to_dict() == expected.to_dict()
    assert (found.text, len(found.items)) == (expected.text, len(expected.items))


def test_nodes_names_log_and_diff(here: Repository, there: Repository):
    before = here.head
    here.tag("v1")
    node = here.query(limit=1)[0]
    assert there.at().node(node.id) == node == there.at("v1").node(str(node.id))
    here.add("another")
    assert (there.head, there.current_branch) == (here.head, "main")
    assert (there.branches(), there.tags()) == (here.branches(), here.tags())
    assert list(there.history.log()) == list(here.history.log())
    assert there.commit_at("v1") == here.commit_at("v1")
    assert there.resolve("main~1") == before
    ours = [str(one) for one in here.history.diff("v1")]
    assert [str(one).replace("Cid('", "NodeCid('") for one in there.history.diff("v1")] == ours
    with pytest.raises(NotFoundError):
        there.at().node("0" * 32)
    with pytest.raises(NotFoundError) as error:
        there.at("nothing").retrieve("x")
    assert error.value.kind is ErrorKind.REVISION_NOT_FOUND


def test_writing_gives_the_ids_that_writing_here_gives(here: Repository, there: Repository):
    def written(repository: Repository) -> list[Any]:
        with repository.transaction(author="bob", message="why", agent="a", task="t") as tx:
            one = tx.add_node("Doc", summary="one", content="text", props={"x": 1})
            two = tx.add_node("Doc", summary="two", key="k", namespace="n")
            edge = tx.add_edge(one, "to", two, weight=0.5, props={"y": [1, 2]})
            tx.set_vector(one, model="m", vector=[1.0, 0.0])
        assert tx.commit is not None
        return [one, two, edge, tx.commit.root, tx.commit.author, tx.commit.agent]

    with ibidem.init(clock=lambda: NOW) as copy:
        with copy.transaction(author="ada") as tx:
            for number in range(5):
                tx.add_node("Doc", summary=f"retry number {number}", key=number)
        assert written(there) == written(copy)
    changes: list[dict[str, Any]] = [
        {"summary": "two, again", "set_props": {"x": 1, "y": 2}},
        {"unset_props": ["x"], "content": "text", "tail": "the end"},
        {"ntype": "Note", "props": {"z": [1]}, "content": None, "summary": None},
        {"content": b"\xff", "context_sentence": "of two"},
    ]
    roots: list[list[Any]] = [[], []]
    with (
        ibidem.init(clock=lambda: NOW) as one,
        ibidem.init(clock=lambda: NOW) as other,
        Server(other, token=TOKEN, port=0) as server,
        ibidem.open(server.start().url, token=TOKEN) as far,
    ):
        for repository, made in zip((one, far), roots, strict=True):
            node = repository.add("two", props={"old": True})
            for change in changes:
                with repository.transaction(author="bob") as tx:
                    tx.update_node(node, **change)
                assert tx.commit is not None
                made.append(tx.commit.root)
    assert roots[0] == roots[1]
    fact = there.add("tea at five", props={"z": 1})
    assert here.at().node(fact).summary == "tea at five"
    with there.transaction() as tx:
        tx.tombstone(fact, reason="wrong")
    with pytest.raises(NotFoundError):
        here.at().node(fact)
    with there.transaction() as tx:
        tx.remove_node(here.query(limit=1)[0].id)
    head = here.head

    def failing() -> None:
        with there.transaction() as tx:
            tx.add_node("Doc", summary="never")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert here.head == head


def test_any_value_of_the_format_travels(here: Repository, there: Repository):
    head = here.head
    props = {"b": b"\x00\xff", "c": head, "n": {"/": {"/": [b"", None]}}, "f": 1.0}
    keys: list[Any] = [b"\x01", ("a", 1), {"/": "x"}, 2.5, head, 7, "", False]
    made: list[list[object]] = []
    with ibidem.init(clock=lambda: NOW) as copy:
        with copy.transaction(author="ada") as tx:
            for number in range(5):
                tx.add_node("Doc", summary=f"retry number {number}", key=number)
        for repository in (there, copy):
            with repository.transaction(author="bob") as tx:
                nodes = [tx.add_node("Doc", props=props, key=key) for key in keys]
                edges = [tx.add_edge(nodes[0], "to", nodes[1], props=props, key=k) for k in keys]
                tx.update_node(nodes[2], set_props={"more": [b"x", head]})
            assert tx.commit is not None
            made.append([nodes, edges, tx.commit.root])
    assert made[0] == made[1]
    assert there.at().node(nodes[0]).props == here.at().node(nodes[0]).props


def test_changes_are_made_in_their_order(here: Repository, there: Repository):
    roots = []
    with ibidem.init(clock=lambda: NOW) as copy:
        with copy.transaction(author="ada") as tx:
            for number in range(5):
                tx.add_node("Doc", summary=f"retry number {number}", key=number)
        for repository in (there, copy):
            with repository.transaction(author="bob") as tx:
                one = tx.add_node("Doc", summary="one", key="one")
                tx.update_node(one, summary="updated", props={"x": 1})
                tx.add_node("Doc", summary="one, again", key="one", replace=True)
                edge = tx.add_edge(one, "to", one, weight=0.5)
                tx.remove_edge(edge)
                tx.add_edge(one, "to", one, weight=0.25)
                tx.remove_node(one)
                tx.add_node("Doc", summary="back", key="one")
            assert tx.commit is not None
            roots.append(tx.commit.root)
            assert here.at().node(one).summary == "back"
    assert roots[0] == roots[1]


def test_nothing_is_replaced_unless_that_is_said(here: Repository, there: Repository):
    with there.transaction() as tx:
        one = tx.add_node("Doc", summary="one", key="one")
        tx.add_edge(one, "to", one, weight=0.5)
    head = here.head
    for repository in (there, here):
        tx = repository.transaction()
        with pytest.raises(InvalidInputError) as error:
            _replace_node(tx)
        assert error.value.kind is ErrorKind.ID_COLLISION
        tx = repository.transaction()
        with pytest.raises(InvalidInputError) as error:
            _replace_edge(tx, one)
        assert error.value.kind is ErrorKind.ID_COLLISION
    assert here.head == head
    with there.transaction() as tx:
        tx.add_node("Doc", summary="another", key="one", replace=True)
        tx.add_edge(one, "to", one, weight=0.25, replace=True)
    assert here.at().node(one).summary == "another"


def _replace_node(tx: Any) -> None:
    with tx:
        tx.add_node("Doc", summary="another", key="one")


def _replace_edge(tx: Any, node: Any) -> None:
    with tx:
        tx.add_edge(node, "to", node, weight=0.75)


@pytest.mark.parametrize("given", [0, "", False, [], 5])
def test_properties_that_are_no_mapping_are_refused(
    shared: tuple[Repository, Repository], given: Any
):
    node = shared[0].query(limit=1)[0].id
    for repository in shared:
        tx = repository.transaction()
        with pytest.raises(InvalidInputError, match="props: got"):
            tx.update_node(node, props=given)
        with pytest.raises(InvalidInputError, match="props: got"):
            tx.update_node(node, set_props=given)
        with pytest.raises(InvalidInputError, match="props: got"):
            tx.add_node("Doc", props=given)
        with pytest.raises(InvalidInputError, match="props: got"):
            tx.add_edge(node, "to", node, props=given)
        tx.rollback()


@pytest.mark.parametrize(
    "change",
    [
        {"props": 5},
        {"set_props": 5},
        {"set_props": {5: 1}},
        {"content": 5},
        {"unset_props": "ab"},
        {"unset_props": 5},
        {"unset_props": [1]},
    ],
)
def test_a_bad_update_is_the_same_error_here_and_there(
    shared: tuple[Repository, Repository], change: dict[str, Any]
):
    here, there = shared
    node = here.query(limit=1)[0].id
    for repository in (here, there):
        tx = repository.transaction()
        with pytest.raises(InvalidInputError, match=min(change).removeprefix("set_")):
            tx.update_node(node, **change)
        tx.rollback()


def test_a_transaction_that_is_never_sent_says_so(there: Repository):
    forgotten = there.transaction(author="ada")
    forgotten.add_node("Fact", summary="lost")
    with pytest.warns(RuntimeWarning, match="its changes were never published: use `with`"):
        del forgotten
    with there.transaction(author="ada") as tx:
        tx.add_node("Fact", summary="there")
    del tx


def test_a_branch_that_moved_is_a_conflict_where_that_was_wished(
    here: Repository, there: Repository
):
    for repository in (there, here):
        tx = repository.transaction(on_conflict="unmoved")
        tx.add_node("Doc", summary="mine")
        here.add(f"theirs {repository}")
        with pytest.raises(ConflictError) as error:
            tx.publish()
        assert error.value.kind is ErrorKind.HEAD_MOVED
    with there.transaction() as tx:
        tx.add_node("Doc", summary="mine")
        here.add("theirs as well")
    assert tx.commit is not None


def test_a_commit_whose_answer_was_lost_is_made_once(
    here: Repository, there: Repository, monkeypatch: pytest.MonkeyPatch
):
    count, real = 0, http_pool.response

    def losing(method: str, url: str, **given: Any) -> Any:
        nonlocal count
        found = real(method, url, **given)
        if method == "POST" and count == 0:
            count += 1
            with found as answer:
                answer.read()
            raise ConnectionResetError("lost")
        return found

    before = here.head
    monkeypatch.setattr(http_pool, "response", losing)
    there.add("once")
    assert count == 1
    assert here.commit_at().parents == (before,)


CALLS: list[Callable[[Repository], object]] = [
    lambda repo: repo.core,
    lambda repo: repo.stage,
    lambda repo: repo.sync,
    lambda repo: repo.branch("b"),
    lambda repo: repo.conversations.threads(),
    lambda repo: repo.maintenance.fsck(),
    lambda repo: repo.prompt("x", repo.packs("x")),
    lambda repo: repo.history.blame("0" * 32),
    lambda repo: repo.history.undo(),
    lambda repo: repo.receipts.list(),
    lambda repo: repo.receipts.replay("x" * 32, at="main"),
    lambda repo: repo.transaction(sign=True),
    lambda repo: repo.transaction(on_conflict="raise"),
    lambda repo: repo.transaction().add_node("Doc", unique=True),
    lambda repo: repo.transaction().update_node("0" * 32, children=[]),
    lambda repo: repo.transaction().configure(limit=3),
    lambda repo: repo.at(viewer=ibidem.ALL),
    lambda repo: repo.merge("x"),
]


@pytest.mark.parametrize("call", CALLS)
def test_what_a_server_does_not_offer_is_one_error(
    shared: tuple[Repository, Repository], call: Callable[[Repository], object]
):
    here, there = shared
    head = here.head
    with pytest.raises(InvalidInputError, match="a server does not offer it") as error:
        call(there)
    assert error.value.kind is ErrorKind.NOT_PERMITTED
    assert not re.search(r"\._|core\b|draft", str(error.value))
    assert here.head == head


def test_a_receipt_is_replayed_by_the_server(here: Repository, there: Repository):
    found: Any = there.retrieve("retry", limit=3)
    here.add("a retry more")
    again: Any = there.receipts.replay(found.receipt)
    assert again.to_dict() == found.to_dict()
    assert again == there.receipts.replay(str(found.receipt))
    assert there.retrieve("retry").to_dict() != found.to_dict()
    for other in ("nothing", "\ud800"):
        with pytest.raises(IbidemError, match="receipt"):
            there.receipts.replay(other)
    wrong: Any
    for wrong in (None, 5, found):
        with pytest.raises(InvalidInputError, match=r"receipt: got .*, expected that of an answer"):
            there.receipts.replay(wrong)


def test_a_bad_option_is_an_error_of_the_server(there: Repository):
    for call in (
        lambda: there.retrieve("x", limit=-1),
        lambda: there.retrieve("x", viewer=ibidem.ALL),
        lambda: there.retrieve("x", estimator=object()),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInputError):
            call()


def test_a_limit_that_is_exceeded_is_the_error_of_the_library(
    shared: tuple[Repository, Repository],
):
    for repository in shared:
        with pytest.raises(InvalidInputError, match="token_budget: got 5, expected") as error:
            repository.prompt("nothing", token_budget=5)
        assert error.value.kind is ErrorKind.LIMIT_EXCEEDED


def test_opening_says_what_is_wrong(here: Repository):
    with pytest.raises(InvalidInputError, match="token"):
        ibidem.open("http://127.0.0.1:9")
    with pytest.raises(RemoteError):
        ibidem.open("http://127.0.0.1:9", token=TOKEN)
    with pytest.raises(InvalidInputError, match="create"):
        ibidem.open("https://example.org", token=TOKEN, create=True)
    with pytest.raises(InvalidInputError, match="token"):
        ibidem.open("memory:", token=TOKEN)
    with pytest.raises(InvalidInputError, match="shows the token"):
        ibidem.open("http://example.org", token=TOKEN)
    with Server(here, token=TOKEN, port=0) as server, pytest.raises(IbidemError) as error:
        ibidem.open(server.start().url, token="b" * 40)
    assert error.value.kind is ErrorKind.UNAUTHORIZED


def test_a_server_is_opened_without_blocking_too(here: Repository):
    async def asking(url: str) -> Any:
        async with aio.open(url, token=TOKEN) as there:
            async with there.transaction() as tx:
                await tx.add_node("Doc", summary="retry from a loop")
            return await there.retrieve("loop")

    with Server(here, token=TOKEN, port=0) as server:
        found = asyncio.run(asking(server.start().url))
    assert found.cid == here.retrieve("loop").cid
